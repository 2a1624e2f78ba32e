//! Where rules are configured.

use super::super::read::{entries, text_key};
use super::{AclNames, PolicyNames};
use crate::datastore::Snapshot;
use crate::policy::Direction;
use crate::schema::{DataPath, Text};

/// Where each rule of a policy is configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RulePaths {
    /// What people call the policy.
    pub name: Option<Text>,
    ingress: Vec<DataPath>,
    egress: Vec<DataPath>,
}

impl RulePaths {
    /// Of a policy without rules.
    pub fn named(name: Text) -> RulePaths {
        RulePaths { name: Some(name), ..RulePaths::default() }
    }

    /// Of a rule by its number, which is counted from 1.
    pub fn get(&self, direction: Direction, number: usize) -> Option<&DataPath> {
        let of_direction = match direction {
            Direction::Ingress => &self.ingress,
            Direction::Egress => &self.egress,
        };
        of_direction.get(number.checked_sub(1)?)
    }

    /// Adds the next rule of a direction.
    pub fn push(&mut self, direction: Direction, path: DataPath) {
        match direction {
            Direction::Ingress => self.ingress.push(path),
            Direction::Egress => self.egress.push(path),
        }
    }
}

/// The rules of a policy in force by its id: of a policy and an access list their own, of an isolated namespace its entry.
pub(in crate::model) fn rule_paths(
    policies: &PolicyNames,
    acls: &AclNames,
    snapshot: &Snapshot,
    id: &str,
) -> RulePaths {
    if let Some(name) = id.strip_prefix("acl:") {
        return acls.rule_paths(snapshot, &name.into());
    }
    let Some(namespace) = id.strip_prefix("namespace:") else {
        return policies.rule_paths(snapshot, &id.into());
    };
    let mut paths = RulePaths::named(namespace.into());
    let all = DataPath::root().child(policies.namespaces);
    paths.push(Direction::Ingress, all.entry(policies.namespace_entry, text_key(&namespace.into())));
    paths
}

impl AclNames {
    fn rule_paths(&self, snapshot: &Snapshot, name: &Text) -> RulePaths {
        let mut paths = RulePaths::named(name.clone());
        let lists = snapshot.config.input.container(self.access_lists).and_then(|all| all.list(self.acl));
        let of_name = lists.into_iter().flatten();
        for (key, fields) in of_name.filter(|(key, _)| AclNames::name_of(key).as_ref() == Some(name)) {
            let list = DataPath::root().child(self.access_lists).entry(self.acl, key.clone());
            let Some(aces) = fields.container(self.entries) else { continue };
            for (rule, ace) in entries(aces, self.ace) {
                if let Some(direction) = self.direction_of(ace).filter(|_| !self.is_deleted(ace)) {
                    let at = list.clone().child(self.entries).entry(self.ace, text_key(&rule));
                    paths.push(direction, at);
                }
            }
        }
        paths
    }
}
