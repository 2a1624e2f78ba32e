//! What pods sent that no pod may send, by class and switch, for `/metrics`.
//!
//! A class is a few flows that all ports of a switch share, under a cookie that nothing else has. Open vSwitch finds flows by a whole
//! cookie in an index, so what is asked costs the same however many flows a switch holds. Nothing is polled, journalled or kept but the
//! last answer, for as long as counters may be old.

mod actor;
mod page;

pub use actor::Forbidden;
