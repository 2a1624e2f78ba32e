//! Flows of every kind that the library knows, and a way to run Open vSwitch's tools.
#![allow(dead_code, reason = "each test file uses its part")]

use std::net::Ipv4Addr;
use std::process::Command;

use openflow_rs::action::{Ct, CtNat, CtZone, Learn, LearnSource, LearnSpec, LearnTarget};
use openflow_rs::{Action, Field, FlowMod, Instruction, Match, Subfield, ports};

/// Runs a command; its output, or a panic that says what it said.
pub fn run(command: &mut Command) -> String {
    let output =
        command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; install openvswitch-switch"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {}{text}", String::from_utf8_lossy(&output.stderr));
    text
}

fn flow(table: u8, match_: Match, actions: Vec<Action>) -> FlowMod {
    let mut flow = FlowMod::add(table, 20, match_);
    flow.cookie = 0xc0ab_cdef_0800_0000 | u64::from(table);
    if !actions.is_empty() {
        flow.instructions = vec![Instruction::Apply(actions)];
    }
    flow
}

fn ip() -> Match {
    Match::new().with(Field::EthType, 0x800_u16)
}

fn whole(field: Field) -> Subfield {
    Subfield::whole(field)
}

/// One flow of each kind; `n` varies the numbers in them.
pub fn samples(n: u32) -> Vec<FlowMod> {
    let arp = || Match::new().with(Field::EthType, 0x806_u16).with(Field::ArpOp, 1_u16);
    let address = Ipv4Addr::from(0x0a00_0000 | n & 0xff_ffff);
    let mac = 0x0200_0000_0000 | u64::from(n);
    let udp = || ip().with(Field::IpProto, 17_u8).with(Field::UdpSrc, 68_u16).with(Field::UdpDst, 67_u16);
    let mut flows = vec![
        flow(0, Match::new().with(Field::InPort, n % 1000 + 1).with(Field::VlanVid, 0_u16), vec![]),
        flow(1, Match::new().with(Field::InPort, ports::LOCAL), vec![Action::output(n % 1000 + 1)]),
        flow(
            2,
            Match::new().with_masked(Field::Metadata, u64::from(n) << 24, 0xffff_ff00_0000_u64),
            vec![Action::resubmit(17)],
        ),
        flow(
            3,
            Match::new().with(Field::EthDst, mac),
            vec![Action::load(whole(Field::Reg6), u64::from(n)), Action::resubmit(220)],
        ),
        flow(4, Match::new().with_masked(Field::EthDst, 0x0180_c200_0000_u64, 0xffff_ffff_fff0_u64), vec![]),
        flow(
            5,
            ip().with_masked(Field::Ipv4Dst, u32::from(address) & 0xffff_ff00, 0xffff_ff00_u32),
            vec![Action::DecTtl, Action::output(3)],
        ),
        flow(
            6,
            ip().with(Field::IpProto, 1_u8).with(Field::IcmpType, 8_u8).with(Field::IcmpCode, 0_u8),
            vec![
                Action::Push(whole(Field::Ipv4Src)),
                Action::Move { src: whole(Field::Ipv4Dst), dst: whole(Field::Ipv4Src) },
                Action::Pop(whole(Field::Ipv4Dst)),
                Action::load(whole(Field::IcmpType), 0),
                Action::load(whole(Field::IpTtl), 64),
            ],
        ),
        flow(
            7,
            arp().with(Field::ArpTpa, u32::from(address)),
            vec![
                Action::Move { src: whole(Field::EthSrc), dst: whole(Field::EthDst) },
                Action::set_field(Field::EthSrc, mac),
                Action::load(whole(Field::ArpOp), 2),
                Action::Move { src: whole(Field::ArpSha), dst: whole(Field::ArpTha) },
                Action::load(whole(Field::ArpSha), mac),
                Action::load(whole(Field::NxInPort), 0),
            ],
        ),
        flow(
            8,
            arp().with(Field::ArpSha, mac).with(Field::ArpTha, 0_u64).with(Field::ArpSpa, u32::from(address)),
            vec![Action::output(ports::IN_PORT)],
        ),
        flow(
            9,
            Match::new().with(Field::TunnelId, n),
            vec![
                Action::set_field(Field::TunnelId, n + 1),
                Action::set_field(Field::TunDst, u32::from(address)),
                Action::load(Subfield::range(Field::Metadata, 1, 23), u64::from(n & 0x7f_ffff)),
                Action::Move {
                    src: Subfield::range(Field::Metadata, 40, 20),
                    dst: Subfield::range(Field::Reg6, 8, 20),
                },
            ],
        ),
        flow(
            10,
            Match::new().with(Field::Reg6, n).with_masked(Field::Reg0, 1_u32, 3_u32),
            vec![Action::output(4)],
        ),
        flow(
            11,
            udp(),
            vec![Action::Controller {
                max_len: 0xffff,
                controller_id: 0,
                reason: 1,
                userdata: b"dhcp".to_vec(),
                pause: false,
                meter_id: 0,
            }],
        ),
        flow(12, ip(), vec![Action::Output { port: ports::CONTROLLER, max_len: 128 }]),
        flow(
            13,
            ip(),
            vec![Action::Ct(Ct {
                table: Some(31),
                zone: CtZone::Number((n & 0xffff) as u16),
                nat: Some(CtNat::default()),
                ..Ct::default()
            })],
        ),
        flow(
            14,
            ip().with_masked(Field::CtState, 0x21_u32, 0x21_u32)
                .with(Field::CtZone, 7_u16)
                .with(Field::CtMark, n),
            vec![Action::Ct(Ct {
                commit: true,
                zone: CtZone::Field(Subfield::range(Field::Reg0, 0, 16)),
                nat: Some(CtNat {
                    destination: true,
                    addresses: Some((address, address)),
                    ports: Some((8080, 8080)),
                    ..CtNat::default()
                }),
                exec: vec![Action::set_field(Field::CtMark, n)],
                ..Ct::default()
            })],
        ),
        flow(
            15,
            ip(),
            vec![
                Action::Ct(Ct {
                    commit: true,
                    nat: Some(CtNat {
                        source: true,
                        addresses: Some((address, Ipv4Addr::from(u32::from(address) + 3))),
                        ports: Some((1024, 65535)),
                        random: true,
                        ..CtNat::default()
                    }),
                    ..Ct::default()
                }),
                Action::CtClear,
            ],
        ),
        flow(16, ip(), vec![Action::Conjunction { id: n, clause: 0, clauses: 2 }]),
        flow(
            17,
            Match::new().with(Field::ConjId, n).with(Field::EthType, 0x800_u16),
            vec![Action::output(5)],
        ),
        flow(
            18,
            Match::new(),
            vec![Action::Learn(Box::new(Learn {
                hard_timeout: 5,
                priority: 10,
                cookie: 0x88,
                table: 49,
                specs: vec![
                    LearnSpec {
                        bits: 48,
                        source: LearnSource::Field(whole(Field::EthSrc)),
                        target: LearnTarget::Match(whole(Field::EthDst)),
                    },
                    LearnSpec {
                        bits: 16,
                        source: LearnSource::Value(0x806),
                        target: LearnTarget::Match(whole(Field::EthType)),
                    },
                    LearnSpec {
                        bits: 8,
                        source: LearnSource::Value(1),
                        target: LearnTarget::Load(Subfield::range(Field::Reg4, 0, 8)),
                    },
                ],
                ..Learn::default()
            }))],
        ),
        flow(
            19,
            Match::new().with(Field::EthType, 0x86dd_u16).with_masked(
                Field::Ipv6Dst,
                0x2001_0db8_u128 << 96,
                u128::MAX << 96,
            ),
            vec![Action::output(6)],
        ),
        flow(
            20,
            Match::new()
                .with(Field::EthType, 0x86dd_u16)
                .with(Field::IpProto, 58_u8)
                .with(Field::Icmpv6Type, 135_u8),
            vec![Action::set_field(Field::Icmpv6Type, 136_u8)],
        ),
        flow(
            21,
            ip().with(Field::IpProto, 6_u8)
                .with(Field::TcpDst, (n & 0xffff) as u16)
                .with(Field::Ipv4Src, u32::from(address)),
            vec![
                Action::set_field(Field::TcpDst, 8080_u16),
                Action::set_field(Field::Ipv4Dst, u32::from(address)),
            ],
        ),
        flow(22, ip().with(Field::IpProto, 132_u8).with(Field::SctpDst, 99_u16), vec![Action::output(7)]),
        flow(23, Match::new().with(Field::VlanVid, 0x1000_u16 | 7), vec![Action::PopVlan]),
        flow(24, Match::new().with(Field::VlanVid, 0_u16), vec![Action::PushVlan(0x8100)]),
        flow(25, ip().with(Field::IpTtl, 1_u8), vec![Action::Note(vec![1, 2, 3, 4, 5, 6])]),
        flow(26, ip(), vec![Action::SetQueue(3), Action::Group(1)]),
    ];
    // Fragments: none, any, the first, later ones, all but later ones.
    for (table, (value, mask)) in (27..).zip([(0_u8, 0xff_u8), (1, 1), (1, 0xff), (3, 0xff), (0, 2)]) {
        let first = ip().with(Field::IpProto, 17_u8).with(Field::UdpDst, 0_u16);
        flows.push(flow(table, first.with_masked(Field::IpFrag, value, mask), vec![]));
    }
    flows[0].instructions = vec![
        Instruction::WriteMetadata { value: u64::from(n) << 40, mask: 0xffff_ff00_0000_0001 },
        Instruction::Goto(17),
    ];
    flows[11].instructions.insert(0, Instruction::Meter(1));
    flows[23].instructions.push(Instruction::Write(vec![Action::output(1)]));
    flows
}

/// The part of a flow's text that does not depend on who prints it: match and actions.
pub fn essence(text: &str) -> String {
    let text = text.trim();
    let from = text.find("priority=").unwrap_or(0);
    text[from..]
        .replace(" cookie:", " \u{0}")
        .split('\u{0}')
        .enumerate()
        .map(|(at, part)| {
            if at == 0 {
                part.to_owned()
            } else {
                part.split_once(' ').map_or(String::new(), |(_, rest)| rest.to_owned())
            }
        })
        .collect::<Vec<_>>()
        .join("")
        .replace("  ", " ")
}
