//! Router advertisements (RFC 4861): every switch is the router, and the controller speaks for it.
//!
//! A solicitation is punted through its port's meter and answered at once; the gateway's MAC follows from the VPN id in the
//! packet's metadata, so that an answer reads nothing. What was advertised ends some time; hence every ELAN of a VPN with
//! IPv6 hears of its router now and then, one packet a switch. Addresses are not advertised: pods have configured ones.

mod actor;
mod frame;
mod view;

pub use actor::{USERDATA, run};
