//! What a port may send, said once more without a flow, against what the switches let through.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr};

use ipnetwork::IpNetwork;
use openflow_rs::{Field, Match};
use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use super::super::testing::*;
use super::laws::any_history;
use crate::model::{HandMade, Interface, Row};
use crate::net::MacAddr;
use crate::pipeline::evaluate::{Packet, Tables, evaluate};

/// Where anti-spoofing begins, and where it leads on to.
const FIRST: u8 = 208;
const BEYOND: u8 = 17;
const ARP: u128 = 0x0806;
const IPV4: u128 = 0x0800;
const IPV6: u128 = 0x86dd;
const LLDP: u128 = 0x88cc;

/// Who sends.
struct Sender<'a> {
    interface: &'a Interface,
    mac: MacAddr,
    link_local: Ipv6Addr,
}

impl Sender<'_> {
    fn of(interface: &Interface, mac: MacAddr) -> Sender<'_> {
        let [a, b, c, d, e, f] = mac.0;
        let low = u64::from_be_bytes([a ^ 2, b, c, 0xff, 0xfe, d, e, f]);
        Sender { interface, mac, link_local: Ipv6Addr::from_bits(0xfe80 << 112 | u128::from(low)) }
    }

    /// It is switched only, and nobody knows an address of it.
    fn is_free(&self) -> bool {
        let routed = self.interface.identity.as_ref().is_some_and(|identity| identity.vpn.is_some());
        !routed && self.interface.addresses.is_empty()
    }

    fn owns(&self, address: IpAddr) -> bool {
        let link_local = self.interface.has_ipv6() && address == self.link_local;
        self.is_free()
            || link_local
            || self.interface.destinations().any(|own| own == IpNetwork::from(address))
    }

    /// It comes from behind the port, where nobody is told of in ARP and neighbour messages.
    fn is_behind(&self, address: IpAddr) -> bool {
        let link_local = matches!(address, IpAddr::V6(address) if address.is_unicast_link_local());
        !link_local && self.interface.routes.iter().any(|route| route.prefix.contains(address))
    }

    fn owns_v4(&self, packet: &Packet, field: Field) -> bool {
        self.owns(IpAddr::V4((packet.get(field) as u32).into()))
    }

    fn owns_v6(&self, packet: &Packet, field: Field) -> bool {
        self.owns(IpAddr::V6(packet.get(field).into()))
    }

    /// A link-layer address that a message tells of is the sender's own.
    fn is_told_rightly(&self, packet: &Packet, field: Field) -> bool {
        packet.get(field) == u128::from(self.mac.to_u64())
    }

    fn may_send(&self, packet: &Packet) -> bool {
        let to = packet.get(Field::EthDst);
        let for_bridges = to & !0xf == 0x0180_c200_0000 || to & !1 == 0x0100_0ccc_cccc;
        if packet.is_tagged() || for_bridges || !self.is_told_rightly(packet, Field::EthSrc) {
            return false;
        }
        match packet.get(Field::EthType) {
            LLDP => false,
            ARP => {
                let probe = packet.get(Field::ArpOp) == 1 && packet.get(Field::ArpSpa) == 0;
                self.is_told_rightly(packet, Field::ArpSha) && (probe || self.owns_v4(packet, Field::ArpSpa))
            }
            IPV4 => {
                let (from, to) = ports(packet);
                let asks = self.interface.dhcp
                    && (from, to) == (68, 67)
                    && packet.get(Field::Ipv4Src) == 0
                    && packet.get(Field::Ipv4Dst) == u128::from(u32::MAX);
                let behind = self.is_behind(IpAddr::V4((packet.get(Field::Ipv4Src) as u32).into()));
                to != 68 && (asks || behind || self.owns_v4(packet, Field::Ipv4Src))
            }
            IPV6 => ports(packet).1 != 546 && !is_hidden(packet) && self.may_send_v6(packet),
            _ => true,
        }
    }

    fn may_send_v6(&self, packet: &Packet) -> bool {
        let message = message(packet);
        let told = match message {
            Some(135) => Some(Field::NdSll),
            Some(136) => Some(Field::NdTll),
            _ => None,
        };
        let speaks_of_others = told.is_some_and(|field| {
            let may_tell = self.is_free() || self.interface.has_ipv6();
            packet.get(field) != 0 && !(may_tell && self.is_told_rightly(packet, field))
        });
        let claims_nothing = packet.get(Field::Ipv6Src) == 0;
        match message {
            Some(134 | 137) => false,
            _ if speaks_of_others => false,
            Some(136) => {
                let itself = packet.get(Field::NdTarget) == packet.get(Field::Ipv6Src);
                (itself || self.is_free()) && self.owns_v6(packet, Field::NdTarget)
            }
            Some(131 | 133 | 135 | 143) if claims_nothing => true,
            _ => {
                self.owns_v6(packet, Field::Ipv6Src)
                    || self.is_behind(IpAddr::V6(packet.get(Field::Ipv6Src).into()))
            }
        }
    }
}

/// UDP ports, (0, 0) where there are none, as in fragments behind the first.
fn ports(packet: &Packet) -> (u128, u128) {
    if packet.has(Field::UdpSrc) { (packet.get(Field::UdpSrc), packet.get(Field::UdpDst)) } else { (0, 0) }
}

/// What an IPv6 packet carries is not to be seen in it.
fn is_hidden(packet: &Packet) -> bool {
    let first = packet.get(Field::IpFrag) == 1;
    match packet.get(Field::IpProto) {
        0 => true,
        59 => first,
        17 => first && packet.get(Field::UdpDst) == 0,
        58 => first && packet.get(Field::Icmpv6Type) == 0,
        _ => false,
    }
}

/// The type of an ICMPv6 message with code 0.
fn message(packet: &Packet) -> Option<u128> {
    let shown = packet.has(Field::Icmpv6Type) && packet.get(Field::Icmpv6Code) == 0;
    shown.then(|| packet.get(Field::Icmpv6Type))
}

/// Addresses to choose from: those of the world, and some of nobody.
struct Facts {
    macs: Vec<u128>,
    v4: Vec<u128>,
    v6: Vec<u128>,
}

impl Facts {
    fn of(world: &World) -> Facts {
        let mut facts = Facts {
            macs: vec![0xffff_ffff_ffff, 0x0180_c200_000e, 0x0100_0ccc_cccd, 0x02c0_e501_86a0, 0],
            v4: vec![0, u128::from(u32::MAX), 0xe000_00fb],
            v6: vec![0, 0xff02 << 112 | 1, 0xfe80 << 112 | 1],
        };
        for interface in world.workshop.model.interfaces() {
            let Some((_, _, attachment)) = interface.plugged() else { continue };
            facts.macs.push(attachment.mac.to_u64().into());
            facts.v6.push(Sender::of(interface, attachment.mac).link_local.to_bits());
            for address in &interface.addresses {
                match address.ip {
                    IpAddr::V4(address) => facts.v4.push(address.to_bits().into()),
                    IpAddr::V6(address) => facts.v6.push(address.to_bits()),
                }
            }
        }
        facts
    }

    /// One of the choices, or one of nobody.
    fn any(random: &mut StdRng, choices: &[u128]) -> u128 {
        if random.random_bool(0.15) { random.random() } else { *choices.choose(random).unwrap() }
    }

    /// Any packet, which now and then tells the truth in one field or another.
    fn packet(&self, sender: &Sender<'_>, random: &mut StdRng) -> Packet {
        let own = u128::from(sender.mac.to_u64());
        let mac = |random: &mut StdRng| {
            if random.random_bool(0.7) { own } else { Facts::any(random, &self.macs) }
        };
        let mut packet = Packet::new()
            .with(Field::EthDst, Facts::any(random, &self.macs))
            .with(Field::EthSrc, mac(random))
            .with(Field::EthType, *[ARP, IPV4, IPV4, IPV6, IPV6, IPV6, LLDP, 0x8899].choose(random).unwrap());
        if random.random_bool(0.05) {
            // Below 16 there are sub-ports.
            packet.set(Field::VlanTci, 0x1000 | random.random_range(16..0xfff_u128));
        }
        let kind = packet.get(Field::EthType);
        let (mut own_v4, mut own_v6) = (Vec::new(), vec![sender.link_local.to_bits()]);
        for address in &sender.interface.addresses {
            match address.ip {
                IpAddr::V4(address) => own_v4.push(u128::from(address.to_bits())),
                IpAddr::V6(address) => own_v6.push(address.to_bits()),
            }
        }
        let source = |random: &mut StdRng, own: &[u128], all: &[u128]| match own.choose(random) {
            Some(own) if random.random_bool(0.6) => *own,
            _ => Facts::any(random, all),
        };
        if kind == ARP {
            packet.set(Field::ArpOp, random.random_range(1..4));
            packet.set(Field::ArpSha, mac(random));
            packet.set(Field::ArpTha, Facts::any(random, &self.macs));
            packet.set(Field::ArpSpa, source(random, &own_v4, &self.v4));
            packet.set(Field::ArpTpa, Facts::any(random, &self.v4));
        }
        if kind == IPV4 {
            packet.set(Field::Ipv4Src, source(random, &own_v4, &self.v4));
            packet.set(Field::Ipv4Dst, Facts::any(random, &self.v4));
            packet.set(Field::IpProto, *[1_u128, 6, 17, 17, 17].choose(random).unwrap());
        }
        if kind == IPV6 {
            packet.set(Field::Ipv6Src, source(random, &own_v6, &self.v6));
            packet.set(Field::Ipv6Dst, Facts::any(random, &self.v6));
            packet.set(Field::IpProto, *[58_u128, 58, 58, 58, 58, 6, 17, 17, 0, 59].choose(random).unwrap());
        }
        if packet.is_ip() {
            packet.set(Field::IpTtl, 64);
            packet.set(Field::IpFrag, *[0_u128, 0, 0, 0, 0, 0, 1, 3].choose(random).unwrap());
            self.transport(&mut packet, random);
        }
        if packet.has(Field::NdTarget) {
            packet.set(Field::NdTarget, source(random, &own_v6, &self.v6));
            let told = if random.random_bool(0.3) { 0 } else { mac(random) };
            packet.set(if packet.has(Field::NdSll) { Field::NdSll } else { Field::NdTll }, told);
            // An advertisement is told by who it is of, now and then.
            if random.random_bool(0.5) {
                packet.set(Field::Ipv6Src, packet.get(Field::NdTarget));
            }
        }
        packet
    }

    fn transport(&self, packet: &mut Packet, random: &mut StdRng) {
        if packet.has(Field::UdpSrc) {
            let ports = [67_u128, 68, 68, 546, 547, 53, 0];
            packet.set(Field::UdpSrc, *ports.choose(random).unwrap());
            packet.set(Field::UdpDst, *ports.choose(random).unwrap());
            if (packet.get(Field::UdpSrc), packet.get(Field::UdpDst)) == (68, 67) && random.random_bool(0.5) {
                packet.set(Field::Ipv4Src, 0);
                packet.set(Field::Ipv4Dst, u128::from(u32::MAX));
            }
        }
        if packet.has(Field::Icmpv6Type) {
            let kinds = [0_u128, 128, 131, 133, 134, 135, 135, 135, 136, 136, 136, 137, 143];
            packet.set(Field::Icmpv6Type, *kinds.choose(random).unwrap());
            packet.set(Field::Icmpv6Code, u128::from(random.random_bool(0.05)));
        }
    }
}

/// Sends packets from every port of a world. Returns what was done with how many: stopped, let through.
fn send(world: &World, seed: u64, packets: usize) -> Result<(usize, usize), String> {
    let mut random = StdRng::seed_from_u64(seed);
    let facts = Facts::of(world);
    let switches = world.workshop.tables();
    let mut counts = (0, 0);
    for interface in world.workshop.model.interfaces() {
        let Some((identity, _, attachment)) = interface.plugged() else { continue };
        let Some(held) = switches.get(&attachment.dpid) else { continue };
        let tables = Tables::from(held);
        let sender = Sender::of(interface, attachment.mac);
        for _ in 0..packets {
            let mut packet = facts.packet(&sender, &mut random);
            let mut sent = packet.clone();
            // What has no tag comes from the machine that a sub-port is in; its own comes by its VLAN, and is judged without the tag.
            if let Some(id) = attachment.vlan {
                packet.set(Field::VlanTci, 0);
                sent = packet.clone().tagged(id);
            }
            let walk = evaluate(sent.with(Field::InPort, attachment.ofport.0), &tables);
            let hit: BTreeSet<u8> = walk.hits().map(|(table, _)| table).collect();
            let (may, passed) = (sender.may_send(&packet), hit.contains(&BEYOND));
            let said = || format!("{}: {}", identity.name, Match { fields: packet.fields() });
            if !may && (passed || !walk.is_dropped()) {
                return Err(format!("it may not send this, and it leaves: {}", said()));
            }
            if may && hit.contains(&FIRST) && !passed {
                return Err(format!("it may send this, and it is dropped: {}", said()));
            }
            if passed { counts.1 += 1 } else { counts.0 += 1 }
        }
    }
    Ok(counts)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// No packet with a source that is not its port's goes any further, and every other one does, whatever was configured.
    #[test]
    fn a_port_sends_what_is_its_own_and_nothing_else(history in any_history(), seed in any::<u64>()) {
        let mut world = World::default();
        for rows in history {
            world.put(rows);
        }
        if let Err(packet) = send(&world, seed, 60) {
            prop_assert!(false, "{}", packet);
        }
    }
}

/// Pods of one version, of both and of none that ask for an address, and an interface that is switched only.
#[test]
fn many_packets_of_few_ports_are_judged_rightly() {
    let by_hand = HandMade {
        name: "hand".into(),
        exists: true,
        elan: Some("lan".into()),
        parent: Some("veth-x:y".into()),
        ..HandMade::default()
    };
    let world = two_pods()
        .of_both_versions()
        .with([pool("blue", "10.11.1.0/24", None), pod("p6", "blue", 1, None), port(1, "blue:p6", 13)])
        .with([port(1, "x:y", 14), Row::HandMade("hand".into(), Some(by_hand))]);
    let plugged = world.workshop.model.interfaces().filter(|interface| interface.plugged().is_some());
    assert_eq!(plugged.count(), 6);
    let (stopped, passed) = send(&world, 7, 4_000).unwrap();
    assert!(stopped > 8_000 && passed > 4_000, "{stopped} were stopped, {passed} passed");
}
