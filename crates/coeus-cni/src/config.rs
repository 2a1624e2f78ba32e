//! The plugin's object of a network configuration: our keys, those of odlovs-cni as they stand, and what runtimes put in.

use std::net::IpAddr;

use serde_json::{Map, Value};

use crate::asks::{self, Bandwidth, PortMapping};
use crate::error::{Code, Error};
use crate::result::{Dns, Prefix, Success};

/// Where entries of pods come from (key `pods`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pods {
    /// `cluster`: somebody else writes them, such as `coeus watch --kube`; ADD waits for the pod's.
    Cluster,
    /// `own`: ADD writes the entry if there is none, and DEL takes it away.
    Own,
}

/// A delegated IPAM plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ipam {
    /// The name of its program.
    pub kind: String,
}

/// One attachment of a container, as GC lists those that are alive.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attachment {
    pub container: String,
    pub ifname: String,
}

/// An address that is asked for, with its length if that is said.
pub type AskedAddress = (IpAddr, Option<u8>);

/// What is configured.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    /// `name`.
    pub network: String,
    /// `ovsBridge`.
    pub bridge: Option<String>,
    pub pods: Option<Pods>,
    /// The namespace of pods whose runtime names none (key `namespace`).
    pub namespace: Option<String>,
    /// Instead of what the datastore says.
    pub mtu: Option<u32>,
    /// Seconds to wait for the switch (key `timeout`).
    pub timeout: Option<u64>,
    /// Absent: addresses are ours (`ipam` absent, or its `type` is `coeus`).
    pub ipam: Option<Ipam>,
    pub dns: Dns,
    /// `args.cni.ips`, else `runtimeConfig.ips`.
    pub addresses: Vec<AskedAddress>,
    /// `args.cni.mac`, else `runtimeConfig.mac`.
    pub mac: Option<String>,
    /// `runtimeConfig.portMappings`, in order.
    pub port_mappings: Vec<PortMapping>,
    pub bandwidth: Bandwidth,
    pub previous: Option<Success>,
    /// `cni.dev/valid-attachments`.
    pub valid: Vec<Attachment>,
}

/// Keys of odlovs-cni that set its manager and controller up, and a physical interface. The agent has its own ways to these; the
/// values are only looked at for their kind, so that a slip is not taken for intent.
const PORTS: [&str; 2] = ["mgrPort", "ctlrPort"];
const SWITCHES: [&str; 2] = ["mgrActive", "ctlrActive"];
const WORDS: [&str; 4] = ["manager", "controller", "externalIntf", "externalIp"];

/// Capabilities that are for other plugins.
const NOT_OURS: [&str; 2] = ["ipRanges", "deviceID"];

impl Config {
    /// # Errors
    /// Code 7 or 2, naming the key.
    pub fn parse(value: &Value) -> Result<Config, Error> {
        let Some(fields) = value.as_object() else {
            return Err(Error::new(Code::Config, "standard input is no JSON object"));
        };
        for key in PORTS {
            number(fields, key, 1, 65535)?;
        }
        for key in SWITCHES {
            if let Some(other) = fields.get(key).filter(|value| !value.is_boolean() && !value.is_null()) {
                return Err(invalid(key, other, "true or false"));
            }
        }
        for key in WORDS {
            text(fields, key)?;
        }
        is_cluster(fields)?;
        let runtime = object(fields, "runtimeConfig")?;
        if let Some((key, value)) = NOT_OURS.iter().find_map(|key| Some((key, runtime.get(*key)?)))
            && !is_empty(value)
        {
            let message = format!("runtimeConfig.{key}: {value} is not supported");
            return Err(Error::new(Code::Field, message)
                .with("declare the capability for another plugin of the list"));
        }
        let args = object(fields, "args")?;
        let told = args.get("cni").and_then(Value::as_object).cloned().unwrap_or_default();
        let addresses = match asked(&told, "args.cni.ips")? {
            told if told.is_empty() => asked(&runtime, "runtimeConfig.ips")?,
            told => told,
        };
        Ok(Config {
            network: network(fields)?,
            bridge: text(fields, "ovsBridge")?,
            pods: pods(fields)?,
            namespace: text(fields, "namespace")?,
            mtu: number(fields, "mtu", 576, 65535)?.and_then(|mtu| mtu.try_into().ok()),
            timeout: number(fields, "timeout", 1, 50)?,
            ipam: ipam(fields)?,
            dns: Dns::parse(fields.get("dns").unwrap_or(&Value::Null)),
            addresses,
            mac: match mac(&told, "args.cni.mac")? {
                None => mac(&runtime, "runtimeConfig.mac")?,
                told => told,
            },
            port_mappings: asks::port_mappings(&runtime)?,
            bandwidth: asks::bandwidth(&runtime)?,
            previous: previous(fields)?,
            valid: valid(fields)?,
        })
    }
}

fn invalid(key: &str, value: &Value, wanted: &str) -> Error {
    Error::new(Code::Config, format!("{key}: {value} is not {wanted}"))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

fn text(fields: &Map<String, Value>, key: &str) -> Result<Option<String>, Error> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
        Some(other) => Err(invalid(key, other, "a string")),
    }
}

fn number(fields: &Map<String, Value>, key: &str, least: u64, most: u64) -> Result<Option<u64>, Error> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64().filter(|number| (least..=most).contains(number)) {
            None => Err(invalid(key, value, &format!("a number from {least} to {most}"))),
            found => Ok(found),
        },
    }
}

fn object(fields: &Map<String, Value>, key: &str) -> Result<Map<String, Value>, Error> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(found)) => Ok(found.clone()),
        Some(other) => Err(invalid(key, other, "an object")),
    }
}

fn network(fields: &Map<String, Value>) -> Result<String, Error> {
    let Some(name) = text(fields, "name")? else {
        return Err(Error::new(Code::Config, "name: the network has none"));
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    if name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(fits) {
        Ok(name)
    } else {
        Err(Error::new(
            Code::Config,
            format!("name: {name:?} is not letters, digits, _, . and - behind a letter or digit"),
        ))
    }
}

/// `clusterId` tells a cluster's entries from others', and those are the watcher's.
fn is_cluster(fields: &Map<String, Value>) -> Result<(), Error> {
    match text(fields, "clusterId")?.filter(|id| uuid(id).is_none()) {
        Some(id) => Err(Error::new(Code::Config, format!("clusterId: {id:?} is no UUID"))),
        None => Ok(()),
    }
}

/// A UUID in lower case; `None` for what is none.
pub fn uuid(text: &str) -> Option<String> {
    let groups = [8, 4, 4, 4, 12];
    let parts: Vec<&str> = text.split('-').collect();
    let is_group = |(part, length): (&&str, &usize)| {
        part.len() == *length && part.bytes().all(|b| b.is_ascii_hexdigit())
    };
    (parts.len() == groups.len() && parts.iter().zip(&groups).all(is_group))
        .then(|| text.to_ascii_lowercase())
}

fn pods(fields: &Map<String, Value>) -> Result<Option<Pods>, Error> {
    match text(fields, "pods")?.as_deref() {
        None => Ok(None),
        Some("cluster") => Ok(Some(Pods::Cluster)),
        Some("own") => Ok(Some(Pods::Own)),
        Some(other) => Err(Error::new(Code::Config, format!("pods: {other:?} is not cluster or own"))),
    }
}

fn ipam(fields: &Map<String, Value>) -> Result<Option<Ipam>, Error> {
    let found = object(fields, "ipam")?;
    let kind = match found.get("type") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(kind)) => kind.clone(),
        Some(other) => return Err(invalid("ipam.type", other, "a string")),
    };
    if kind.contains('/') || kind.starts_with('.') {
        return Err(Error::new(Code::Config, format!("ipam.type: {kind:?} is not the name of a program")));
    }
    Ok((!kind.is_empty() && kind != "coeus").then_some(Ipam { kind }))
}

fn previous(fields: &Map<String, Value>) -> Result<Option<Success>, Error> {
    match fields.get("prevResult") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match Success::parse(value) {
            Ok(found) => Ok(Some(found)),
            Err(error) => Err(Error::new(Code::Config, format!("prevResult: {error}"))),
        },
    }
}

fn valid(fields: &Map<String, Value>) -> Result<Vec<Attachment>, Error> {
    const KEY: &str = "cni.dev/valid-attachments";
    let list = match fields.get(KEY) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(other) => return Err(invalid(KEY, other, "a list")),
    };
    let one = |value: &Value| {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        match (text("containerID"), text("ifname")) {
            (Some(container), Some(ifname)) => Ok(Attachment { container, ifname }),
            _ => Err(invalid(KEY, value, "an object with containerID and ifname")),
        }
    };
    list.iter().map(one).collect()
}

/// The addresses of a list of strings, which `key` names to its last word.
fn asked(fields: &Map<String, Value>, key: &str) -> Result<Vec<AskedAddress>, Error> {
    let list = match fields.get("ips") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(other) => return Err(invalid(key, other, "a list")),
    };
    let one = |value: &Value| {
        value
            .as_str()
            .and_then(address)
            .ok_or_else(|| invalid(key, value, "an address, alone or with its length"))
    };
    list.iter().map(one).collect()
}

/// An address, alone or with its length.
pub fn address(text: &str) -> Option<AskedAddress> {
    match text.parse::<Prefix>() {
        Ok(prefix) => Some((prefix.address, Some(prefix.length))),
        Err(_) => text.parse().ok().map(|address| (address, None)),
    }
}

fn mac(fields: &Map<String, Value>, key: &str) -> Result<Option<String>, Error> {
    match fields.get("mac") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_str() {
            Some("") => Ok(None),
            Some(text) => {
                unicast_mac(text).map(Some).ok_or_else(|| invalid(key, value, "a unicast MAC address"))
            }
            None => Err(invalid(key, value, "a MAC address")),
        },
    }
}

/// A MAC address that one host can have, in lower case with colons.
pub fn unicast_mac(text: &str) -> Option<String> {
    let text = text.replace('-', ":").to_ascii_lowercase();
    let octets: Vec<u8> = text
        .split(':')
        .map(|part| u8::from_str_radix(part, 16).ok().filter(|_| part.len() == 2))
        .collect::<Option<_>>()?;
    let fits = octets.len() == 6 && octets[0] & 1 == 0 && octets.iter().any(|octet| *octet != 0);
    fits.then_some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_configuration_of_odlovs_cni_is_taken_as_it_stands() {
        let config = Config::parse(&json!({
            "cniVersion": "0.3.0", "name": "odl-cni", "type": "odlovs-cni", "mgrPort": 6640, "mgrActive": true,
            "manager": "192.168.33.11", "ovsBridge": "br-int", "ctlrPort": 6653, "ctlrActive": true, "controller": "192.168.33.11",
            "externalIntf": "enp0s9", "externalIp": "192.168.50.11", "clusterId": "00000000-0000-0000-0000-00000000000A",
            "ipam": {"type": "host-local", "subnet": "10.11.1.0/24", "routes": [{"dst": "0.0.0.0/0"}], "gateway": "10.11.1.1"}
        }))
        .unwrap();
        assert_eq!((config.network.as_str(), config.bridge.as_deref()), ("odl-cni", Some("br-int")));
        assert_eq!(config.ipam, Some(Ipam { kind: "host-local".into() }));
        assert_eq!(config.pods, None);
    }

    #[test]
    fn addresses_come_from_where_they_win() {
        let config = |value: Value| {
            let mut all = json!({"name": "n"});
            all.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
            Config::parse(&all).unwrap()
        };
        let both = config(json!({
            "args": {"cni": {"ips": ["10.0.0.5"], "mac": "02-00-00-00-00-0A", "labels": []}},
            "runtimeConfig": {"ips": ["10.0.0.9/24"], "mac": "02:00:00:00:00:0b", "portMappings": []}
        }));
        assert_eq!(both.addresses, [("10.0.0.5".parse().unwrap(), None)]);
        assert_eq!(both.mac.as_deref(), Some("02:00:00:00:00:0a"));
        let runtime =
            config(json!({"runtimeConfig": {"ips": ["10.0.0.9/24", "fd00::9"], "mac": "02:00:00:00:00:0b"}}));
        assert_eq!(
            runtime.addresses,
            [("10.0.0.9".parse().unwrap(), Some(24)), ("fd00::9".parse().unwrap(), None)]
        );
        assert_eq!(runtime.mac.as_deref(), Some("02:00:00:00:00:0b"));
        assert_eq!(config(json!({"ipam": {"type": "coeus"}})).ipam, None);
        assert_eq!(config(json!({"ipam": {}})).ipam, None);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (more, code, named) in [
            (json!({"name": ""}), Code::Config, "name"),
            (json!({"name": "-x"}), Code::Config, "name"),
            (json!({"name": 5}), Code::Config, "name"),
            (json!({"mgrPort": 0}), Code::Config, "mgrPort"),
            (json!({"ctlrPort": "6653"}), Code::Config, "ctlrPort"),
            (json!({"ctlrActive": "yes"}), Code::Config, "ctlrActive"),
            (json!({"externalIntf": []}), Code::Config, "externalIntf"),
            (json!({"clusterId": "prod"}), Code::Config, "clusterId"),
            (json!({"pods": "mine"}), Code::Config, "pods"),
            (json!({"mtu": 100}), Code::Config, "mtu"),
            (json!({"timeout": 0}), Code::Config, "timeout"),
            (json!({"ipam": "host-local"}), Code::Config, "ipam"),
            (json!({"ipam": {"type": "../sh"}}), Code::Config, "ipam.type"),
            (json!({"runtimeConfig": {"ips": ["x"]}}), Code::Config, "runtimeConfig.ips"),
            (json!({"args": {"cni": {"ips": [1]}}}), Code::Config, "args.cni.ips"),
            (json!({"runtimeConfig": {"mac": "01:00:00:00:00:01"}}), Code::Config, "runtimeConfig.mac"),
            (
                json!({"runtimeConfig": {"portMappings": [{"hostPort": 1}]}}),
                Code::Config,
                "runtimeConfig.portMappings",
            ),
            (
                json!({"runtimeConfig": {"bandwidth": {"ingressRate": true}}}),
                Code::Config,
                "runtimeConfig.bandwidth.ingressRate",
            ),
            (json!({"runtimeConfig": {"deviceID": "0000:01"}}), Code::Field, "runtimeConfig.deviceID"),
            (json!({"prevResult": {"ips": 1}}), Code::Config, "prevResult"),
            (json!({"cni.dev/valid-attachments": [{}]}), Code::Config, "cni.dev/valid-attachments"),
        ] {
            let mut config = json!({"name": "n"});
            config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let error = Config::parse(&config).unwrap_err();
            assert_eq!(error.code, code, "{more}");
            assert!(error.message.starts_with(named), "{more}: {error}");
        }
        assert_eq!(Config::parse(&json!([])).unwrap_err().code, Code::Config);
    }
}
