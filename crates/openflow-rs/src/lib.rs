//! OpenFlow 1.3 to 1.5 with the Open vSwitch extensions: bytes to messages and back, and the text form of `ovs-ofctl`.
//!
//! Nothing here does I/O. Decoding is total: any input gives a message or a [`DecodeError`] that names the offset.
//! The wire is that of OpenFlow 1.3 ([`VERSION`]); what Open vSwitch adds (registers, resubmit, conntrack, learn,
//! packet-in2, bundles) is encoded as it encodes it itself, so that a flow read back from a switch is byte for byte
//! the flow that was sent ([`Match::canonical`], [`instruction::canonical`]).
//!
//! ```
//! use openflow_rs::{Action, Field, FlowMod, Instruction, Match, Message};
//! let mut flow = FlowMod::add(51, 20, Match::new().with_masked(Field::Metadata, 0x1388000000_u64, 0xffff000000_u64));
//! flow.instructions = vec![Instruction::Apply(vec![Action::resubmit(220)])];
//! let mut bytes = bytes::BytesMut::new();
//! Message::FlowMod(flow.clone()).encode(7, &mut bytes);
//! assert_eq!(Message::decode(&bytes).unwrap().1, Message::FlowMod(flow));
//! ```

pub mod action;
pub mod bundle;
mod codes;
mod ct_flush;
mod error;
mod field;
pub mod flow;
pub mod group;
mod header;
pub mod instruction;
mod matching;
mod message;
pub mod meter;
pub mod multipart;
pub mod packet;
pub mod port;
pub mod stats;
mod text;
mod wire;

pub use action::{Action, Ct, CtNat, CtZone, Learn, LearnSource, LearnSpec, LearnTarget, Subfield};
pub use bundle::{BundleControl, BundleFlags};
pub use codes::error_name;
pub use ct_flush::CtFlush;
pub use error::DecodeError;
pub use field::Field;
pub use flow::{FlowCommand, FlowMod, FlowRemoved, FlowStats};
pub use group::{Bucket, GroupCommand, GroupDesc, GroupMod, GroupType};
pub use header::{HEADER_LEN, Header, VERSION, frame_len};
pub use instruction::Instruction;
pub use matching::{Match, MatchField};
pub use message::{ErrorMessage, Features, Message, Role};
pub use meter::{MeterBand, MeterCommand, MeterConfig, MeterMod};
pub use multipart::{Description, MultipartReply, MultipartRequest, TableStats};
pub use packet::{PacketIn, PacketOut};
pub use port::{PortDesc, PortStatus};

/// Reserved port numbers (OpenFlow 1.3, section A.2.1).
pub mod ports {
    pub const MAX: u32 = 0xffff_ff00;
    pub const IN_PORT: u32 = 0xffff_fff8;
    pub const NORMAL: u32 = 0xffff_fffa;
    pub const FLOOD: u32 = 0xffff_fffb;
    pub const ALL: u32 = 0xffff_fffc;
    pub const CONTROLLER: u32 = 0xffff_fffd;
    pub const LOCAL: u32 = 0xffff_fffe;
    pub const ANY: u32 = 0xffff_ffff;
}

/// "The whole packet, unbuffered": `max_len` of an output to the controller, and the buffer id of a packet-out.
pub const NO_BUFFER: u32 = 0xffff_ffff;
