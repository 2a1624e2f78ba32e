//! Connections that are forgotten, because what they led to is no longer part of their group.
//!
//! Connection tracking keeps the endpoint that a group chose. When a bucket goes, its connections are forgotten in the switch, and those
//! of no other bucket: their next packet is a new connection's.
//!
//! Connections of source NAT are those of the pod whose packets a flow of table 26 has looked up. When that flow goes, or becomes another
//! pod's, they are forgotten, so that a pod which gets the address inherits none.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use openflow_rs::{Action, CtFlush, CtZone, Field, Instruction, Message, error_name, group::decode_buckets};

use tracing::warn;

use super::actor::locked;
use super::diff::Actual;
use super::task::{End, Task};
use crate::pipeline::{Balanced, Delta, Flow, FlowChange, Group, PSNAT};

/// After so long the same is forgotten once more. The datapath caches what became of earlier packets, and notices that groups have
/// changed within half a second, later under load (`max-revalidator` in ovs-vswitchd.conf.db(5)); a packet in that time may make
/// its connection anew.
const AGAIN: [Duration; 2] = [Duration::from_millis(600), Duration::from_secs(3)];

/// What a change makes switches forget, given the groups from before.
pub fn by_change(before: &BTreeMap<u32, Arc<Group>>, delta: &Delta) -> Vec<CtFlush> {
    let changed = delta.groups.iter().filter_map(|(id, after)| Some((before.get(id)?, after.as_ref())));
    let of_group = |(before, after): (&Arc<Group>, Option<&Arc<Group>>)| -> Vec<CtFlush> {
        let Some(balanced) = &before.balanced else { return Vec::new() };
        let kept = after.and_then(|after| after.balanced.as_ref());
        let is_kept = |target: &&(IpAddr, u16)| kept.is_some_and(|kept| kept.targets.contains(*target));
        let gone: Vec<_> = balanced.targets.iter().filter(|target| !is_kept(target)).copied().collect();
        let each = |destination: &(IpAddr, u16)| {
            let whole = flush(balanced, *destination);
            let of = |target: &(IpAddr, u16)| CtFlush { answered_by: Some(*target), ..whole };
            if kept.is_some_and(|kept| kept.destinations.contains(destination)) {
                gone.iter().map(of).collect()
            } else if whole.protocol == SCTP {
                // Without a port the destination may be that of others as well.
                balanced.targets.iter().map(of).collect()
            } else {
                vec![whole]
            }
        };
        balanced.destinations.iter().flat_map(each).collect()
    };
    let gone = delta.flows.iter().filter(|change| change.put().is_none()).map(FlowChange::flow);
    let left = gone.chain(&delta.replaced).filter_map(|flow| looked_up(flow)).flat_map(of_source);
    changed.flat_map(of_group).chain(left).collect()
}

/// The zone and the source whose connections this flow of source NAT has looked up.
fn looked_up(flow: &Flow) -> Option<(u16, IpAddr)> {
    if flow.table != PSNAT.id() {
        return None;
    }
    let (conditions, instructions) = flow.parts();
    let source = conditions.fields.iter().find_map(|condition| match condition.field {
        Field::Ipv4Src => Some(IpAddr::from((condition.value as u32).to_be_bytes())),
        Field::Ipv6Src => Some(IpAddr::from(condition.value.to_be_bytes())),
        _ => None,
    });
    let zone = instructions.iter().find_map(|instruction| match instruction {
        Instruction::Apply(actions) => actions.iter().find_map(|action| match action {
            Action::Ct(ct) => {
                if let CtZone::Number(zone) = ct.zone {
                    Some(zone)
                } else {
                    None
                }
            }
            _ => None,
        }),
        _ => None,
    });
    zone.zip(source)
}

/// Number of SCTP (RFC 9260 section 3).
const SCTP: u8 = 132;
/// TCP, UDP and SCTP.
const TRANSPORTS: &[u8] = &[6, 17, SCTP];
/// Any protocol.
const ANY: &[u8] = &[0];

/// Of IPv6 the transport protocols alone: the userspace datapath of Open vSwitch 3.1.0 aborts when an ICMPv6 connection is flushed.
/// Those end by themselves, within a minute.
fn of_source((zone, source): (u16, IpAddr)) -> impl Iterator<Item = CtFlush> {
    let protocols = if source.is_ipv4() { ANY } else { TRANSPORTS };
    let of = move |protocol: &u8| CtFlush {
        zone,
        protocol: *protocol,
        source: Some(source),
        destination: None,
        answered_by: None,
    };
    protocols.iter().map(of)
}

/// Sources that get out, by the flows that let them. What they had before is forgotten once, and no more.
pub fn sources<'a>(flows: impl Iterator<Item = &'a Flow>) -> BTreeSet<CtFlush> {
    flows.filter_map(looked_up).flat_map(of_source).collect()
}

/// What a switch has to forget whose flows let other pods out than they should.
pub fn by_flows<'a>(desired: impl Iterator<Item = &'a Flow>, actual: &Actual) -> Vec<CtFlush> {
    let held = actual.flows.iter().filter(|flow| looked_up(flow).is_some());
    let mut held: BTreeMap<(u64, &[u8]), &Flow> =
        held.map(|flow| ((flow.cookie, flow.match_fields()), &**flow)).collect();
    for flow in desired.filter(|flow| flow.table == PSNAT.id()) {
        held.remove(&(flow.cookie, flow.match_fields()));
    }
    held.into_values().filter_map(looked_up).flat_map(of_source).collect()
}

/// What a switch has to forget that comes back with these groups.
pub fn by_comparison(desired: &BTreeMap<u32, Arc<Group>>, actual: &Actual) -> Vec<CtFlush> {
    let mut flushes = Vec::new();
    for (id, (_, buckets)) in &actual.groups {
        let Some(group) = desired.get(id) else { continue };
        let Some(balanced) = &group.balanced else { continue };
        let buckets = decode_buckets(buckets).unwrap_or_default();
        let parts = Group::named_by(&buckets).filter_map(|id| actual.groups.get(&id));
        let mut held: BTreeSet<_> = Group::targets_of(&buckets);
        for (_, buckets) in parts {
            held.extend(Group::targets_of(&decode_buckets(buckets).unwrap_or_default()));
        }
        for target in held.difference(&balanced.targets) {
            let of = |destination: &(IpAddr, u16)| CtFlush {
                answered_by: Some(*target),
                ..flush(balanced, *destination)
            };
            flushes.extend(balanced.destinations.iter().map(of));
        }
    }
    flushes
}

/// Whether connections of this kind are wanted again: what they lead to has come back since.
fn is_wanted(groups: &BTreeMap<u32, Arc<Group>>, flush: &CtFlush) -> bool {
    let leads = |balanced: &Balanced| {
        balanced.zone == flush.zone
            && balanced.transport.number() == flush.protocol
            && flush.destination.is_some_and(|destination| balanced.destinations.contains(&destination))
            && flush.answered_by.is_none_or(|target| balanced.targets.contains(&target))
    };
    groups.values().filter_map(|group| group.balanced.as_ref()).any(leads)
}

/// How a switch is told: of SCTP without ports, of which the userspace datapath of Open vSwitch before 3.4 knows nothing.
fn said(flush: &CtFlush) -> CtFlush {
    if flush.protocol != SCTP {
        return *flush;
    }
    let without_port = |(address, _): (IpAddr, u16)| (address, 0);
    let (destination, answered_by) =
        (flush.destination.map(without_port), flush.answered_by.map(without_port));
    CtFlush { destination, answered_by, ..*flush }
}

fn flush(balanced: &Balanced, destination: (IpAddr, u16)) -> CtFlush {
    let protocol = balanced.transport.number();
    CtFlush { zone: balanced.zone, protocol, source: None, destination: Some(destination), answered_by: None }
}

impl Task {
    /// Has the switch forget connections, behind everything that was sent before, and waits until it has. What meets a cached flow
    /// meanwhile is forgotten a little later, unless it is of a source that gets out (again).
    pub(super) async fn forget(
        &mut self,
        flushes: impl IntoIterator<Item = CtFlush>,
        getting_out: &BTreeSet<CtFlush>,
    ) -> Result<(), End> {
        let flushes: Vec<CtFlush> = flushes.into_iter().collect();
        self.flush(&flushes).await?;
        let now = Instant::now();
        self.again.extend(AGAIN.iter().flat_map(|pause| flushes.iter().map(|flush| (now + *pause, *flush))));
        self.again.retain(|(_, flush)| !getting_out.contains(flush));
        Ok(())
    }

    /// Has the switch forget connections once the datapath has noticed what was sent before, not at once: what is allowed would have to begin
    /// anew, and what is not may come after.
    pub(super) fn forget_later(&mut self, flushes: impl IntoIterator<Item = CtFlush>) {
        let now = Instant::now();
        let flushes = flushes.into_iter();
        self.again.extend(flushes.flat_map(|flush| AGAIN.iter().map(move |pause| (now + *pause, flush))));
    }

    /// Forgets once more what it is time for, unless it has come back.
    pub(super) async fn forget_again(&mut self) -> Result<(), End> {
        let now = Instant::now();
        let due: Vec<CtFlush> =
            self.again.extract_if(.., |(at, _)| *at <= now).map(|(_, flush)| flush).collect();
        let due: Vec<CtFlush> = {
            let desired = locked(&self.slot.desired);
            due.into_iter().filter(|flush| !is_wanted(&desired.tables.groups, flush)).collect()
        };
        self.flush(&due).await
    }

    async fn flush(&mut self, flushes: &[CtFlush]) -> Result<(), End> {
        if flushes.is_empty() {
            return Ok(());
        }
        let first = self.session.xids(flushes.len() as u32 + 1);
        let barrier = first + flushes.len() as u32;
        let mut out = BytesMut::new();
        for (number, flush) in flushes.iter().enumerate() {
            said(flush).encode(first + number as u32, &mut out);
        }
        Message::BarrierRequest.encode(barrier, &mut out);
        self.push(&mut out, 0).await?;
        loop {
            match self.reply("a barrier").await? {
                (xid, Message::BarrierReply) if xid == barrier => return Ok(()),
                (xid, Message::Error(error)) if (first..barrier).contains(&xid) => {
                    let error = error_name(error.kind, error.code);
                    warn!(switch = %self.slot.dpid, error, "connections could not be forgotten; they end by themselves");
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Transport;
    use crate::pipeline::actions::{track, translate_destination};
    use crate::pipeline::matches::ip_src_host;
    use crate::pipeline::{LPORT_DISPATCHER, OUTBOUND_NAPT, Owner, owners};

    fn group(destinations: &[(IpAddr, u16)], targets: &[u8]) -> Arc<Group> {
        let bucket = |last: &u8| [translate_destination(10, [10, 0, 0, *last].into(), 80, LPORT_DISPATCHER)];
        let draft = Group::select(7).buckets(targets.iter().map(bucket));
        let ends = targets.iter().map(|last| (IpAddr::from([10, 0, 0, *last]), 80));
        let draft = draft.balancing(10, Transport::Udp, destinations.iter().copied(), ends);
        Arc::new(draft.owned_by(&Owner::<owners::Service>::new("s")))
    }

    /// What nobody else's connections have in common with it is who answers.
    #[test]
    fn sctp_is_forgotten_by_addresses_alone() {
        let place = |last: u8, port: u16| (IpAddr::from([10, 0, 0, last]), port);
        let draft =
            Group::select(7).buckets([[translate_destination(10, place(1, 0).0, 90, LPORT_DISPATCHER)]]);
        let ends = [place(1, 90), place(2, 90)];
        let draft = draft.balancing(10, Transport::Sctp, [place(9, 80)], ends);
        let before = BTreeMap::from([(7, Arc::new(draft.owned_by(&Owner::<owners::Service>::new("s"))))]);
        let mut delta = Delta::default();
        delta.groups.insert(7, None);
        let flushes = by_change(&before, &delta);
        let of = |target| CtFlush {
            zone: 10,
            protocol: SCTP,
            source: None,
            destination: Some(place(9, 80)),
            answered_by: Some(target),
        };
        assert_eq!(flushes, ends.map(of));
        let told = CtFlush { destination: Some(place(9, 0)), answered_by: Some(place(1, 0)), ..flushes[0] };
        assert_eq!(said(&flushes[0]), told);
        let udp = CtFlush { protocol: 17, ..flushes[0] };
        assert_eq!(said(&udp), udp);
    }

    fn vip(last: u8) -> (IpAddr, u16) {
        ([10, 96, 0, last].into(), 53)
    }

    #[test]
    fn what_goes_is_forgotten_and_nothing_else() {
        let before = BTreeMap::from([(7, group(&[vip(1), vip(2)], &[1, 2, 3]))]);
        let change = |after: Option<Arc<Group>>| {
            let mut delta = Delta::default();
            delta.groups.insert(7, after);
            by_change(&before, &delta)
        };
        let flush = |destination, answered_by: Option<u8>| CtFlush {
            zone: 10,
            protocol: 17,
            source: None,
            destination: Some(destination),
            answered_by: answered_by.map(|last| ([10, 0, 0, last].into(), 80)),
        };
        let all = [vip(1), vip(2)];
        assert_eq!(change(Some(group(&all, &[1, 3, 4]))), [flush(vip(1), Some(2)), flush(vip(2), Some(2))]);
        assert_eq!(change(Some(group(&all, &[1, 2, 3, 4]))), []);
        assert_eq!(change(Some(group(&[vip(1)], &[1, 2, 3]))), [flush(vip(2), None)]);
        assert_eq!(change(None), [flush(vip(1), None), flush(vip(2), None)]);
        let held = (openflow_rs::GroupType::Select, before[&7].buckets.clone());
        let actual = Actual { groups: BTreeMap::from([(7, held)]), ..Actual::default() };
        let desired = BTreeMap::from([(7, group(&[vip(1)], &[1, 2]))]);
        assert_eq!(by_comparison(&desired, &actual), [flush(vip(1), Some(3))]);
        assert_eq!(by_comparison(&before, &actual), []);
        // A group of groups holds what those hold.
        let owner = Owner::<owners::Service>::new("s");
        let whole = Group::select(7).buckets([[crate::pipeline::actions::group(8)]]).owned_by(&owner);
        let kind = openflow_rs::GroupType::Select;
        let of_groups = [(7, (kind, whole.buckets)), (8, (kind, before[&7].buckets.clone()))];
        let of_groups = Actual { groups: BTreeMap::from(of_groups), ..Actual::default() };
        assert_eq!(by_comparison(&desired, &of_groups), [flush(vip(1), Some(3))]);
        // Later the same once more, but not to what has come back.
        let now = BTreeMap::from([(7, group(&[vip(1)], &[1, 2]))]);
        assert!(is_wanted(&now, &flush(vip(1), Some(2))) && is_wanted(&now, &flush(vip(1), None)));
        assert!(!is_wanted(&now, &flush(vip(1), Some(3))) && !is_wanted(&now, &flush(vip(2), None)));
    }

    /// A pod's flow that goes, or becomes another's, takes its connections along; one that comes or stays does not.
    #[test]
    fn connections_of_a_pod_end_with_its_way_out() {
        let flow = |pod: &str, source: &str, zone: u16| {
            let source: IpAddr = source.parse().unwrap();
            let owner = Owner::<owners::Nat>::new(pod);
            let draft = Flow::table(PSNAT).priority(10).matching(ip_src_host(source));
            Arc::new(draft.then([track(zone, OUTBOUND_NAPT)]).owned_by(&owner))
        };
        let of = |sources: &[&str]| -> Vec<CtFlush> {
            let each = |source: &&str| of_source((65_520, source.parse().unwrap()));
            sources.iter().flat_map(each).collect()
        };
        assert_eq!(of(&["10.11.1.10"]).len(), 1);
        assert!(of(&["fd00:1::10"]).iter().all(|flush| [6, 17, 132].contains(&flush.protocol)));
        let p1 = flow("p1", "10.11.1.10", 65_520);
        let v6 = flow("p1", "fd00:1::10", 65_520);
        let mut delta = Delta::default();
        delta.put_flow(p1.clone());
        delta.remove_flow(v6.clone());
        assert_eq!(by_change(&BTreeMap::new(), &delta), of(&["fd00:1::10"]));
        assert_eq!(
            sources(delta.flows.iter().filter_map(FlowChange::put).map(AsRef::as_ref)),
            of(&["10.11.1.10"]).into_iter().collect()
        );
        delta.replaced.push(p1.clone());
        assert_eq!(by_change(&BTreeMap::new(), &delta), of(&["fd00:1::10", "10.11.1.10"]));
        // A switch comes back with p1's flow: gone, another's by now, or as it was.
        let actual = Actual { flows: [p1.clone(), v6.clone()].into_iter().collect(), ..Actual::default() };
        let now = |flows: &[&Arc<Flow>]| by_flows(flows.iter().map(|flow| &***flow), &actual);
        let p2 = flow("p2", "10.11.1.10", 65_520);
        assert_eq!(now(&[&p1, &v6]), []);
        assert_eq!(now(&[&p2, &v6]), of(&["10.11.1.10"]));
        assert_eq!(now(&[&p1]), of(&["fd00:1::10"]));
    }
}
