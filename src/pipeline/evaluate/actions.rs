//! Instructions and actions, as `ofproto-dpif-xlate.c` of Open vSwitch carries them out.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

use openflow_rs::{Action, Ct, CtNat, Field, GroupType, Instruction, ports};

use super::tables::instructions;
use super::{Cause, Outcome, Packet, Step, Tables, Walk, What};
use crate::pipeline::Flow;

/// Lookups that are inside of each other, and lookups in all. Source: `MAX_DEPTH` and `MAX_RESUBMITS` of Open vSwitch.
const DEPTH: u16 = 64;
const LOOKUPS: u32 = 64 * 64;
/// `in_port` of a resubmit that keeps the packet's own.
const SAME_PORT: u16 = 0xfff8;
/// Bits of `ct_state` (ovs-fields(7)).
const NEW: u128 = 1;
const TRACKED: u128 = 0x20;

/// The rest of a list of actions is done, or it is not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    GoOn,
    Stop,
}

struct Run<'a> {
    tables: &'a Tables,
    packet: Packet,
    table: u8,
    depth: u16,
    lookups: u32,
    meter: Option<u32>,
    stack: Vec<u128>,
    action_set: Vec<Action>,
    /// Packets that go on after connection tracking, and where.
    tracked: VecDeque<(Packet, u8)>,
    walk: Walk,
}

pub(super) fn walk(packet: Packet, tables: &Tables) -> Walk {
    let mut run = Run {
        tables,
        packet,
        table: 0,
        depth: 0,
        lookups: 0,
        meter: None,
        stack: Vec::new(),
        action_set: Vec::new(),
        tracked: VecDeque::new(),
        walk: Walk::default(),
    };
    run.from(0);
    while let Some((packet, table)) = run.tracked.pop_front() {
        run.packet = packet;
        run.note("goes on after connection tracking, as a new connection");
        run.from(table);
    }
    run.walk
}

impl Run<'_> {
    /// From a table to the end of the pipeline, where the action set is carried out.
    fn from(&mut self, table: u8) {
        self.lookup(table, None);
        let set = ordered(&std::mem::take(&mut self.action_set));
        self.all(&set);
    }

    fn step(&mut self, what: What) {
        self.walk.steps.push(Step { depth: self.depth, what });
    }

    fn note(&mut self, text: impl Into<String>) {
        self.step(What::Note(text.into()));
    }

    fn ends(&mut self, outcome: Outcome) {
        self.walk.outcomes.push(outcome);
        self.step(What::Outcome(self.walk.outcomes.len() - 1));
    }

    fn drops(&mut self, cause: Cause) {
        self.ends(Outcome::Drop { table: self.table, cause });
    }

    /// Looks the packet up and does what the flow says; back here, the caller is in its own table again.
    fn lookup(&mut self, table: u8, in_port: Option<u32>) {
        self.lookups += 1;
        if self.depth >= DEPTH || self.lookups > LOOKUPS {
            return self.drops(Cause::TooDeep);
        }
        let in_port = in_port.unwrap_or(self.packet.get(Field::InPort) as u32);
        let flow = self.tables.hit(table, &self.packet, in_port).cloned();
        let from = std::mem::replace(&mut self.table, table);
        self.step(What::Lookup { table, flow: flow.clone(), packet: self.packet.clone() });
        self.depth += 1;
        match flow {
            Some(flow) => self.flow(&flow),
            None => self.drops(Cause::NoFlow),
        }
        self.depth -= 1;
        self.table = from;
    }

    fn flow(&mut self, flow: &Arc<Flow>) {
        let all = instructions(flow);
        if all.iter().all(|one| matches!(one, Instruction::Meter(_))) {
            return self.drops(if flow.priority == 0 { Cause::Miss } else { Cause::Flow });
        }
        let outer = self.meter.take();
        for instruction in all {
            let then = match instruction {
                Instruction::Meter(meter) => {
                    self.meter = Some(meter);
                    Then::GoOn
                }
                Instruction::Apply(actions) => self.all(&actions),
                Instruction::Clear => {
                    self.action_set.clear();
                    Then::GoOn
                }
                Instruction::Write(actions) => {
                    self.action_set.extend(actions);
                    Then::GoOn
                }
                Instruction::WriteMetadata { value, mask } => {
                    self.packet.set_masked(Field::Metadata, value.into(), mask.into());
                    Then::GoOn
                }
                Instruction::Goto(table) => {
                    self.lookup(table, None);
                    Then::GoOn
                }
            };
            if then == Then::Stop {
                break;
            }
        }
        self.meter = outer;
    }

    fn all(&mut self, actions: &[Action]) -> Then {
        for action in actions {
            if self.one(action) == Then::Stop {
                return Then::Stop;
            }
        }
        Then::GoOn
    }

    fn one(&mut self, action: &Action) -> Then {
        match action {
            Action::Resubmit { in_port, table } => {
                let other = (*in_port != SAME_PORT).then_some(u32::from(*in_port));
                self.lookup(*table, other);
                return Then::GoOn;
            }
            Action::Output { port, max_len } => {
                self.output(*port, *max_len);
                return Then::GoOn;
            }
            Action::Controller { max_len, userdata, meter_id, .. } => {
                let meter = Some(*meter_id).filter(|meter| *meter != 0).or(self.meter);
                let packet = self.packet.clone();
                self.ends(Outcome::Punt { max_len: *max_len, userdata: userdata.clone(), meter, packet });
                return Then::GoOn;
            }
            Action::Group(id) => {
                self.group(*id);
                return Then::GoOn;
            }
            _ => self.step(What::Action(action.clone())),
        }
        match action {
            Action::SetField(value) if self.packet.has(value.field) => {
                self.packet.set_masked(value.field, value.value, value.mask);
            }
            Action::Load { dst, value } if self.packet.has(dst.field) => {
                self.packet.set_part(*dst, u128::from(*value));
            }
            Action::Move { src, dst } if self.packet.has(src.field) && self.packet.has(dst.field) => {
                self.packet.set_part(*dst, self.packet.part(*src));
            }
            Action::Push(place) => self.stack.push(self.packet.part(*place)),
            Action::Pop(place) => {
                let value = self.stack.pop();
                if let Some(value) = value.filter(|_| self.packet.has(place.field)) {
                    self.packet.set_part(*place, value);
                }
            }
            Action::DecTtl => return self.dec_ttl(),
            Action::PushVlan(_) => {
                let inner = self.packet.get(Field::VlanVid);
                self.packet.set(Field::VlanVid, inner | 0x1000);
            }
            Action::PopVlan => self.packet.set(Field::VlanTci, 0),
            Action::Ct(ct) => self.track(ct),
            Action::CtClear => {
                for field in [Field::CtState, Field::CtZone, Field::CtMark, Field::CtLabel] {
                    self.packet.set(field, 0);
                }
            }
            Action::Learn(_) => {
                self.note("a flow would be learned; the walk goes on with the flows that are there")
            }
            Action::PopMpls(_) => self.note("what is below an MPLS label is not known here"),
            _ => {}
        }
        Then::GoOn
    }

    fn output(&mut self, port: u32, max_len: u16) {
        let came = self.packet.get(Field::InPort) as u32;
        let packet = self.packet.clone();
        match port {
            ports::CONTROLLER => {
                self.ends(Outcome::Punt { max_len, userdata: Vec::new(), meter: self.meter, packet });
            }
            ports::IN_PORT => self.ends(Outcome::Output { port: came, packet }),
            port if port == came => self.drops(Cause::InPort),
            port => self.ends(Outcome::Output { port, packet }),
        }
    }

    /// A packet that may not go on is handed to the controller, if that cares (OpenFlow 1.3, section 5.12), and nothing more is done with it.
    fn dec_ttl(&mut self) -> Then {
        if !self.packet.is_ip() {
            return Then::GoOn;
        }
        match self.packet.get(Field::IpTtl) {
            0 | 1 => {
                self.drops(Cause::Ttl);
                Then::Stop
            }
            ttl => {
                self.packet.set(Field::IpTtl, ttl - 1);
                Then::GoOn
            }
        }
    }

    fn group(&mut self, id: u32) {
        let tables = self.tables;
        let Some(group) = tables.group(id) else { return self.drops(Cause::NoGroup(id)) };
        self.step(What::Group { id, kind: group.kind, buckets: group.buckets.len() });
        if group.buckets.is_empty() {
            return self.drops(Cause::NoBucket(id));
        }
        if self.depth >= DEPTH {
            return self.drops(Cause::TooDeep);
        }
        self.depth += 1;
        let taken = match group.kind {
            GroupType::All => group.buckets.len(),
            GroupType::Select => {
                if group.buckets.len() > 1 {
                    self.note("one bucket is chosen by a hash of the connection; the walk takes the first");
                }
                1
            }
            GroupType::Indirect | GroupType::FastFailover => 1,
        };
        for (number, bucket) in group.buckets.iter().enumerate().take(taken) {
            self.step(What::Bucket { number });
            self.depth += 1;
            let before = self.packet.clone();
            self.all(&ordered(&bucket.actions));
            self.packet = before;
            self.depth -= 1;
        }
        self.depth -= 1;
    }

    /// Connection tracking: the packet that goes on in another table is a new connection's, translated where that is certain.
    fn track(&mut self, ct: &Ct) {
        let mut tracked = self.packet.clone();
        tracked.set(Field::CtState, NEW | TRACKED);
        tracked.set(
            Field::CtZone,
            match &ct.zone {
                openflow_rs::CtZone::Number(zone) => u128::from(*zone),
                openflow_rs::CtZone::Field(place) => self.packet.part(*place),
            },
        );
        if let Some(nat) = &ct.nat {
            self.translate(nat, &mut tracked);
        }
        match ct.table {
            Some(table) => self.tracked.push_back((tracked, table)),
            None => self.note("the connection is tracked; the packet itself goes on below"),
        }
    }
}

impl Run<'_> {
    /// Addresses and ports that a new connection gets, where there is one of each.
    fn translate(&mut self, nat: &CtNat, packet: &mut Packet) {
        let ends = if nat.source {
            [Field::Ipv4Src, Field::Ipv6Src, Field::TcpSrc, Field::UdpSrc, Field::SctpSrc]
        } else {
            [Field::Ipv4Dst, Field::Ipv6Dst, Field::TcpDst, Field::UdpDst, Field::SctpDst]
        };
        let [v4, v6, ports @ ..] = ends;
        let four = nat.addresses.map(|(first, last)| (v4, IpAddr::V4(first), IpAddr::V4(last)));
        let six = nat.addresses_v6.map(|(first, last)| (v6, IpAddr::V6(first), IpAddr::V6(last)));
        for (field, first, last) in four.into_iter().chain(six) {
            if first != last || !packet.has(field) {
                self.note(format!("connection tracking chooses an address from {first} to {last}"));
                continue;
            }
            packet.set(
                field,
                match first {
                    IpAddr::V4(address) => u128::from(u32::from(address)),
                    IpAddr::V6(address) => u128::from(address),
                },
            );
        }
        if let Some((first, last)) = nat.ports {
            let field = ports.into_iter().find(|field| packet.has(*field));
            match field.filter(|_| first == last) {
                Some(field) => packet.set(field, first.into()),
                None => self.note(format!("connection tracking chooses a port from {first} to {last}")),
            }
        }
    }
}

/// Actions of an action set or of a bucket, which is one (OpenFlow 1.3, section 5.10): in the order of the standard, and
/// of those that lead out only one (`ofpacts_execute_action_set` of Open vSwitch).
fn ordered(set: &[Action]) -> Vec<Action> {
    let rank = |action: &Action| match action {
        Action::PopVlan => Some(0),
        Action::PopMpls(_) => Some(1),
        Action::PushVlan(_) => Some(2),
        Action::DecTtl => Some(3),
        Action::Load { .. } | Action::Move { .. } | Action::SetField(_) => Some(4),
        Action::SetQueue(_) => Some(5),
        _ => None,
    };
    let mut list: Vec<Action> = set.iter().filter(|action| rank(action).is_some()).cloned().collect();
    list.sort_by_key(rank);
    let last = |wanted: fn(&Action) -> bool| set.iter().rev().find(|action| wanted(action)).cloned();
    let leads = last(|action| matches!(action, Action::Group(_)))
        .or_else(|| last(|action| matches!(action, Action::Output { .. } | Action::Controller { .. })))
        .or_else(|| last(|action| matches!(action, Action::Resubmit { .. })))
        .or_else(|| last(|action| matches!(action, Action::Ct(_))));
    list.extend(leads);
    list
}
