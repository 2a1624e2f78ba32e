//! The evaluator against `ofproto/trace`: the same packets, the same flows hit in the same order, the same copies out.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use openflow_rs::{Field, Match};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use super::super::testing::*;
use super::ovs::{Control, Ovs};
use crate::model::{NODE_VPN, SERVICE_ANSWERS, SERVICE_REQUESTS, floating_mac};
use crate::net::MacAddr;
use crate::pipeline::evaluate::{Cause, Outcome, Packet, Tables, evaluate};
use crate::pipeline::{Flow, FlowSet, Metadata, SwitchTables, golden};

/// Packets a switch; there are two.
const PACKETS: usize = 6_000;
const TUNNEL: u32 = 1;
/// The port to the physical network, and what is called outside there.
const UPLINK: u32 = 18;
const OUTSIDE: &str = "net";
/// Floating addresses.
const FLOATING: [[u8; 4]; 4] = [[203, 0, 113, 10], [203, 0, 113, 15], [203, 0, 113, 20], [203, 0, 113, 25]];
const FLOATING_V6: [&str; 2] = ["2001:db8:113::11", "2001:db8:113::14"];
/// Tables around connection tracking: what state a packet comes back with no trace knows. Packets prove them (csit).
const TRACKING: [u8; 27] = [
    26, 29, 30, 31, 32, 33, 34, 35, 37, 38, 44, 46, 47, 211, 212, 213, 214, 215, 216, 217, 241, 242, 243,
    244, 245, 246, 247,
];

/// What a packet has behind its IP header.
const TRANSPORT: [Field; 10] = [
    Field::TcpSrc,
    Field::TcpDst,
    Field::UdpSrc,
    Field::UdpDst,
    Field::SctpSrc,
    Field::SctpDst,
    Field::IcmpType,
    Field::IcmpCode,
    Field::Icmpv6Type,
    Field::Icmpv6Code,
];

/// One copy that leaves: where to, and its headers.
#[derive(Clone, PartialEq, Debug)]
enum Leaves {
    Port(u32, Packet),
    Tunnel { vni: u128, to: u128, headers: Packet },
    Controller { max_len: u16 },
}

/// Flows by their unique cookies, and copies that leave.
type Way = (Vec<u64>, Vec<Leaves>);

/// Ports by their numbers in the datapath: the OpenFlow number of those of the bridge, nothing for the bridge below.
type Ports = BTreeMap<u32, Option<u32>>;

/// Whether only packets of services meet a flow, or those of the node's own port, which this world has not.
fn of_services(flow: &Flow) -> bool {
    let of_nodes = u128::from(Metadata::new().vpn(NODE_VPN).value);
    let vnis = [SERVICE_REQUESTS, SERVICE_ANSWERS].map(|vni| u128::from(vni.0));
    flow.parts().0.fields.iter().any(|one| match one.field {
        Field::Reg7 => true,
        Field::TunnelId => vnis.contains(&one.value),
        Field::Metadata => one.value == of_nodes,
        _ => false,
    })
}

/// What makes packets hit something.
struct Facts {
    macs: Vec<u128>,
    addresses: Vec<u128>,
    addresses_v6: Vec<u128>,
    vnis: Vec<u128>,
    ports: Vec<u32>,
    /// Addresses of the pod behind each port: those of version 4, and of version 6 with the link-local one.
    own: BTreeMap<u32, (Vec<u128>, Vec<u128>)>,
    here: Ipv4Addr,
    there: Ipv4Addr,
}

/// Three namespaces over two nodes; some pods wait for an address, some share a node, one ELAN is stretched.
fn world() -> World {
    let mut world = World::default()
        .with(switch(1))
        .with(switch(2))
        .with([k8s_node(1, Some("10.11.1.0/24")), k8s_node(2, Some("10.11.2.0/24"))])
        .with([pool("192.168.56.11:blue", "10.11.1.0/24", Some("10.11.1.1"))]);
    for (number, namespace) in ["blue", "blue", "blue", "red", "red", "green"].into_iter().enumerate() {
        let ofport = 10 + u32::try_from(number).unwrap();
        for node in 1..=2 {
            let name = format!("p{node}{number}");
            let (four, six) =
                (format!("10.11.{node}.{}", 10 + number), format!("fd00:{node}::{}", 10 + number));
            // Both versions, one of them, or none: the last of blue gets its address from the pool.
            let addresses = match number {
                1 | 4 => vec![four.as_str(), six.as_str()],
                2 => vec![],
                3 => vec![six.as_str()],
                _ => vec![four.as_str()],
            };
            world.put([
                pod_with(&name, namespace, node, &addresses),
                port(node, &format!("{namespace}:{name}"), ofport),
            ]);
        }
    }
    // Of node 1's ELAN by its host, but plugged in on the other switch.
    world.put([pod_with("far", "blue", 1, &["10.11.1.90", "fd00:1::90"]), port(2, "blue:far", 16)]);
    world.put([lease("blue:p12", Some("10.11.1.200"))]);
    // On each node two pods have an address outside.
    world.put([external(OUTSIDE, None), uplink(1, "physnet", UPLINK), uplink(2, "physnet", UPLINK)]);
    world.put([neighbour(OUTSIDE, "203.0.113.1", true), neighbour(OUTSIDE, "203.0.113.9", true)]);
    world.put([neighbour(OUTSIDE, "2001:db8:113::1", true), neighbour(OUTSIDE, "2001:db8:113::9", true)]);
    for node in 1..=2 {
        let of = |number: u64| {
            let external = format!("203.0.113.{}", 10 * node + number);
            (external, format!("10.11.{node}.{}", 10 + number))
        };
        let [(blue, inside), (green, inside_green)] = [of(0), of(5)];
        let ports = [format!("blue:p{node}0"), format!("green:p{node}5")];
        let mappings = [(&*blue, &*ports[0], &*inside), (&*green, &*ports[1], &*inside_green)];
        world.put([floating(&format!("r{node}"), OUTSIDE, &mappings)]);
        let (external, port) = (FLOATING_V6[usize::from(node == 2)], format!("blue:p{node}1"));
        let mapping = [(external, &*port, &*format!("fd00:{node}::11"))];
        world.put([floating(&format!("v{node}"), OUTSIDE, &mapping)]);
    }
    world
}

fn v6(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

impl Facts {
    fn of(world: &World, node: u64) -> Facts {
        let model = &world.workshop.model;
        let mut facts = Facts {
            macs: vec![
                0xffff_ffff_ffff,
                0x0180_c200_0000,
                0x0100_0ccc_cccd,
                0x0100_5e00_0001,
                0x3333_0000_0001,
                0x0211_2233_4455,
            ],
            addresses: vec![0, u128::from(u32::MAX), 0xe000_0001, 0x0808_0808],
            // Nobody, all nodes, one that no pod has, and where a neighbour is asked for (RFC 4291 section 2.7.1).
            addresses_v6: vec![0, 0xff02 << 112 | 1, 0xfd00 << 112 | 0x99, 0xff02 << 112 | 0x1_ff00_0010],
            vnis: vec![0, 7],
            ports: Vec::new(),
            own: BTreeMap::new(),
            here: host(node),
            there: host(3 - node),
        };
        for interface in model.interfaces() {
            let Some((identity, _, attachment)) = interface.plugged() else { continue };
            facts.macs.push(attachment.mac.to_u64().into());
            for address in interface.addresses.iter().map(|address| address.ip).chain(interface.gateways()) {
                match address {
                    IpAddr::V4(address) => facts.addresses.push(address.to_bits().into()),
                    IpAddr::V6(address) => facts.addresses_v6.push(address.to_bits()),
                }
            }
            if attachment.dpid.0 == node {
                facts.ports.push(attachment.ofport.0);
                let (own_v4, own_v6) = facts.own.entry(attachment.ofport.0).or_default();
                for address in &interface.addresses {
                    match address.ip {
                        IpAddr::V4(address) => own_v4.push(address.to_bits().into()),
                        IpAddr::V6(address) => own_v6.push(address.to_bits()),
                    }
                }
                let [a, b, c, d, e, f] = attachment.mac.0;
                let interface_id = u64::from_be_bytes([a ^ 2, b, c, 0xff, 0xfe, d, e, f]);
                own_v6.push(0xfe80 << 112 | u128::from(interface_id));
            }
            let vpn = model.vpn_of(identity).unwrap();
            let gateway = vpn.gateway_mac().unwrap();
            facts.macs.push(gateway.to_u64().into());
            facts.vnis.extend(vpn.l3_vni.map(|vni| u128::from(vni.0)));
            facts.vnis.extend(model.elan(&identity.elan).unwrap().vni.map(|vni| u128::from(vni.0)));
        }
        for address in FLOATING.map(Ipv4Addr::from) {
            facts.macs.push(floating_mac(address.into()).to_u64().into());
            facts.addresses.push(address.to_bits().into());
        }
        for address in FLOATING_V6.map(v6) {
            facts.macs.push(floating_mac(address.into()).to_u64().into());
            facts.addresses_v6.push(address.to_bits());
        }
        let outside = ["2001:db8:113::9", "2001:db8:113::77", "2001:db8:9::1"].map(v6);
        facts.addresses_v6.extend(outside.map(Ipv6Addr::to_bits));
        let outside = [[203, 0, 113, 9], [203, 0, 113, 77], [198, 51, 100, 2]].map(Ipv4Addr::from);
        facts.addresses.extend(outside.map(|address| u128::from(address.to_bits())));
        facts.ports.push(UPLINK);
        facts.ports.sort_unstable();
        facts
    }

    fn packet(&self, random: &mut StdRng) -> Packet {
        let mut packet = Packet::new();
        if random.random_bool(0.35) {
            packet.set(Field::InPort, TUNNEL.into());
            packet.set(Field::TunnelId, *self.vnis.choose(random).unwrap());
            packet.set(Field::TunSrc, u128::from(self.there.to_bits()));
            packet.set(Field::TunDst, u128::from(self.here.to_bits()));
        } else if random.random_bool(0.97) {
            packet.set(Field::InPort, (*self.ports.choose(random).unwrap()).into());
        } else {
            packet.set(Field::InPort, 19);
        }
        packet.set(Field::EthDst, *self.macs.choose(random).unwrap());
        packet.set(Field::EthSrc, *self.macs.choose(random).unwrap());
        // Mostly the port's own address.
        if random.random_bool(0.85)
            && let Some(place) =
                self.ports.iter().position(|port| packet.get(Field::InPort) == u128::from(*port))
        {
            packet.set(Field::EthSrc, mac(self.node(), self.ports[place]).to_u64().into());
        }
        if random.random_bool(0.04) {
            packet.set(Field::VlanTci, 0x1000 | random.random_range(0..0xfff_u128));
        }
        match random.random_range(0..100) {
            0..25 => self.arp(&mut packet, random),
            25..62 => self.ipv4(&mut packet, random),
            62..96 => self.ipv6(&mut packet, random),
            _ => packet.set(Field::EthType, *[0x88cc_u128, 0x8899, 0x0600].choose(random).unwrap()),
        }
        if random.random_bool(0.85) {
            self.tell_the_truth(&mut packet, random);
        }
        if packet.get(Field::InPort) == u128::from(UPLINK) && random.random_bool(0.7) {
            let address = Ipv4Addr::from(*FLOATING.choose(random).unwrap());
            packet.set(Field::EthDst, floating_mac(address.into()).to_u64().into());
            for field in [Field::Ipv4Dst, Field::ArpTpa] {
                if packet.has(field) {
                    packet.set(field, address.to_bits().into());
                }
            }
            let address = v6(FLOATING_V6.choose(random).unwrap());
            for field in [Field::Ipv6Dst, Field::NdTarget] {
                if packet.has(field) {
                    packet.set(Field::EthDst, floating_mac(address.into()).to_u64().into());
                    packet.set(field, address.to_bits());
                }
            }
        }
        packet
    }

    /// Makes a pod's packet one that it may send, or nearly: the rest of the way is walked by such ones only.
    fn tell_the_truth(&self, packet: &mut Packet, random: &mut StdRng) {
        let Some((own_v4, own_v6)) = self.own.get(&(packet.get(Field::InPort) as u32)) else { return };
        let asks = (packet.get(Field::UdpSrc), packet.get(Field::UdpDst)) == (68, 67);
        match packet.get(Field::EthType) {
            0x0800 if asks && random.random_bool(0.5) => {
                packet.set(Field::Ipv4Src, 0);
                packet.set(Field::Ipv4Dst, u128::from(u32::MAX));
            }
            kind @ (0x0800 | 0x0806) => {
                let field = if kind == 0x0800 { Field::Ipv4Src } else { Field::ArpSpa };
                if let Some(own) = own_v4.choose(random) {
                    packet.set(field, *own);
                }
            }
            0x86dd => {
                let own = *own_v6.choose(random).unwrap();
                if packet.get(Field::Ipv6Src) != 0 || random.random_bool(0.5) {
                    packet.set(Field::Ipv6Src, own);
                }
                if packet.has(Field::NdTll) {
                    packet.set(Field::NdTarget, own);
                }
            }
            _ => {}
        }
    }

    fn node(&self) -> u64 {
        u64::from(self.here.octets()[3] - 10)
    }

    fn address(&self, random: &mut StdRng) -> u128 {
        *self.addresses.choose(random).unwrap()
    }

    fn arp(&self, packet: &mut Packet, random: &mut StdRng) {
        packet.set(Field::EthType, 0x0806);
        packet.set(Field::ArpOp, *[1_u128, 1, 1, 2, 3].choose(random).unwrap());
        packet.set(Field::ArpSpa, self.address(random));
        packet.set(Field::ArpTpa, self.address(random));
        packet.set(Field::ArpSha, packet.get(Field::EthSrc));
        packet.set(Field::ArpTha, *self.macs.choose(random).unwrap());
    }

    fn ipv4(&self, packet: &mut Packet, random: &mut StdRng) {
        packet.set(Field::EthType, 0x0800);
        packet.set(Field::Ipv4Src, self.address(random));
        packet.set(Field::Ipv4Dst, self.address(random));
        packet.set(Field::IpTtl, *[0_u128, 1, 2, 64, 64, 64, 255].choose(random).unwrap());
        self.transport(packet, &[1, 1, 1, 6, 17, 17, 132, 89], random);
        self.routed_or_fragmented(packet, random);
    }

    fn ipv6(&self, packet: &mut Packet, random: &mut StdRng) {
        packet.set(Field::EthType, 0x86dd);
        packet.set(Field::Ipv6Src, *self.addresses_v6.choose(random).unwrap());
        packet.set(Field::Ipv6Dst, *self.addresses_v6.choose(random).unwrap());
        packet.set(Field::IpTtl, *[0_u128, 1, 2, 64, 64, 255].choose(random).unwrap());
        self.transport(packet, &[58, 58, 58, 58, 6, 17], random);
        self.routed_or_fragmented(packet, random);
        if packet.has(Field::NdTarget) {
            packet.set(Field::NdTarget, *self.addresses_v6.choose(random).unwrap());
        }
        if packet.has(Field::NdSll) {
            let told = if random.random_bool(0.7) { packet.get(Field::EthSrc) } else { 0 };
            packet.set(Field::NdSll, told);
        }
        if packet.has(Field::NdTll) {
            let told = if random.random_bool(0.7) { packet.get(Field::EthSrc) } else { 0 };
            packet.set(Field::NdTll, told);
        }
    }

    /// Most packets that are routed are for the gateway's MAC: the VPN's ids are a few.
    fn routed_or_fragmented(&self, packet: &mut Packet, random: &mut StdRng) {
        if random.random_bool(0.4) {
            packet.set(Field::EthDst, 0x02c0_e501_86a0 + random.random_range(0..3_u128));
        }
        if random.random_bool(0.08) {
            packet.set(Field::IpFrag, *[1_u128, 3].choose(random).unwrap());
        }
        // What comes behind the first fragment has no transport header.
        if packet.get(Field::IpFrag) == 3 {
            for field in TRANSPORT {
                packet.set(field, 0);
            }
        }
    }

    fn transport(&self, packet: &mut Packet, protocols: &[u128], random: &mut StdRng) {
        let protocol = *protocols.choose(random).unwrap();
        packet.set(Field::IpProto, protocol);
        let ports = [67_u128, 68, 546, 547, 53, 80, 40_000];
        let (source, target) = (*ports.choose(random).unwrap(), *ports.choose(random).unwrap());
        match protocol {
            1 => {
                packet.set(Field::IcmpType, *[8_u128, 8, 0, 3].choose(random).unwrap());
                packet.set(Field::IcmpCode, *[0_u128, 0, 0, 1].choose(random).unwrap());
            }
            58 => {
                packet.set(
                    Field::Icmpv6Type,
                    *[128_u128, 133, 134, 135, 135, 135, 135, 136, 136, 137, 143, 131]
                        .choose(random)
                        .unwrap(),
                );
                packet.set(Field::Icmpv6Code, u128::from(random.random_bool(0.05)));
            }
            6 => {
                packet.set(Field::TcpSrc, source);
                packet.set(Field::TcpDst, target);
            }
            17 if random.random_bool(0.5) => {
                packet.set(Field::UdpSrc, 68);
                packet.set(Field::UdpDst, 67);
            }
            17 => {
                packet.set(Field::UdpSrc, source);
                packet.set(Field::UdpDst, target);
            }
            132 => {
                packet.set(Field::SctpSrc, source);
                packet.set(Field::SctpDst, target);
            }
            _ => {}
        }
    }
}

/// The packet as `ofproto/trace` reads it.
fn text(packet: &Packet) -> String {
    let mut fields = Match { fields: packet.fields() };
    let apart = |field: Field| matches!(field, Field::IpFrag | Field::VlanVid | Field::VlanPcp);
    fields.fields.retain(|condition| !apart(condition.field));
    let mut text = fields.to_string();
    // One name is printed for several fields, but read for one of them only.
    text = match packet.get(Field::IpProto) {
        6 => text.replace("tp_", "tcp_"),
        17 => text.replace("tp_", "udp_"),
        132 => text.replace("tp_", "sctp_"),
        58 => text.replace("icmp_", "icmpv6_"),
        _ => text,
    };
    if packet.is_tagged() {
        text += &format!(",vlan_tci={:#06x}", packet.get(Field::VlanTci));
    }
    match packet.get(Field::IpFrag) {
        0 => {}
        1 => text += ",nw_frag=first",
        _ => text += ",nw_frag=later",
    }
    text
}

/// What we say.
fn evaluated(packet: &Packet, tables: &Tables) -> Way {
    let walk = evaluate(packet.clone(), tables);
    let rows =
        walk.hits().map(|(table, flow)| flow.unwrap_or_else(|| panic!("table {table} has no miss")).cookie);
    let leaves = walk.outcomes.iter().filter_map(|outcome| match outcome {
        Outcome::Output { port: TUNNEL, packet } => Some(Leaves::Tunnel {
            vni: packet.get(Field::TunnelId),
            to: packet.get(Field::TunDst),
            headers: packet.headers(),
        }),
        Outcome::Output { port, packet } => Some(Leaves::Port(*port, packet.headers())),
        Outcome::Punt { max_len, .. } => Some(Leaves::Controller { max_len: *max_len }),
        // The switch tells the controller of it.
        Outcome::Drop { cause: Cause::Ttl, .. } => Some(Leaves::Controller { max_len: u16::MAX }),
        Outcome::Drop { .. } => None,
    });
    (rows.collect(), leaves.collect())
}

/// What Open vSwitch says: cookies of the lookups, and its datapath actions carried out on the headers.
fn traced(packet: &Packet, trace: &str, ports: &Ports) -> Way {
    let rows = trace.lines().filter_map(|line| {
        let (_, cookie) = line.split_once(", cookie 0x")?;
        u64::from_str_radix(cookie.trim(), 16).ok()
    });
    let actions = trace.lines().rev().find_map(|line| line.strip_prefix("Datapath actions: "));
    let mut at = packet.headers();
    let mut leaves = Vec::new();
    for action in split(actions.unwrap_or_else(|| panic!("no actions in {trace}"))) {
        let (name, inside) = action.split_once('(').unwrap_or((action, ""));
        let inside = inside.strip_suffix(')').unwrap_or(inside);
        match name {
            "drop" | "meter" => {}
            "set" => set(&mut at, inside),
            "push_vlan" => {
                let given = members(inside);
                let number = |name: &str| given.get(name).map_or(0, |value| value.parse::<u128>().unwrap());
                at.set(Field::VlanTci, 0x1000 | number("vid") | number("pcp") << 13);
            }
            "pop_vlan" => at.set(Field::VlanTci, 0),
            // A copy for the controller, metered on its own.
            "clone" | "sample" if inside.contains("userspace(") => {
                let (_, length) = inside.split_once("max_len=").unwrap();
                let length = length.split(')').next().unwrap();
                leaves.push(Leaves::Controller { max_len: length.parse().unwrap() });
            }
            "clone" | "tnl_push" => {
                let after = |text: &str| {
                    let (_, rest) = inside.split_once(text).unwrap_or_else(|| panic!("no {text} in {trace}"));
                    rest.split([',', ')']).next().unwrap().to_owned()
                };
                let outer = &inside[inside.find("ipv4(").unwrap()..];
                let to: Ipv4Addr = members(outer)["dst"].parse().unwrap();
                leaves.push(Leaves::Tunnel {
                    vni: u128::from_str_radix(after("vni=0x").as_str(), 16).unwrap(),
                    to: to.to_bits().into(),
                    headers: at.clone(),
                });
            }
            "userspace" => {
                let (_, length) = inside.split_once("max_len=").unwrap();
                leaves.push(Leaves::Controller { max_len: length.trim_end_matches(')').parse().unwrap() });
            }
            port => match port.parse().ok().and_then(|port: u32| ports.get(&port)) {
                Some(Some(port)) => leaves.push(Leaves::Port(*port, at.clone())),
                // The tunnel's outer packet, which was counted when it was made.
                Some(None) => {}
                None => panic!("what is {action}? {trace}"),
            },
        }
    }
    (rows.collect(), leaves)
}

/// Pieces between commas that are in no parentheses.
fn split(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut pieces) = (0, 0, Vec::new());
    for (place, letter) in list.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                pieces.push(&list[start..place]);
                start = place + 1;
            }
            _ => {}
        }
    }
    pieces.push(&list[start..]);
    pieces
}

/// `a=b,c=d`, also behind a name and a parenthesis.
fn members(list: &str) -> BTreeMap<&str, &str> {
    let list = list.split_once('(').map_or(list, |(_, inside)| inside);
    let list = list.split(')').next().unwrap();
    list.split(',').filter_map(|pair| pair.split_once('=')).collect()
}

/// `set(eth(src=…))` and the like.
fn set(packet: &mut Packet, inside: &str) {
    let (kind, _) = inside.split_once('(').unwrap();
    if kind == "tunnel" {
        return;
    }
    for (name, value) in members(inside) {
        let field = match (kind, name) {
            ("eth", "src") => Field::EthSrc,
            ("eth", "dst") => Field::EthDst,
            ("ipv4", "src") => Field::Ipv4Src,
            ("ipv4", "dst") => Field::Ipv4Dst,
            ("ipv4", "ttl") | ("ipv6", "hlimit") => Field::IpTtl,
            ("ipv6", "src") => Field::Ipv6Src,
            ("ipv6", "dst") => Field::Ipv6Dst,
            ("arp", "sip") => Field::ArpSpa,
            ("arp", "tip") => Field::ArpTpa,
            ("arp", "op") => Field::ArpOp,
            ("arp", "sha") => Field::ArpSha,
            ("arp", "tha") => Field::ArpTha,
            ("icmp", "type") => Field::IcmpType,
            ("icmp", "code") => Field::IcmpCode,
            ("icmpv6", "type") => Field::Icmpv6Type,
            ("icmpv6", "code") => Field::Icmpv6Code,
            ("nd", "target") => Field::NdTarget,
            ("nd", "sll") => Field::NdSll,
            ("nd", "tll") => Field::NdTll,
            ("nd_ext", "nd_reserved") => Field::NdReserved,
            ("nd_ext", "nd_options_type") => Field::NdOptionsType,
            ("udp", "src") => Field::UdpSrc,
            ("udp", "dst") => Field::UdpDst,
            ("tcp", "src") => Field::TcpSrc,
            ("tcp", "dst") => Field::TcpDst,
            _ => panic!("what is {kind} {name} of {inside}?"),
        };
        packet.set(field, number(value));
    }
}

fn number(text: &str) -> u128 {
    if let Ok(mac) = text.parse::<MacAddr>() {
        return mac.to_u64().into();
    }
    match text.parse() {
        Ok(IpAddr::V4(address)) => address.to_bits().into(),
        Ok(IpAddr::V6(address)) => address.to_bits(),
        Err(_) if text.starts_with("0x") => u128::from_str_radix(&text[2..], 16).unwrap(),
        Err(_) => text.parse().unwrap_or_else(|_| panic!("{text} is no number")),
    }
}

/// The same flows, each with a cookie of its own.
fn numbered(tables: &SwitchTables) -> SwitchTables {
    let number = |(number, flow): (usize, &Arc<Flow>)| {
        let (conditions, instructions) = flow.parts();
        let cookie = number as u64 + 1;
        Arc::new(Flow::new(flow.table, flow.priority, cookie, conditions, instructions, flow.owner.clone()))
    };
    let flows: FlowSet = tables.flows.iter().enumerate().map(number).collect();
    SwitchTables { flows, groups: tables.groups.clone(), meters: tables.meters.clone() }
}

/// A switch with real tunnels: another bridge carries them, and knows the way to the other node.
fn start(node: u64, tables: &SwitchTables, facts: &Facts) -> Option<(Ovs, Ports)> {
    let ovs = Ovs::with("--enable-dummy")?;
    ovs.vsctl("add-br under -- set bridge under datapath_type=dummy -- add-port under eth -- set interface eth type=dummy");
    let mut ports = facts.ports.clone();
    ports.push(19);
    let bridge = format!("br{node}");
    ovs.ports(&bridge, &ports);
    let flows = golden::print(&SwitchTables { flows: tables.flows.clone(), ..SwitchTables::default() });
    ovs.load(&bridge, tables, &flows);
    let mut control = ovs.control();
    control.ask("netdev-dummy/ip4addr", &["under", &format!("{}/24", facts.here)]);
    control.ask("ovs/route/add", &["192.168.56.0/24", "under"]);
    control.ask("tnl/neigh/set", &["under", &facts.there.to_string(), "aa:bb:cc:00:00:01"]);
    let numbers = datapath_ports(&mut control, &bridge);
    Some((ovs, numbers))
}

/// Reads lines like `    br1-10 10/3: (dummy)`.
fn datapath_ports(control: &mut Control, bridge: &str) -> Ports {
    let mut found = BTreeMap::new();
    for line in control.ask("dpif/show", &[]).lines() {
        let mut words = line.split_whitespace();
        if let (Some(name), Some(numbers)) = (words.next(), words.next())
            && let Some((openflow, datapath)) = numbers.trim_end_matches(':').split_once('/')
            && let (Ok(openflow), Ok(datapath)) = (openflow.parse::<u32>(), datapath.parse::<u32>())
        {
            found.insert(datapath, name.starts_with(bridge).then_some(openflow));
        }
    }
    found
}

#[test]
fn the_evaluator_says_what_open_vswitch_says() {
    let world = world();
    let mut hit = BTreeMap::<(u64, u8), usize>::new();
    for node in 1..=2 {
        let facts = Facts::of(&world, node);
        let held = numbered(&world.tables(node, ""));
        let tables = Tables::from(&held);
        let Some((ovs, ports)) = start(node, &held, &facts) else { return };
        let mut control = ovs.control();
        let mut random = StdRng::seed_from_u64(node);
        let mut used = BTreeSet::new();
        for number in 0..PACKETS {
            let packet = facts.packet(&mut random);
            let question = text(&packet);
            let trace = control.ask("ofproto/trace", &[&format!("br{node}"), &question]);
            let (ours, theirs) = (evaluated(&packet, &tables), traced(&packet, &trace, &ports));
            if ours != theirs {
                let rows = |way: &Way| {
                    let lines = way.0.iter().map(|cookie| {
                        let flow = held.flows.iter().find(|flow| flow.cookie == *cookie);
                        format!("  {}\n", flow.map(|flow| flow.to_string()).unwrap_or_default())
                    });
                    lines.collect::<String>()
                };
                let out = |way: &Way| {
                    let fields = |packet: &Packet| Match { fields: packet.fields() }.to_string();
                    let lines = way.1.iter().map(|leaves| match leaves {
                        Leaves::Port(port, packet) => format!("  port {port}: {}\n", fields(packet)),
                        Leaves::Tunnel { vni, to, headers } => {
                            format!("  tunnel {vni} to {to}: {}\n", fields(headers))
                        }
                        Leaves::Controller { max_len } => format!("  controller, {max_len} bytes\n"),
                    });
                    lines.collect::<String>()
                };
                panic!(
                    "switch {node}, packet {number}: {question}\nwe say\n{}{}it says\n{}{}{trace}",
                    rows(&ours),
                    out(&ours),
                    rows(&theirs),
                    out(&theirs)
                );
            }
            for cookie in ours.0 {
                used.insert(cookie);
            }
        }
        for flow in held.flows.iter() {
            let entry = hit.entry((node, flow.table)).or_default();
            *entry += usize::from(used.contains(&flow.cookie));
        }
        // The packets are no good if most of the network has not been walked through.
        let walked: Vec<&Flow> = held
            .flows
            .iter()
            .map(AsRef::as_ref)
            .filter(|flow| !TRACKING.contains(&flow.table) && !of_services(flow))
            .collect();
        let hits = walked.iter().filter(|flow| used.contains(&flow.cookie)).count();
        let share = hits as f64 / walked.len() as f64;
        assert!(share > 0.85, "only {:.0}% of the flows of switch {node} were hit: {hit:?}", share * 100.0);
    }
    let seen = |((_, table), count): &(&(u64, u8), &usize)| **count > 0 || TRACKING.contains(table);
    let silent: Vec<_> = hit.iter().filter(|hit| !seen(hit)).collect();
    assert!(silent.is_empty(), "tables that no packet saw (switch, table): {silent:?}");
}
