//! Entries that others write in, too: a pod's addresses come from its node's agent while its status has none, and so does its MAC address.
//!
//! Such an entry is never replaced: what is not ours to say stays as it is, though it came after the datastore was asked.

use std::net::IpAddr;

use serde_json::{Map, Value, json};

use crate::Place;
use crate::entry::key_text;
use crate::reconcile::normal;
use crate::value::{items, member, plain};

/// An edit of a pod's entry.
#[derive(Clone, PartialEq, Debug)]
pub struct Amend {
    pub place: Place,
    /// What it says, to be merged into the entry.
    pub said: Value,
    /// What it does not say any more: paths below the entry.
    pub gone: Vec<String>,
    /// The entry as it will be, as far as it is known.
    pub then: Value,
}

/// Leafs of a pod that the cluster says, and its lists with their keys.
const LEAFS: [&str; 5] = ["uid", "cluster-id", "name", "network-NS", "host-ip-address"];
const LISTS: [(&str, &[&str]); 2] =
    [("coeus-policy:label", &["key"]), ("coeus-policy:named-port", &["name", "protocol"])];
/// What the cluster says of a pod's interface, whole: a list with its keys, and a container of leafs.
const HOST_PORTS: (&str, &[&str]) = ("coeus-pod:host-port", &["protocol", "port", "address"]);
const BANDWIDTH: &str = "coeus-pod:bandwidth";
const ADDRESSES: [&str; 2] = ["ip-address", "coeus-pod:secondary-ip-address"];

/// What makes a pod's entry say what it should beside what others say; `None`: it does.
pub fn amend(place: &Place, wanted: &Value, held: Option<&Value>) -> Option<Amend> {
    let Some(held) = held else {
        return Some(Amend {
            place: place.clone(),
            said: wanted.clone(),
            gone: Vec::new(),
            then: wanted.clone(),
        });
    };
    let mut gone = Vec::new();
    let leafs = LEAFS.iter().filter(|leaf| member(wanted, leaf).is_none() && member(held, leaf).is_some());
    gone.extend(leafs.map(|leaf| (*leaf).to_owned()));
    for (list, keys) in LISTS {
        gone.extend(lost(wanted, held, (list, keys)));
    }
    let (port, at) = (interface(place, wanted), interface(place, held));
    if let (Some(port), Some(at)) = (port, at) {
        let rates = member(at, BANDWIDTH).and_then(Value::as_object).into_iter().flatten();
        let own = member(port, BANDWIDTH);
        let rates = rates.filter(|(leaf, _)| own.is_none_or(|own| member(own, leaf).is_none()));
        let rates = rates.map(|(leaf, _)| format!("{BANDWIDTH}/{}", plain(leaf)));
        let below = lost(port, at, HOST_PORTS).into_iter().chain(rates);
        gone.extend(below.map(|below| format!("interface={}/{below}", place.key)));
    }
    let says_addresses = port.is_some_and(|port| member(port, ADDRESSES[0]).is_some());
    if let (Some(port), Some(at)) = (port, at)
        && says_addresses
    {
        let kept = items(port, ADDRESSES[1]);
        let lost = items(at, ADDRESSES[1]).iter().filter(|address| !kept.contains(address));
        let lost = lost.filter_map(Value::as_str).map(key_text);
        gone.extend(lost.map(|address| format!("interface={}/{}={address}", place.key, ADDRESSES[1])));
    }
    let differs =
        |of: &Value, at: &Value, name: &str| member(of, name).map(normal) != member(at, name).map(normal);
    let said_of_port = port.zip(at).map(|(port, at)| {
        let keeps = |name: &&String| !ADDRESSES.iter().any(|leaf| plain(leaf) == plain(name));
        let fields = port.as_object().into_iter().flatten();
        let is_new = ADDRESSES.iter().any(|leaf| differs(port, at, leaf));
        fields
            .filter(|(name, _)| keeps(name) || is_new)
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    });
    let mut said = wanted.clone();
    if let (Some(fields), Some(port)) = (said_of_port, said.get_mut("interface")) {
        *port = json!([Map::from_iter::<Vec<_>>(fields)]);
    }
    let is_as_wanted =
        !LEAFS.iter().chain(LISTS.iter().map(|(list, _)| list)).any(|name| differs(wanted, held, name))
            && port.zip(at).is_some_and(|(port, at)| {
                !port.as_object().into_iter().flatten().any(|(name, _)| differs(port, at, name))
            });
    (!is_as_wanted || !gone.is_empty()).then(|| Amend {
        place: place.clone(),
        said,
        gone,
        then: kept(place, wanted, Some(held)),
    })
}

/// Entries of a list that are held and not wanted any more, as steps of a path.
fn lost(wanted: &Value, held: &Value, (list, keys): (&str, &[&str])) -> Vec<String> {
    let key = |entry: &Value| {
        let texts = keys.iter().map(|leaf| match &entry[leaf] {
            Value::String(text) => key_text(text),
            Value::Null => String::new(),
            other => key_text(&other.to_string()),
        });
        texts.collect::<Vec<_>>().join(",")
    };
    let kept: Vec<_> = items(wanted, list).iter().map(key).collect();
    let lost = items(held, list).iter().map(key).filter(|key| !kept.contains(key));
    lost.map(|key| format!("{list}={key}")).collect()
}

/// The entry that is wanted, with what is held where the cluster says nothing: its addresses if none are wanted, and all that is not the cluster's to say.
pub fn kept(place: &Place, wanted: &Value, held: Option<&Value>) -> Value {
    let Some(held) = held else { return wanted.clone() };
    let mut kept = wanted.clone();
    let ours = |name: &str| {
        LEAFS.iter().chain(LISTS.iter().map(|(list, _)| list)).any(|own| plain(own) == plain(name))
    };
    if let Some(fields) = kept.as_object_mut() {
        for (name, value) in held.as_object().into_iter().flatten().filter(|(name, _)| !ours(name)) {
            fields.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    let port = kept.get_mut("interface").and_then(|ports| ports.get_mut(0)).and_then(Value::as_object_mut);
    if let (Some(at), Some(port)) = (interface(place, held), port)
        && !port.contains_key(ADDRESSES[0])
    {
        for leaf in ADDRESSES {
            if let Some(value) = member(at, leaf) {
                port.insert(leaf.to_owned(), value.clone());
            }
        }
    }
    kept
}

/// A pod's entry with addresses that it is given here, and the MAC address that goes with them.
pub fn give(entry: &mut Value, addresses: &[IpAddr], mac: &str) {
    let texts: Vec<_> = addresses.iter().map(ToString::to_string).collect();
    let port = entry.get_mut("interface").and_then(|ports| ports.get_mut(0)).and_then(Value::as_object_mut);
    if let (Some(port), [first, others @ ..]) = (port, &texts[..]) {
        port.insert(ADDRESSES[0].into(), json!(first));
        if !others.is_empty() {
            port.insert(ADDRESSES[1].into(), json!(others));
        }
        entry["port-mac-address"] = json!(mac);
    }
}

/// The addresses of a pod's entry, the first one first.
pub fn addresses(place: &Place, entry: &Value) -> Vec<IpAddr> {
    let Some(port) = interface(place, entry) else { return Vec::new() };
    let first = member(port, ADDRESSES[0]).into_iter();
    first.chain(items(port, ADDRESSES[1])).filter_map(|one| one.as_str()?.parse().ok()).collect()
}

/// The addresses of all interfaces of a pod's entry.
pub fn all_addresses(entry: &Value) -> Vec<IpAddr> {
    let ports = items(entry, "interface").iter();
    let texts =
        ports.flat_map(|port| member(port, ADDRESSES[0]).into_iter().chain(items(port, ADDRESSES[1])));
    texts.filter_map(|text| text.as_str()?.parse().ok()).collect()
}

/// The interface that the cluster speaks of: it has the pod's own uid.
fn interface<'a>(place: &Place, entry: &'a Value) -> Option<&'a Value> {
    items(entry, "interface")
        .iter()
        .find(|port| member(port, "uid").and_then(Value::as_str) == Some(&place.key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::List;

    fn place() -> Place {
        Place::new(List::Pods, "a")
    }

    fn entry(addresses: &[&str], labels: &[&str]) -> Value {
        let mut port = json!({"uid": "a", "network-type": "VXLAN"});
        if let [first, others @ ..] = addresses {
            port["ip-address"] = json!(first);
            if !others.is_empty() {
                port["coeus-pod:secondary-ip-address"] = json!(others);
            }
        }
        let mut entry = json!({"uid": "a", "name": "p", "interface": [port]});
        if !labels.is_empty() {
            entry["coeus-policy:label"] =
                labels.iter().map(|label| json!({"key": label, "value": ""})).collect();
        }
        entry
    }

    /// What is held, addresses and labels; what is wanted; what is said of addresses, and what goes. `None`: nothing is written.
    #[test]
    fn addresses_that_others_wrote_stay_until_the_cluster_has_its_own() {
        type Texts<'a> = &'a [&'a str];
        type Case<'a> = (Texts<'a>, Texts<'a>, Texts<'a>, Texts<'a>, Option<(Texts<'a>, Texts<'a>)>);
        let second = "interface=a/coeus-pod:secondary-ip-address=fd00%3A%3A1";
        let cases: [Case; 8] = [
            (&["10.0.0.1"], &[], &[], &[], None),
            (&["10.0.0.1", "fd00::1"], &["x"], &[], &["x"], None),
            (&["10.0.0.1"], &["x", "y"], &[], &["y"], Some((&[], &["coeus-policy:label=x"]))),
            (&["10.0.0.1"], &[], &[], &["x"], Some((&[], &[]))),
            (&["10.0.0.1"], &[], &["10.0.0.1"], &["x"], Some((&[], &[]))),
            (&["10.0.0.1"], &[], &["10.0.0.2"], &[], Some((&["10.0.0.2"], &[]))),
            (&["10.0.0.1", "fd00::1"], &[], &["10.0.0.1"], &[], Some((&["10.0.0.1"], &[second]))),
            (&[], &[], &["10.0.0.1", "fd00::1"], &[], Some((&["10.0.0.1", "fd00::1"], &[]))),
        ];
        for (held, held_labels, wanted, labels, said) in cases {
            let what = format!("held {held:?} {held_labels:?}, wanted {wanted:?} {labels:?}");
            let amend = amend(&place(), &entry(wanted, labels), Some(&entry(held, held_labels)));
            let told: Option<(Vec<String>, Vec<String>)> = amend.as_ref().map(|amend| {
                let addresses = addresses(&place(), &amend.said);
                (addresses.iter().map(ToString::to_string).collect(), amend.gone.clone())
            });
            let said = said.map(|(addresses, gone)| {
                let texts = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
                (texts(addresses), texts(gone))
            });
            assert_eq!(told, said, "{what}");
            if let Some(amend) = amend {
                let then = entry(if wanted.is_empty() { held } else { wanted }, labels);
                assert_eq!(amend.then, then, "{what}");
            }
        }
    }

    #[test]
    fn what_is_not_ours_is_left_alone() {
        let mut held = entry(&["10.0.0.1"], &[]);
        held["port-mac-address"] = json!("02:00:00:00:00:01");
        held["interface"][0]["network-id"] = json!("n");
        held["interface"].as_array_mut().unwrap().push(json!({"uid": "b", "ip-address": "10.9.0.1"}));
        assert_eq!(amend(&place(), &entry(&["10.0.0.1"], &[]), Some(&held)), None);
        let then = amend(&place(), &entry(&["10.0.0.2"], &[]), Some(&held)).map(|amend| amend.then);
        assert_eq!(then.map(|then| then["port-mac-address"].clone()), Some(json!("02:00:00:00:00:01")));
    }

    #[test]
    fn what_an_interface_asks_for_is_the_clusters_to_say() {
        let with = |ports: &[u16], rates: Value| {
            let mut entry = entry(&["10.0.0.1"], &[]);
            let port = |port: &u16| json!({"protocol": "TCP", "port": port, "address": "any", "container-port": 8080});
            entry["interface"][0]["coeus-pod:host-port"] = ports.iter().map(port).collect();
            entry["interface"][0]["coeus-pod:bandwidth"] = rates;
            entry
        };
        let held =
            with(&[80, 81], json!({"ingress-rate": "1000", "ingress-burst": "5", "egress-rate": "7000"}));
        assert_eq!(amend(&place(), &held, Some(&held)), None);
        let found = amend(&place(), &with(&[80], json!({"ingress-rate": "2000"})), Some(&held)).unwrap();
        let gone = ["host-port=TCP,81,any", "bandwidth/egress-rate", "bandwidth/ingress-burst"];
        let mut told = found.gone.clone();
        told[1..].sort();
        assert_eq!(told, gone.map(|below| format!("interface=a/coeus-pod:{below}")));
        let said = &found.said["interface"][0];
        assert_eq!(said["coeus-pod:bandwidth"], json!({"ingress-rate": "2000"}));
        assert_eq!(said.get("ip-address"), None, "nothing of addresses is said");
        let none = amend(&place(), &entry(&["10.0.0.1"], &[]), Some(&held)).unwrap();
        assert_eq!(none.gone.len(), 5, "{:?}", none.gone);
    }

    #[test]
    fn what_is_given_is_said_with_the_rest() {
        let (bare, mut given) = (entry(&[], &["x"]), entry(&[], &["x"]));
        give(&mut given, &["10.0.0.1".parse().unwrap(), "fd00::1".parse().unwrap()], "0a:00:00:00:00:01");
        assert_eq!(addresses(&place(), &given).len(), 2);
        let amend = amend(&place(), &given, Some(&bare)).unwrap();
        assert_eq!((&amend.said, &amend.then), (&given, &given));
        assert_eq!(kept(&place(), &bare, Some(&given)), given, "and stays");
    }

    #[test]
    fn a_leaf_that_is_not_said_any_more_goes() {
        let mut held = entry(&[], &[]);
        held["host-ip-address"] = json!("192.168.0.1");
        assert_eq!(
            amend(&place(), &entry(&[], &[]), Some(&held)).map(|amend| amend.gone),
            Some(vec!["host-ip-address".into()])
        );
    }

    #[test]
    fn who_is_not_there_is_said_whole() {
        let amend = amend(&place(), &entry(&["10.0.0.1"], &["x"]), None);
        assert_eq!(amend.map(|amend| amend.said), Some(entry(&["10.0.0.1"], &["x"])));
    }
}
