//! Where advertisements are due: every ELAN of a VPN with IPv6, on every switch that has a port of it. And what they say.

use std::collections::{BTreeMap, BTreeSet};

use super::said::Said;
use crate::datastore::{Snapshot, Store};
use crate::model::{Lookup, Network, PodMtu, Reader, Row};
use crate::net::{Dpid, ElanTag, LportTag, VpnId};
use crate::schema::{DataPath, Fields, Key, Node, Schema, SchemaId, Text, Value};

/// One packet: to all ports of an ELAN on one switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    pub dpid: Dpid,
    pub elan: ElanTag,
    pub vpn: VpnId,
    pub said: Said,
}

/// The schema nodes that are read.
pub struct Names {
    places: SchemaId,
    place: SchemaId,
    switch: SchemaId,
    elans: SchemaId,
    elan: SchemaId,
    elan_tag: SchemaId,
    vpns: SchemaId,
    vpn: SchemaId,
    ipv6_family: SchemaId,
    ids: SchemaId,
    id_of: SchemaId,
    id: SchemaId,
    lookup: Lookup,
    reader: Reader,
    pod_mtu: PodMtu,
}

impl Names {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &Schema) -> Names {
        let id = |path: &str| schema.resolve(path);
        Names {
            places: id("/elan:elan-dpn-interfaces"),
            place: id("/elan:elan-dpn-interfaces/elan-dpn-interfaces-list"),
            switch: id("/elan:elan-dpn-interfaces/elan-dpn-interfaces-list/dpn-interfaces"),
            elans: id("/elan:elan-instances"),
            elan: id("/elan:elan-instances/elan-instance"),
            elan_tag: id("/elan:elan-instances/elan-instance/elan-tag"),
            vpns: id("/l3vpn:vpn-instances"),
            vpn: id("/l3vpn:vpn-instances/vpn-instance"),
            ipv6_family: id("/l3vpn:vpn-instances/vpn-instance/ipv6-family"),
            ids: id("/odl-l3vpn:vpn-instance-to-vpn-id"),
            id_of: id("/odl-l3vpn:vpn-instance-to-vpn-id/vpn-instance"),
            id: id("/odl-l3vpn:vpn-instance-to-vpn-id/vpn-instance/vpn-id"),
            lookup: Lookup::new(schema),
            reader: Reader::new(schema),
            pod_mtu: PodMtu::new(schema),
        }
    }

    /// All links that have a router.
    pub fn links(&self, snapshot: &Snapshot) -> Vec<Link> {
        let places = snapshot.read(Store::Operational, &DataPath::root().child(self.places));
        let Some(places) = places.as_ref().and_then(Node::fields).and_then(|all| all.list(self.place)) else {
            return Vec::new();
        };
        let networks = Networks::of(&self.reader, snapshot);
        let pod_mtu = self.pod_mtu.of(snapshot);
        let mut links = Vec::new();
        for (key, place) in places {
            let [Value::Text(name)] = key.values() else { continue };
            let Some((elan, vpn)) = self.ids(snapshot, name) else { continue };
            let said = networks.said(name, pod_mtu);
            let switches = place.list(self.switch).into_iter().flatten();
            links.extend(switches.filter_map(|(key, _)| match key.values() {
                [Value::Uint(dpid)] => Some(Link { dpid: Dpid(*dpid), elan, vpn, said: said.clone() }),
                _ => None,
            }));
        }
        links
    }

    /// What the router says to the port with this tag.
    pub fn said_to(&self, snapshot: &Snapshot, tag: LportTag) -> Said {
        let interface = self.lookup.interface(snapshot, tag);
        let found = interface.and_then(|name| self.lookup.found(&self.reader, snapshot, &name));
        let names = found.map(|found| found.networks).unwrap_or_default();
        let networks: Vec<Network> =
            names.iter().filter_map(|name| self.reader.network(snapshot, name)).collect();
        Said::of(&networks, self.pod_mtu.of(snapshot))
    }

    /// Tag and VPN id of an ELAN; `None` where its VPN has no IPv6.
    fn ids(&self, snapshot: &Snapshot, elan: &str) -> Option<(ElanTag, VpnId)> {
        let (_, vpn) = elan.rsplit_once(':')?;
        let entry =
            |container, list, key: &str| snapshot.entry(Store::Config, container, list, Key::text(key));
        entry(self.vpns, self.vpn, vpn)?.container(self.ipv6_family)?;
        let number = |fields: &Fields, leaf: SchemaId| match fields.leaf(leaf) {
            Some(Value::Uint(number)) => u32::try_from(*number).ok(),
            _ => None,
        };
        let tag = number(&entry(self.elans, self.elan, elan)?, self.elan_tag)?;
        let id = number(&entry(self.ids, self.id_of, vpn)?, self.id)?;
        Some((ElanTag(tag), VpnId(id)))
    }
}

/// Networks with IPv6, and in which namespaces interfaces name them as their own.
#[derive(Default)]
struct Networks {
    networks: BTreeMap<Text, Network>,
    named: BTreeMap<Text, BTreeSet<Text>>,
}

impl Networks {
    fn of(reader: &Reader, snapshot: &Snapshot) -> Networks {
        let networks = reader.networks(snapshot).into_iter().filter(Network::serves_v6);
        let networks: BTreeMap<Text, Network> =
            networks.map(|network| (network.id.clone(), network)).collect();
        if networks.is_empty() {
            return Networks::default();
        }
        let mut named: BTreeMap<Text, BTreeSet<Text>> = BTreeMap::new();
        for row in reader.all(snapshot) {
            let Row::Pod(_, Some(pod)) = row else { continue };
            let own = pod.interfaces.into_iter().filter_map(|interface| interface.network_id);
            if let Some(namespace) = pod.namespace {
                named.entry(namespace).or_default().extend(own.filter(|id| networks.contains_key(id)));
            }
        }
        Networks { networks, named }
    }

    /// What is said to all of an ELAN: what any of its interfaces would hear. Who hears of a server that is not for him asks in
    /// vain; who heard of none would not ask.
    fn said(&self, elan: &Text, pod_mtu: u16) -> Said {
        let namespace = elan.rsplit_once(':').map_or(&**elan, |(_, namespace)| namespace);
        let own = [&**elan, namespace].into_iter().filter_map(|id| self.networks.get(id));
        let named = self.named.get(namespace).into_iter().flatten();
        Said::of(own.chain(named.filter_map(|id| self.networks.get(id))), pod_mtu)
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::datastore::{Core, Edit, Transaction};
    use crate::renderers::Engine;
    use crate::schema::{builtin, json};

    fn put(core: &mut Core, path: &str, body: &str) {
        let path = DataPath::parse_rfc8040(builtin(), path).unwrap();
        let node = json::parse_resource(builtin(), &path, body.as_bytes(), json::Mode::Lenient).unwrap();
        let edits = vec![Edit::put(Store::Config, path, node)];
        core.apply(&Transaction::new("test", edits), SystemTime::now()).unwrap();
    }

    fn put_pool(core: &mut Core, network: &str, pool: &str) {
        let body = format!(r#"{{"network":[{{"network-id":"{network}","allocation-pool":[{{{pool}}}]}}]}}"#);
        put(core, &format!("dhcp_allocation_pool:dhcp_allocation_pool/network={network}"), &body);
    }

    /// What is said unasked to all of an ELAN: M, O, MTU, number of prefixes.
    fn unasked(core: &Core, elan: &str) -> (bool, bool, u16, usize) {
        let said = Networks::of(&Reader::new(builtin()), core.snapshot()).said(&elan.into(), 1450);
        (said.managed, said.other, said.mtu, said.prefixes.len())
    }

    #[test]
    fn all_of_an_elan_hear_what_any_of_its_interfaces_would() {
        let engine = Engine::new(builtin(), Box::new(|_, _| {}));
        let mut core = Core::new(Snapshot::empty(builtin()), &[], Box::new(engine), SystemTime::now());
        let elan = "192.168.200.1:blue";
        assert_eq!(unasked(&core, elan), (false, false, 1450, 0));
        put_pool(&mut core, "blue", r#""subnet":"fd00:1::/64","coeus-dhcp:options":{"mtu":1400}"#);
        assert_eq!(unasked(&core, elan), (false, true, 1400, 1));
        assert_eq!(unasked(&core, "192.168.200.1:red"), (false, false, 1450, 0));
        // A pool that only an interface names.
        let stateful = |first: &str| {
            format!(
                r#""subnet":"fd00:{first}::/64","allocate-from":"fd00:{first}::3","allocate-to":"fd00:{first}::9""#
            )
        };
        let storage = "00000000-0000-4000-8000-000000000002";
        put_pool(&mut core, storage, &stateful("2"));
        assert_eq!(unasked(&core, elan), (false, true, 1400, 1));
        let uid = "00000000-0000-4000-8000-000000000001";
        let pod = format!(
            r#"{{"pod:pods":[{{"uid":"{uid}","name":"p1","network-NS":"blue","host-ip-address":"192.168.200.1",
                "interface":[{{"uid":"{uid}","network-id":"{storage}"}}]}}]}}"#
        );
        put(&mut core, &format!("pod:coe/pods={uid}"), &pod);
        assert_eq!(unasked(&core, elan), (true, true, 1400, 2));
    }
}
