//! Laws of the codec: what is written reads back, and nothing makes it panic.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use bytes::BytesMut;
use openflow_rs::flow::{RawFlow, encode_flow_mod};
use openflow_rs::{
    Action, Bucket, BundleControl, BundleFlags, ErrorMessage, Features, Field, FlowCommand, FlowMod,
    GroupCommand, GroupMod, GroupType, Instruction, Match, MatchField, Message, MeterBand, MeterCommand,
    MeterMod, MultipartReply, MultipartRequest, PacketIn, PacketOut, Role, Subfield, frame_len,
};
use proptest::prelude::*;

fn encoded(message: &Message, xid: u32) -> BytesMut {
    let mut bytes = BytesMut::new();
    message.encode(xid, &mut bytes);
    bytes
}

fn field() -> impl Strategy<Value = Field> {
    let all: Vec<Field> = Field::all().collect();
    proptest::sample::select(all)
}

fn condition() -> impl Strategy<Value = MatchField> {
    (field(), any::<u128>(), any::<u128>(), any::<bool>()).prop_map(|(field, value, mask, exact)| {
        if exact { MatchField::exact(field, value) } else { MatchField::masked(field, value, mask) }
    })
}

fn subfield() -> impl Strategy<Value = Subfield> {
    (field(), any::<u16>(), any::<u16>()).prop_map(|(field, start, bits)| {
        let width = field.bits().min(64);
        let start = start % width;
        Subfield::range(field, start, bits % (width - start) + 1)
    })
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        (any::<u32>(), any::<u16>()).prop_map(|(port, max_len)| Action::Output { port, max_len }),
        any::<u32>().prop_map(Action::Group),
        (field(), any::<u128>()).prop_map(|(field, value)| Action::set_field(field, value)),
        Just(Action::DecTtl),
        Just(Action::PopVlan),
        any::<u16>().prop_map(Action::PushVlan),
        any::<u16>().prop_map(Action::PopMpls),
        any::<u32>().prop_map(Action::SetQueue),
        (subfield(), any::<u64>()).prop_map(|(dst, value)| Action::Load { dst, value }),
        (subfield()).prop_map(|place| Action::Move { src: place, dst: place }),
        subfield().prop_map(Action::Push),
        subfield().prop_map(Action::Pop),
        (any::<u16>(), any::<u8>()).prop_map(|(in_port, table)| Action::Resubmit { in_port, table }),
        Just(Action::CtClear),
        (any::<u32>(), any::<u8>(), any::<u8>()).prop_map(|(id, clause, clauses)| Action::Conjunction {
            id,
            clause,
            clauses
        }),
        (any::<u16>(), any::<u8>(), prop::collection::vec(any::<u8>(), 0..20), any::<bool>()).prop_map(
            |(controller_id, reason, userdata, pause)| Action::Controller {
                max_len: 100,
                controller_id,
                reason,
                userdata,
                pause,
                meter_id: 3,
            }
        ),
    ]
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    prop::collection::vec(action(), 0..5)
}

fn flow_mod() -> impl Strategy<Value = FlowMod> {
    let instruction = prop_oneof![
        any::<u8>().prop_map(Instruction::Goto),
        (any::<u64>(), any::<u64>()).prop_map(|(value, mask)| Instruction::WriteMetadata { value, mask }),
        actions().prop_map(Instruction::Apply),
        actions().prop_map(Instruction::Write),
        Just(Instruction::Clear),
        any::<u32>().prop_map(Instruction::Meter),
    ];
    (
        any::<u8>(),
        any::<u16>(),
        any::<u64>(),
        prop::collection::vec(condition(), 0..6),
        prop::collection::vec(instruction, 0..4),
    )
        .prop_map(|(table, priority, cookie, fields, instructions)| {
            let mut flow = FlowMod::add(table, priority, Match { fields });
            flow.cookie = cookie;
            flow.instructions = instructions;
            flow
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_flow_mod_reads_back(flow in flow_mod(), xid in any::<u32>()) {
        let bytes = encoded(&Message::FlowMod(flow.clone()), xid);
        prop_assert_eq!(frame_len(&bytes).unwrap(), Some(bytes.len()));
        let (header, message) = Message::decode(&bytes).unwrap();
        prop_assert_eq!(header.xid, xid);
        prop_assert_eq!(message, Message::FlowMod(flow.clone()));
        let _ = flow.to_string();
    }

    #[test]
    fn a_group_mod_reads_back_alone_and_in_a_bundle(id in any::<u32>(), buckets in prop::collection::vec(actions(), 0..4)) {
        let group = Message::GroupMod(GroupMod {
            command: GroupCommand::Modify, kind: GroupType::Select, group: id, buckets: buckets.into_iter().map(Bucket::new).collect(),
        });
        prop_assert_eq!(&Message::decode(&encoded(&group, 1)).unwrap().1, &group);
        let bundled = Message::BundleAdd { bundle: 3, flags: BundleFlags::BOTH, message: Box::new(group) };
        prop_assert_eq!(&Message::decode(&encoded(&bundled, 1)).unwrap().1, &bundled);
    }

    /// A canonical match has one form, whatever the order of its conditions, and means the same.
    #[test]
    fn canonical_matches_do_not_depend_on_order(mut fields in prop::collection::vec(condition(), 0..6)) {
        let one = Match { fields: fields.clone() }.canonical();
        fields.reverse();
        prop_assert_eq!(&one, &Match { fields }.canonical());
        prop_assert_eq!(&one.clone().canonical(), &one);
    }

    #[test]
    fn noise_is_an_error_and_no_panic(noise in prop::collection::vec(any::<u8>(), 0..200), kind in 0_u8..32) {
        let mut bytes = vec![4, kind, 0, 0, 0, 0, 0, 1];
        bytes.extend(&noise);
        let length = bytes.len() as u16;
        bytes[2..4].copy_from_slice(&length.to_be_bytes());
        let _ = Message::decode(&bytes);
        let _ = frame_len(&noise);
    }
}

#[test]
fn every_other_message_reads_back() {
    let packet = PacketIn {
        reason: 1,
        table: 60,
        cookie: 7,
        metadata: Match::new().with(Field::Metadata, 5_u64),
        userdata: vec![],
        full_len: 4,
        frame: vec![1, 2, 3, 4],
    };
    let messages = [
        Message::Hello { versions: 16 },
        Message::Error(ErrorMessage { kind: 4, code: 9, data: vec![1, 2] }),
        Message::EchoRequest(vec![1]),
        Message::EchoReply(vec![]),
        Message::FeaturesRequest,
        Message::FeaturesReply(Features {
            dpid: 9,
            buffers: 0,
            tables: 254,
            auxiliary_id: 0,
            capabilities: 0x4f,
        }),
        Message::SetConfig { flags: 3, miss_send_len: 128 },
        Message::PacketIn(packet.clone()),
        Message::PacketIn2(PacketIn { userdata: b"dhcp".to_vec(), ..packet }),
        Message::PacketOut(PacketOut {
            in_port: openflow_rs::ports::CONTROLLER,
            actions: vec![Action::resubmit(220)],
            frame: vec![7; 60],
        }),
        Message::MeterMod(MeterMod {
            command: MeterCommand::Add,
            flags: 14,
            meter: 3,
            bands: vec![MeterBand { rate: 5, burst: 10 }],
        }),
        Message::MultipartRequest(MultipartRequest::all_flows()),
        Message::MultipartRequest(MultipartRequest::MeterConfig),
        Message::MultipartReply {
            more: true,
            body: MultipartReply::PortDesc(vec![openflow_rs::PortDesc {
                port: 1,
                mac: [2, 0, 0, 0, 0, 1],
                name: "veth1".into(),
                config: 0,
                state: 0,
                current_speed: 10_000_000,
            }]),
        },
        Message::BarrierRequest,
        Message::BarrierReply,
        Message::RoleRequest { role: Role::Master, generation: 77 },
        Message::BundleControl { bundle: 1, control: BundleControl::CommitRequest, flags: BundleFlags::BOTH },
        Message::SetPacketInFormat(2),
        Message::CtFlush { zone: Some(7) },
    ];
    for message in messages {
        let bytes = encoded(&message, 9);
        assert_eq!(Message::decode(&bytes).unwrap().1, message);
        for cut in 0..bytes.len() {
            let _ = Message::decode(&bytes[..cut]);
        }
    }
}

#[test]
fn mutated_flows_never_panic() {
    let mut state = 1_u64;
    for flow in common::samples(7) {
        let good = encoded(&Message::FlowMod(flow), 1);
        for _ in 0..1500 {
            let mut bytes = good.to_vec();
            for _ in 0..3 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = 4 + (state >> 33) as usize % (bytes.len() - 4);
                bytes[at] = (state >> 20) as u8;
            }
            if let Ok((_, Message::FlowMod(flow))) = Message::decode(&bytes) {
                let _ = flow.to_string();
            }
        }
    }
}

#[test]
fn pre_encoded_flows_are_the_same_bytes() {
    for mut flow in common::samples(3) {
        flow.match_ = flow.match_.canonical();
        flow.command = FlowCommand::Add;
        let (mut fields, mut instructions, mut out) = (BytesMut::new(), BytesMut::new(), BytesMut::new());
        flow.match_.encode_fields(&mut fields);
        openflow_rs::instruction::encode(&flow.instructions, &mut instructions);
        let raw = RawFlow {
            table: flow.table,
            priority: flow.priority,
            cookie: flow.cookie,
            flags: flow.flags,
            match_fields: &fields,
            instructions: &instructions,
        };
        encode_flow_mod(FlowCommand::Add, raw, 5, &mut out);
        assert_eq!(out, encoded(&Message::FlowMod(flow), 5));
    }
}
