//! What is counted, under the names that it is shown and kept by.

use std::collections::{BTreeMap, BTreeSet};

use super::kept::Place;
use crate::datastore::Snapshot;
use crate::model::{Reader, RulePaths};
use crate::renderers::{Counted, CountedRule};
use crate::schema::Text;

/// What is counted now.
#[derive(Debug, Default)]
pub struct Ledger {
    pub counted: Counted,
    paths: BTreeMap<Text, RulePaths>,
    /// Rules by the numbers of their conjunctions.
    places: BTreeMap<u32, Place>,
}

impl Ledger {
    pub fn new(counted: Counted, reader: &Reader, snapshot: &Snapshot) -> Ledger {
        let of_rules = counted.rules.iter().map(|rule| &rule.policy);
        let of_ports = counted.ports.iter().flat_map(|port| port.ingress.iter().chain(&port.egress));
        let ids: BTreeSet<&Text> = of_rules.chain(of_ports).collect();
        let paths = ids.into_iter().map(|id| (id.clone(), reader.rule_paths(snapshot, id))).collect();
        let mut ledger = Ledger { paths, places: BTreeMap::new(), counted };
        for rule in &ledger.counted.rules {
            let path = ledger.paths.get(&rule.policy).and_then(|of| of.get(rule.direction, rule.number));
            let Some(path) = path else { continue };
            let place = Place::Rule(path.to_rfc8040(snapshot.schema).into());
            ledger.places.extend(rule.conjunctions.iter().map(|id| (*id, place.clone())));
        }
        ledger
    }

    /// The rule of a conjunction.
    pub fn place(&self, conjunction: u32) -> Option<&Place> {
        self.places.get(&conjunction)
    }

    /// The path of a rule.
    pub fn path(&self, rule: &CountedRule) -> Option<&Text> {
        match self.place(*rule.conjunctions.first()?)? {
            Place::Rule(path) => Some(path),
            Place::Denied(..) => None,
        }
    }

    /// All rules.
    pub fn rules(&self) -> BTreeSet<&Place> {
        self.places.values().collect()
    }

    /// What a policy is called.
    pub fn name(&self, policy: &Text) -> Option<&Text> {
        self.paths.get(policy)?.name.as_ref()
    }
}
