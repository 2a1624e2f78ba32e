//! The userspace datapath looks a tunnel endpoint's MAC up when the first packet for it comes, and loses that packet. So a
//! throw-away frame goes ahead of the pods: it carries VNI 0, which nobody has, and dies in the other side's table 36.

use std::collections::BTreeMap;

use openflow_rs::{Action, Field, Instruction, PacketOut, Subfield, ports};

use crate::pipeline::{EGRESS_DISPATCHER, Flow};

/// Ethertype for local experiments (IEEE 802): no host takes such a frame.
const FRAME: [u8; 60] = {
    let mut frame = [0; 60];
    frame[0] = 0x02;
    frame[6] = 0x02;
    frame[12] = 0x88;
    frame[13] = 0xb5;
    frame
};

/// Class and field of `tun_dst`, as a flow that sets it has them.
const TUN_DST: [u8; 3] = [0x00, 0x01, 32 << 1];

/// The remote tunnel endpoint that a flow sends to, with the tunnel's value of reg6.
pub fn endpoint(flow: &Flow) -> Option<(u32, u64)> {
    // Most flows stay here; what comes to them is decoded properly.
    memchr::memmem::find(flow.instructions(), &TUN_DST)?;
    let (_, instructions) = flow.parts();
    let actions = instructions
        .iter()
        .find_map(|one| if let Instruction::Apply(actions) = one { Some(actions) } else { None })?;
    let remote = actions.iter().find_map(|action| match action {
        Action::SetField(value) if value.field == Field::TunDst => Some(value.value as u32),
        _ => None,
    })?;
    let egress = actions.iter().find_map(|action| match action {
        Action::Load { dst, value } if dst.field == Field::Reg6 => Some(*value),
        _ => None,
    })?;
    Some((remote, egress))
}

/// Endpoints of flows that are new to `known`.
pub fn new_endpoints<'a>(
    flows: impl Iterator<Item = &'a Flow>,
    known: &mut BTreeMap<u32, u64>,
) -> Vec<PacketOut> {
    let mut found = Vec::new();
    for (remote, egress) in flows.filter_map(endpoint) {
        if known.insert(remote, egress).is_none() {
            found.push(PacketOut {
                in_port: ports::CONTROLLER,
                actions: vec![
                    Action::set_field(Field::TunnelId, 0_u32),
                    Action::set_field(Field::TunDst, remote),
                    Action::load(Subfield::whole(Field::Reg6), egress),
                    Action::resubmit(EGRESS_DISPATCHER.id()),
                ],
                frame: FRAME.to_vec(),
            });
        }
    }
    found
}
