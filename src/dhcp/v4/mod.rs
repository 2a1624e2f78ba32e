//! DHCP for IPv4 (RFC 2131, 2132): the whole protocol as a pure function. A request, what is known of its port, who has which
//! address, the time; out come a reply, entries of the book and counts.

mod answer;
mod client;
mod frame;
mod message;
mod options;
#[cfg(test)]
mod tests;

pub use answer::{Answer, answer};
pub use frame::{read, write};
pub use message::{Kind, Opt, Reply, Request};
