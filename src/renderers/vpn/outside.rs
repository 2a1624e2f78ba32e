//! External networks: each is a VPN of its own on the switches that have addresses of it.
//!
//! ```text
//! VPN of a pod, no route ─► 26                 (its floating address, its MAC: 26, 28, and back here)
//! VPN of the network ─► a floating address here: 25
//!                       ├ a neighbour: TTL, MAC, the port to the network
//!                       ├ somebody on the link: the controller asks who that is
//!                       └ all else: the gateway
//! ```

use std::net::{IpAddr, Ipv4Addr};

use ipnetwork::{IpNetwork, Ipv4Network};

use super::super::Rendered;
use super::super::recipes::{NEIGHBOUR, external_owner, floating_owner, through_uplink};
use super::flows;
use crate::model::{Floating, Model, Outlet, Uplink};
use crate::net::{Dpid, MacAddr, VpnId};
use crate::pipeline::actions::{dec_ttl, set_eth_dst};
use crate::pipeline::matches::{ip_host, ip_prefix, ipv4_src, split_horizon, vpn_id};
use crate::pipeline::{FIB, Flow, Owner, PDNAT, PSNAT, owners};
use crate::schema::Text;

type Owned = Owner<owners::Vpn>;

/// Bytes of a packet for somebody unknown that reach the controller: Ethernet and IPv4 headers.
const HEADERS: u16 = 64;

/// The ways to and from one floating address.
pub(super) fn floating(address: Ipv4Addr, model: &Model, out: &mut Rendered) {
    let Some(Ok(outlet)) = model.outside(address) else { return };
    let owner = floating_owner(address);
    out.flow(outlet.dpid, to_floating(&outlet, &owner));
    if let Some(Ok(floating)) = model.floating(address) {
        out.flow(outlet.dpid, out_of_pod(&floating, &owner));
    }
}

/// What an external network has beside neighbours, on a switch.
pub(super) fn network(id: &Text, dpid: Dpid, model: &Model, out: &mut Rendered) {
    let (Some(network), Some(vpn)) = (model.external_network(id), model.external_vpn(id)) else { return };
    let Some(uplink) = model.external_way(id, dpid) else { return };
    let owner = external_owner(id);
    if let Some(subnet) = network.subnet {
        out.flow(dpid, unknown(vpn, subnet, &uplink, &owner));
    }
    if let Some(mac) = network.gateway.and_then(|gateway| model.neighbour(id, gateway)) {
        let all = IpNetwork::from(Ipv4Network::from(Ipv4Addr::UNSPECIFIED));
        let all = IpNetwork::new(all.ip(), 0).unwrap_or(all);
        out.flow(dpid, to_neighbour(vpn, all, mac, &uplink, &owner));
    }
}

/// The way to somebody on an external network, on all switches that have addresses of it.
pub(super) fn neighbour(id: &Text, address: Ipv4Addr, model: &Model, out: &mut Rendered) {
    let (Some(vpn), Some(mac)) = (model.external_vpn(id), model.neighbour(id, address)) else { return };
    let on_link = model.external_network(id).and_then(|network| network.subnet);
    if !on_link.is_some_and(|subnet| subnet.contains(address)) {
        return;
    }
    let owner = external_owner(id);
    for dpid in model.switches_of_external(id) {
        if let Some(uplink) = model.external_way(id, dpid) {
            out.flow(dpid, to_neighbour(vpn, IpAddr::V4(address).into(), mac, &uplink, &owner));
        }
    }
}

/// What no route of its VPN leads to, from a pod that has an address outside. Not what came through a tunnel.
fn out_of_pod(floating: &Floating, owner: &Owned) -> Flow {
    Flow::table(FIB)
        .priority(flows::OWN_OUTSIDE)
        .matching([vpn_id(floating.vpn), split_horizon(false)])
        .matching(ipv4_src(floating.internal))
        .goto(PSNAT)
        .owned_by(owner)
}

/// From one floating address to another of the same switch: nothing leaves.
fn to_floating(floating: &Outlet, owner: &Owned) -> Flow {
    let host = IpAddr::V4(floating.external);
    Flow::table(FIB)
        .priority(flows::longest(host.into()) + 1)
        .matching([vpn_id(floating.outside)])
        .matching(ip_host(host))
        .goto(PDNAT)
        .owned_by(owner)
}

fn to_neighbour(vpn: VpnId, to: IpNetwork, mac: MacAddr, uplink: &Uplink, owner: &Owned) -> Flow {
    Flow::table(FIB)
        .priority(flows::longest(to))
        .matching([vpn_id(vpn)])
        .matching(ip_prefix(to))
        .then([dec_ttl(), set_eth_dst(mac)])
        .then(through_uplink(uplink))
        .owned_by(owner)
}

/// Somebody on the link whose MAC address is not known: the packet is lost, and the controller asks for whom it was.
fn unknown(vpn: VpnId, subnet: Ipv4Network, uplink: &Uplink, owner: &Owned) -> Flow {
    let subnet = IpNetwork::V4(subnet);
    Flow::table(FIB)
        .priority(flows::longest(subnet))
        .matching([vpn_id(vpn)])
        .matching(ip_prefix(subnet))
        .punt_metered(uplink.lport.0, HEADERS, NEIGHBOUR)
        .owned_by(owner)
}
