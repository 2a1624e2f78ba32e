//! What switches count for policies: which flow counts for which rule, and for which port.

use std::collections::{BTreeMap, BTreeSet};

use openflow_rs::{Field, Match};

use super::Engine;
use crate::net::{Dpid, LportTag};
use crate::pipeline::{POLICY_FROM_DENY, POLICY_FROM_RULES, POLICY_TO_DENY, POLICY_TO_RULES};
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
        let value = |field| Some(conditions.fields.iter().find(|one| one.field == field)?.value);
        let rules = [POLICY_FROM_RULES.id(), POLICY_TO_RULES.id()];
        if rules.contains(&table) {
            return value(Field::ConjId).map(|id| Subject::Rule(id as u32));
        }
        // The tag's place in the metadata, and in the register: see the pipeline file.
        if table == POLICY_FROM_DENY.id() {
            let tag = value(Field::Metadata)? >> 40 & 0xf_ffff;
            return Some(Subject::Denied(Direction::Egress, LportTag(tag as u32)));
        }
        if table == POLICY_TO_DENY.id() {
            let tag = value(Field::Reg6)? >> 8 & 0xf_ffff;
            return Some(Subject::Denied(Direction::Ingress, LportTag(tag as u32)));
        }
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
