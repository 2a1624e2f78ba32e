//! The result of ADD (CNI specification, section 5, "Success"), said as each version says it.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde_json::{Map, Value, json};

use crate::version::Version;

/// An address and how many of its bits name the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Prefix {
    pub address: IpAddr,
    pub length: u8,
}

impl Prefix {
    /// Everything, of the version of an address.
    pub fn everything(like: IpAddr) -> Prefix {
        let address = match like {
            IpAddr::V4(_) => IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED),
        };
        Prefix { address, length: 0 }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Prefix, String> {
        let wrong = || format!("{text:?} is no ADDRESS/LENGTH");
        let (address, length) = text.split_once('/').ok_or_else(wrong)?;
        let (address, length): (IpAddr, u8) =
            (address.parse().map_err(|_| wrong())?, length.parse().map_err(|_| wrong())?);
        let bits = if address.is_ipv4() { 32 } else { 128 };
        if length > bits { Err(wrong()) } else { Ok(Prefix { address, length }) }
    }
}

/// An interface that was made: in the sandbox, or the end of it that stays outside.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Interface {
    pub name: String,
    pub mac: String,
    pub mtu: Option<u32>,
    /// Absent outside.
    pub sandbox: Option<String>,
}

/// An address of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ip {
    pub address: Prefix,
    pub gateway: Option<IpAddr>,
    /// Its place among the interfaces.
    pub interface: Option<usize>,
}

/// A route in the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    pub to: Prefix,
    pub gateway: Option<IpAddr>,
    pub mtu: Option<u32>,
    pub priority: Option<u32>,
}

/// Name servers; we only pass on what the configuration or an IPAM plugin says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dns {
    pub nameservers: Vec<String>,
    pub domain: String,
    pub search: Vec<String>,
    pub options: Vec<String>,
}

/// What was made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Success {
    pub interfaces: Vec<Interface>,
    pub ips: Vec<Ip>,
    pub routes: Vec<Route>,
    pub dns: Dns,
}

impl Success {
    /// The document. `ips[].version` was required until 1.0.0; `mtu` of interfaces and what routes have beside a gateway
    /// came with 1.1.0.
    pub fn json(&self, version: Version) -> Value {
        let is_new = version >= Version::V1_1_0;
        let interface = |one: &Interface| {
            let mut shown = json!({"name": one.name, "mac": one.mac, "sandbox": one.sandbox.as_deref().unwrap_or_default()});
            if let Some(mtu) = one.mtu.filter(|_| is_new) {
                shown["mtu"] = json!(mtu);
            }
            shown
        };
        let ip = |one: &Ip| {
            let mut shown = json!({"address": one.address.to_string()});
            if version < Version::V1_0_0 {
                shown["version"] = json!(if one.address.address.is_ipv4() { "4" } else { "6" });
            }
            if let Some(gateway) = one.gateway {
                shown["gateway"] = json!(gateway);
            }
            if let Some(interface) = one.interface {
                shown["interface"] = json!(interface);
            }
            shown
        };
        let route = |one: &Route| {
            let mut shown = json!({"dst": one.to.to_string()});
            if let Some(gateway) = one.gateway {
                shown["gw"] = json!(gateway);
            }
            let further = [("mtu", one.mtu), ("priority", one.priority)];
            for (name, value) in further.into_iter().filter(|_| is_new) {
                if let Some(value) = value {
                    shown[name] = json!(value);
                }
            }
            shown
        };
        json!({
            "cniVersion": version.name(),
            "interfaces": self.interfaces.iter().map(interface).collect::<Vec<_>>(),
            "ips": self.ips.iter().map(ip).collect::<Vec<_>>(),
            "routes": self.routes.iter().map(route).collect::<Vec<_>>(),
            "dns": self.dns.json(),
        })
    }

    /// Reads a result of any version: of an IPAM plugin, or what a runtime kept of ADD.
    ///
    /// # Errors
    /// A sentence that names the key.
    pub fn parse(value: &Value) -> Result<Success, String> {
        let Some(fields) = value.as_object() else { return Err(format!("{value} is no result")) };
        let interfaces = list(fields, "interfaces")?.iter().map(|one| Interface {
            name: text(one, "name"),
            mac: text(one, "mac"),
            mtu: number(one, "mtu"),
            sandbox: Some(text(one, "sandbox")).filter(|sandbox| !sandbox.is_empty()),
        });
        let ips = list(fields, "ips")?.iter().map(|one| {
            Ok(Ip {
                address: text(one, "address").parse().map_err(|error| format!("ips: address: {error}"))?,
                gateway: address(one, "gateway").map_err(|error| format!("ips: {error}"))?,
                interface: one
                    .get("interface")
                    .and_then(Value::as_u64)
                    .and_then(|place| place.try_into().ok()),
            })
        });
        let routes = list(fields, "routes")?.iter().map(|one| {
            Ok(Route {
                to: text(one, "dst").parse().map_err(|error| format!("routes: dst: {error}"))?,
                gateway: address(one, "gw").map_err(|error| format!("routes: {error}"))?,
                mtu: number(one, "mtu"),
                priority: number(one, "priority"),
            })
        });
        Ok(Success {
            interfaces: interfaces.collect(),
            ips: ips.collect::<Result<_, String>>()?,
            routes: routes.collect::<Result<_, String>>()?,
            dns: Dns::parse(fields.get("dns").unwrap_or(&Value::Null)),
        })
    }
}

impl Dns {
    pub fn parse(value: &Value) -> Dns {
        let texts = |name: &str| {
            let all = value.get(name).and_then(Value::as_array).into_iter().flatten();
            all.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Dns {
            nameservers: texts("nameservers"),
            domain: text(value, "domain"),
            search: texts("search"),
            options: texts("options"),
        }
    }

    fn json(&self) -> Value {
        let mut shown = Map::new();
        for (name, values) in
            [("nameservers", &self.nameservers), ("search", &self.search), ("options", &self.options)]
        {
            if !values.is_empty() {
                shown.insert(name.into(), json!(values));
            }
        }
        if !self.domain.is_empty() {
            shown.insert("domain".into(), json!(self.domain));
        }
        Value::Object(shown)
    }
}

fn list<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<&'a [Value], String> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(list)) => Ok(list),
        Some(other) => Err(format!("{name}: {other} is no list")),
    }
}

fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn number(value: &Value, name: &str) -> Option<u32> {
    value.get(name)?.as_u64()?.try_into().ok()
}

fn address(value: &Value, name: &str) -> Result<Option<IpAddr>, String> {
    match value.get(name).and_then(Value::as_str) {
        None | Some("") => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| format!("{name}: {text:?} is no address")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::SUPPORTED;

    fn success() -> Success {
        Success {
            interfaces: vec![
                Interface {
                    name: "vethabc".into(),
                    mac: "0a:00:00:00:00:01".into(),
                    mtu: Some(1450),
                    sandbox: None,
                },
                Interface {
                    name: "eth0".into(),
                    mac: "0a:00:00:00:00:02".into(),
                    mtu: Some(1450),
                    sandbox: Some("/run/netns/x".into()),
                },
            ],
            ips: vec![
                Ip {
                    address: "10.0.0.5/24".parse().unwrap(),
                    gateway: "10.0.0.1".parse().ok(),
                    interface: Some(1),
                },
                Ip { address: "fd00::5/64".parse().unwrap(), gateway: None, interface: Some(1) },
            ],
            routes: vec![Route {
                to: "0.0.0.0/0".parse().unwrap(),
                gateway: "10.0.0.1".parse().ok(),
                mtu: Some(1450),
                priority: None,
            }],
            dns: Dns { nameservers: vec!["10.0.0.53".into()], ..Dns::default() },
        }
    }

    #[test]
    fn each_version_says_what_it_knows() {
        for version in SUPPORTED {
            let said = success().json(version);
            assert_eq!(said["cniVersion"], version.name());
            let has_version = version < Version::V1_0_0;
            assert_eq!(
                said["ips"][0].get("version"),
                has_version.then(|| json!("4")).as_ref(),
                "{version:?}"
            );
            assert_eq!(
                said["ips"][1].get("version"),
                has_version.then(|| json!("6")).as_ref(),
                "{version:?}"
            );
            let is_new = version >= Version::V1_1_0;
            assert_eq!(said["interfaces"][1].get("mtu"), is_new.then(|| json!(1450)).as_ref(), "{version:?}");
            assert_eq!(said["routes"][0].get("mtu"), is_new.then(|| json!(1450)).as_ref(), "{version:?}");
            assert_eq!(said["interfaces"][0]["sandbox"], "");
            assert_eq!(said["dns"], json!({"nameservers": ["10.0.0.53"]}));
        }
    }

    #[test]
    fn what_was_said_is_read_back() {
        assert_eq!(Success::parse(&success().json(Version::V1_1_0)), Ok(success()));
        for (value, named) in [
            (json!([]), "no result"),
            (json!({"ips": {}}), "ips"),
            (json!({"ips": [{"address": "10.0.0.5"}]}), "10.0.0.5"),
            (json!({"ips": [{"address": "10.0.0.5/33"}]}), "10.0.0.5/33"),
            (json!({"ips": [{"address": "10.0.0.5/8", "gateway": "x"}]}), "gateway"),
            (json!({"routes": [{"dst": "0.0.0.0/0", "gw": "y"}]}), "gw"),
            (json!({"routes": [{}]}), "dst"),
        ] {
            let error = Success::parse(&value).unwrap_err();
            assert!(error.contains(named), "{error}");
        }
    }
}
