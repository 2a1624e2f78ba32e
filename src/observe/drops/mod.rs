//! What policies have stopped, packet by packet, where somebody asked for it: a line in the log each, and the last of them in
//! `coeus-policy:drop-log`.
//!
//! ```text
//! 217 or 247 ─► meter of the port ─► controller, the first bytes of the packet ─► who, whom, why ─► log, ring
//! ```
//! Nothing of it is journalled: the log is what stays.

mod actor;
mod packet;
mod ring;

pub use actor::{USERDATA, run};
pub use packet::Headers;
pub use ring::DropLog;
