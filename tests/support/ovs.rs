//! A private Open vSwitch without packets: dummy datapath, own directory, gone with the value.
//!
//! No bridge is made: that is the controller's work. Daemons of a test that was killed are found by their directory's
//! name, which carries the process that started them, and are ended by the next test that starts a switch.
#![allow(dead_code, reason = "each test file uses its part")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const PREFIX: &str = "coeus-ovs-";

pub struct Ovs {
    dir: PathBuf,
}

/// Runs a command; its output, or a panic that says what it said.
pub fn run(command: &mut Command) -> String {
    let output =
        command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; install openvswitch-switch"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {}{text}", String::from_utf8_lossy(&output.stderr));
    text
}

/// Waits until `done` gives a value; a test never sleeps for a fixed time.
pub fn wait<T>(what: &str, mut done: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(value) = done() {
            return value;
        }
        assert!(Instant::now() < end, "not within 30 s: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

impl Ovs {
    pub fn start(name: &str) -> Ovs {
        reap();
        let dir = std::env::temp_dir().join(format!("{PREFIX}{}-{name}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let ovs = Ovs { dir };
        run(Command::new("ovsdb-tool").args([
            "create",
            &ovs.at("conf.db"),
            "/usr/share/openvswitch/vswitch.ovsschema",
        ]));
        ovs.start_database();
        ovs.vsctl(&["--no-wait", "init", "--", "set", "open_vswitch", ".", "ovs_version=3.1.0"]);
        ovs.start_switch();
        ovs
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn at(&self, name: &str) -> String {
        self.dir.join(name).display().to_string()
    }

    pub fn start_database(&self) {
        let socket = format!("--remote=punix:{}", self.at("db.sock"));
        let managers = "--remote=db:Open_vSwitch,Open_vSwitch,manager_options";
        self.daemon("ovsdb-server", &[&self.at("conf.db"), &socket, managers], "ovsdb");
    }

    pub fn start_switch(&self) {
        let database = format!("unix:{}", self.at("db.sock"));
        self.daemon("ovs-vswitchd", &[&database, "--enable-dummy=override", "--disable-system"], "vs");
    }

    fn daemon(&self, name: &str, arguments: &[&str], short: &str) {
        let file = |ending: &str| self.at(&format!("{short}.{ending}"));
        let files = [
            format!("--unixctl={}", file("ctl")),
            format!("--pidfile={}", file("pid")),
            format!("--log-file={}", file("log")),
        ];
        let mut command = Command::new(name);
        command.env("OVS_RUNDIR", &self.dir).args(arguments).args(files);
        run(command.args(["--detach", "--no-chdir", "-vconsole:off"]));
    }

    pub fn vsctl(&self, words: &[&str]) -> String {
        run(Command::new("ovs-vsctl")
            .args([&format!("--db=unix:{}", self.at("db.sock")), "--timeout=20"])
            .args(words))
    }

    /// `ovs-vsctl get`, without quotes.
    pub fn get(&self, table: &str, row: &str, column: &str) -> String {
        self.vsctl(&["get", table, row, column]).trim().trim_matches('"').to_owned()
    }

    pub fn appctl(&self, words: &[&str]) -> String {
        run(Command::new("ovs-appctl").args(["-t", &self.at("vs.ctl")]).args(words))
    }

    pub fn ofctl(&self, bridge: &str, command: &str, words: &[&str]) -> String {
        let target = format!("unix:{}", self.at(&format!("{bridge}.mgmt")));
        run(Command::new("ovs-ofctl").args(["-O", "OpenFlow13", command, &target]).args(words))
    }

    /// Changes of the database so far: every transaction that changed something is one record of its log.
    pub fn transactions(&self) -> usize {
        run(Command::new("ovsdb-tool").args(["show-log", &self.at("conf.db")]))
            .lines()
            .filter(|line| line.starts_with("record "))
            .count()
    }

    pub fn kill(&self, short: &str) {
        end(&self.dir.join(format!("{short}.pid")));
    }
}

impl Drop for Ovs {
    fn drop(&mut self) {
        self.kill("vs");
        self.kill("ovsdb");
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn end(pid_file: &Path) {
    let Ok(pid) = std::fs::read_to_string(pid_file) else { return };
    let pid = pid.trim().to_owned();
    let _ = Command::new("kill").args(["-9", &pid]).stderr(std::process::Stdio::null()).status();
    let gone = || (!Path::new("/proc").join(&pid).exists()).then_some(());
    wait("a daemon ends", gone);
    let _ = std::fs::remove_file(pid_file);
}

/// Ends the daemons of tests that are no more.
fn reap() {
    let Ok(entries) = std::fs::read_dir(std::env::temp_dir()) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(owner) = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next()) else { continue };
        if Path::new("/proc").join(owner).exists() {
            continue;
        }
        end(&entry.path().join("vs.pid"));
        end(&entry.path().join("ovsdb.pid"));
        let _ = std::fs::remove_dir_all(entry.path());
    }
}
