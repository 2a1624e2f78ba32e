//! Whether the user behind a transaction or a read may do that (RFC 8341). Actors of the program are not asked.

use std::sync::Arc;

use super::{Change, Core, DatastoreError, Operation, Snapshot, Store, Transaction};
use crate::access::{Denial, Denials, Gatekeeper, Grants, Operation as Access, Policy};
use crate::schema::{Fields, Schema};

/// What a user may do, and where refusals are counted. Only what he writes is asked about; what the program keeps with it, such as the
/// way back of a commit that waits to be confirmed, is its own.
pub(super) struct Bound<'a> {
    /// `None`: everything.
    pub grants: Option<&'a Grants>,
    pub denials: &'a Denials,
}

impl Bound<'_> {
    /// Refuses what cannot be permitted whatever is there.
    pub fn may_try(&self, schema: &Schema, transaction: &Transaction) -> Result<(), DatastoreError> {
        let Some(grants) = self.grants else { return Ok(()) };
        let written = transaction.edits.iter().enumerate();
        for (number, edit) in written.filter(|(_, edit)| edit.store == Store::Config) {
            let wanted: &[Access] = match edit.operation {
                Operation::Create => &[Access::Create],
                Operation::Delete | Operation::Remove => &[Access::Delete],
                Operation::Move => &[Access::Update],
                Operation::Replace | Operation::Merge => &[Access::Create, Access::Update, Access::Delete],
            };
            grants.may_try(schema, &edit.path, wanted).map_err(|denial| {
                let error = self.denied(denial);
                match transaction.edits.len() {
                    1 => error,
                    _ => DatastoreError::AtEdit { number, error: Box::new(error) },
                }
            })?;
        }
        Ok(())
    }

    /// Refuses a change that is not permitted.
    pub fn may_change(&self, schema: &Schema, changes: &[Change]) -> Result<(), DatastoreError> {
        let Some(grants) = self.grants else { return Ok(()) };
        for change in changes.iter().filter(|change| change.store == Store::Config) {
            let (old, new) = (change.before.as_ref(), change.after.as_ref());
            let outcome = grants.may_change(schema, &change.path, old, new);
            outcome.map_err(|denial| self.denied(denial))?;
        }
        Ok(())
    }

    fn denied(&self, denial: Denial) -> DatastoreError {
        self.denials.write();
        DatastoreError::Denied(denial)
    }
}

impl Core {
    /// What the user behind a transaction may do; `None`: everything.
    pub(super) fn grants(&self, transaction: &Transaction) -> Option<Arc<Grants>> {
        let user = transaction.user.as_ref()?;
        self.access.grants(self.snapshot.schema, &self.snapshot.config.input, user)
    }

    /// Holds a transaction to what its user may do.
    pub(super) fn bound<'a>(&'a self, grants: Option<&'a Grants>) -> Bound<'a> {
        Bound { grants, denials: &self.access.denials }
    }

    /// The rules of access of a state.
    pub(super) fn access_rules(snapshot: &Snapshot) -> Option<Fields> {
        Gatekeeper::rules_in(snapshot.schema, &snapshot.config.input).cloned()
    }

    /// Refuses rules of access that cannot be read; `before`: those that were in force.
    pub(super) fn rules_hold(before: Option<&Fields>, after: &Snapshot) -> Result<(), DatastoreError> {
        let schema = after.schema;
        match (before, Gatekeeper::rules_in(schema, &after.config.input)) {
            (Some(old), Some(new)) if old.ptr_eq(new) => Ok(()),
            (_, None) => Ok(()),
            (_, Some(new)) => Policy::of(schema, new).map(drop).map_err(|message| DatastoreError::Refused {
                path: "/ietf-netconf-acm:nacm".into(),
                tag: "invalid-value",
                message,
            }),
        }
    }

    /// What does not outlive the process comes from actors of the program only.
    pub(super) fn may_pass(&self, transaction: &Transaction) -> Result<(), DatastoreError> {
        match (&transaction.user, transaction.edits.first()) {
            (Some(_), Some(edit)) => {
                let path = edit.path.display(self.snapshot.schema);
                let bound = Bound { grants: None, denials: &self.access.denials };
                Err(bound.denied(Denial { path, operation: Access::Update, rule: None }))
            }
            _ => Ok(()),
        }
    }
}

impl Snapshot {
    /// The same state without what may not be read.
    pub(super) fn readable(&self, grants: &Grants) -> Snapshot {
        let mut seen = self.clone();
        for store in [Store::Config, Store::Operational] {
            let layers = seen.layers_mut(store);
            layers.input = grants.readable(self.schema, &layers.input);
            layers.derived = grants.readable(self.schema, &layers.derived);
        }
        seen
    }
}
