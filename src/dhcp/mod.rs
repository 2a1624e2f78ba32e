//! DHCP (RFC 2131): punted requests are answered from the pools that the datastore holds.
//!
//! `answer` is the whole protocol as a pure function: a request, what is known of the port, the time; out come a reply, a lease
//! and a count. `view` reads what is known from a snapshot, `frame` is bytes, `actor` does the rest. A lease is durable before
//! the client hears of it.

mod actor;
mod answer;
mod frame;
mod leases;
mod view;

pub use actor::run;
pub use answer::{Answer, Count, Lease, LeaseEdit, LeaseState, Offer, Pool, Port, Reply, Request, answer};
