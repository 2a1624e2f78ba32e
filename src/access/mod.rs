//! Who may do what.

mod identity;

pub use identity::{ADMIN, Identity};
