//! A private Open vSwitch for tests.
#![allow(dead_code, reason = "each test file uses its part")]

use std::path::Path;
use std::process::Command;

/// Runs a command; its output, or a panic that says what it said.
fn run(command: &mut Command) -> String {
    let output =
        command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; install openvswitch-switch"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {}{text}", String::from_utf8_lossy(&output.stderr));
    text
}

/// A private switch without packets: dummy datapath, own directory, gone with the value.
pub struct Switch {
    folder: tempfile::TempDir,
}

impl Switch {
    pub fn start() -> Switch {
        let switch = Switch { folder: tempfile::tempdir().unwrap() };
        let at = |name: &str| switch.folder.path().join(name).display().to_string();
        run(Command::new("ovsdb-tool").args([
            "create",
            &at("conf.db"),
            "/usr/share/openvswitch/vswitch.ovsschema",
        ]));
        switch.daemon(
            "ovsdb-server",
            &[&at("conf.db"), &format!("--remote=punix:{}", at("db.sock"))],
            "ovsdb",
        );
        switch.vsctl(&["--no-wait", "init"]);
        let database = format!("unix:{}", at("db.sock"));
        switch.daemon("ovs-vswitchd", &[&database, "--enable-dummy=override", "--disable-system"], "vs");
        switch.vsctl(&[
            "add-br",
            "br0",
            "--",
            "set",
            "bridge",
            "br0",
            "datapath_type=dummy",
            "fail_mode=secure",
            "protocols=OpenFlow13,OpenFlow15",
        ]);
        switch
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    fn daemon(&self, name: &str, arguments: &[&str], short: &str) {
        let at = |ending: &str| self.path().join(format!("{short}.{ending}")).display().to_string();
        run(Command::new(name)
            .env("OVS_RUNDIR", self.path())
            .args(arguments)
            .args([
                &format!("--unixctl={}", at("ctl")),
                &format!("--pidfile={}", at("pid")),
                &format!("--log-file={}", at("log")),
            ])
            .args(["--detach", "--no-chdir", "-vconsole:off"]));
    }

    pub fn vsctl(&self, words: &[&str]) -> String {
        run(Command::new("ovs-vsctl")
            .args([&format!("--db=unix:{}/db.sock", self.path().display()), "--timeout=10"])
            .args(words))
    }

    /// ovs-ofctl on the bridge.
    pub fn ofctl(&self, words: &[&str]) -> String {
        let bridge = format!("unix:{}/br0.mgmt", self.path().display());
        let (command, rest) = words.split_first().expect("a command");
        run(Command::new("ovs-ofctl").args(["-O", "OpenFlow13", command, &bridge]).args(rest))
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        for pid in ["vs.pid", "ovsdb.pid"] {
            if let Ok(pid) = std::fs::read_to_string(self.path().join(pid)) {
                let _ = Command::new("kill").args(["-9", pid.trim()]).status();
            }
        }
    }
}
