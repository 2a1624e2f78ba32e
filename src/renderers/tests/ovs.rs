//! A private Open vSwitch with dummy ports, and what the tables say on it.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::pipeline::{Group, SwitchTables, golden};

/// A private Open vSwitch; ends with the value.
pub struct Ovs {
    folder: tempfile::TempDir,
}

impl Ovs {
    /// `None` where Open vSwitch is not installed: then there is nothing to ask.
    pub fn start() -> Option<Ovs> {
        Ovs::with("--enable-dummy=override")
    }

    /// `dummy` says what is a dummy: all ports, or those that are asked for.
    pub fn with(dummy: &str) -> Option<Ovs> {
        let schema = "/usr/share/openvswitch/vswitch.ovsschema";
        if !Path::new(schema).exists() {
            eprintln!("Open vSwitch is not installed: no packet is traced");
            return None;
        }
        let ovs = Ovs { folder: tempfile::tempdir().unwrap() };
        ovs.run("ovsdb-tool", &["create", "conf.db", schema]);
        let server = ["conf.db", "--remote=punix:db.sock", "--unixctl=db.ctl", "--pidfile=ovsdb.pid"];
        let detached = ["--detach", "--no-chdir", "-vconsole:off"];
        ovs.run("ovsdb-server", &[&server[..], &detached].concat());
        ovs.run("ovs-vsctl", &["--db=unix:db.sock", "--no-wait", "init"]);
        let switch = ["unix:db.sock", dummy, "--disable-system", "--unixctl=vs.ctl"];
        ovs.run("ovs-vswitchd", &[&switch[..], &["--pidfile=vs.pid"], &detached].concat());
        Some(ovs)
    }

    pub fn run(&self, program: &str, arguments: &[&str]) -> String {
        let folder = self.folder.path();
        let output = Command::new("timeout")
            .arg("20")
            .arg(program)
            .args(arguments)
            .current_dir(folder)
            .envs(["OVS_RUNDIR", "OVS_DBDIR", "OVS_LOGDIR"].map(|name| (name, folder)))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program} {arguments:?}: {error}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// A bridge with the tunnel port 1 and ports 10 to 12, and everything the tables say.
    pub fn bridge(&self, name: &str, tables: &SwitchTables) {
        let ports: Vec<u32> = (10..=12).collect();
        self.ports(name, &ports);
        let flows = golden::print(&SwitchTables { flows: tables.flows.clone(), ..SwitchTables::default() });
        self.load(name, tables, &flows);
    }

    pub fn vsctl(&self, arguments: &str) {
        let arguments = format!("--timeout=10 --db=unix:db.sock {arguments}");
        self.run("ovs-vsctl", &arguments.split(' ').collect::<Vec<_>>());
    }

    /// A bridge with the tunnel port 1 and these.
    pub fn ports(&self, name: &str, ports: &[u32]) {
        self.vsctl(&format!(
            "add-br {name} -- set bridge {name} datapath_type=dummy fail_mode=secure protocols=OpenFlow13"
        ));
        // What a session of ours tells a switch at its start.
        self.run("ovs-ofctl", &["-O", "OpenFlow13", "set-frags", name, "nx-match"]);
        self.vsctl(&format!(
            "add-port {name} {name}-1 -- set interface {name}-1 type=vxlan options:remote_ip=flow options:key=flow ofport_request=1"
        ));
        for port in ports {
            self.vsctl(&format!(
                "add-port {name} {name}-{port} -- set interface {name}-{port} type=dummy ofport_request={port}"
            ));
        }
    }

    /// Groups and meters of the tables, and these flows.
    pub fn load(&self, name: &str, tables: &SwitchTables, flows: &str) {
        // What is named comes first.
        let mut groups: Vec<_> = tables.groups.values().collect();
        groups.sort_by_key(|group| height(tables, group));
        let groups: String = groups.iter().map(|group| format!("{group}\n")).collect();
        let meters: Vec<_> = tables.meters.values().map(|meter| meter.to_string()).collect();
        std::fs::write(self.folder.path().join("groups"), groups).unwrap();
        std::fs::write(self.folder.path().join("flows"), flows).unwrap();
        for meter in meters {
            self.run(
                "ovs-ofctl",
                &[
                    "-O",
                    "OpenFlow13",
                    "add-meter",
                    name,
                    &meter.replace(" bands", ",bands").replace(' ', ","),
                ],
            );
        }
        self.run("ovs-ofctl", &["-O", "OpenFlow13", "add-groups", name, "groups"]);
        self.run("ovs-ofctl", &["-O", "OpenFlow13", "add-flows", name, "flows"]);
    }

    /// Asks the switch on its control socket, as `ovs-appctl` does but without a process for each question.
    pub fn control(&self) -> Control {
        let socket = UnixStream::connect(self.folder.path().join("vs.ctl")).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Control { socket, asked: 0, heard: Vec::new() }
    }
}

/// A connection to the control socket (JSON-RPC 1.0, RFC 7047 section 4 without the database).
pub struct Control {
    socket: UnixStream,
    asked: u64,
    heard: Vec<u8>,
}

impl Control {
    pub fn ask(&mut self, method: &str, parameters: &[&str]) -> String {
        self.asked += 1;
        let question = serde_json::json!({ "id": self.asked, "method": method, "params": parameters });
        self.socket.write_all(question.to_string().as_bytes()).unwrap();
        let mut buffer = vec![0; 64 << 10];
        loop {
            let mut answers =
                serde_json::Deserializer::from_slice(&self.heard).into_iter::<serde_json::Value>();
            if let Some(Ok(answer)) = answers.next() {
                let used = answers.byte_offset();
                self.heard.drain(..used);
                assert!(answer["error"].is_null(), "{method} {parameters:?}: {}", answer["error"]);
                return answer["result"].as_str().unwrap_or_default().to_owned();
            }
            let count = self.socket.read(&mut buffer).unwrap();
            assert!(count > 0, "the switch is gone");
            self.heard.extend_from_slice(&buffer[..count]);
        }
    }
}

/// How many groups stand on top of each other, this one included.
fn height(tables: &SwitchTables, group: &Group) -> u32 {
    let named = group.names.iter().filter_map(|id| tables.groups.get(id));
    named.map(|group| height(tables, group)).max().unwrap_or(0) + 1
}

impl Drop for Ovs {
    fn drop(&mut self) {
        for file in ["vs.pid", "ovsdb.pid"] {
            let Ok(pid) = std::fs::read_to_string(self.folder.path().join(file)) else { continue };
            let _ = Command::new("kill").arg("-9").arg(pid.trim()).status();
        }
    }
}
