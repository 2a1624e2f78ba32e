//! What a pool tells its clients: options in the order in which they matter.

use std::net::{IpAddr, Ipv4Addr};

use ipnetwork::IpNetwork;

use super::message::{Opt, Request};
use crate::dhcp::names::names;
use crate::model::{AllocationPool, Times};
use crate::schema::Text;

/// Shortest lease that a client may ask for, seconds.
const SHORTEST: u32 = 60;
/// Codes (RFC 2132; 119: RFC 3397; 121: RFC 3442).
const SUBNET_MASK: u8 = 1;
const ROUTER: u8 = 3;
const DNS: u8 = 6;
const DOMAIN_NAME: u8 = 15;
const MTU: u8 = 26;
const BROADCAST: u8 = 28;
const NTP: u8 = 42;
const LEASE_TIME: u8 = 51;
pub const MESSAGE: u8 = 56;
const RENEWAL: u8 = 58;
const REBINDING: u8 = 59;
const SERVER_NAME: u8 = 66;
const BOOT_FILE: u8 = 67;
const DOMAIN_SEARCH: u8 = 119;
const CLASSLESS_ROUTES: u8 = 121;
/// The same under the code of clients from before RFC 3442.
const CLASSLESS_ROUTES_EARLY: u8 = 249;

/// For how long the client gets its address: what it asks for within bounds (RFC 2131 section 4.3.1).
pub fn granted(times: &Times, asked: Option<u32>) -> u32 {
    let longest = times.max.unwrap_or(times.lease);
    asked.map_or(times.lease, |asked| asked.clamp(SHORTEST.min(longest), longest))
}

/// Options 51, 58 and 59. A time for less than the pool's own is cut in proportion.
pub fn times(times: &Times, lease: u32) -> Vec<Opt> {
    let part = |own: Option<u32>, eighths: u64| {
        let usual = u64::from(lease) * eighths / 8;
        let own = own.filter(|own| *own < lease);
        own.unwrap_or(u32::try_from(usual).unwrap_or(u32::MAX))
    };
    let rebinding = part(times.rebinding, 7);
    let renewal = part(times.renewal, 4).min(rebinding);
    vec![Opt::seconds(LEASE_TIME, lease), Opt::seconds(RENEWAL, renewal), Opt::seconds(REBINDING, rebinding)]
}

/// What the client wants of what the pool has; a client without a list wants all of it (RFC 2131 section 4.3.1).
pub fn wanted(pool: &AllocationPool, pod_mtu: u16, request: &Request) -> Vec<Opt> {
    let Some(codes) = &request.wanted else { return all(pool, pod_mtu) };
    let mut all = all(pool, pod_mtu);
    let routes = all.iter().find(|option| option.code == CLASSLESS_ROUTES).cloned();
    if let Some(routes) = routes {
        // RFC 3442: a client that takes classless routes gets no routers beside them.
        if codes.contains(&CLASSLESS_ROUTES) {
            all.retain(|option| option.code != ROUTER);
        }
        all.push(Opt { code: CLASSLESS_ROUTES_EARLY, ..routes });
    }
    all.retain(|option| codes.contains(&option.code));
    all
}

fn all(pool: &AllocationPool, pod_mtu: u16) -> Vec<Opt> {
    let mut found = Vec::new();
    let IpNetwork::V4(subnet) = pool.subnet else { return found };
    let options = &pool.options;
    let of_v4 = |addresses: &[IpAddr]| addresses.iter().filter_map(v4).collect::<Vec<_>>();
    let several = |code: u8, addresses: Vec<Ipv4Addr>| {
        (!addresses.is_empty()).then(|| Opt::addresses(code, &addresses))
    };
    let text = |code: u8, text: &Option<Text>| text.as_ref().map(|text| Opt::new(code, text.as_bytes()));
    let routers = routers(pool);
    let routes = classless_routes(pool, &routers).map(|routes| Opt::new(CLASSLESS_ROUTES, routes));
    found.push(Opt::addresses(SUBNET_MASK, &[subnet.mask()]));
    found.extend(several(ROUTER, routers));
    found.extend(routes);
    found.extend(several(DNS, of_v4(&pool.dns)));
    found.push(Opt::new(MTU, pool.mtu(pod_mtu).to_be_bytes()));
    found.extend(text(DOMAIN_NAME, &options.domain));
    found.push(Opt::addresses(BROADCAST, &[subnet.broadcast()]));
    found.extend(several(NTP, of_v4(&options.ntp)));
    found.extend(text(SERVER_NAME, &options.server_name));
    found.extend(text(BOOT_FILE, &options.boot_file));
    if !options.search.is_empty() {
        found.push(Opt::new(DOMAIN_SEARCH, names(&options.search)));
    }
    found
}

fn v4(address: &IpAddr) -> Option<Ipv4Addr> {
    if let IpAddr::V4(address) = address { Some(*address) } else { None }
}

fn routers(pool: &AllocationPool) -> Vec<Ipv4Addr> {
    match pool.options.routers.as_slice() {
        [] => pool.gateway.iter().filter_map(v4).collect(),
        routers => routers.iter().filter_map(v4).collect(),
    }
}

/// RFC 3442: prefix length, the octets of the destination that it covers, the router. `None`: no routes are configured.
fn classless_routes(pool: &AllocationPool, routers: &[Ipv4Addr]) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    let mut route = |destination: &ipnetwork::Ipv4Network, router: Ipv4Addr| {
        let octets = usize::from(destination.prefix().div_ceil(8));
        data.push(destination.prefix());
        data.extend_from_slice(&destination.network().octets()[..octets]);
        data.extend_from_slice(&router.octets());
    };
    let mut default = false;
    for (destination, next_hop) in &pool.options.routes {
        if let (IpNetwork::V4(destination), IpAddr::V4(next_hop)) = (destination, next_hop) {
            default |= destination.prefix() == 0;
            route(destination, *next_hop);
        }
    }
    if let (false, Some(router)) = (default, routers.first()) {
        // Who takes these routes ignores the router option.
        if let Ok(everything) = ipnetwork::Ipv4Network::new(Ipv4Addr::UNSPECIFIED, 0) {
            route(&everything, *router);
        }
    }
    (!pool.options.routes.is_empty()).then_some(data)
}
