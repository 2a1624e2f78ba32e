//! Isolation policies: what they are, and who may reach whom under them.
//!
//! ```text
//! policies + labels of pods and namespaces ─► allows(from, to, protocol, port)
//! ```
//! The meaning is that of NetworkPolicy in `networking.k8s.io/v1`: a pod that no policy selects in a direction is open in it; one
//! that is selected is open to the union of the rules of all that select it. Pure, and ignorant of switches: the renderers
//! are held against [`World::allows`].

mod block;
mod evaluate;
mod ports;
mod rules;
mod selector;
mod syntax;
#[cfg(test)]
mod tests;

pub use block::Block;
pub use evaluate::{End, Packet, PodFacts, World, selects_namespace};
pub use ports::{NamedPort, PortMatch, Ports, Protocol};
pub use rules::{Direction, Peer, Policy, Rule, Scope};
pub use selector::{Expression, Labels, Operator, Selector};
pub use syntax::{label_key, label_value, port_name};
