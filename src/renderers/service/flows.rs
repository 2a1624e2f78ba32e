//! Tables 29 to 35, 37 and 38.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use openflow_rs::MatchField;
use xxhash_rust::xxh3::xxh3_64;

use super::super::recipes::{floating_owner, through_tunnel};
use super::super::zones::{CLIENTS, ENDPOINTS, HAIRPIN_V4, HAIRPIN_V6, HAIRPINS};
use super::parts::Bucket;
use crate::model::{NODE_VPN, Outlet, Remote, SERVICE_ANSWERS, SERVICE_REQUESTS, gateway_mac};
use crate::net::{LportTag, MacAddr, Transport};
use crate::pipeline::actions::{
    choose_endpoint, clear_in_port, dec_ttl, egress_to, group, learn_endpoint, load_egress_service,
    load_for_node_port, load_metadata, load_service_way, look_up, recall_tunnel, remember_tunnel, resubmit,
    set_eth_dst, set_eth_src, set_tun_dst_recalled, set_tun_id, track, translate_destination,
};
use crate::pipeline::matches::{
    chosen_endpoint, client_is_here, ct_established, ct_new, ct_reply, for_node_port, ip_host, ip_src_host,
    ip_ttl, ipv4, ipv6, is_from_outside, lport, port_from, port_to, service_way, split_horizon,
};
use crate::pipeline::{
    EGRESS_DISPATCHER, FIB, Flow, LPORT_DISPATCHER, Metadata, Meter, Owner, SERVICE, SERVICE_AFFINITY,
    SERVICE_ANSWER, SERVICE_CONNECTION, SERVICE_EGRESS, SERVICE_ENDPOINT, SERVICE_FIB, SERVICE_NODE_PORT,
    SERVICE_OUTSIDE, ServicePlace, ServiceWay, owners,
};

/// A pod that has no part in services beats everything.
const STRANGER: u16 = 40;
/// To a service: beats [`FROM_ENDPOINT`], for an endpoint may be a client, from any port.
const TO_SERVICE: u16 = 30;
const FROM_ENDPOINT: u16 = 20;
/// To a pod by a port of its node: below [`FROM_ENDPOINT`], since nodes ask pods, too, and beats [`TO_NODE`].
const TO_HOST_PORT: u16 = 15;
const TO_NODE: u16 = 10;
/// The only flows of their tables beside the misses.
const NODE_PORT: u16 = 10;
const ASKED_THERE: u16 = 10;
/// A new connection and a known one are never the same packet.
const NEW: u16 = 20;
const NEW_AT_HOST_PORT: u16 = 15;
const KNOWN: u16 = 10;
/// A packet that must not be routed on beats every way.
const EXPIRED: u16 = 60;
/// From an endpoint to itself: beats [`HERE`].
const HAIRPIN: u16 = 40;
/// An endpoint on this switch, and elsewhere; no address is both.
const HERE: u16 = 30;
const ELSEWHERE: u16 = 20;
/// Answers to clients on this switch: beats [`ANSWER`].
const ANSWER_HERE: u16 = 11;
const ANSWER: u16 = 10;
const DONE: u16 = 10;
/// The endpoint that a client had: beats the group, which chooses where it is gone.
const THIS_ENDPOINT: u16 = 20;
const ANY_ENDPOINT: u16 = 10;

/// Index of the egress services behind the translation of a service.
const TRANSLATED: u8 = 2;

/// What refused packets are handed over with (`refusal`), and how much of them: all headers.
const REFUSE: &[u8] = b"refuse";
const REFUSED: u16 = 256;

type Owned = Owner<owners::Service>;

/// What all services of a switch share.
pub(super) fn of_switch(owner: &Owned) -> Vec<Flow> {
    let request = load_service_way(ServiceWay::Request);
    let known = Flow::table(SERVICE_CONNECTION).priority(KNOWN).matching([ct_established()]);
    let answer = Flow::table(SERVICE_ANSWER).priority(KNOWN).matching([ct_reply()]);
    let answer = answer.then([load_service_way(ServiceWay::Answer), recall_tunnel()]);
    let here = Flow::table(SERVICE_FIB).priority(ANSWER_HERE);
    let here = here.matching([service_way(ServiceWay::Answer), client_is_here()]);
    let here = here.then(load_metadata(Metadata::new().vpn(NODE_VPN))).then([resubmit(FIB)]);
    let done = Flow::table(SERVICE_EGRESS).priority(DONE);
    let mut flows = vec![
        known.then([request, resubmit(LPORT_DISPATCHER)]).owned_by(owner),
        answer.then([resubmit(LPORT_DISPATCHER)]).owned_by(owner),
        here.owned_by(owner),
        done.then([load_egress_service(TRANSLATED), resubmit(EGRESS_DISPATCHER)]).owned_by(owner),
    ];
    for (version, ttl) in [(ipv4(), 0), (ipv4(), 1), (ipv6(), 0), (ipv6(), 1)] {
        let draft = Flow::table(SERVICE_FIB).priority(EXPIRED).matching([version, ip_ttl(ttl)]);
        flows.push(draft.owned_by(owner));
    }
    for address in [IpAddr::V4(HAIRPIN_V4), IpAddr::V6(HAIRPIN_V6)] {
        let back = Flow::table(SERVICE).priority(TO_SERVICE).matching(ip_host(address));
        let back = back.then([load_service_way(ServiceWay::Answer), track(HAIRPINS, LPORT_DISPATCHER)]);
        flows.push(back.owned_by(owner));
    }
    flows
}

/// Answers to clients of other switches go where the requests came from.
pub(super) fn answers_elsewhere(tunnel: LportTag, owner: &Owned) -> [Flow; 2] {
    [ipv4(), ipv6()].map(|version| answer_elsewhere(version, tunnel, owner))
}

fn answer_elsewhere(version: MatchField, tunnel: LportTag, owner: &Owned) -> Flow {
    Flow::table(SERVICE_FIB)
        .priority(ANSWER)
        .matching([service_way(ServiceWay::Answer), version])
        .then([dec_ttl(), set_eth_src(gateway_mac(NODE_VPN)), set_eth_dst(gateway_mac(NODE_VPN))])
        .then([set_tun_id(SERVICE_ANSWERS), set_tun_dst_recalled(), load_service_way(ServiceWay::None)])
        .then([egress_to(tunnel), resubmit(EGRESS_DISPATCHER)])
        .owned_by(owner)
}

/// What a pod sends from an address at which its node reaches another pod.
pub(super) fn stranger(port: LportTag, address: IpAddr, owner: &Owned) -> Flow {
    Flow::table(SERVICE)
        .priority(STRANGER)
        .matching([lport(port)])
        .matching(ip_src_host(address))
        .then([resubmit(LPORT_DISPATCHER)])
        .owned_by(owner)
}

/// From any pod to a port of a service.
pub(super) fn to_service((address, transport, port): Destination, owner: &Owned) -> Flow {
    Flow::table(SERVICE)
        .priority(TO_SERVICE)
        .matching(ip_host(address))
        .matching(port_to(transport, port))
        .then([track(CLIENTS, SERVICE_CONNECTION)])
        .owned_by(owner)
}

/// From any pod, or by the node's own port, to a port of a node that leads to a pod.
pub(super) fn to_host_port((address, transport, port): Destination, owner: &Owned) -> Flow {
    Flow::table(SERVICE)
        .priority(TO_HOST_PORT)
        .matching(ip_host(address))
        .matching(port_to(transport, port))
        .then([track(CLIENTS, SERVICE_CONNECTION)])
        .owned_by(owner)
}

/// A connection there: below those of services, should one have this address and port.
pub(super) fn new_at_host_port((address, transport, port): Destination, balance: u32, owner: &Owned) -> Flow {
    Flow::table(SERVICE_CONNECTION)
        .priority(NEW_AT_HOST_PORT)
        .matching([ct_new()])
        .matching(ip_host(address))
        .matching(port_to(transport, port))
        .then([load_service_way(ServiceWay::Request), group(balance)])
        .owned_by(owner)
}

/// An address, a protocol and a port of a service.
pub(super) type Destination = (IpAddr, Transport, u16);

/// What asks for one thing: where, and from outside or not, if that makes a difference.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked {
    pub place: ServicePlace,
    pub outside: Option<bool>,
    pub transport: Transport,
    pub port: u16,
}

impl Asked {
    /// Where connections go; those to node ports, whatever the node.
    pub fn destination(&self) -> (IpAddr, u16) {
        let any_v4 = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let address = match self.place {
            ServicePlace::Address(address) => address,
            ServicePlace::Node { is_v6: false } => any_v4,
            ServicePlace::Node { is_v6: true } => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        (address, self.port)
    }

    fn conditions(&self) -> impl Iterator<Item = MatchField> {
        let place = match self.place {
            ServicePlace::Address(address) => ip_host(address),
            ServicePlace::Node { is_v6 } => [version(is_v6), for_node_port()],
        };
        let outside = self.outside.map(is_from_outside);
        outside.into_iter().chain(place).chain(port_to(self.transport, self.port))
    }
}

fn version(is_v6: bool) -> MatchField {
    if is_v6 { ipv6() } else { ipv4() }
}

/// A connection that has no endpoint yet.
pub(super) fn new_connection(asked: &Asked, balance: u32, owner: &Owned) -> Flow {
    Flow::table(SERVICE_CONNECTION)
        .priority(NEW)
        .matching([ct_new()])
        .matching(asked.conditions())
        .then([load_service_way(ServiceWay::Request), group(balance)])
        .owned_by(owner)
}

/// The same of a service with session affinity: the endpoint that the client had last is looked for first.
pub(super) fn new_session(asked: &Asked, owner: &Owned) -> Flow {
    Flow::table(SERVICE_CONNECTION)
        .priority(NEW)
        .matching([ct_new()])
        .matching(asked.conditions())
        .then([load_service_way(ServiceWay::Request), resubmit(SERVICE_AFFINITY), resubmit(SERVICE_ENDPOINT)])
        .owned_by(owner)
}

/// A client that had no endpoint, or one that is gone.
pub(super) fn choose(asked: &Asked, balance: u32, owner: &Owned) -> Flow {
    Flow::table(SERVICE_ENDPOINT)
        .priority(ANY_ENDPOINT)
        .matching(asked.conditions())
        .then([group(balance)])
        .owned_by(owner)
}

/// A client that has chosen this endpoint.
pub(super) fn chosen(
    asked: &Asked,
    number: u32,
    (ip, target): (IpAddr, u16),
    seconds: u16,
    owner: &Owned,
) -> Flow {
    let place = (asked.place, asked.transport, asked.port);
    Flow::table(SERVICE_ENDPOINT)
        .priority(THIS_ENDPOINT)
        .matching([chosen_endpoint(number)])
        .matching(asked.conditions())
        .then([
            learn_endpoint(SERVICE_AFFINITY, place, number, seconds),
            translate_destination(CLIENTS, ip, target, LPORT_DISPATCHER),
        ])
        .owned_by(owner)
}

/// A choice is made by a group, and told by its number.
pub(super) fn choices(endpoints: &[(IpAddr, u16)]) -> Vec<Bucket> {
    let bucket = |(number, endpoint)| (endpoint, vec![choose_endpoint(number), resubmit(SERVICE_ENDPOINT)]);
    numbered(endpoints).into_iter().map(bucket).collect()
}

/// A connection that nobody could take: the controller refuses it, as often as the meter lets it.
pub(super) fn refuse(asked: &Asked, meter: u32, owner: &Owned) -> Flow {
    Flow::table(SERVICE_CONNECTION)
        .priority(NEW)
        .matching([ct_new()])
        .matching(asked.conditions())
        .punt_metered(meter, REFUSED, REFUSE)
        .owned_by(owner)
}

/// Refusals of a switch: so many packets a second, and at once.
pub(super) fn refusals(meter: u32, owner: &Owned) -> Meter {
    Meter::packets_per_second(meter, 200, 200, owner)
}

/// The number of each endpoint of a port: its own, whatever others there are, but where two would have the same.
pub(super) fn numbered(endpoints: &[(IpAddr, u16)]) -> BTreeMap<u32, (IpAddr, u16)> {
    let mut numbered = BTreeMap::new();
    for endpoint in endpoints {
        let mut number = (xxh3_64(endpoint_text(endpoint).as_bytes()) as u32).max(1);
        while numbered.contains_key(&number) {
            number = number.wrapping_add(1).max(1);
        }
        numbered.insert(number, *endpoint);
    }
    numbered
}

/// As `std::net::SocketAddr` is written. Of thousands of endpoints each is written whenever one comes, so IPv4 is done by hand.
pub(super) fn endpoint_text((address, port): &(IpAddr, u16)) -> String {
    let IpAddr::V4(address) = address else { return SocketAddr::new(*address, *port).to_string() };
    let mut text = String::with_capacity("255.255.255.255:65535".len());
    for (number, octet) in address.octets().into_iter().enumerate() {
        if number > 0 {
            text.push('.');
        }
        push_decimal(&mut text, octet.into());
    }
    text.push(':');
    push_decimal(&mut text, *port);
    text
}

fn push_decimal(text: &mut String, number: u16) {
    if number > 9 {
        push_decimal(text, number / 10);
    }
    text.push(char::from(b'0' + (number % 10) as u8));
}

/// A connection gets the endpoint that its addresses and ports hash to, and keeps it.
pub(super) fn translations(endpoints: &[(IpAddr, u16)]) -> Vec<Bucket> {
    let bucket = |endpoint: &(IpAddr, u16)| {
        let (address, port) = *endpoint;
        (*endpoint, vec![translate_destination(CLIENTS, address, port, LPORT_DISPATCHER)])
    };
    endpoints.iter().map(bucket).collect()
}

/// What is for an address of a node may be for a node port.
pub(super) fn to_node(address: IpAddr, owner: &Owned) -> Flow {
    Flow::table(SERVICE)
        .priority(TO_NODE)
        .matching(ip_host(address))
        .then([resubmit(SERVICE_NODE_PORT)])
        .owned_by(owner)
}

/// It is, if it is for this number.
pub(super) fn node_port(is_v6: bool, transport: Transport, port: u16, owner: &Owned) -> Flow {
    Flow::table(SERVICE_NODE_PORT)
        .priority(NODE_PORT)
        .matching([version(is_v6)])
        .matching(port_to(transport, port))
        .then([load_for_node_port(), track(CLIENTS, SERVICE_CONNECTION)])
        .owned_by(owner)
}

/// Answers to who asked at a node, back to that.
pub(super) fn answer_by_node(address: IpAddr, node: MacAddr, lport: LportTag, owner: &Owned) -> Flow {
    Flow::table(SERVICE_OUTSIDE)
        .priority(ASKED_THERE)
        .matching(ip_src_host(address))
        .then([dec_ttl(), set_eth_src(gateway_mac(NODE_VPN)), set_eth_dst(node)])
        .then([load_service_way(ServiceWay::None), egress_to(lport), resubmit(EGRESS_DISPATCHER)])
        .owned_by(owner)
}

/// Answers to who asked at an address of an external network, by that.
pub(super) fn answer_by_network(outlet: &Outlet) -> Flow {
    Flow::table(SERVICE_OUTSIDE)
        .priority(ASKED_THERE)
        .matching(ip_src_host(outlet.external))
        .then(load_metadata(Metadata::new().vpn(outlet.outside)))
        .then([load_service_way(ServiceWay::None), set_eth_src(outlet.mac), resubmit(FIB)])
        .owned_by(&floating_owner(outlet.external))
}

/// What an endpoint sends from a port at which it serves.
pub(super) fn from_endpoint(address: IpAddr, transport: Transport, port: u16, owner: &Owned) -> Flow {
    Flow::table(SERVICE)
        .priority(FROM_ENDPOINT)
        .matching(ip_src_host(address))
        .matching(port_from(transport, port))
        .then([look_up(ENDPOINTS, SERVICE_ANSWER)])
        .owned_by(owner)
}

/// To an endpoint of this switch, from others and from itself.
pub(super) fn to_endpoint(
    address: IpAddr,
    gateway: MacAddr,
    pod: MacAddr,
    port: LportTag,
    owner: &Owned,
) -> [Flow; 2] {
    let out = [dec_ttl(), set_eth_src(gateway), set_eth_dst(pod), clear_in_port(), egress_to(port)];
    let to = |priority: u16| {
        let draft = Flow::table(SERVICE_FIB).priority(priority).matching([service_way(ServiceWay::Request)]);
        draft.matching(ip_host(address))
    };
    let hairpin = to(HAIRPIN).matching(ip_src_host(address)).then(out.clone());
    let hairpin = hairpin.then([load_service_way(ServiceWay::Hairpin), resubmit(EGRESS_DISPATCHER)]);
    let others = to(HERE).then([remember_tunnel(ENDPOINTS)]).then(out);
    [hairpin.owned_by(owner), others.then([resubmit(EGRESS_DISPATCHER)]).owned_by(owner)]
}

/// To an endpoint of another switch. Never from one tunnel into another.
pub(super) fn to_endpoint_elsewhere(address: IpAddr, remote: Remote, owner: &Owned) -> Flow {
    Flow::table(SERVICE_FIB)
        .priority(ELSEWHERE)
        .matching([service_way(ServiceWay::Request), split_horizon(false)])
        .matching(ip_host(address))
        .then([dec_ttl(), set_eth_src(gateway_mac(NODE_VPN)), set_eth_dst(gateway_mac(NODE_VPN))])
        .then(through_tunnel(SERVICE_REQUESTS, remote))
        .owned_by(owner)
}

/// To a host outside, as its client's namespace gets there. Not for what came through a tunnel.
pub(super) fn to_outside(address: IpAddr, owner: &Owned) -> Flow {
    Flow::table(SERVICE_FIB)
        .priority(ELSEWHERE)
        .matching([service_way(ServiceWay::Request), split_horizon(false)])
        .matching(ip_host(address))
        .then([load_service_way(ServiceWay::None), resubmit(FIB)])
        .owned_by(owner)
}

/// What comes from a host outside, from a port that serves: an answer to a service, if the client asked one.
pub(super) fn from_outside(
    node: LportTag,
    address: IpAddr,
    transport: Transport,
    port: u16,
    owner: &Owned,
) -> Flow {
    Flow::table(SERVICE)
        .priority(FROM_ENDPOINT)
        .matching([lport(node)])
        .matching(ip_src_host(address))
        .matching(port_from(transport, port))
        .then([load_service_way(ServiceWay::Answer), resubmit(LPORT_DISPATCHER)])
        .owned_by(owner)
}
