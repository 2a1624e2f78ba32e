//! DHCP for IPv6 (RFC 8415): the whole protocol as a pure function. A request, what is known of its port, the server's DUID, who has
//! which address, the time; out come a reply, entries of the book and counts.
//!
//! A port has one address by DHCPv6, in one IA_NA; IA_TA and IA_PD are answered with the status that says so.

mod answer;
mod associations;
mod frame;
mod message;
mod options;
#[cfg(test)]
mod tests;

pub use answer::{Answer, answer};
pub use frame::{read, write};
pub use message::{Duid, Ia, IaKind, IaReply, Kind, Leased, Opt, Reply, Request, Status};
