//! Groups: group-mod and the group descriptions of a multipart reply (OpenFlow 1.3 layout).

use bytes::{BufMut, BytesMut};

use crate::action::{encode_actions, read_actions};
use crate::wire::{Reader, patch_len, put_zeros};
use crate::{Action, DecodeError, ports};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GroupCommand {
    Add,
    Modify,
    Delete,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GroupType {
    /// Every bucket gets a copy.
    All,
    /// One bucket, chosen by hash.
    Select,
    /// The only bucket.
    Indirect,
    /// The first live bucket.
    FastFailover,
}

/// Deletes every group.
pub const ALL_GROUPS: u32 = 0xffff_fffc;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Bucket {
    /// Share of a select group; zero in the other types.
    pub weight: u16,
    pub watch_port: u32,
    pub watch_group: u32,
    pub actions: Vec<Action>,
}

impl Bucket {
    pub fn new(actions: Vec<Action>) -> Bucket {
        Bucket { weight: 0, watch_port: ports::ANY, watch_group: ports::ANY, actions }
    }

    pub fn encode(&self, out: &mut BytesMut) {
        let start = out.len();
        self.encode_head(out);
        encode_actions(&self.actions, out);
        patch_len(out, start, 0);
    }

    /// The bytes before the actions.
    fn encode_head(&self, out: &mut BytesMut) {
        let (port, group) = (u128::from(self.watch_port), u128::from(self.watch_group));
        out.put_u128(u128::from(self.weight) << 96 | port << 64 | group << 32);
    }

    fn read(input: &mut Reader<'_>) -> Result<Bucket, DecodeError> {
        let start = *input;
        let Some(length) = usize::from(input.u16()?).checked_sub(2) else {
            return Err(start.error("a bucket is shorter than its header"));
        };
        let mut body = input.sub(length)?;
        let (weight, watch_port, watch_group) = (body.u16()?, body.u32()?, body.u32()?);
        body.skip(4)?;
        Ok(Bucket { weight, watch_port, watch_group, actions: read_actions(&mut body, 0)? })
    }
}

/// Writes a bucket that watches nothing, action by action.
pub fn encode_bucket(weight: u16, actions: impl IntoIterator<Item = Action>, out: &mut BytesMut) {
    let start = out.len();
    Bucket { weight, ..Bucket::new(Vec::new()) }.encode_head(out);
    actions.into_iter().for_each(|action| action.encode(out));
    patch_len(out, start, 0);
}

/// # Errors
/// When a bucket or one of its actions is cut short or unknown.
pub fn decode_buckets(bytes: &[u8]) -> Result<Vec<Bucket>, DecodeError> {
    read_buckets(&mut Reader::new(bytes))
}

fn read_buckets(input: &mut Reader<'_>) -> Result<Vec<Bucket>, DecodeError> {
    let mut buckets = Vec::new();
    while !input.is_empty() {
        buckets.push(Bucket::read(input)?);
    }
    Ok(buckets)
}

fn kind(input: &mut Reader<'_>) -> Result<GroupType, DecodeError> {
    let start = *input;
    match input.u8()? {
        0 => Ok(GroupType::All),
        1 => Ok(GroupType::Select),
        2 => Ok(GroupType::Indirect),
        3 => Ok(GroupType::FastFailover),
        _ => Err(start.error("an unknown group type")),
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupMod {
    pub command: GroupCommand,
    pub kind: GroupType,
    pub group: u32,
    pub buckets: Vec<Bucket>,
}

impl GroupMod {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u16(self.command as u16);
        out.put_u8(self.kind as u8);
        put_zeros(out, 1);
        out.put_u32(self.group);
        for bucket in &self.buckets {
            bucket.encode(out);
        }
    }

    pub(crate) fn read(input: &mut Reader<'_>) -> Result<GroupMod, DecodeError> {
        let start = *input;
        let command = match input.u16()? {
            0 => GroupCommand::Add,
            1 => GroupCommand::Modify,
            2 => GroupCommand::Delete,
            _ => return Err(start.error("an unknown group-mod command")),
        };
        let kind = kind(input)?;
        input.skip(1)?;
        Ok(GroupMod { command, kind, group: input.u32()?, buckets: read_buckets(input)? })
    }
}

/// Writes a group-mod whose buckets are encoded already.
pub fn encode_group_mod(
    command: GroupCommand,
    kind: GroupType,
    group: u32,
    buckets: &[u8],
    xid: u32,
    out: &mut BytesMut,
) {
    let start = crate::Header::begin(crate::message::GROUP_MOD, xid, out);
    out.put_u16(command as u16);
    out.put_u8(kind as u8);
    put_zeros(out, 1);
    out.put_u32(group);
    out.put_slice(buckets);
    patch_len(out, start, 2);
}

/// A group as a switch reports it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupDesc {
    pub kind: GroupType,
    pub group: u32,
    pub buckets: Vec<Bucket>,
}

impl GroupDesc {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        let start = out.len();
        out.put_u16(0);
        out.put_u8(self.kind as u8);
        put_zeros(out, 1);
        out.put_u32(self.group);
        for bucket in &self.buckets {
            bucket.encode(out);
        }
        patch_len(out, start, 0);
    }

    pub(crate) fn read(input: &mut Reader<'_>) -> Result<GroupDesc, DecodeError> {
        let start = *input;
        let Some(length) = usize::from(input.u16()?).checked_sub(2) else {
            return Err(start.error("a group is shorter than its header"));
        };
        let mut body = input.sub(length)?;
        let kind = kind(&mut body)?;
        body.skip(1)?;
        Ok(GroupDesc { kind, group: body.u32()?, buckets: read_buckets(&mut body)? })
    }
}
