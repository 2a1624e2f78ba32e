//! Bundles: several changes that take effect together. In OpenFlow 1.3 an extension of the ONF (EXT-230).

use bytes::{BufMut, BytesMut};

use crate::DecodeError;
use crate::wire::Reader;

pub(crate) const ONF: u32 = 0x4f4e_4600;
pub(crate) const CONTROL: u32 = 2300;
pub(crate) const ADD: u32 = 2301;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BundleControl {
    OpenRequest,
    OpenReply,
    CloseRequest,
    CloseReply,
    CommitRequest,
    CommitReply,
    DiscardRequest,
    DiscardReply,
}

/// How the changes of a bundle take effect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BundleFlags {
    /// All or none, and no packet sees some of them.
    pub atomic: bool,
    /// In the order in which they were added.
    pub ordered: bool,
}

impl BundleFlags {
    pub const BOTH: BundleFlags = BundleFlags { atomic: true, ordered: true };

    pub(crate) fn bits(self) -> u16 {
        u16::from(self.atomic) | u16::from(self.ordered) << 1
    }

    pub(crate) fn from_bits(bits: u16) -> BundleFlags {
        BundleFlags { atomic: bits & 1 != 0, ordered: bits & 2 != 0 }
    }
}

impl BundleControl {
    pub(crate) fn read(input: &mut Reader<'_>) -> Result<BundleControl, DecodeError> {
        use BundleControl::{
            CloseReply, CloseRequest, CommitReply, CommitRequest, DiscardReply, DiscardRequest, OpenReply,
            OpenRequest,
        };
        let start = *input;
        let all = [
            OpenRequest,
            OpenReply,
            CloseRequest,
            CloseReply,
            CommitRequest,
            CommitReply,
            DiscardRequest,
            DiscardReply,
        ];
        all.get(usize::from(input.u16()?))
            .copied()
            .ok_or_else(|| start.error("an unknown bundle control type"))
    }
}

/// Writes the head of a bundle-add; the message to add follows, with the same xid. Returns where the message starts, for
/// [`end_add`].
pub fn begin_add(bundle: u32, flags: BundleFlags, xid: u32, out: &mut BytesMut) -> usize {
    let start = crate::Header::begin(crate::message::EXPERIMENTER, xid, out);
    out.put_u32(ONF);
    out.put_u32(ADD);
    out.put_u32(bundle);
    out.put_u16(0);
    out.put_u16(flags.bits());
    start
}

/// Completes what [`begin_add`] began.
pub fn end_add(start: usize, out: &mut BytesMut) {
    crate::wire::patch_len(out, start, 2);
}
