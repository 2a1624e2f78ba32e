//! JSON encoding of YANG data: RFC 7951, with the framing of RFC 8040.

mod entries;
mod frame;
mod operation;
mod read;
mod scalars;
mod visit;
mod write;

pub use super::body::Mode;
pub use read::{parse, parse_child, parse_input, parse_output, parse_resource};
pub use write::{CHUNK, Sink, write, write_input, write_output, write_pieces, write_resource, write_view};
