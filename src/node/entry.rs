//! A pod's entry in `pod:coe/pods`.

use std::net::IpAddr;

use serde_json::Value;

/// A pod's entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub uid: String,
    pub name: Option<String>,
    pub namespace: Option<String>,
    pub mac: Option<String>,
    pub host: Option<IpAddr>,
    /// By uid.
    pub interfaces: Vec<Interface>,
}

/// An interface of a pod's entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    pub uid: String,
    pub network: Option<String>,
    pub addresses: Vec<IpAddr>,
    /// `coeus-pod:trunk`: the parent interface and the VLAN.
    pub trunk: Option<(String, u16)>,
    /// The interface as it was read, for what it says beside ([`super::asks`]).
    pub asks: Value,
}

impl Entry {
    /// `None`: it is no entry.
    pub fn parse(value: &Value) -> Option<Entry> {
        let interface = |value: &Value| {
            let first = text(value, "ip-address");
            let further =
                list(value, "coeus-pod:secondary-ip-address").filter_map(Value::as_str).map(str::to_owned);
            Some(Interface {
                uid: text(value, "uid")?,
                network: text(value, "network-id"),
                addresses: first
                    .into_iter()
                    .chain(further)
                    .filter_map(|address| address.parse().ok())
                    .collect(),
                trunk: value.get("coeus-pod:trunk").and_then(|trunk| {
                    let vlan = trunk.get("vlan-id")?.as_u64()?;
                    Some((text(trunk, "parent-interface")?, vlan.try_into().ok()?))
                }),
                asks: value.clone(),
            })
        };
        let mut interfaces: Vec<Interface> = list(value, "interface").filter_map(interface).collect();
        interfaces.sort_by(|a, b| a.uid.cmp(&b.uid));
        Some(Entry {
            uid: text(value, "uid")?,
            name: text(value, "name"),
            namespace: text(value, "network-NS"),
            mac: text(value, "port-mac-address").and_then(|mac| coeus_cni::unicast_mac(&mac)),
            host: text(value, "host-ip-address").and_then(|address| address.parse().ok()),
            interfaces,
        })
    }

    /// The interface that is the pod's first: the one with its uid, else the lowest (decision 0019).
    pub fn first(&self) -> Option<&Interface> {
        self.interfaces.iter().find(|one| one.uid == self.uid).or(self.interfaces.first())
    }

    /// What the network calls an interface of it (decision 0019), whether or not it is in it yet.
    pub fn name_of(&self, namespace: &str, pod: &str, interface: &str) -> String {
        if interface == self.uid || self.first().is_none_or(|first| first.uid == interface) {
            format!("{namespace}:{pod}")
        } else {
            format!("{namespace}:{pod}:{}", interface.get(..8).unwrap_or(interface))
        }
    }
}

pub(super) fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

pub(super) fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn entries_are_read_and_their_interfaces_named() {
        let entry = Entry::parse(&json!({
            "uid": "b0000000-0000-4000-8000-000000000001", "host-ip-address": "192.168.0.1", "port-mac-address": "02:00:00:00:00:0A",
            "interface": [
                {"uid": "c0000000-0000-4000-8000-000000000002", "ip-address": "10.0.0.6", "coeus-pod:secondary-ip-address": ["fd00::6"]},
                {"uid": "a0000000-0000-4000-8000-000000000001"}]
        }))
        .unwrap();
        assert_eq!(entry.mac.as_deref(), Some("02:00:00:00:00:0a"));
        let first = entry.first().unwrap();
        assert_eq!((first.uid.as_str(), first.addresses.len()), ("a0000000-0000-4000-8000-000000000001", 0));
        assert_eq!(
            entry.interfaces[1].addresses,
            ["10.0.0.6".parse::<IpAddr>().unwrap(), "fd00::6".parse().unwrap()]
        );
        assert_eq!(entry.name_of("blue", "p1", &entry.interfaces[0].uid), "blue:p1");
        assert_eq!(entry.name_of("blue", "p1", &entry.interfaces[1].uid), "blue:p1:c0000000");
        assert_eq!(entry.name_of("blue", "p1", &entry.uid), "blue:p1");
    }
}
