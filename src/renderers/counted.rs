//! What switches count for policies: which flow counts for which rule, and for which port.

use std::collections::{BTreeMap, BTreeSet};

use openflow_rs::{Field, Match};

use super::Engine;
use crate::net::{Dpid, LportTag};
use crate::pipeline::{
    POLICY_FROM_DENY, POLICY_FROM_RULES, POLICY_TO_DENY, POLICY_TO_RULES, came_by, goes_to,
};
use crate::policy::Direction;
use crate::schema::Text;

/// What a flow counts: packets that a rule allowed, by the number of the rule's conjunction, or packets to or from a port that no rule allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    Rule(u32),
    Denied(Direction, LportTag),
}

/// A rule that is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedRule {
    /// Id of the policy.
    pub policy: Text,
    pub direction: Direction,
    /// Its number in there, counted from 1.
    pub number: usize,
    /// Numbers of its conjunctions: several where it names ports.
    pub conjunctions: Vec<u32>,
}

/// A port that policies are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedPort {
    pub interface: Text,
    pub lport: LportTag,
    /// The policies that select it, as far as they are about what it sends, and about what it gets.
    pub egress: BTreeSet<Text>,
    pub ingress: BTreeSet<Text>,
}

/// Everything that is counted now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    pub rules: Vec<CountedRule>,
    pub ports: Vec<CountedPort>,
    pub switches: BTreeSet<Dpid>,
}

impl Subject {
    /// What the flow of this table and match counts; `None`: nothing of policies.
    pub fn of(table: u8, conditions: &Match) -> Option<Subject> {
        let rules = [POLICY_FROM_RULES.id(), POLICY_TO_RULES.id()];
        if rules.contains(&table) {
            return conditions.get(Field::ConjId).map(|id| Subject::Rule(id.value as u32));
        }
        denied_at(table, conditions).map(|(direction, lport)| Subject::Denied(direction, lport))
    }
}

/// The direction and the port of what one of the tables of what is denied knows of a packet; `None`: it is another table.
pub fn denied_at(table: u8, conditions: &Match) -> Option<(Direction, LportTag)> {
    if table == POLICY_FROM_DENY.id() {
        Some((Direction::Egress, came_by(conditions)?))
    } else if table == POLICY_TO_DENY.id() {
        Some((Direction::Ingress, goes_to(conditions)?))
    } else {
        None
    }
}

impl CountedPort {
    /// The policies that say something of this direction.
    pub fn policies(&self, direction: Direction) -> &BTreeSet<Text> {
        match direction {
            Direction::Egress => &self.egress,
            Direction::Ingress => &self.ingress,
        }
    }
}

impl Engine {
    /// Ids of the policies that select the pod of an interface and are about this direction.
    pub fn policies_about(&self, interface: &str, direction: Direction) -> Vec<Text> {
        let model = self.model();
        let interface = model.interface_named(interface);
        let ids = interface.into_iter().flat_map(|interface| model.policies_about(&interface.id, direction));
        ids.cloned().collect()
    }

    /// What is counted, by the newest commit.
    pub fn counted(&self) -> Counted {
        let model = self.model();
        let mut rules: BTreeMap<(&Text, Direction, usize), Vec<u32>> = BTreeMap::new();
        for (policy, clause, id) in model.numbered_clauses() {
            rules.entry((policy, clause.direction, clause.rule)).or_default().push(id);
        }
        let rules = rules.into_iter().map(|((policy, direction, number), conjunctions)| CountedRule {
            policy: policy.clone(),
            direction,
            number,
            conjunctions,
        });
        let mut counted = Counted { rules: rules.collect(), ..Counted::default() };
        for (dpid, id) in model.policed() {
            counted.switches.insert(dpid);
            let Some((identity, lport, _)) = model.interface(id).and_then(|interface| interface.plugged())
            else {
                continue;
            };
            let of = |direction| model.policies_about(id, direction).cloned().collect();
            counted.ports.push(CountedPort {
                interface: identity.name.clone(),
                lport,
                egress: of(Direction::Egress),
                ingress: of(Direction::Ingress),
            });
        }
        counted.ports.sort_by(|one, other| one.interface.cmp(&other.interface));
        counted
    }
}

#[cfg(test)]
mod tests {
    use openflow_rs::Field;

    use super::*;

    #[test]
    fn what_is_denied_is_told_by_table_and_port() {
        let conditions = Match::new().with(Field::Reg6, 0x700_u32).with(Field::Metadata, 9_u64 << 40);
        assert_eq!(denied_at(247, &conditions), Some((Direction::Ingress, LportTag(7))));
        assert_eq!(denied_at(217, &conditions), Some((Direction::Egress, LportTag(9))));
        assert_eq!(denied_at(214, &conditions), None);
    }
}
