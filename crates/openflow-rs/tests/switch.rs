//! A real Open vSwitch takes what we send and reports it back the same, in canonical form.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
#[path = "common/ovs.rs"]
mod ovs;

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use openflow_rs::group::decode_buckets;
use openflow_rs::{
    Action, Bucket, BundleControl, BundleFlags, Field, GroupCommand, GroupMod, GroupType, Message, MeterBand,
    MeterCommand, MeterMod, MultipartReply, MultipartRequest, error_name, frame_len, instruction,
};
use ovs::Switch;

struct Session {
    stream: UnixStream,
    buffer: Vec<u8>,
}

impl Session {
    fn open(switch: &Switch) -> Session {
        let end = Instant::now() + Duration::from_secs(10);
        let stream = loop {
            match UnixStream::connect(switch.path().join("br0.mgmt")) {
                Ok(stream) => break stream,
                Err(error) => assert!(Instant::now() < end, "{error}"),
            }
        };
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut session = Session { stream, buffer: Vec::new() };
        session.send(&Message::Hello { versions: 16 }, 1);
        assert!(matches!(session.next().1, Message::Hello { .. }));
        session
    }

    fn send(&mut self, message: &Message, xid: u32) {
        let mut bytes = BytesMut::new();
        message.encode(xid, &mut bytes);
        self.stream.write_all(&bytes).unwrap();
    }

    fn next(&mut self) -> (u32, Message) {
        loop {
            if let Some(length) = frame_len(&self.buffer).unwrap()
                && self.buffer.len() >= length
            {
                let frame: Vec<u8> = self.buffer.drain(..length).collect();
                let (header, message) = Message::decode(&frame).unwrap();
                return (header.xid, message);
            }
            let mut chunk = [0; 65536];
            let count = self.stream.read(&mut chunk).unwrap();
            assert!(count > 0, "the switch closed the connection");
            self.buffer.extend(&chunk[..count]);
        }
    }

    /// Everything up to the barrier's reply.
    fn barrier(&mut self) -> Vec<(u32, Message)> {
        self.send(&Message::BarrierRequest, 0xffff);
        let mut seen = Vec::new();
        loop {
            match self.next() {
                (0xffff, Message::BarrierReply) => return seen,
                other => seen.push(other),
            }
        }
    }

    fn accepted(&mut self, what: &str) {
        for (xid, message) in self.barrier() {
            if let Message::Error(error) = message {
                panic!("{what} {xid}: {}", error_name(error.kind, error.code));
            }
        }
    }

    fn ask(&mut self, request: MultipartRequest) -> Vec<MultipartReply> {
        self.send(&Message::MultipartRequest(request), 9);
        let mut replies = Vec::new();
        loop {
            if let (9, Message::MultipartReply { more, body }) = self.next() {
                replies.push(body);
                if !more {
                    return replies;
                }
            }
        }
    }
}

#[test]
fn what_the_switch_reports_is_what_we_sent() {
    let switch = Switch::start();
    let mut session = Session::open(&switch);
    session.send(&Message::FeaturesRequest, 2);
    let (_, Message::FeaturesReply(features)) = session.next() else { panic!("features") };
    assert_eq!(features.tables, 254);

    let buckets = vec![Bucket::new(vec![Action::set_field(Field::TunnelId, 3_u32), Action::resubmit(55)])];
    let group =
        GroupMod { command: GroupCommand::Add, kind: GroupType::All, group: 1, buckets: buckets.clone() };
    session.send(&Message::GroupMod(group), 3);
    let outer = vec![Bucket::new(vec![Action::Group(1)])];
    session.send(
        &Message::GroupMod(GroupMod {
            command: GroupCommand::Add,
            kind: GroupType::All,
            group: 2,
            buckets: outer,
        }),
        4,
    );
    let meter = MeterMod {
        command: MeterCommand::Add,
        flags: 14,
        meter: 1,
        bands: vec![MeterBand { rate: 5, burst: 10 }],
    };
    session.send(&Message::MeterMod(meter.clone()), 5);
    session.accepted("group or meter");

    let wanted = common::samples(9);
    for (number, flow) in wanted.iter().enumerate() {
        session.send(&Message::FlowMod(flow.clone()), 100 + number as u32);
    }
    session.accepted("flow (100 + n)");

    let mut reported = Vec::new();
    for reply in session.ask(MultipartRequest::all_flows()) {
        let MultipartReply::Flow(flows) = reply else { panic!("flows") };
        reported.extend(flows);
    }
    assert_eq!(reported.len(), wanted.len());
    for flow in wanted {
        let found = reported.iter().find(|found| found.table == flow.table).unwrap();
        assert_eq!(found.cookie, flow.cookie);
        assert_eq!(found.match_.clone().canonical(), flow.match_.clone().canonical(), "{flow}");
        let (mut ours, mut theirs) = (BytesMut::new(), BytesMut::new());
        instruction::encode(&instruction::canonical(flow.instructions.clone()), &mut ours);
        instruction::encode(&instruction::canonical(found.instructions.clone()), &mut theirs);
        assert_eq!(ours, theirs, "{flow}\n{found}");
    }

    let groups = session.ask(MultipartRequest::GroupDesc);
    let [MultipartReply::GroupDesc(groups)] = groups.as_slice() else { panic!("groups") };
    let found = groups.iter().find(|group| group.group == 1).unwrap();
    let mut bytes = BytesMut::new();
    found.buckets[0].encode(&mut bytes);
    assert_eq!(decode_buckets(&bytes).unwrap(), buckets);
    let meters = session.ask(MultipartRequest::MeterConfig);
    let [MultipartReply::MeterConfig(meters)] = meters.as_slice() else { panic!("meters") };
    assert_eq!(
        (meters[0].flags, meters[0].meter, &meters[0].bands),
        (meter.flags, meter.meter, &meter.bands)
    );
    assert!(
        matches!(session.ask(MultipartRequest::PortDesc).as_slice(), [MultipartReply::PortDesc(ports)] if ports[0].name == "br0")
    );
    assert!(
        matches!(session.ask(MultipartRequest::Description).as_slice(), [MultipartReply::Description(desc)] if desc.hardware == "Open vSwitch")
    );
}

#[test]
fn a_bundle_takes_groups_and_flows_together_or_not_at_all() {
    let switch = Switch::start();
    let mut session = Session::open(&switch);
    let control = |control| Message::BundleControl { bundle: 1, control, flags: BundleFlags::BOTH };
    let add =
        |message| Message::BundleAdd { bundle: 1, flags: BundleFlags::BOTH, message: Box::new(message) };
    let group = GroupMod {
        command: GroupCommand::Add,
        kind: GroupType::All,
        group: 7,
        buckets: vec![Bucket::new(vec![])],
    };
    let mut flow = common::samples(1).remove(3);
    flow.instructions = vec![openflow_rs::Instruction::Apply(vec![Action::Group(7)])];
    session.send(&control(BundleControl::OpenRequest), 10);
    session.send(&add(Message::GroupMod(group)), 11);
    session.send(&add(Message::FlowMod(flow.clone())), 12);
    session.send(&control(BundleControl::CommitRequest), 13);
    let seen = session.barrier();
    assert!(
        seen.iter().any(|(xid, message)| *xid == 13
            && matches!(message, Message::BundleControl { control: BundleControl::CommitReply, .. })),
        "{seen:?}"
    );

    let mut wrong = flow.clone();
    wrong.table = 40;
    wrong.instructions = vec![openflow_rs::Instruction::Apply(vec![Action::Group(99)])];
    let mut right = flow;
    right.table = 41;
    session.send(&control(BundleControl::OpenRequest), 20);
    session.send(&add(Message::FlowMod(right)), 21);
    session.send(&add(Message::FlowMod(wrong)), 22);
    session.send(&control(BundleControl::CommitRequest), 23);
    assert!(session.barrier().iter().any(|(_, message)| matches!(message, Message::Error(_))));
    let replies = session.ask(MultipartRequest::all_flows());
    let [MultipartReply::Flow(flows)] = replies.as_slice() else { panic!("flows") };
    assert!(flows.iter().all(|flow| flow.table < 40), "nothing of the refused bundle is there");
}
