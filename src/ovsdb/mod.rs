//! OVSDB (RFC 7047) without I/O: frames, messages, values, the rows of a monitor.

mod cache;
mod frame;
mod message;
mod value;

pub use cache::{Cache, Row};
pub use frame::{FrameError, Framer};
pub use message::{Incoming, MessageError, monitor, refusal, reply, request, transact};
pub use value::{map, map_of, named_uuid, optional, set, set_of, strings, uuid, uuids};
