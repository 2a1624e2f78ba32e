//! External networks: each is a VPN of its own on the switches that have addresses of it.
//!
//! ```text
//! VPN of a pod, no route ─► 26                 (its floating address, its MAC: 26, 28, and back here)
//! VPN of the network ─► a floating address here: 25
//!                       ├ a neighbour: TTL, MAC, the port to the network
//!                       ├ somebody on the link: the controller asks who that is
//!                       └ all else: the gateway
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnetwork::{IpNetwork, Ipv4Network, Ipv6Network};

use super::super::Rendered;
use super::super::recipes::{NEIGHBOUR, external_owner, floating_owner, through_tunnel, through_uplink};
use super::flows;
use crate::model::{Floating, Model, Napt, Outlet, Uplink};
use crate::net::{Dpid, MacAddr, VpnId};
use crate::pipeline::actions::{dec_ttl, set_eth_dst, set_eth_src};
use crate::pipeline::matches::{ip_host, ip_prefix, ip_src_host, ip_version_of, split_horizon, vpn_id};
use crate::pipeline::{FIB, Flow, Owner, PDNAT, PSNAT, owners};
use crate::schema::Text;

type Owned = Owner<owners::Vpn>;

/// Bytes of a packet for somebody unknown that reach the controller: Ethernet and IP headers.
const HEADERS: u16 = 64;

/// The ways to and from one floating address.
pub(super) fn floating(address: IpAddr, model: &Model, out: &mut Rendered) {
    let Some(Ok(outlet)) = model.outside(address) else { return };
    let owner = floating_owner(address);
    out.flow(outlet.dpid, to_floating(&outlet, &owner));
    if let Some(Ok(floating)) = model.floating(address) {
        out.flow(outlet.dpid, out_of_pod(&floating, &owner));
    }
    if let Some(napt) = model.napt_of(address) {
        shared_by_vpn(&napt, &owner, model, out);
    }
}

/// What no route of a VPN leads to goes to the switch that has the address of its pods, and there on.
fn shared_by_vpn(napt: &Napt, owner: &Owned, model: &Model, out: &mut Rendered) {
    let version = ip_version_of(napt.outlet.external);
    let outside = || Flow::table(FIB).priority(flows::OUTSIDE);
    let here = outside().matching([vpn_id(napt.vpn), version]).goto(PSNAT);
    out.flow(napt.outlet.dpid, here.owned_by(owner));
    let Some(vpn) = model.vpn(&napt.router) else { return };
    let way = vpn.l3_vni.zip(model.endpoint(napt.outlet.dpid)).zip(vpn.gateway_mac());
    let Some(((vni, remote), gateway)) = way else { return };
    let users = model.napt_users(napt).filter(|dpid| *dpid != napt.outlet.dpid && model.has_tunnel(*dpid));
    // Never from one tunnel into another.
    let there = outside()
        .matching([vpn_id(napt.vpn), split_horizon(false), version])
        .then([dec_ttl(), set_eth_src(gateway), set_eth_dst(gateway)])
        .then(through_tunnel(vni, remote));
    out.shared_flow(users, there.owned_by(owner));
}

/// What an external network has beside neighbours, on a switch.
pub(super) fn network(id: &Text, dpid: Dpid, model: &Model, out: &mut Rendered) {
    let (Some(network), Some(vpn)) = (model.external_network(id), model.external_vpn(id)) else { return };
    let Some(uplink) = model.external_way(id, dpid) else { return };
    let owner = external_owner(id);
    for subnet in network.subnets() {
        out.flow(dpid, unknown(vpn, subnet, &uplink, &owner));
    }
    for gateway in network.gateways() {
        if let Some(mac) = model.neighbour(id, gateway) {
            out.flow(dpid, to_neighbour(vpn, all_of_version(gateway), mac, &uplink, &owner));
        }
    }
}

/// The way to somebody on an external network, on all switches that have addresses of it.
pub(super) fn neighbour(id: &Text, address: IpAddr, model: &Model, out: &mut Rendered) {
    let (Some(vpn), Some(mac)) = (model.external_vpn(id), model.neighbour(id, address)) else { return };
    let mut subnets = model.external_network(id).into_iter().flat_map(|network| network.subnets());
    if !subnets.any(|subnet| subnet.contains(address)) {
        return;
    }
    let owner = external_owner(id);
    for dpid in model.switches_of_external(id) {
        if let Some(uplink) = model.external_way(id, dpid) {
            out.flow(dpid, to_neighbour(vpn, address.into(), mac, &uplink, &owner));
        }
    }
}

/// What no route of its VPN leads to, from a pod that has an address outside. Not what came through a tunnel.
fn out_of_pod(floating: &Floating, owner: &Owned) -> Flow {
    Flow::table(FIB)
        .priority(flows::OWN_OUTSIDE)
        .matching([vpn_id(floating.vpn), split_horizon(false)])
        .matching(ip_src_host(floating.internal))
        .goto(PSNAT)
        .owned_by(owner)
}

/// From one floating address to another of the same switch: nothing leaves.
fn to_floating(floating: &Outlet, owner: &Owned) -> Flow {
    let host = floating.external;
    Flow::table(FIB)
        .priority(flows::longest(host.into()) + 1)
        .matching([vpn_id(floating.outside)])
        .matching(ip_host(host))
        .goto(PDNAT)
        .owned_by(owner)
}

/// What is for nobody in particular.
fn all_of_version(address: IpAddr) -> IpNetwork {
    let none = "a prefix of no bits";
    match address {
        IpAddr::V4(_) => IpNetwork::V4(Ipv4Network::new(Ipv4Addr::UNSPECIFIED, 0).expect(none)),
        IpAddr::V6(_) => IpNetwork::V6(Ipv6Network::new(Ipv6Addr::UNSPECIFIED, 0).expect(none)),
    }
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
fn unknown(vpn: VpnId, subnet: IpNetwork, uplink: &Uplink, owner: &Owned) -> Flow {
    Flow::table(FIB)
        .priority(flows::longest(subnet))
        .matching([vpn_id(vpn)])
        .matching(ip_prefix(subnet))
        .punt_metered(uplink.lport.0, HEADERS, NEIGHBOUR)
        .owned_by(owner)
}
