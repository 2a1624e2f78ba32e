//! netvirt's own configuration, read where it was written by hand: instances, and what one interface is in three lists.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnetwork::IpNetwork;

use super::names::identity;
use super::read::{entries, key_text, tag, text_key, unicast};
use super::rows::{ElanInstance, HandMade, NetworkType, VpnInstance, WantedAddress, WantedRoute, routable};
use super::underlay::Segment;
use crate::datastore::Snapshot;
use crate::net::Vni;
use crate::schema::{Fields, IdentityId, Schema, SchemaId, Text, Value};

/// `adjacency_type`. Source: odl-l3vpn.
const PRIMARY_ADJACENCY: i32 = 0;
const EXTRA_ROUTE: i32 = 2;
/// `associated-subnet-type`. Source: l3vpn.
const V6_INTERNET_VPN: i32 = 2;
/// `l2vlan-mode`: trunk-member. Source: odl-interface.
const TRUNK_MEMBER: i32 = 4;
/// `vrfRTType`. Source: l3vpn.
const EXPORT: i32 = 0;
const IMPORT: i32 = 1;
/// VNIs have 24 bits (RFC 7348).
const LAST_VNI: u64 = 0xff_ffff;

/// Each field is the node of that name.
#[derive(Debug)]
pub struct NetvirtNames {
    pub interfaces: SchemaId,
    pub interface: SchemaId,
    interface_type: SchemaId,
    enabled: SchemaId,
    parent_interface: SchemaId,
    l2vlan_mode: SchemaId,
    vlan_id: SchemaId,
    l2vlan: Option<IdentityId>,
    pub elan_interfaces: SchemaId,
    pub elan_interface: SchemaId,
    elan_instance_name: SchemaId,
    static_mac_entries: SchemaId,
    ip_prefix: SchemaId,
    pub vpn_interfaces: SchemaId,
    pub vpn_interface: SchemaId,
    vpn_instance_names: SchemaId,
    associated_subnet_type: SchemaId,
    adjacency: SchemaId,
    adjacency_type: SchemaId,
    mac_address: SchemaId,
    next_hop_ip_list: SchemaId,
    subnet_gateway_ip: SchemaId,
    pub elan_instances: SchemaId,
    pub elan_instance: SchemaId,
    segment_type: SchemaId,
    segmentation_id: SchemaId,
    physical_network_name: SchemaId,
    segment_types: [Option<IdentityId>; 4],
    pub vpn_instances: SchemaId,
    pub vpn_instance: SchemaId,
    l3vni: SchemaId,
    families: [FamilyNames; 2],
}

/// `ipv4-family` or `ipv6-family` of a VPN instance.
#[derive(Debug)]
struct FamilyNames {
    family: SchemaId,
    route_distinguisher: SchemaId,
    targets: SchemaId,
    target: SchemaId,
    target_type: SchemaId,
}

impl NetvirtNames {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn of(schema: &Schema) -> NetvirtNames {
        let id = |path: &str| schema.resolve(path);
        let interface = |leaf: &str| id(&format!("/ietf-interfaces:interfaces/interface{leaf}"));
        let elan = |leaf: &str| id(&format!("/elan:elan-interfaces/elan-interface{leaf}"));
        let vpn = |leaf: &str| id(&format!("/l3vpn:vpn-interfaces/vpn-interface{leaf}"));
        let adjacency = |leaf: &str| vpn(&format!("/odl-l3vpn:adjacency{leaf}"));
        let segment = |kind: &str| identity(schema, "elan", &format!("segment-type-{kind}"));
        let family = |name: &str| {
            let node = |leaf: &str| id(&format!("/l3vpn:vpn-instances/vpn-instance/{name}{leaf}"));
            FamilyNames {
                family: node(""),
                route_distinguisher: node("/route-distinguisher"),
                targets: node("/vpnTargets"),
                target: node("/vpnTargets/vpnTarget"),
                target_type: node("/vpnTargets/vpnTarget/vrfRTType"),
            }
        };
        NetvirtNames {
            interfaces: id("/ietf-interfaces:interfaces"),
            interface: interface(""),
            interface_type: interface("/type"),
            enabled: interface("/enabled"),
            parent_interface: interface("/odl-interface:parent-interface"),
            l2vlan_mode: interface("/odl-interface:l2vlan-mode"),
            vlan_id: interface("/odl-interface:vlan-id"),
            l2vlan: identity(schema, "iana-if-type", "l2vlan"),
            elan_interfaces: id("/elan:elan-interfaces"),
            elan_interface: elan(""),
            elan_instance_name: elan("/elan-instance-name"),
            static_mac_entries: elan("/static-mac-entries"),
            ip_prefix: elan("/static-mac-entries/ip-prefix"),
            vpn_interfaces: id("/l3vpn:vpn-interfaces"),
            vpn_interface: vpn(""),
            vpn_instance_names: vpn("/vpn-instance-names"),
            associated_subnet_type: vpn("/vpn-instance-names/associated-subnet-type"),
            adjacency: adjacency(""),
            adjacency_type: adjacency("/adjacency_type"),
            mac_address: adjacency("/mac_address"),
            next_hop_ip_list: adjacency("/next-hop-ip-list"),
            subnet_gateway_ip: adjacency("/subnet_gateway_ip"),
            elan_instances: id("/elan:elan-instances"),
            elan_instance: id("/elan:elan-instances/elan-instance"),
            segment_type: id("/elan:elan-instances/elan-instance/segment-type"),
            segmentation_id: id("/elan:elan-instances/elan-instance/segmentation-id"),
            physical_network_name: id("/elan:elan-instances/elan-instance/physical-network-name"),
            segment_types: [segment("flat"), segment("vlan"), segment("vxlan"), segment("gre")],
            vpn_instances: id("/l3vpn:vpn-instances"),
            vpn_instance: id("/l3vpn:vpn-instances/vpn-instance"),
            l3vni: id("/l3vpn:vpn-instances/vpn-instance/l3vni"),
            families: [family("ipv4-family"), family("ipv6-family")],
        }
    }

    /// Containers and lists of interfaces: an entry of any is a part of the interface of its name.
    pub fn interface_lists(&self) -> [(SchemaId, SchemaId); 3] {
        [
            (self.interfaces, self.interface),
            (self.elan_interfaces, self.elan_interface),
            (self.vpn_interfaces, self.vpn_interface),
        ]
    }

    /// The interface of that name, if it was written as one that carries traffic.
    pub fn hand_made(&self, snapshot: &Snapshot, name: &Text) -> Option<HandMade> {
        let entry =
            |top, list| snapshot.config.input.container(top)?.list(list)?.get(&text_key(name)).cloned();
        let [ietf, elan, vpn] = self.interface_lists().map(|(top, list)| entry(top, list));
        let carries = |fields: &Fields| match fields.leaf(self.interface_type) {
            Some(Value::Identity(kind)) => Some(*kind) == self.l2vlan,
            _ => true,
        };
        let ietf = ietf.filter(carries);
        if ietf.is_none() && elan.is_none() && vpn.is_none() {
            return None;
        }
        let text = |fields: Option<&Fields>, leaf| fields?.text(leaf).map(Text::from);
        let mut row = HandMade {
            name: name.clone(),
            exists: ietf.is_some(),
            is_disabled: ietf.as_ref().and_then(|ietf| ietf.leaf(self.enabled)) == Some(&Value::Bool(false)),
            parent: text(ietf.as_ref(), self.parent_interface),
            is_member: ietf.as_ref().and_then(|ietf| ietf.leaf(self.l2vlan_mode))
                == Some(&Value::Enum(TRUNK_MEMBER)),
            vlan: ietf.as_ref().and_then(|ietf| tag(ietf.leaf(self.vlan_id)?)),
            elan: text(elan.as_ref(), self.elan_instance_name),
            ..HandMade::default()
        };
        if let Some(elan) = &elan {
            for (mac, entry) in entries(elan, self.static_mac_entries) {
                row.mac = row.mac.or_else(|| unicast(&mac));
                let ip = entry.text(self.ip_prefix).and_then(|text| text.parse().ok());
                row.addresses.extend(ip.map(|ip| WantedAddress { ip, gateway: None }));
            }
        }
        if let Some(vpn) = &vpn {
            for (name, entry) in entries(vpn, self.vpn_instance_names) {
                let kind = entry.leaf(self.associated_subnet_type);
                let is_internet = kind == Some(&Value::Enum(V6_INTERNET_VPN));
                if is_internet { &mut row.internet } else { &mut row.vpns }.push(name);
            }
            if row.vpns.is_empty() {
                row.vpns = std::mem::take(&mut row.internet);
            }
            row.vpns.sort();
            row.internet.sort();
            for (text, entry) in entries(vpn, self.adjacency) {
                self.adjacency(&text, entry, &mut row);
            }
        }
        row.addresses.sort_by_key(|address| address.ip);
        row.addresses.dedup_by_key(|address| address.ip);
        let HandMade { addresses, routes, .. } = &mut row;
        routes.sort_by_key(|route| route.prefix);
        routes.dedup_by_key(|route| route.prefix);
        routes.retain(|route| !addresses.iter().any(|own| route.prefix == IpNetwork::from(own.ip)));
        row.bad_adjacencies.sort();
        Some(row)
    }

    /// An address of its own, or a route. netvirt's default is a route; an address that is led nowhere else is taken as the
    /// interface's own all the same, as long as nothing is said.
    fn adjacency(&self, text: &Text, entry: &Fields, row: &mut HandMade) {
        let mac = || entry.text(self.mac_address).and_then(unicast);
        let next_hops = entry.leaf_list(self.next_hop_ip_list).filter_map(Value::as_text);
        let next_hops: Vec<&str> = next_hops.collect();
        let prefix = whole_prefix(text);
        let host = prefix.filter(|prefix| is_host(*prefix)).map(|prefix| prefix.ip());
        let is_primary = match entry.leaf(self.adjacency_type) {
            Some(Value::Enum(PRIMARY_ADJACENCY)) => true,
            Some(Value::Enum(EXTRA_ROUTE)) => false,
            Some(_) => return,
            None => host.is_some() && next_hops.is_empty(),
        };
        if is_primary {
            row.mac = row.mac.or_else(mac);
            let gateway = entry.text(self.subnet_gateway_ip).and_then(|text| text.parse().ok());
            let Some(ip) = host else { return row.bad_adjacencies.push(text.clone()) };
            row.addresses.retain(|known| known.ip != ip);
            return row.addresses.push(WantedAddress { ip, gateway });
        }
        let next_hops: Option<Vec<IpAddr>> = next_hops.iter().map(|text| text.parse().ok()).collect();
        match prefix.filter(|prefix| routable(*prefix)).zip(next_hops) {
            Some((prefix, next_hops)) => row.routes.push(WantedRoute { prefix, next_hops, mac: mac() }),
            None => row.bad_adjacencies.push(text.clone()),
        }
    }

    /// The ELAN of that name, as it was written.
    pub fn elan_instance(&self, snapshot: &Snapshot, name: &Text) -> Option<ElanInstance> {
        let fields = snapshot.config.input.container(self.elan_instances)?;
        let fields = fields.list(self.elan_instance)?.get(&text_key(name))?;
        let kind = |kind: &IdentityId| self.segment_types.iter().position(|known| *known == Some(*kind));
        let network_type = match fields.leaf(self.segment_type) {
            Some(Value::Identity(id)) => match kind(id) {
                Some(0) => NetworkType::Flat,
                Some(1) => NetworkType::Vlan,
                Some(3) => NetworkType::Gre,
                _ => NetworkType::Vxlan,
            },
            _ => NetworkType::default(),
        };
        let mut segment = Segment { kind: network_type, ..Segment::default() };
        if segment.is_physical() {
            let id = fields.leaf(self.segmentation_id).and_then(Value::as_uint);
            segment.id =
                id.and_then(|id| u32::try_from(id).ok()).filter(|_| network_type == NetworkType::Vlan);
            segment.network = fields.shared_text(self.physical_network_name).cloned();
            return Some(ElanInstance { vni: None, segment });
        }
        Some(ElanInstance { vni: vni(fields, self.segmentation_id), segment })
    }

    /// The VPN of that name, as it was written.
    pub fn vpn_instance(&self, snapshot: &Snapshot, name: &Text) -> Option<VpnInstance> {
        let fields = snapshot.config.input.container(self.vpn_instances)?;
        let fields = fields.list(self.vpn_instance)?.get(&text_key(name))?;
        let mut row = VpnInstance { l3_vni: vni(fields, self.l3vni), ..VpnInstance::default() };
        for names in &self.families {
            let Some(family) = fields.container(names.family) else { continue };
            let distinguisher = family.leaf_list(names.route_distinguisher).next();
            row.rd = row.rd.or_else(|| distinguisher.and_then(Value::as_text).map(Text::from));
            let Some(targets) = family.container(names.targets) else { continue };
            for (target, entry) in entries(targets, names.target) {
                let kind = entry.leaf(names.target_type);
                if kind != Some(&Value::Enum(IMPORT)) {
                    row.exports.insert(target.clone());
                }
                if kind != Some(&Value::Enum(EXPORT)) {
                    row.imports.insert(target);
                }
            }
        }
        Some(row)
    }

    /// Names of all interfaces that something was written about.
    pub fn all_interfaces(&self, snapshot: &Snapshot) -> BTreeSet<Text> {
        let lists = self.interface_lists();
        lists.iter().flat_map(|(top, list)| names_in(snapshot, *top, *list)).collect()
    }

    pub fn all_elans(&self, snapshot: &Snapshot) -> Vec<Text> {
        names_in(snapshot, self.elan_instances, self.elan_instance)
    }

    pub fn all_vpns(&self, snapshot: &Snapshot) -> Vec<Text> {
        names_in(snapshot, self.vpn_instances, self.vpn_instance)
    }
}

fn names_in(snapshot: &Snapshot, top: SchemaId, list: SchemaId) -> Vec<Text> {
    let all = snapshot.config.input.container(top).and_then(|top| top.list(list));
    all.into_iter().flatten().filter_map(|(key, _)| key_text(key)).collect()
}

/// A number for a VNI, if it can be one.
fn vni(fields: &Fields, leaf: SchemaId) -> Option<Vni> {
    let number = fields.leaf(leaf)?.as_uint().filter(|number| (1..=LAST_VNI).contains(number))?;
    u32::try_from(number).ok().map(Vni)
}

/// The prefix of an adjacency, its host bits cleared. An address alone is one of all its bits.
fn whole_prefix(text: &str) -> Option<IpNetwork> {
    let prefix: IpNetwork = text.parse().ok()?;
    IpNetwork::new(prefix.network(), prefix.prefix()).ok()
}

/// Whether it is one address.
pub(super) fn is_host(prefix: IpNetwork) -> bool {
    prefix.prefix() == if prefix.is_ipv4() { 32 } else { 128 }
}
