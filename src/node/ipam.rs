//! IPAM plugins: programs of others that choose addresses (CNI specification, section 4).

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use coeus_cni::{Call, Code, Error, Request, Success};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// All that is needed to call an IPAM plugin, kept for as long as it holds an address for a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegate {
    pub kind: String,
    pub path: Vec<String>,
    pub call: Call,
}

impl Delegate {
    /// `None`: addresses are ours.
    pub fn of(request: &Request, call: &Call) -> Option<Delegate> {
        let kind = request.config.ipam.as_ref()?.kind.clone();
        Some(Delegate { kind, path: request.path.clone(), call: call.clone() })
    }

    /// # Errors
    /// What the plugin says, or that it is not there.
    pub fn add(&self) -> Result<Success, Error> {
        let output = self.run("ADD")?;
        let wrong = |why: String| Error::new(Code::Ipam, format!("IPAM plugin {}: {why}", self.kind));
        let value: Value = serde_json::from_slice(&output).map_err(|error| wrong(error.to_string()))?;
        Success::parse(&value).map_err(wrong)
    }

    /// # Errors
    /// As [`Delegate::add`].
    pub fn tell(&self, command: &str) -> Result<(), Error> {
        self.run(command).map(drop)
    }

    /// # Errors
    /// When there is no such plugin.
    pub fn is_there(&self) -> Result<(), Error> {
        self.program().map(drop)
    }

    fn program(&self) -> Result<PathBuf, Error> {
        let mut places = self.path.iter().map(|folder| Path::new(folder).join(&self.kind));
        places.find(|program| program.is_file()).ok_or_else(|| {
            let message = format!("ipam.type: no program {} in CNI_PATH={}", self.kind, self.path.join(":"));
            Error::new(Code::Field, message)
                .with("install the plugin, or take ipam away to have Coeus choose addresses")
        })
    }

    fn run(&self, command: &str) -> Result<Vec<u8>, Error> {
        let program = self.program()?;
        let failed =
            |error: std::io::Error| Error::new(Code::Ipam, format!("{}: {error}", program.display()));
        let mut child = Command::new(&program)
            .envs(&self.call.environment)
            .env("CNI_COMMAND", command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        if let Some(mut input) = child.stdin.take() {
            // A plugin that does not read to the end says itself what is wrong.
            let _ = input.write_all(self.call.input.as_bytes());
        }
        let output = child.wait_with_output().map_err(failed)?;
        if output.status.success() { Ok(output.stdout) } else { Err(self.error(command, &output)) }
    }

    fn error(&self, command: &str, output: &std::process::Output) -> Error {
        let said: Value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        let text = |key: &str| said.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let number = said.get("code").and_then(Value::as_u64).and_then(|code| code.try_into().ok());
        let message = if text("msg").is_empty() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            format!("it ended with {}: {}", output.status, stderr.trim())
        } else {
            text("msg")
        };
        let code = number.map_or(Code::Ipam, Code::Other);
        Error::new(code, format!("IPAM plugin {}, {command}: {message}", self.kind)).with(text("details"))
    }
}
