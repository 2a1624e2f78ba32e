//! OVSDB (RFC 7047 and the extensions of ovsdb-server(7)) without I/O: frames, messages, values, monitors and their rows.

mod cache;
mod frame;
mod message;
mod monitor;
mod value;

pub use cache::{Cache, Changes, Row, Table, UpdateError};
pub use frame::{FrameError, Framer};
pub use message::{Incoming, MessageError, refusal, reply, request, transact};
pub use monitor::{Monitor, notified};
pub use value::{Atom, Datum, ValueError, map, named_uuid, set, uuid};
