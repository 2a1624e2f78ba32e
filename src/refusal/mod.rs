//! Refusals: a service that has no endpoint answers, so that its clients need not wait.
//!
//! Open vSwitch cannot make a TCP reset or an ICMP error, so the first packet of a connection that has nowhere to go is
//! punted through a meter of its switch, and the controller answers in the service's name. What is above the meter's rate is dropped.

mod actor;
pub mod frame;

pub use actor::{USERDATA, run};
