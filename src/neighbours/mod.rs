//! Who is on external networks: asked for by ARP (RFC 826) and neighbour solicitations (RFC 4861) in the name of floating addresses,
//! and remembered.
//!
//! ```text
//! asked or answered by somebody ──────► who said it is there
//! punted packet for somebody unknown ─► asked for
//! gateways, and who was not heard for long ─► asked for
//! an address that came, or is elsewhere ─► announced from its switch, when the switch has its flows
//! the switch of an address ───────────► written down, so that no other one answers before it has confirmed that it does not
//! ```
//! [`watch_next_hops`] asks those who share a route whether they are there.
//!
//! What is known is a fact in the operational datastore; routes follow from it like from any other.

mod actor;
mod book;
pub mod frame;
mod held;
mod hops;
mod lost;
mod nd;
mod world;

pub use actor::{USERDATA, run};
pub use hops::{USERDATA as HOPS_USERDATA, run as watch_next_hops};
