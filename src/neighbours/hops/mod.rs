//! Whether next hops that share a route are there: asked by ARP and neighbour solicitations out of their ports, in the name of their
//! gateway.
//!
//! ```text
//! next-hops (derived) ─► watch ─► question out of the port ─► punted answer ─► heard
//!                          └► so many without an answer ─► silent-next-hops ─► routes without it
//! ```
//! Who is silent is a fact in the operational datastore, and goes on being asked.

mod actor;
mod watch;
mod world;

pub use actor::{USERDATA, run};
