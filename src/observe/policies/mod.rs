//! What policies have let pass and what they have stopped: `coeus-policy:counters`, asked for when somebody reads it.
//!
//! ```text
//! a reader ─► actor ─► switches: flows with the mark of what is counted ─┐
//! a flow ended ─► actor ─► kept, in the journal ─────────────────────────┴─► sums by the path of the rule
//! ```
//! Flows outlive the controller, and their numbers with them. Only what flows counted that are no more is written down.

mod actor;
mod kept;
mod ledger;
mod shape;
mod sums;

pub use actor::{Counting, PolicyCounts, counting};
