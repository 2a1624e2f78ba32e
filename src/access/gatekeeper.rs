//! The policy that is in force, and how often it refused something.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Grants, Identity, Policy};
use crate::schema::{Fields, Schema};

/// The counters of RFC 8341 section 3.5.
#[derive(Debug, Default)]
pub struct Denials {
    operations: AtomicU32,
    writes: AtomicU32,
    notifications: AtomicU32,
}

impl Denials {
    pub fn operation(&self) {
        self.operations.fetch_add(1, Ordering::Relaxed);
    }

    pub fn write(&self) {
        self.writes.fetch_add(1, Ordering::Relaxed);
    }

    pub fn notification(&self) {
        self.notifications.fetch_add(1, Ordering::Relaxed);
    }

    /// Names of the leafs, and their values.
    pub fn counts(&self) -> [(&'static str, u32); 3] {
        [
            ("denied-operations", self.operations.load(Ordering::Relaxed)),
            ("denied-data-writes", self.writes.load(Ordering::Relaxed)),
            ("denied-notifications", self.notifications.load(Ordering::Relaxed)),
        ]
    }
}

/// The container `nacm`, if there was one, and what it came to.
type Compiled = (Option<Fields>, Arc<Policy>);

/// Keeps the policy compiled as long as the configuration of it is the same.
#[derive(Debug, Default)]
pub struct Gatekeeper {
    compiled: Mutex<Option<Compiled>>,
    pub denials: Denials,
}

impl Gatekeeper {
    /// The container `nacm` of a configuration.
    pub fn rules_in<'a>(schema: &Schema, config: &'a Fields) -> Option<&'a Fields> {
        config.container(schema.child(None, Some("ietf-netconf-acm"), "nacm")?)
    }

    /// What a user may do under a configuration; `None`: everything.
    pub fn grants(&self, schema: &Schema, config: &Fields, user: &Identity) -> Option<Arc<Grants>> {
        if user.is_admin() {
            return None;
        }
        let rules = Gatekeeper::rules_in(schema, config);
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |known: &Option<Fields>| match (known, rules) {
            (Some(known), Some(rules)) => known.ptr_eq(rules),
            (None, None) => true,
            _ => false,
        };
        let policy = match &*compiled {
            Some((known, policy)) if same(known) => policy.clone(),
            _ => {
                // A configuration whose rules cannot be read is refused when it is written; were there one, nothing is granted.
                let policy = match rules.map(|rules| Policy::of(schema, rules)) {
                    None => Policy::default(),
                    Some(Ok(policy)) => policy,
                    Some(Err(reason)) => {
                        tracing::error!(
                            reason,
                            "the rules of access cannot be read; only administrators get in"
                        );
                        Policy::closed()
                    }
                };
                let policy = Arc::new(policy);
                *compiled = Some((rules.cloned(), policy.clone()));
                policy
            }
        };
        drop(compiled);
        policy.grants(schema, user)
    }
}
