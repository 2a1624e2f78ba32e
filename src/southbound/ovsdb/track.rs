//! What of a switch is shown, kept so that a change costs what it touches and not what there is.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::facts::{Bridge, Facts, Names, Port};
use crate::datastore::{Edit, Snapshot, Store};
use crate::ovsdb::{Cache, Changes};
use crate::schema::Node;

/// Everything that is shown of one switch.
#[derive(Debug, Default)]
pub struct Shown {
    nodes: Facts,
    bridge: Option<Bridge>,
    /// By the id of the port's row.
    ports: HashMap<String, Port>,
    /// Rows of interfaces to rows of ports.
    port_of: HashMap<String, String>,
}

impl Shown {
    /// Compares all that the database says with what the store holds: the edits between them are empty when another
    /// session, or another run of this program, has shown it already.
    pub fn first(
        names: &Names,
        cache: &Cache,
        bridge: &str,
        peer: &str,
        snapshot: &Snapshot,
    ) -> Option<(Shown, Vec<Edit>)> {
        let (root, _) = cache.rows("Open_vSwitch").next()?;
        let shown = Shown::whole(names, cache, bridge, peer);
        let edits = names.edits(&names.stored(snapshot, root, bridge), &shown.facts());
        Some((shown, edits))
    }

    /// Everything, from scratch.
    pub fn whole(names: &Names, cache: &Cache, bridge: &str, peer: &str) -> Shown {
        let (nodes, bridge) = names.nodes(cache, bridge, peer);
        let mut shown = Shown { nodes, bridge, ..Shown::default() };
        if let Some(bridge) = &shown.bridge
            && let Some(row) = cache.row("Bridge", &bridge.row)
        {
            for id in row.references("ports") {
                if let Some(port) = names.port(cache, bridge, id) {
                    shown.port_of.insert(port.interface.clone(), id.to_owned());
                    shown.ports.insert(id.to_owned(), port);
                }
            }
        }
        shown
    }

    pub fn facts(&self) -> Facts {
        let ports = self.ports.values().map(|port| (port.path.clone(), port.fields.clone()));
        self.nodes.clone().into_iter().chain(ports).collect()
    }

    /// Follows a change of the database.
    pub fn follow(
        &mut self,
        names: &Names,
        cache: &Cache,
        changes: &Changes,
        bridge: &str,
        peer: &str,
    ) -> Vec<Edit> {
        let (nodes, now) = names.nodes(cache, bridge, peer);
        if now != self.bridge || nodes.len() != self.nodes.len() {
            let new = Shown::whole(names, cache, bridge, peer);
            let edits = names.edits(&self.facts(), &new.facts());
            *self = new;
            return edits;
        }
        let mut edits = names.edits(&self.nodes, &nodes);
        self.nodes = nodes;
        let Some(bridge) = &self.bridge else { return edits };
        let of_interfaces = changes.rows("Interface").filter_map(|id| self.port_of.get(id));
        let touched: BTreeSet<String> = changes
            .rows("Port")
            .chain(changes.references.iter().map(String::as_str))
            .chain(of_interfaces.map(String::as_str))
            .map(str::to_owned)
            .collect();
        // A port may come under the name of one that goes: what goes is written only where nothing comes.
        let (mut gone, mut come) = (BTreeSet::new(), BTreeMap::new());
        for id in touched {
            let new = names.port(cache, bridge, &id);
            let old = self.ports.remove(&id);
            if let Some(old) = &old {
                // The interface may have passed to another port already.
                if self.port_of.get(&old.interface) == Some(&id) {
                    self.port_of.remove(&old.interface);
                }
                gone.insert(old.path.clone());
            }
            if let Some(new) = new {
                let same =
                    old.is_some_and(|old| (old.path, old.fields) == (new.path.clone(), new.fields.clone()));
                come.insert(new.path.clone(), (!same).then(|| new.fields.clone()));
                self.port_of.insert(new.interface.clone(), id.clone());
                self.ports.insert(id, new);
            }
        }
        edits.extend(
            gone.into_iter()
                .filter(|path| !come.contains_key(path))
                .map(|path| Edit::remove(Store::Operational, path)),
        );
        let put = |(path, fields)| Edit::put(Store::Operational, path, Node::Container(fields));
        edits.extend(come.into_iter().filter_map(|(path, fields)| Some((path, fields?))).map(put));
        edits
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use proptest::prelude::*;
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::datastore::{Core, NullEngine, Transaction};
    use crate::ovsdb::{map, set, uuid};
    use crate::schema::{Value, builtin};
    use crate::southbound::ovsdb::TABLES;

    const PEER: &str = "192.0.2.9:1";

    fn base() -> Cache {
        let mut cache = Cache::new(TABLES);
        let update = json!({
            "Open_vSwitch": {"root": {"insert": {"other_config": map([("local_ip", "192.0.2.1")]), "ovs_version": "3.1.0"}}},
            "Bridge": {"00000000-0000-4000-8000-000000000001": {"insert": {
                "name": "br-int", "datapath_id": "000000000000000a", "fail_mode": "secure",
            }}},
        });
        cache.update2(&update).unwrap();
        cache
    }

    fn interface(number: u8) -> String {
        format!("00000000-0000-4000-8000-0000000001{number:02x}")
    }

    fn add(number: u8, ofport: i64) -> Json {
        json!({
            "Bridge": {"00000000-0000-4000-8000-000000000001": {"modify": {"ports": set([uuid(&format!("p{number}"))])}}},
            "Port": {format!("p{number}"): {"insert": {"name": format!("veth{number}"), "interfaces": uuid(&interface(number))}}},
            "Interface": {interface(number): {"insert": {
                "name": format!("veth{number}"), "ofport": ofport, "external_ids": map([("iface-id", "blue:p1")]),
            }}},
        })
    }

    fn core() -> Core {
        Core::new(Snapshot::empty(builtin()), &[], Box::new(NullEngine), SystemTime::now())
    }

    #[test]
    fn a_port_without_a_number_has_no_ofport() {
        let names = Names::new(builtin());
        let ofport = builtin()
            .resolve("/network-topology:network-topology/topology/node/termination-point/ovsdb:ofport");
        for (number, expected) in [(-1, None), (0, None), (7, Some(&Value::Uint(7)))] {
            let mut cache = base();
            cache.update2(&add(1, number)).unwrap();
            let shown = Shown::whole(&names, &cache, "br-int", PEER);
            assert_eq!(shown.ports["p1"].fields.leaf(ofport), expected);
        }
    }

    #[test]
    fn what_is_stored_already_makes_no_edit() {
        let (names, mut cache, mut core) = (Names::new(builtin()), base(), core());
        cache.update2(&add(1, 7)).unwrap();
        let first = |core: &Core, cache: &Cache| {
            Shown::first(&names, cache, "br-int", PEER, core.snapshot()).map(|(_, edits)| edits).unwrap()
        };
        let edits = first(&core, &cache);
        assert_eq!(edits.len(), 3);
        core.apply(&Transaction::new("ovsdb", edits), SystemTime::now()).unwrap();
        assert!(first(&core, &cache).is_empty());
        assert_eq!(first(&core, &base()).len(), 1, "the port went while nobody looked");
    }

    proptest! {
        /// Following every change ends where looking at everything ends, and the store holds just that.
        #[test]
        fn following_changes_equals_starting_afresh(steps in prop::collection::vec((0_u8..6, 0_u8..4, -1_i64..4), 0..24)) {
            let (names, mut cache, mut core) = (Names::new(builtin()), base(), core());
            let (mut shown, edits) = Shown::first(&names, &cache, "br-int", PEER, core.snapshot()).unwrap();
            core.apply(&Transaction::new("ovsdb", edits), SystemTime::now()).unwrap();
            for (what, number, ofport) in steps {
                let (bridge, port) = ("00000000-0000-4000-8000-000000000001", format!("p{number}"));
                let name = cache.row("Port", &port).and_then(|row| row.text("name")).map(str::to_owned);
                let there = name.is_some();
                let free = cache.named("Port", &format!("veth{number}")).is_none();
                let other = (number + 1) % 4;
                let update = match what {
                    0 if !there && free => add(number, ofport),
                    1 if there => json!({
                        "Bridge": {bridge: {"modify": {"ports": set([uuid(&port)])}}},
                        "Port": {&port: {"delete": null}}, "Interface": {interface(number): {"delete": null}},
                    }),
                    2 if there => json!({"Interface": {interface(number): {"modify": {"ofport": ofport}}}}),
                    3 if there => json!({"Interface": {interface(number): {"modify": {"external_ids": map([("iface-id", "red:p2")])}}}}),
                    // Another row under the same name, in one update.
                    4 if there && cache.row("Port", &format!("p{other}")).is_none() => json!({
                        "Bridge": {bridge: {"modify": {"ports": set([uuid(&port), uuid(&format!("p{other}"))])}}},
                        "Port": {&port: {"delete": null}, format!("p{other}"): {"insert": {"name": name, "interfaces": uuid(&interface(other))}}},
                        "Interface": {interface(number): {"delete": null}, interface(other): {"insert": {"name": name, "ofport": ofport}}},
                    }),
                    5 => json!({"Bridge": {bridge: {"modify": {"datapath_id": if ofport < 0 { set([]) } else { json!(format!("{ofport:016x}")) }}}}}),
                    _ => continue,
                };
                let changes = cache.update2(&update).unwrap();
                let edits = shown.follow(&names, &cache, &changes, "br-int", PEER);
                core.apply(&Transaction::new("ovsdb", edits), SystemTime::now()).unwrap();
                let afresh = Shown::whole(&names, &cache, "br-int", PEER).facts();
                prop_assert_eq!(shown.facts(), afresh.clone());
                prop_assert_eq!(names.stored(core.snapshot(), "root", "br-int"), afresh);
            }
        }
    }
}
