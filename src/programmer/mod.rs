//! Desired minus actual, per switch.
//!
//! The datastore's thread hands over what changed ([`Programmers::apply`], never blocks); one task a switch reads the switch back
//! when it connects and from time to time after that, sends the difference as bundles, and reports what is confirmed. A clean restart sends
//! nothing.

mod actor;
mod audit;
mod delivery;
mod diff;
mod forget;
mod mandate;
mod policed;
mod report;
mod send;
mod task;
mod timings;
mod told;
mod warm;

pub use actor::{NOT_YET, Programmers, Seen};
pub use audit::Drift;
pub use diff::{Actual, Item, ItemId, plan, plan_delta};
pub use mandate::Mandate;
pub use report::{Failure, Status, forgotten, is_known, object_edits};
pub use timings::Timings;
