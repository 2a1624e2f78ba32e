//! Small tables whose walk is known.

use std::collections::BTreeMap;

use openflow_rs::{Action, Bucket, Field, GroupType, Instruction, Match, Subfield, ports};

use super::*;
use crate::pipeline::{Flow, Group, OwnerName};

fn flow(table: u8, priority: u16, conditions: Match, instructions: Vec<Instruction>) -> Arc<Flow> {
    Arc::new(Flow::new(table, priority, 0, conditions, instructions, OwnerName::nobody()))
}

fn apply(actions: impl IntoIterator<Item = Action>) -> Vec<Instruction> {
    vec![Instruction::Apply(actions.into_iter().collect())]
}

fn group(id: u32, kind: GroupType, buckets: &[&[Action]]) -> Arc<Group> {
    let buckets: Vec<Bucket> = buckets.iter().map(|actions| Bucket::new(actions.to_vec())).collect();
    Arc::new(Group {
        id,
        kind,
        buckets: Group::bucket_bytes(&buckets),
        names: Box::default(),
        balanced: None,
        owner: OwnerName::nobody(),
    })
}

fn outputs(walk: &Walk) -> Vec<u32> {
    let port =
        |outcome: &Outcome| if let Outcome::Output { port, .. } = outcome { Some(*port) } else { None };
    walk.outcomes.iter().filter_map(port).collect()
}

fn cause(walk: &Walk) -> Option<(u8, Cause)> {
    walk.outcomes.iter().find_map(|outcome| match outcome {
        Outcome::Drop { table, cause } => Some((*table, *cause)),
        _ => None,
    })
}

fn from(port: u32) -> Packet {
    Packet::new().with(Field::InPort, port)
}

#[test]
fn the_highest_priority_wins_and_metadata_is_written_before_goto() {
    let conditions = Match::new().with_masked(Field::Metadata, 0xf0_u8, 0xf0_u8);
    let tables = Tables::new(
        [
            flow(0, 1, Match::new(), vec![]),
            flow(
                0,
                2,
                Match::new().with(Field::InPort, 1_u8),
                vec![Instruction::WriteMetadata { value: 0xff, mask: 0xf0 }, Instruction::Goto(7)],
            ),
            flow(7, 5, conditions, apply([Action::output(2)])),
            flow(7, 0, Match::new(), vec![]),
        ],
        [],
    );
    let walk = evaluate(from(1), &tables);
    assert_eq!(outputs(&walk), [2]);
    assert_eq!(walk.hits().map(|(table, _)| table).collect::<Vec<_>>(), [0, 7]);
    assert_eq!(cause(&evaluate(from(3), &tables)), Some((0, Cause::Flow)));
    assert_eq!(cause(&evaluate(from(1), &Tables::default())), Some((0, Cause::NoFlow)));
}

#[test]
fn a_resubmit_comes_back_and_keeps_what_was_set() {
    let tables = Tables::new(
        [
            flow(
                0,
                1,
                Match::new(),
                apply([Action::resubmit(9), Action::resubmit(9), Action::output(4), Action::output(1)]),
            ),
            flow(9, 1, Match::new().with(Field::Reg0, 5_u8), apply([Action::output(5)])),
            flow(9, 0, Match::new(), apply([Action::load(Subfield::whole(Field::Reg0), 5)])),
        ],
        [],
    );
    let walk = evaluate(from(1), &tables);
    assert_eq!(outputs(&walk), [5, 4]);
    assert_eq!(cause(&walk), Some((0, Cause::InPort)));
}

#[test]
fn each_bucket_has_its_own_copy_and_one_way_out() {
    let mark = |value: u64| Action::load(Subfield::whole(Field::Reg0), value);
    let tables = Tables::new(
        [
            flow(0, 1, Match::new(), apply([Action::Group(1), Action::output(ports::IN_PORT)])),
            flow(3, 1, Match::new().with(Field::Reg0, 1_u8), apply([Action::output(11)])),
            flow(3, 1, Match::new().with(Field::Reg0, 2_u8), apply([Action::output(12)])),
        ],
        [
            // The way out stands first and is done last; a second one is not done at all.
            group(1, GroupType::All, &[&[Action::resubmit(3), mark(1)], &[mark(2), Action::Group(2)]]),
            group(2, GroupType::Indirect, &[&[Action::resubmit(3), Action::output(13)]]),
        ],
    );
    let walk = evaluate(from(1), &tables);
    assert_eq!(outputs(&walk), [11, 13, 1]);
    let Some(Outcome::Output { packet, .. }) = walk.outcomes.last() else { panic!("{walk:?}") };
    assert_eq!(packet.get(Field::Reg0), 0);
}

#[test]
fn what_is_not_there_and_what_never_ends_is_said() {
    let endless = Tables::new([flow(0, 1, Match::new(), apply([Action::resubmit(0)]))], []);
    assert_eq!(cause(&evaluate(from(1), &endless)), Some((0, Cause::TooDeep)));
    let lost = Tables::new([flow(0, 1, Match::new(), apply([Action::Group(8)]))], []);
    assert_eq!(cause(&evaluate(from(1), &lost)), Some((0, Cause::NoGroup(8))));
    let empty =
        Tables::new([flow(0, 1, Match::new(), apply([Action::Group(8)]))], [group(8, GroupType::All, &[])]);
    assert_eq!(cause(&evaluate(from(1), &empty)), Some((0, Cause::NoBucket(8))));
}

#[test]
fn an_action_on_a_field_that_the_packet_lacks_does_nothing() {
    let rewrite = [
        Action::set_field(Field::Ipv4Dst, 7_u8),
        Action::DecTtl,
        Action::Move { src: Subfield::whole(Field::ArpSpa), dst: Subfield::whole(Field::ArpTpa) },
        Action::output(2),
    ];
    let tables = Tables::new([flow(0, 1, Match::new(), apply(rewrite))], []);
    let seen: BTreeMap<u16, Packet> = [0x0800, 0x0806, 0x86dd]
        .into_iter()
        .map(|kind: u16| {
            let packet =
                from(1).with(Field::EthType, kind).with(Field::IpTtl, 64_u8).with(Field::ArpSpa, 3_u8);
            match evaluate(packet, &tables).outcomes.pop() {
                Some(Outcome::Output { packet, .. }) => (kind, packet),
                other => panic!("{other:?}"),
            }
        })
        .collect();
    let of = |kind: u16, field: Field| seen[&kind].get(field);
    assert_eq!((of(0x0800, Field::Ipv4Dst), of(0x0800, Field::IpTtl), of(0x0800, Field::ArpTpa)), (7, 63, 0));
    assert_eq!((of(0x0806, Field::Ipv4Dst), of(0x0806, Field::IpTtl), of(0x0806, Field::ArpTpa)), (0, 64, 3));
    assert_eq!((of(0x86dd, Field::Ipv4Dst), of(0x86dd, Field::IpTtl)), (0, 63));
}

#[test]
fn a_packet_whose_ttl_has_run_out_ends_there() {
    let tables = Tables::new([flow(0, 1, Match::new(), apply([Action::DecTtl, Action::output(2)]))], []);
    let packet = from(1).with(Field::EthType, 0x0800_u16).with(Field::IpTtl, 1_u8);
    let walk = evaluate(packet, &tables);
    assert_eq!((outputs(&walk), cause(&walk)), (vec![], Some((0, Cause::Ttl))));
}
