//! A private Open vSwitch without packets: dummy datapath, a directory of its own, gone with the value.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// Where Debian's package puts it.
const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";

pub struct Switch {
    folder: TempDir,
}

impl Switch {
    pub const BRIDGE: &str = "br0";

    /// With this datapath id, in hexadecimal digits; without one, Open vSwitch makes it up.
    ///
    /// # Errors
    /// When a program of Open vSwitch is not there or fails.
    pub fn start(dpid: Option<&str>) -> Result<Switch, String> {
        let folder = tempfile::tempdir().map_err(|error| format!("no directory for a switch: {error}"))?;
        let switch = Switch { folder };
        let (database, socket) = (switch.at("conf.db"), switch.at("db.sock"));
        run(Command::new("ovsdb-tool").args(["create", &database, SCHEMA]))?;
        switch.daemon("ovsdb-server", &[&database, &format!("--remote=punix:{socket}")])?;
        switch.vsctl(&["--no-wait", "init"])?;
        let dummy = ["--enable-dummy=override", "--disable-system"];
        switch.daemon("ovs-vswitchd", &[&format!("unix:{socket}"), dummy[0], dummy[1]])?;
        let id = dpid.map(|dpid| format!("other-config:datapath-id={dpid}"));
        let bridge = ["add-br", Switch::BRIDGE, "--", "set", "bridge", Switch::BRIDGE];
        let set = ["datapath_type=dummy", "fail_mode=secure", "protocols=OpenFlow13,OpenFlow15"];
        let words = bridge.into_iter().chain(set).chain(id.as_deref());
        switch.vsctl(&words.collect::<Vec<_>>())?;
        Ok(switch)
    }

    fn at(&self, name: &str) -> String {
        self.path().join(name).display().to_string()
    }

    /// Its directory, with its sockets.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    fn daemon(&self, name: &str, arguments: &[&str]) -> Result<(), String> {
        let own = ["unixctl", "pidfile", "log-file"];
        let own = own.map(|option| format!("--{option}={}", self.at(&format!("{name}.{option}"))));
        let detached = ["--detach", "--no-chdir", "-vconsole:off"];
        let command = &mut Command::new(name);
        run(command.env("OVS_RUNDIR", self.path()).args(arguments).args(own).args(detached)).map(drop)
    }

    /// # Errors
    /// What `ovs-vsctl` says.
    pub fn vsctl(&self, words: &[&str]) -> Result<String, String> {
        let database = format!("--db=unix:{}", self.at("db.sock"));
        run(Command::new("ovs-vsctl").args([&database, "--timeout=10"]).args(words))
    }

    /// `ovs-ofctl` on the bridge.
    ///
    /// # Errors
    /// What it says.
    pub fn ofctl(&self, words: &[&str]) -> Result<String, String> {
        let bridge = format!("unix:{}", self.at(&format!("{}.mgmt", Switch::BRIDGE)));
        let (command, rest) = words.split_at(words.len().min(1));
        run(Command::new("ovs-ofctl").args(["-O", "OpenFlow13"]).args(command).arg(bridge).args(rest))
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        for daemon in ["ovs-vswitchd", "ovsdb-server"] {
            if let Ok(pid) = std::fs::read_to_string(self.at(&format!("{daemon}.pidfile"))) {
                let _ = Command::new("kill").args(["-9", pid.trim()]).status();
            }
        }
    }
}

/// Runs a command; what it printed.
fn run(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().display().to_string();
    let output = command.output().map_err(|error| format!("{name}: {error}; install openvswitch-switch"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        Ok(text)
    } else {
        Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}
