//! DHCP: punted requests are answered from the pools that the datastore holds.
//!
//! ```text
//! punt ─► v4::read ─► view (whose port, which pools) ─► v4::answer (book) ─► entries durable ─► v4::write ─► packet-out
//!         v6                                             v6                                     v6
//! ```
//! `v4` and `v6` are the whole protocols as pure functions; `book` knows who has which address; `view` follows the datastore; `leases`
//! and `status` write into it; `actor` does the rest. A lease is durable before the client hears of it.

mod actor;
mod answer;
mod book;
mod client;
mod count;
mod leases;
mod names;
mod port;
mod spans;
mod status;
#[cfg(test)]
mod tests;
pub mod v4;
pub mod v6;
mod view;
#[cfg(test)]
mod world;

pub use actor::run;
pub use book::{Book, Entry, Holder, Lease, Offered};
pub use count::Count;
pub use port::Port;

use crate::net::MacAddr;

/// Source of all replies: a locally administered address of ours. Clients talk to the server's IP address, not to this.
const SERVER_MAC: MacAddr = MacAddr([0x02, 0xc0, 0xe5, 0, 0, 0]);
