//! Who acts.

use std::sync::Arc;

/// The group whose members no rule binds: each of their sessions is a recovery session (RFC 8341 section 3.2.2).
pub const ADMIN: &str = "admin";

/// A user, as the accounts know him.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    pub name: Arc<str>,
    /// Sorted. The groups of ietf-netconf-acm come on top of them.
    pub groups: Arc<[Arc<str>]>,
}

impl Identity {
    pub fn new(name: &str, groups: &[impl AsRef<str>]) -> Identity {
        let mut groups: Vec<Arc<str>> = groups.iter().map(|group| Arc::from(group.as_ref())).collect();
        groups.sort();
        groups.dedup();
        Identity { name: name.into(), groups: groups.into() }
    }

    pub fn is_admin(&self) -> bool {
        self.groups.iter().any(|group| &**group == ADMIN)
    }
}
