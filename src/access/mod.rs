//! Who may do what: the rules of RFC 8341 as pure functions of the configuration.
//!
//! The datastore asks them for every read and write that a user is behind; see `datastore::Handle::as_user`.

mod gatekeeper;
mod grants;
mod identity;
mod policy;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use crate::schema::DefaultDeny;
pub use gatekeeper::{Denials, Gatekeeper};
pub use grants::Grants;
pub use identity::{ADMIN, Identity};
pub use policy::Policy;

/// The access operations of RFC 8341 section 3.1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    Create,
    Read,
    Update,
    Delete,
    Exec,
}

impl Operation {
    pub const ALL: [Operation; 5] =
        [Operation::Create, Operation::Read, Operation::Update, Operation::Delete, Operation::Exec];

    fn bit(self) -> u8 {
        1 << self as u8
    }

    fn named(name: &str) -> Option<Operation> {
        Operation::ALL.into_iter().find(|operation| operation.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Operation::Create => "create",
            Operation::Read => "read",
            Operation::Update => "update",
            Operation::Delete => "delete",
            Operation::Exec => "exec",
        }
    }
}

/// Why something is not permitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    pub path: String,
    pub operation: Operation,
    /// `rule-list/rule`; none where no rule permits it.
    pub rule: Option<Arc<str>>,
}

impl std::fmt::Display for Denial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Denial { path, operation, rule } = self;
        write!(f, "{} of {path} is denied: ", operation.name())?;
        match rule {
            Some(rule) => write!(f, "rule {rule} of ietf-netconf-acm says so"),
            None => write!(f, "no rule of ietf-netconf-acm permits it"),
        }?;
        write!(f, "; ask an administrator")
    }
}
