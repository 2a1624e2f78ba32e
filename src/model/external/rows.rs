//! External networks and floating addresses as they are written, and how they are read.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;

use ipnetwork::{IpNetwork, Ipv4Network, Ipv6Network};

use super::super::read::{entries, text_key, unicast};
use super::super::rows::NetworkType;
use super::napt::ExtRouter;
use super::port_macs::PortMac;
use super::subnets::ExternalSubnet;
use crate::datastore::Snapshot;
use crate::net::{Dpid, MacAddr};
use crate::schema::{Fields, Key, Schema, SchemaId, Text, Value};

/// `/odl-nat:external-networks/networks`, with what `coeus-external` adds to it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ExternalNetwork {
    /// `provider-network-type`, where it is given.
    pub kind: Option<NetworkType>,
    pub physical: Option<Text>,
    pub vlan: Option<u16>,
    /// What is on the link.
    pub subnet: Option<Ipv4Network>,
    pub gateway: Option<Ipv4Addr>,
    /// The same of IPv6.
    pub subnet_v6: Option<Ipv6Network>,
    /// Of that subnet, or a link-local address.
    pub gateway_v6: Option<Ipv6Addr>,
    /// Addresses that may be given out. Both ends of each are of one version.
    pub granted: Vec<RangeInclusive<IpAddr>>,
    /// The network that this is a further subnet of (`external-subnets`).
    pub of: Option<Text>,
}

/// `/odl-nat:floating-ip-info/router-ports`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct FloatingRouter {
    /// `external-network-id`.
    pub network: Option<Text>,
    pub mappings: Vec<Mapping>,
    /// What is written and is no mapping, in words.
    pub faults: Vec<Text>,
}

/// One address of an interface, and the one that it has outside.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mapping {
    pub external: IpAddr,
    /// `port-name`: the interface.
    pub port: Text,
    /// Of the version that the other one is of.
    pub internal: IpAddr,
    /// `external-id`: the floating address's own.
    pub id: Option<Text>,
}

impl ExternalNetwork {
    /// Whether this address may be given out.
    pub fn grants(&self, address: IpAddr) -> bool {
        self.granted.iter().any(|range| range.contains(&address))
    }

    /// What is on the link, of either version.
    pub fn subnets(&self) -> impl Iterator<Item = IpNetwork> {
        let v4 = self.subnet.map(IpNetwork::V4).into_iter();
        v4.chain(self.subnet_v6.map(IpNetwork::V6))
    }

    /// The routers, of either version.
    pub fn gateways(&self) -> impl Iterator<Item = IpAddr> {
        let v4 = self.gateway.map(IpAddr::V4).into_iter();
        v4.chain(self.gateway_v6.map(IpAddr::V6))
    }

    /// Whether somebody with this address is on the link: a host of its subnets, or a router.
    pub fn is_on_link(&self, address: IpAddr) -> bool {
        let is_host = |subnet: IpNetwork| match (subnet, address) {
            (IpNetwork::V4(subnet), IpAddr::V4(address)) => {
                let edges = [subnet.network(), subnet.broadcast()];
                subnet.contains(address) && (subnet.prefix() >= 31 || !edges.contains(&address))
            }
            // The first address of a prefix is that of any router (RFC 4291 section 2.6.1).
            (IpNetwork::V6(subnet), IpAddr::V6(address)) => {
                subnet.contains(address) && (subnet.prefix() >= 127 || subnet.network() != address)
            }
            _ => false,
        };
        self.subnets().any(is_host) || self.gateways().any(|gateway| gateway == address)
    }
}

/// Each field is the node of that name.
#[derive(Debug)]
pub struct ExternalNames {
    pub external_networks: SchemaId,
    pub networks: SchemaId,
    provider_network_type: SchemaId,
    physical_network: SchemaId,
    segmentation_id: SchemaId,
    subnet: SchemaId,
    gateway: SchemaId,
    ipv6_subnet: SchemaId,
    ipv6_gateway: SchemaId,
    granted: SchemaId,
    granted_last: SchemaId,
    pub external_subnets: SchemaId,
    pub subnets: SchemaId,
    subnet_of: SchemaId,
    subnet_prefix: SchemaId,
    subnet_gateway: SchemaId,
    subnet_granted: SchemaId,
    subnet_granted_last: SchemaId,
    pub floating_ip_port_info: SchemaId,
    pub port_mapping: SchemaId,
    port_mac: SchemaId,
    port_deleted: SchemaId,
    pub floating_ip_info: SchemaId,
    pub router_ports: SchemaId,
    external_network_id: SchemaId,
    ports: SchemaId,
    mappings: SchemaId,
    external_ip: SchemaId,
    external_id: SchemaId,
    pub ext_routers: SchemaId,
    pub routers: SchemaId,
    network_id: SchemaId,
    enable_snat: SchemaId,
    external_ips: SchemaId,
    pub lost_switches: SchemaId,
    pub lost_switch: SchemaId,
    pub held_addresses: SchemaId,
    pub held_address: SchemaId,
    holder: SchemaId,
    pub neighbours: SchemaId,
    pub neighbour: SchemaId,
    mac_address: SchemaId,
}

impl ExternalNames {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn of(schema: &Schema) -> ExternalNames {
        let id = |path: &str| schema.resolve(path);
        let network = |leaf: &str| id(&format!("/odl-nat:external-networks/networks/{leaf}"));
        let subnet = |leaf: &str| id(&format!("/odl-nat:external-subnets/subnets/{leaf}"));
        let port =
            |leaf: &str| id(&format!("/odl-nat:floating-ip-port-info/floating-ip-id-to-port-mapping/{leaf}"));
        let router = |leaf: &str| id(&format!("/odl-nat:floating-ip-info/router-ports/{leaf}"));
        let ext_router = |leaf: &str| id(&format!("/odl-nat:ext-routers/routers/{leaf}"));
        ExternalNames {
            external_networks: id("/odl-nat:external-networks"),
            networks: id("/odl-nat:external-networks/networks"),
            provider_network_type: network("provider-network-type"),
            physical_network: network("coeus-external:physical-network"),
            segmentation_id: network("coeus-external:segmentation-id"),
            subnet: network("coeus-external:subnet"),
            gateway: network("coeus-external:gateway"),
            ipv6_subnet: network("coeus-external:ipv6-subnet"),
            ipv6_gateway: network("coeus-external:ipv6-gateway"),
            granted: network("coeus-external:granted"),
            granted_last: network("coeus-external:granted/last"),
            external_subnets: id("/odl-nat:external-subnets"),
            subnets: id("/odl-nat:external-subnets/subnets"),
            subnet_of: subnet("external-network-id"),
            subnet_prefix: subnet("coeus-external:subnet"),
            subnet_gateway: subnet("coeus-external:gateway"),
            subnet_granted: subnet("coeus-external:granted"),
            subnet_granted_last: subnet("coeus-external:granted/last"),
            floating_ip_port_info: id("/odl-nat:floating-ip-port-info"),
            port_mapping: id("/odl-nat:floating-ip-port-info/floating-ip-id-to-port-mapping"),
            port_mac: port("floating-ip-port-mac-address"),
            port_deleted: port("floating-ip-deleted"),
            floating_ip_info: id("/odl-nat:floating-ip-info"),
            router_ports: id("/odl-nat:floating-ip-info/router-ports"),
            external_network_id: router("external-network-id"),
            ports: router("ports"),
            mappings: router("ports/internal-to-external-port-map"),
            external_ip: router("ports/internal-to-external-port-map/external-ip"),
            external_id: router("ports/internal-to-external-port-map/external-id"),
            ext_routers: id("/odl-nat:ext-routers"),
            routers: id("/odl-nat:ext-routers/routers"),
            network_id: ext_router("network-id"),
            enable_snat: ext_router("enable-snat"),
            external_ips: ext_router("external-ips"),
            lost_switches: id("/coeus-external:lost-switches"),
            lost_switch: id("/coeus-external:lost-switches/lost-switch"),
            held_addresses: id("/coeus-external:held-addresses"),
            held_address: id("/coeus-external:held-addresses/held-address"),
            holder: id("/coeus-external:held-addresses/held-address/switch"),
            neighbours: id("/coeus-external:neighbours"),
            neighbour: id("/coeus-external:neighbours/neighbour"),
            mac_address: id("/coeus-external:neighbours/neighbour/mac-address"),
        }
    }

    pub fn network(&self, snapshot: &Snapshot, id: &Text) -> Option<ExternalNetwork> {
        let all = snapshot.config.input.container(self.external_networks)?;
        let fields = all.list(self.networks)?.get(&text_key(id))?;
        Some(ExternalNetwork {
            kind: match fields.leaf(self.provider_network_type) {
                Some(Value::Enum(0)) => Some(NetworkType::Flat),
                Some(Value::Enum(1)) => Some(NetworkType::Vlan),
                Some(Value::Enum(2)) => Some(NetworkType::Vxlan),
                Some(Value::Enum(3)) => Some(NetworkType::Gre),
                _ => None,
            },
            physical: fields.shared_text(self.physical_network).cloned(),
            vlan: fields
                .leaf(self.segmentation_id)
                .and_then(Value::as_uint)
                .and_then(|id| id.try_into().ok()),
            subnet: fields.text(self.subnet).and_then(|text| text.parse().ok()),
            gateway: fields.text(self.gateway).and_then(|text| text.parse().ok()),
            subnet_v6: fields.text(self.ipv6_subnet).and_then(|text| text.parse().ok()),
            gateway_v6: fields.text(self.ipv6_gateway).and_then(|text| text.parse().ok()),
            granted: ranges(fields, self.granted, self.granted_last),
            of: None,
        })
    }

    /// A further subnet of an external network, as it is written.
    pub fn subnet(&self, snapshot: &Snapshot, id: &Text) -> Option<ExternalSubnet> {
        let all = snapshot.config.input.container(self.external_subnets)?;
        let fields = all.list(self.subnets)?.get(&text_key(id))?;
        Some(ExternalSubnet {
            network: fields.shared_text(self.subnet_of).cloned(),
            subnet: fields.text(self.subnet_prefix).and_then(|text| text.parse().ok()),
            gateway: fields.text(self.subnet_gateway).and_then(|text| text.parse().ok()),
            granted: ranges(fields, self.subnet_granted, self.subnet_granted_last),
        })
    }

    /// The MAC address of a floating address, by the id of that.
    pub fn port_mac(&self, snapshot: &Snapshot, id: &Text) -> Option<PortMac> {
        let all = snapshot.config.input.container(self.floating_ip_port_info)?;
        let fields = all.list(self.port_mapping)?.get(&text_key(id))?;
        let written = fields.shared_text(self.port_mac).filter(|text| !text.is_empty());
        Some(PortMac {
            written: written.cloned(),
            deleted: fields.leaf(self.port_deleted) == Some(&Value::Bool(true)),
        })
    }

    pub fn router(&self, snapshot: &Snapshot, id: &Text) -> Option<FloatingRouter> {
        let all = snapshot.config.input.container(self.floating_ip_info)?;
        let fields = all.list(self.router_ports)?.get(&text_key(id))?;
        let mut row = FloatingRouter {
            network: fields.shared_text(self.external_network_id).cloned(),
            ..Default::default()
        };
        for (port, fields) in entries(fields, self.ports) {
            for (internal, mapping) in entries(fields, self.mappings) {
                let external = mapping.text(self.external_ip).unwrap_or_default();
                match (internal.parse::<IpAddr>(), external.parse::<IpAddr>()) {
                    (Ok(internal), Ok(external)) if internal.is_ipv4() == external.is_ipv4() => {
                        let id = mapping.shared_text(self.external_id).cloned();
                        row.mappings.push(Mapping { external, port: port.clone(), internal, id });
                    }
                    _ => row.faults.push(
                        format!("port {port}: internal-ip {internal:?} and external-ip {external:?} are not addresses of one IP version")
                            .into(),
                    ),
                }
            }
        }
        Some(row)
    }

    pub fn ext_router(&self, snapshot: &Snapshot, name: &Text) -> Option<ExtRouter> {
        let all = snapshot.config.input.container(self.ext_routers)?;
        let fields = all.list(self.routers)?.get(&text_key(name))?;
        let mut row = ExtRouter {
            network: fields.shared_text(self.network_id).cloned(),
            is_on: fields.leaf(self.enable_snat) != Some(&Value::Bool(false)),
            ..Default::default()
        };
        // Each is named by its subnet and itself.
        let keys = fields.list(self.external_ips).into_iter().flatten().map(|(key, _)| key);
        for key in keys {
            let [Value::Text(subnet), Value::Text(address)] = key.values() else { continue };
            match address.parse() {
                Ok(address) => {
                    row.addresses.insert(address);
                    row.subnets.push((address, subnet.clone()));
                }
                Err(_) => row.faults.push(address.clone()),
            }
        }
        Some(row)
    }

    pub fn neighbour(&self, snapshot: &Snapshot, network: &Text, address: IpAddr) -> Option<MacAddr> {
        let all = snapshot.operational.input.container(self.neighbours)?;
        let key = [Value::Text(network.clone()), Value::text(address.to_string())];
        unicast(all.list(self.neighbour)?.get(&Key::from_iter(key))?.text(self.mac_address)?)
    }

    /// Whether a switch is written down as lost.
    pub fn is_lost(&self, snapshot: &Snapshot, dpid: &Text) -> bool {
        let all = snapshot.operational.input.container(self.lost_switches);
        let list = all.and_then(|all| all.list(self.lost_switch));
        list.is_some_and(|list| list.get(&text_key(dpid)).is_some())
    }

    /// The switches that are written down as lost.
    pub fn all_lost(&self, snapshot: &Snapshot) -> Vec<Dpid> {
        let all = snapshot.operational.input.container(self.lost_switches);
        let lost = all.into_iter().flat_map(|all| entries(all, self.lost_switch));
        lost.filter_map(|(dpid, _)| dpid.parse().ok()).collect()
    }

    /// The switch that an address is written down to be held by.
    pub fn holder(&self, snapshot: &Snapshot, address: IpAddr) -> Option<Dpid> {
        let all = snapshot.operational.input.container(self.held_addresses)?;
        all.list(self.held_address)?.get(&Key::text(address.to_string()))?.text(self.holder)?.parse().ok()
    }

    /// All addresses that are written down to be held, and by which switch.
    pub fn all_held(&self, snapshot: &Snapshot) -> Vec<(IpAddr, Dpid)> {
        let all = snapshot.operational.input.container(self.held_addresses);
        let held = all.into_iter().flat_map(|all| entries(all, self.held_address));
        held.filter_map(|(address, entry)| {
            Some((address.parse().ok()?, entry.text(self.holder)?.parse().ok()?))
        })
        .collect()
    }

    /// Keys of all neighbours.
    pub fn all_neighbours(&self, snapshot: &Snapshot) -> Vec<(Text, IpAddr)> {
        let all = snapshot.operational.input.container(self.neighbours);
        let list = all.and_then(|all| all.list(self.neighbour));
        list.into_iter().flatten().filter_map(|(key, _)| neighbour_key(key)).collect()
    }
}

/// Ranges of addresses that may be given out.
fn ranges(fields: &Fields, list: SchemaId, last: SchemaId) -> Vec<RangeInclusive<IpAddr>> {
    let range = |(first, range): (Text, &Fields)| {
        let first: IpAddr = first.parse().ok()?;
        Some(first..=range.text(last).map_or(Some(first), |last| last.parse().ok())?)
    };
    entries(fields, list).filter_map(range).collect()
}

/// The part of an address by which MAC addresses differ.
pub(super) fn last_octets(address: Ipv6Addr) -> u32 {
    (address.to_bits() & u128::from(u32::MAX)) as u32
}

/// Network and address of a neighbour's key.
pub fn neighbour_key(key: &Key) -> Option<(Text, IpAddr)> {
    let [Value::Text(network), Value::Text(address)] = key.values() else { return None };
    Some((network.clone(), address.parse().ok()?))
}
