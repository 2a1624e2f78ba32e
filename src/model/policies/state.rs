//! What became of a policy, in words for people.

use super::super::apply::Model;
use crate::policy::{Direction, Peer, Ports, Scope};
use crate::schema::Text;

use super::{Entry, GroupKey, Policies};

/// A policy in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyState {
    pub namespace: Text,
    pub selected: usize,
    /// What in it matches nothing, or could not be read.
    pub reasons: Vec<String>,
}

impl Model {
    /// The state of the policy of this id.
    pub fn policy_state(&self, id: &str) -> Option<PolicyState> {
        let entry = self.policies.entries.get(id)?;
        let selected = self.policies.size(&entry.targets);
        let faults = self.policies.rows.get(id).map(|row| row.faults.clone()).unwrap_or_default();
        let mut reasons: Vec<String> = faults.into_iter().collect();
        if selected == 0 {
            reasons.push(match id.strip_prefix("acl:") {
                Some(name) => format!("no interface that is plugged in has {name} among its security-groups"),
                None => format!("it selects no pod of namespace {}", entry.policy.namespace),
            });
        }
        reasons.extend(self.policies.unmatched(entry));
        if entry.clauses.iter().any(|clause| clause.id.is_none()) {
            reasons.push("the pool of conjunctions is used up: not all of its rules are in force".into());
        }
        Some(PolicyState { namespace: entry.policy.namespace.clone(), selected, reasons })
    }
}

impl Policies {
    fn size(&self, key: &GroupKey) -> usize {
        self.groups.get(key).map_or(0, |group| group.members.len())
    }

    /// Peers that select nobody, and names of ports that no pod has.
    fn unmatched(&self, entry: &Entry) -> Vec<String> {
        let mut found = Vec::new();
        for direction in Direction::BOTH {
            for (at, rule) in entry.policy.rules(direction).unwrap_or_default().iter().enumerate() {
                let number = at + 1;
                for (place, peer) in rule.peers.iter().enumerate() {
                    let Peer::Pods(scope, pods) = peer else { continue };
                    let key = GroupKey { scope: scope.clone(), pods: pods.clone() };
                    if self.size(&key) == 0 {
                        let of = match scope {
                            Scope::Namespace(name) if name.starts_with("acl:") => format!("of group {name}"),
                            Scope::Namespace(name) => format!("of namespace {name}"),
                            Scope::Selected(_) => "of the namespaces that it selects".to_owned(),
                        };
                        found.push(format!(
                            "{direction} rule {number}: peer {} selects no pod {of}",
                            place + 1
                        ));
                    }
                }
                for ports in &rule.ports {
                    let Ports::Named(protocol, name) = ports else { continue };
                    let known = entry.clauses.iter().any(|clause| {
                        clause.direction == direction
                            && clause
                                .named
                                .as_ref()
                                .is_some_and(|named| named.name == *name && named.protocol == *protocol)
                    });
                    if !known {
                        found.push(format!(
                            "{direction} rule {number}: no pod that it is about has a {protocol} port {name}"
                        ));
                    }
                }
            }
        }
        found
    }
}
