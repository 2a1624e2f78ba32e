//! Whether the user behind a transaction or a read may do that (RFC 8341). Actors of the program are not asked.

use std::sync::Arc;

use super::{Change, Core, DatastoreError, Operation, Snapshot, Store, Transaction};
use crate::access::{Denial, Gatekeeper, Grants, Operation as Access, Policy};
use crate::schema::Fields;

impl Core {
    /// Refuses what cannot be permitted whatever is there. Returns what the user may do; `None`: everything.
    pub(super) fn may_try(&self, transaction: &Transaction) -> Result<Option<Arc<Grants>>, DatastoreError> {
        let Some(user) = &transaction.user else { return Ok(None) };
        let schema = self.snapshot.schema;
        let Some(grants) = self.access.grants(schema, &self.snapshot.config.input, user) else {
            return Ok(None);
        };
        for (number, edit) in transaction.edits.iter().enumerate() {
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
        Ok(Some(grants))
    }

    /// The rules of access of a state.
    pub(super) fn access_rules(&self, snapshot: &Snapshot) -> Option<Arc<Fields>> {
        Gatekeeper::rules_in(snapshot.schema, &snapshot.config.input).cloned()
    }

    /// Refuses a change that is not permitted, and rules of access that cannot be read; `rules` are those before.
    pub(super) fn may_change(
        &self,
        grants: Option<&Grants>,
        rules: Option<&Arc<Fields>>,
        after: &Snapshot,
        changes: &[Change],
    ) -> Result<(), DatastoreError> {
        let schema = after.schema;
        for change in changes.iter().filter(|_| grants.is_some()) {
            let (old, new) = (change.before.as_ref(), change.after.as_ref());
            let outcome = grants.map_or(Ok(()), |grants| grants.may_change(schema, &change.path, old, new));
            outcome.map_err(|denial| self.denied(denial))?;
        }
        match (rules, Gatekeeper::rules_in(schema, &after.config.input)) {
            (Some(old), Some(new)) if Arc::ptr_eq(old, new) => Ok(()),
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
                Err(self.denied(Denial { path, operation: Access::Update, rule: None }))
            }
            _ => Ok(()),
        }
    }

    fn denied(&self, denial: Denial) -> DatastoreError {
        self.access.denials.write();
        DatastoreError::Denied(denial)
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
