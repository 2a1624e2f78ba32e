//! Items to bytes.

use bytes::BytesMut;
use openflow_rs::bundle::{begin_add, end_add};
use openflow_rs::flow::{RawFlow, encode_flow_mod};
use openflow_rs::group::encode_group_mod;
use openflow_rs::{BundleFlags, FlowCommand, GroupCommand, GroupType, Message, MeterCommand, MeterMod};

use super::diff::Item;

/// Appends the message for one item.
pub fn encode(item: &Item, xid: u32, out: &mut BytesMut) {
    match item {
        Item::FlowPut(flow) => encode_flow_mod(FlowCommand::Add, flow.raw(), xid, out),
        Item::FlowGone(flow) => {
            let raw = RawFlow { cookie: 0, instructions: &[], ..flow.raw() };
            encode_flow_mod(FlowCommand::DeleteStrict, raw, xid, out);
        }
        Item::GroupPut { group, exists } => {
            let command = if *exists { GroupCommand::Modify } else { GroupCommand::Add };
            encode_group_mod(command, group.kind, group.id, &group.buckets, xid, out);
        }
        Item::GroupGone(id) => encode_group_mod(GroupCommand::Delete, GroupType::All, *id, &[], xid, out),
        Item::MeterPut { meter, exists } => {
            let command = if *exists { MeterCommand::Modify } else { MeterCommand::Add };
            let config = meter.config();
            let message = MeterMod { command, flags: config.flags, meter: config.meter, bands: config.bands };
            Message::MeterMod(message).encode(xid, out);
        }
        Item::MeterGone(id) => {
            let message = MeterMod { command: MeterCommand::Delete, flags: 0, meter: *id, bands: Vec::new() };
            Message::MeterMod(message).encode(xid, out);
        }
    }
}

/// Appends the message for one item, wrapped for a bundle.
pub fn encode_bundled(item: &Item, bundle: u32, xid: u32, out: &mut BytesMut) {
    let start = begin_add(bundle, BundleFlags::BOTH, xid, out);
    encode(item, xid, out);
    end_add(start, out);
}
