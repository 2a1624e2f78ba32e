//! Where advertisements are due: every ELAN of a VPN with IPv6, on every switch that has a port of it.

use crate::datastore::{Snapshot, Store};
use crate::net::{Dpid, ElanTag, VpnId};
use crate::schema::{DataPath, Fields, Key, Node, Schema, SchemaId, Value};

/// One packet: to all ports of an ELAN on one switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    pub dpid: Dpid,
    pub elan: ElanTag,
    pub vpn: VpnId,
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
        }
    }

    /// All links that have a router.
    pub fn links(&self, snapshot: &Snapshot) -> Vec<Link> {
        let places = snapshot.read(Store::Operational, &DataPath::root().child(self.places));
        let Some(places) = places.as_ref().and_then(Node::fields).and_then(|all| all.list(self.place)) else {
            return Vec::new();
        };
        let mut links = Vec::new();
        for (key, place) in places {
            let [Value::Text(name)] = key.values() else { continue };
            let Some((elan, vpn)) = self.ids(snapshot, name) else { continue };
            let switches = place.list(self.switch).into_iter().flatten();
            links.extend(switches.filter_map(|(key, _)| match key.values() {
                [Value::Uint(dpid)] => Some(Link { dpid: Dpid(*dpid), elan, vpn }),
                _ => None,
            }));
        }
        links
    }

    /// Tag and VPN id of an ELAN; `None` where its VPN has no IPv6.
    fn ids(&self, snapshot: &Snapshot, elan: &str) -> Option<(ElanTag, VpnId)> {
        let (_, vpn) = elan.rsplit_once(':')?;
        self.entry(snapshot, self.vpns, self.vpn, vpn)?.container(self.ipv6_family)?;
        let number = |fields: &Fields, leaf: SchemaId| match fields.leaf(leaf) {
            Some(Value::Uint(number)) => u32::try_from(*number).ok(),
            _ => None,
        };
        let tag = number(&*self.entry(snapshot, self.elans, self.elan, elan)?, self.elan_tag)?;
        let id = number(&*self.entry(snapshot, self.ids, self.id_of, vpn)?, self.id)?;
        Some((ElanTag(tag), VpnId(id)))
    }

    fn entry(
        &self,
        snapshot: &Snapshot,
        container: SchemaId,
        list: SchemaId,
        key: &str,
    ) -> Option<std::sync::Arc<Fields>> {
        let path = DataPath::root().child(container).entry(list, Key::text(key));
        if let Some(Node::Container(fields)) = snapshot.read(Store::Config, &path) {
            Some(fields)
        } else {
            None
        }
    }
}
