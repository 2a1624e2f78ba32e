//! DHCP: punted requests are answered from the pools that the datastore holds.
//!
//! ```text
//! punt ─► v4::read ─► view (whose port, which pools) ─► v4::answer (book) ─► entries durable ─► v4::write ─► packet-out
//! ```
//! `v4` is the whole protocol as a pure function; `book` knows who has which address; `view` follows the datastore; `leases`
//! and `status` write into it; `actor` does the rest. A lease is durable before the client hears of it.

mod actor;
mod book;
mod client;
mod count;
mod leases;
mod port;
mod spans;
mod status;
#[cfg(test)]
mod tests;
pub mod v4;
mod view;

pub use actor::run;
pub use book::{Book, Entry, Holder, Lease, Offered};
pub use count::Count;
pub use port::Port;
