//! The program itself, as a process of its own on ports of its own.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A controller that runs until it is dropped; the password of `admin` is `secret`.
pub struct Program {
    pub child: Child,
    /// The line that says where it listens.
    pub ready: String,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Program {
    /// Starts it with its data in a folder and waits until it is ready.
    pub fn start(folder: &Path, options: &[&str]) -> Program {
        let any = "127.0.0.1:0";
        let mut child = Command::new(env!("CARGO_BIN_EXE_coeus"))
            .args(["serve", "--restconf", any, "--openflow", any, "--ovsdb", any, "--log", "error"])
            .args(options)
            .arg("--data-dir")
            .arg(folder)
            .env("COEUS_ADMIN_PASSWORD", "secret")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        Program { child, ready }
    }

    /// What stands behind a text in the line that says where it listens.
    pub fn address(&self, behind: &str) -> &str {
        let address = self.ready.split_once(behind).and_then(|(_, rest)| rest.split([',', ' ', '\n']).next());
        address.unwrap_or_else(|| panic!("not ready: {:?}", self.ready))
    }
}
