//! Router advertisements (RFC 4861): every switch is the router, and the controller speaks for it.
//!
//! A solicitation is punted through its port's meter and answered at once; the gateway's MAC follows from the VPN id in the
//! packet's metadata, flags, MTU and prefixes from the pools of the port's networks. What was advertised ends some time; hence every ELAN of a VPN with
//! IPv6 hears of its router now and then (`schedule`), one packet a switch. No host makes
//! itself an address of what is advertised: pods have configured ones, or ask by DHCPv6.

mod actor;
pub mod frame;
mod said;
mod schedule;
mod view;

pub use actor::{USERDATA, run};
pub use said::Said;
