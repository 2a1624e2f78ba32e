//! From the datastore's trees to pools.

use std::net::IpAddr;
use std::sync::Arc;

use ipnetwork::IpNetwork;

use super::{AllocationPool, Network, PoolOptions, Reservation, ReservedFor, Times};
use crate::schema::{Fields, Schema, SchemaId, Text, Value};

/// Source: netvirt. Seconds; the models say the same.
const LEASE_TIME: u32 = 86_400;
const QUARANTINE_TIME: u32 = 600;
/// Percent.
const LOW_WATER: u8 = 10;

/// `/dhcp_allocation_pool:dhcp_allocation_pool/network`: each field is the node of that name.
#[derive(Debug)]
pub struct PoolNames {
    pub dhcp_allocation_pool: SchemaId,
    pub network: SchemaId,
    pub allocation_pool: SchemaId,
    allocate_from: SchemaId,
    allocate_to: SchemaId,
    gateway: SchemaId,
    dns_servers: SchemaId,
    lease_time: SchemaId,
    max_lease_time: SchemaId,
    renewal_time: SchemaId,
    rebinding_time: SchemaId,
    quarantine_time: SchemaId,
    low_water: SchemaId,
    relay_agent: SchemaId,
    options: SchemaId,
    router: SchemaId,
    domain_name: SchemaId,
    domain_search: SchemaId,
    mtu: SchemaId,
    ntp_server: SchemaId,
    classless_route: SchemaId,
    route_destination: SchemaId,
    route_next_hop: SchemaId,
    next_server: SchemaId,
    server_name: SchemaId,
    boot_file: SchemaId,
    reservation: SchemaId,
    reserved_address: SchemaId,
    reserved_interface: SchemaId,
    reserved_mac_address: SchemaId,
    reserved_client_id: SchemaId,
}

impl PoolNames {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn of(schema: &Schema) -> PoolNames {
        const TOP: &str = "/dhcp_allocation_pool:dhcp_allocation_pool";
        let pool = |leaf: &str| schema.resolve(&format!("{TOP}/network/allocation-pool{leaf}"));
        let ours = |leaf: &str| pool(&format!("/coeus-dhcp:{leaf}"));
        PoolNames {
            dhcp_allocation_pool: schema.resolve(TOP),
            network: schema.resolve(&format!("{TOP}/network")),
            allocation_pool: pool(""),
            allocate_from: pool("/allocate-from"),
            allocate_to: pool("/allocate-to"),
            gateway: pool("/gateway"),
            dns_servers: pool("/dns-servers"),
            lease_time: ours("lease-time"),
            max_lease_time: ours("max-lease-time"),
            renewal_time: ours("renewal-time"),
            rebinding_time: ours("rebinding-time"),
            quarantine_time: ours("quarantine-time"),
            low_water: ours("low-water"),
            relay_agent: ours("relay-agent"),
            options: ours("options"),
            router: ours("options/router"),
            domain_name: ours("options/domain-name"),
            domain_search: ours("options/domain-search"),
            mtu: ours("options/mtu"),
            ntp_server: ours("options/ntp-server"),
            classless_route: ours("options/classless-route"),
            route_destination: ours("options/classless-route/destination"),
            route_next_hop: ours("options/classless-route/next-hop"),
            next_server: ours("options/next-server"),
            server_name: ours("options/server-name"),
            boot_file: ours("options/boot-file"),
            reservation: ours("reservation"),
            reserved_address: ours("reservation/address"),
            reserved_interface: ours("reservation/interface"),
            reserved_mac_address: ours("reservation/mac-address"),
            reserved_client_id: ours("reservation/client-id"),
        }
    }
}

/// Reads a network from its list entry.
pub fn network(names: &PoolNames, id: &Text, fields: &Fields) -> Network {
    let entries = fields.list(names.allocation_pool).into_iter().flatten();
    let pools = entries.filter_map(|(key, fields)| {
        let [Value::Text(key)] = key.values() else { return None };
        Some(Arc::new(pool(names, id, key, fields)?))
    });
    let mut pools: Vec<_> = pools.collect();
    pools.sort_by_key(|pool| pool.subnet);
    Network { id: id.clone(), pools }
}

fn pool(names: &PoolNames, network: &Text, key: &Text, fields: &Fields) -> Option<AllocationPool> {
    let subnet: IpNetwork = key.parse().ok()?;
    let seconds = |leaf| u32::try_from(fields.leaf(leaf)?.as_uint()?).ok();
    let relays = fields.leaf_list(names.relay_agent).filter_map(|value| Some(Text::from(value.as_text()?)));
    let reservations = fields.list(names.reservation).into_iter().flatten();
    let mut reservations: Vec<_> =
        reservations.filter_map(|(_, fields)| reservation(names, fields)).collect();
    reservations.sort_by_key(|kept| kept.address);
    Some(AllocationPool {
        network: network.clone(),
        key: key.clone(),
        subnet,
        from: address(fields, names.allocate_from),
        to: address(fields, names.allocate_to),
        gateway: address(fields, names.gateway),
        dns: addresses(fields, names.dns_servers),
        times: Times {
            lease: seconds(names.lease_time).unwrap_or(LEASE_TIME),
            max: seconds(names.max_lease_time),
            renewal: seconds(names.renewal_time),
            rebinding: seconds(names.rebinding_time),
            quarantine: seconds(names.quarantine_time).unwrap_or(QUARANTINE_TIME),
        },
        low_water: seconds(names.low_water).and_then(|percent| percent.try_into().ok()).unwrap_or(LOW_WATER),
        relays: relays.collect(),
        options: fields.container(names.options).map(|fields| options(names, fields)).unwrap_or_default(),
        reservations,
    })
}

fn options(names: &PoolNames, fields: &Fields) -> PoolOptions {
    let text = |leaf| fields.text(leaf).map(Text::from);
    let routes = fields.list(names.classless_route).into_iter().flatten().filter_map(|(_, route)| {
        let destination = route.text(names.route_destination)?.parse().ok()?;
        Some((destination, address(route, names.route_next_hop)?))
    });
    let search = fields.leaf_list(names.domain_search);
    PoolOptions {
        routers: addresses(fields, names.router),
        domain: text(names.domain_name),
        search: search.filter_map(|value| Some(Text::from(value.as_text()?))).collect(),
        mtu: fields.leaf(names.mtu).and_then(|value| value.as_uint()?.try_into().ok()),
        ntp: addresses(fields, names.ntp_server),
        routes: routes.collect(),
        next_server: fields.text(names.next_server).and_then(|text| text.parse().ok()),
        server_name: text(names.server_name),
        boot_file: text(names.boot_file),
    }
}

fn reservation(names: &PoolNames, fields: &Fields) -> Option<Reservation> {
    let interface = fields.text(names.reserved_interface).map(|name| ReservedFor::Interface(name.into()));
    let mac = || Some(ReservedFor::Mac(fields.text(names.reserved_mac_address)?.parse().ok()?));
    let client_id = || fields.text(names.reserved_client_id).map(|id| ReservedFor::ClientId(id.into()));
    let client = interface.or_else(mac).or_else(client_id).unwrap_or(ReservedFor::Nobody);
    Some(Reservation { address: address(fields, names.reserved_address)?, client })
}

fn address(fields: &Fields, leaf: SchemaId) -> Option<IpAddr> {
    fields.text(leaf)?.parse().ok()
}

fn addresses(fields: &Fields, leaf_list: SchemaId) -> Vec<IpAddr> {
    fields.leaf_list(leaf_list).filter_map(|value| value.as_text()?.parse().ok()).collect()
}
