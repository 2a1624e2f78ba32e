//! The node's Open vSwitch by its database's unix socket: one connection a transaction, so that nothing has to be mended when the
//! database restarts.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::IpAddr;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::ovsdb::{Atom, Datum, Framer, Incoming, map, named_uuid, reply, set, transact, uuid};

const DATABASE: &str = "Open_vSwitch";
/// The database answers within milliseconds, unless it compacts.
const PATIENCE: Duration = Duration::from_secs(20);

/// Which network configuration made a port: the mark by which ports are ours.
pub const NETWORK: &str = "coeus-network";
/// The name of the interface in the container.
pub const IFNAME: &str = "coeus-ifname";

/// The mark of ports that are made before their containers: which agent's.
pub const READY: &str = "coeus-ready";
/// For vswitchd to open ports that were added, in milliseconds.
const OPENED: u32 = 10_000;

/// Why the switch did not do it.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    #[error("{socket}: {error}")]
    Away { socket: String, error: std::io::Error },
    #[error("{socket}: {reason}")]
    Refused { socket: String, reason: String },
    #[error("Open vSwitch has no bridge {0}")]
    NoBridge(String),
}

/// What is known of a bridge before a port is added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bridge {
    id: String,
    /// `datapath_type` is `netdev`.
    pub is_userspace: bool,
    /// `other_config:local_ip`.
    pub local_ip: Option<IpAddr>,
}

/// What the database says of the node's Open vSwitch and of one bridge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    pub version: Option<String>,
    pub local_ip: Option<IpAddr>,
    /// What it can have; none where the version does not say.
    pub datapath_types: Vec<String>,
    /// Of the bridge; `None`: there is none.
    pub datapath_type: Option<String>,
    /// The bridge's, in hexadecimal, once vswitchd has made it.
    pub dpid: Option<String>,
    /// Targets, and whether they are connected.
    pub managers: Vec<(String, bool)>,
    /// The bridge's.
    pub controllers: Vec<(String, bool)>,
}

/// A port of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    pub name: String,
    pub external_ids: BTreeMap<String, String>,
    /// Why vswitchd could not open it.
    pub error: Option<String>,
}

impl Port {
    pub fn id(&self, key: &str) -> &str {
        self.external_ids.get(key).map_or("", String::as_str)
    }
}

/// The database of the node.
#[derive(Debug, Clone)]
pub struct Switch {
    pub socket: PathBuf,
}

impl Switch {
    /// # Errors
    /// When the database or the bridge is not there.
    pub fn bridge(&self, name: &str) -> Result<Bridge, SwitchError> {
        let found = self.transact(&[
            json!({"op": "select", "table": "Bridge", "where": [["name", "==", name]], "columns": ["_uuid", "datapath_type"]}),
            json!({"op": "select", "table": "Open_vSwitch", "where": [], "columns": ["other_config"]}),
        ])?;
        let row = |place: usize| found.get(place).and_then(|result| result["rows"].get(0));
        let Some(bridge) = row(0) else { return Err(SwitchError::NoBridge(name.into())) };
        let settings = row(1).map(|row| strings(&row["other_config"])).unwrap_or_default();
        Ok(Bridge {
            id: bridge["_uuid"][1].as_str().unwrap_or_default().to_owned(),
            is_userspace: bridge["datapath_type"] == "netdev",
            local_ip: settings.get("local_ip").and_then(|address| address.parse().ok()),
        })
    }

    /// # Errors
    /// When the database is not there.
    pub fn state(&self, bridge: &str) -> Result<State, SwitchError> {
        let all = |table: &str, columns: &[&str]| json!({"op": "select", "table": table, "where": [], "columns": columns});
        let found = self.transact(&[
            all("Open_vSwitch", &["ovs_version", "other_config", "datapath_types"]),
            all("Bridge", &["name", "datapath_type", "datapath_id", "controller"]),
            all("Manager", &["target", "is_connected"]),
            all("Controller", &["_uuid", "target", "is_connected"]),
        ])?;
        let rows = |place: usize| {
            let rows = found.get(place).and_then(|result| result["rows"].as_array());
            rows.cloned().unwrap_or_default()
        };
        let system = rows(0).into_iter().next().unwrap_or_default();
        let bridge = rows(1).into_iter().find(|row| row["name"] == bridge);
        let own = bridge.as_ref().map(|row| row["controller"].to_string()).unwrap_or_default();
        let connection = |row: &Value| {
            (row["target"].as_str().unwrap_or_default().to_owned(), row["is_connected"] == true)
        };
        let is_own = |row: &&Value| row["_uuid"][1].as_str().is_some_and(|id| own.contains(id));
        // A set of one is its only element (RFC 7047 section 5.1).
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let types = match &system["datapath_types"] {
            Value::Array(set) => {
                set.get(1).and_then(Value::as_array).into_iter().flatten().filter_map(text).collect()
            }
            one => text(one).into_iter().collect(),
        };
        Ok(State {
            version: text(&system["ovs_version"]),
            local_ip: strings(&system["other_config"])
                .get("local_ip")
                .and_then(|address| address.parse().ok()),
            datapath_types: types,
            datapath_type: bridge.as_ref().and_then(|row| text(&row["datapath_type"])),
            dpid: bridge.as_ref().and_then(|row| text(&row["datapath_id"])),
            managers: rows(2).iter().map(connection).collect(),
            controllers: rows(3).iter().filter(is_own).map(connection).collect(),
        })
    }

    /// Adds a port with what the controller knows it by, and takes other ports with its `iface-id` away, in one transaction. With a tag
    /// it is an access port of that VLAN.
    ///
    /// # Errors
    /// When the database is away or refuses.
    pub fn attach(&self, bridge: &Bridge, port: &Port, tag: Option<u16>) -> Result<(), SwitchError> {
        let ids = map(port.external_ids.iter().map(|(key, value)| (key.as_str(), value.as_str())));
        let mut operations = self.stale(port)?;
        operations.extend(insert("new", &port.name, &ids, tag));
        operations.push(extend(bridge, [named_uuid("port_new")]));
        let done = self.transact(&operations)?;
        if done.last().is_some_and(|result| result["count"] == 1) {
            return Ok(());
        }
        Err(SwitchError::NoBridge(bridge.id.clone()))
    }

    /// Gives a port that was ready to a container, as [`Switch::attach`] does with a new one; `false`: it is not there, or not ready any
    /// more.
    ///
    /// # Errors
    /// When the database is away or refuses.
    pub fn claim(&self, port: &Port, owner: &str) -> Result<bool, SwitchError> {
        let ids = map(port.external_ids.iter().map(|(key, value)| (key.as_str(), value.as_str())));
        let mut operations = self.stale(port)?;
        operations.push(json!({"op": "mutate", "table": "Interface",
            "where": [["name", "==", port.name], ["external_ids", "includes", map([(READY, owner)])]],
            "mutations": [["external_ids", "delete", set([json!(READY)])], ["external_ids", "insert", ids]]}));
        let done = self.transact(&operations)?;
        Ok(done.last().is_some_and(|result| result["count"] == 1))
    }

    /// Adds ports that are nobody's yet, and waits until vswitchd has opened them; those that it has.
    ///
    /// # Errors
    /// When the database is away or refuses, or vswitchd does nothing.
    pub fn make_ready(
        &self,
        bridge: &Bridge,
        names: &[String],
        owner: &str,
    ) -> Result<Vec<String>, SwitchError> {
        self.add_ready(bridge, names, owner)?;
        let is_opened = |name: &String| {
            json!({"op": "wait", "timeout": OPENED, "table": "Interface", "where": [["name", "==", name]],
            "columns": ["ofport"], "until": "!=", "rows": [{"ofport": set([])}]})
        };
        let look = |name: &String| json!({"op": "select", "table": "Interface", "where": [["name", "==", name]], "columns": ["name", "ofport"]});
        let operations: Vec<Value> = names.iter().map(is_opened).chain(names.iter().map(look)).collect();
        let found = self.transact(&operations)?;
        let rows = found.iter().filter_map(|result| result["rows"].get(0));
        let good = rows.filter(|row| row["ofport"].as_i64().is_some_and(|ofport| ofport > 0));
        Ok(good.filter_map(|row| row["name"].as_str().map(str::to_owned)).collect())
    }

    /// Adds ports that are nobody's yet, all in one transaction.
    ///
    /// # Errors
    /// When the database is away or refuses.
    pub fn add_ready(&self, bridge: &Bridge, names: &[String], owner: &str) -> Result<(), SwitchError> {
        let ids = map([(READY, owner)]);
        let labels: Vec<String> = (0..names.len()).map(|place| place.to_string()).collect();
        let inserts = names.iter().zip(&labels).flat_map(|(name, label)| insert(label, name, &ids, None));
        let mut operations: Vec<Value> = inserts.collect();
        operations.push(extend(bridge, labels.iter().map(|label| named_uuid(&format!("port_{label}")))));
        let done = self.transact(&operations)?;
        if done.last().is_some_and(|result| result["count"] == 1) {
            return Ok(());
        }
        Err(SwitchError::NoBridge(bridge.id.clone()))
    }

    /// The ports that an agent has ready.
    ///
    /// # Errors
    /// When the database is away.
    pub fn ready(&self, owner: &str) -> Result<Vec<Port>, SwitchError> {
        self.ports_where(&json!([["external_ids", "includes", map([(READY, owner)])]]))
    }

    /// The operations that take ports away that have the `iface-id` of this one already.
    fn stale(&self, port: &Port) -> Result<Vec<Value>, SwitchError> {
        let stale = self.ports_where(&json!([[
            "external_ids",
            "includes",
            map([("iface-id", port.id("iface-id"))])
        ]]))?;
        self.removals(&stale.into_iter().map(|port| port.name).collect::<Vec<_>>())
    }

    /// Takes a port away, if it is there.
    ///
    /// # Errors
    /// When the database is away or refuses.
    pub fn detach(&self, name: &str) -> Result<(), SwitchError> {
        self.detach_all(&[name.to_owned()])
    }

    /// Takes those of some ports away that are there.
    ///
    /// # Errors
    /// When the database is away or refuses.
    pub fn detach_all(&self, names: &[String]) -> Result<(), SwitchError> {
        let operations = self.removals(names)?;
        if operations.is_empty() { Ok(()) } else { self.transact(&operations).map(drop) }
    }

    /// All ports that an agent added.
    ///
    /// # Errors
    /// When the database is away.
    pub fn ports(&self) -> Result<Vec<Port>, SwitchError> {
        let mut ports = self.ports_where(&json!([]))?;
        ports.retain(|port| port.external_ids.contains_key(NETWORK));
        Ok(ports)
    }

    /// A port by its name.
    ///
    /// # Errors
    /// When the database is away.
    pub fn port(&self, name: &str) -> Result<Option<Port>, SwitchError> {
        Ok(self.ports_where(&json!([["name", "==", name]]))?.pop())
    }

    fn ports_where(&self, condition: &Value) -> Result<Vec<Port>, SwitchError> {
        let found = self.transact(&[json!({"op": "select", "table": "Interface", "where": condition,
            "columns": ["name", "external_ids", "error"]})])?;
        let rows = found.first().and_then(|result| result["rows"].as_array()).into_iter().flatten();
        let port = |row: &Value| Port {
            name: row["name"].as_str().unwrap_or_default().to_owned(),
            external_ids: strings(&row["external_ids"]),
            error: row["error"].as_str().map(str::to_owned),
        };
        Ok(rows.map(port).collect())
    }

    /// The operations that take ports away, from whatever bridge they are on.
    fn removals(&self, names: &[String]) -> Result<Vec<Value>, SwitchError> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let select = |name: &String| json!({"op": "select", "table": "Port", "where": [["name", "==", name]], "columns": ["_uuid"]});
        let found = self.transact(&names.iter().map(select).collect::<Vec<_>>())?;
        let ids = found.iter().filter_map(|result| result["rows"].get(0)?["_uuid"][1].as_str());
        let remove = |id: &str| {
            json!({"op": "mutate", "table": "Bridge", "where": [["ports", "includes", set([uuid(id)])]],
                "mutations": [["ports", "delete", set([uuid(id)])]]})
        };
        Ok(ids.map(remove).collect())
    }

    fn transact(&self, operations: &[Value]) -> Result<Vec<Value>, SwitchError> {
        let socket = || self.socket.display().to_string();
        let away = |error: std::io::Error| SwitchError::Away { socket: socket(), error };
        let result = self.exchange(operations).map_err(away)?;
        let refused = |reason: String| SwitchError::Refused { socket: socket(), reason };
        let Value::Array(results) = result else { return Err(refused(result.to_string())) };
        match results.iter().find(|result| result.get("error").is_some()) {
            Some(wrong) => Err(refused(wrong.to_string())),
            None => Ok(results),
        }
    }

    /// The result of a transaction, or the error of the whole of it as its text.
    fn exchange(&self, operations: &[Value]) -> std::io::Result<Value> {
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(&transact(1, DATABASE, operations))?;
        let mut framer = Framer::default();
        let mut buffer = [0; 16384];
        loop {
            let length = stream.read(&mut buffer)?;
            if length == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            framer.push(&buffer[..length]);
            while let Some(message) = framer.next_message().map_err(std::io::Error::other)? {
                match Incoming::parse(&message).map_err(std::io::Error::other)? {
                    Incoming::Response { error, result, .. } => {
                        return Ok(if error.is_null() { result } else { error });
                    }
                    Incoming::Request { id, params, .. } => stream.write_all(&reply(&id, &params))?,
                    Incoming::Notification { .. } => {}
                }
            }
        }
    }
}

/// The operations that add an interface and its port, which is then called `port_LABEL`.
fn insert(label: &str, name: &str, ids: &Value, tag: Option<u16>) -> [Value; 2] {
    let interface = format!("interface_{label}");
    [
        json!({"op": "insert", "table": "Interface", "uuid-name": interface, "row": {"name": name, "external_ids": ids}}),
        json!({"op": "insert", "table": "Port", "uuid-name": format!("port_{label}"), "row": {
            "name": name, "interfaces": named_uuid(&interface), "other_config": map([("transient", "true")]),
            "tag": set(tag.map(|tag| json!(tag)))}}),
    ]
}

/// The operation that gives a bridge ports.
fn extend(bridge: &Bridge, ports: impl IntoIterator<Item = Value>) -> Value {
    json!({"op": "mutate", "table": "Bridge", "where": [["_uuid", "==", uuid(&bridge.id)]], "mutations": [["ports", "insert", set(ports)]]})
}

fn strings(value: &Value) -> BTreeMap<String, String> {
    let text = |atom: &Atom| atom.text().map(str::to_owned);
    match Datum::parse(value) {
        Ok(Datum::Map(pairs)) => {
            pairs.iter().filter_map(|(key, value)| Some((text(key)?, text(value)?))).collect()
        }
        _ => BTreeMap::new(),
    }
}
