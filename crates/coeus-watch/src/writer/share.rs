//! Subnets for nodes that the cluster gives none. Once it is in a node's entry, it is the node's as long as that is there.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::{Datastore, Writer};
use crate::subnets::Subnets;
use crate::value::member;
use crate::{Entries, List, Place};

/// What is known of nodes' subnets beyond the cluster.
#[derive(Default)]
pub(super) struct Shared {
    /// What they are taken from; without it nodes have what the cluster gives them.
    pub(super) of: Option<Subnets>,
    /// Those of nodes of others, as they were asked.
    pub(super) others: Vec<String>,
    /// What was given.
    given: BTreeMap<Place, String>,
}

pub(super) fn cidr(entry: &Value) -> Option<&str> {
    member(entry, "pod-cidr").and_then(Value::as_str)
}

impl<D: Datastore> Writer<D> {
    /// Nodes without a podCIDR get one of these.
    #[must_use]
    pub fn subnetting(mut self, subnets: Option<Subnets>) -> Writer<D> {
        self.shared.of = subnets;
        self
    }

    /// Gives subnets to nodes that want none of their own.
    pub(super) fn share(&mut self, wanted: &mut Entries, held: &Entries) {
        let Some(subnets) = &self.shared.of else { return };
        let all = self.cluster.entries();
        self.shared.given.retain(|place, _| all.get(place).is_some_and(|entry| cidr(entry).is_none()));
        let lacks = wanted.iter().filter(|(place, entry)| place.list == List::Nodes && cidr(entry).is_none());
        let lacks: BTreeSet<Place> = lacks.map(|(place, _)| place.clone()).collect();
        if lacks.is_empty() {
            return;
        }
        let own =
            all.iter().filter(|(place, _)| place.list == List::Nodes).filter_map(|(_, entry)| cidr(entry));
        let given = self.shared.given.iter().filter(|(place, _)| !lacks.contains(place));
        let given = given.map(|(_, cidr)| cidr.as_str());
        let others = self.shared.others.iter().map(String::as_str);
        let mut taken: BTreeSet<u128> =
            own.chain(given).chain(others).flat_map(|cidr| subnets.parts_of(cidr)).collect();
        let had = |place: &Place| {
            let held = held.get(place).and_then(cidr).map(str::to_owned);
            held.or_else(|| self.shared.given.get(place).cloned())
        };
        let mut nodes: Vec<_> = lacks.iter().map(|place| (had(place), place)).collect();
        // Who has one comes before those to whom anyone will do.
        nodes.sort_by_key(|(had, _)| had.is_none());
        for (had, place) in nodes {
            let Some(chosen) = subnets.choose(had.as_deref(), &mut taken) else {
                let reason = "no subnet is left for it in the range of --cluster-cidr; give a larger one";
                tracing::warn!(%place, reason, "a node has no pod-cidr");
                self.given.lacking.insert(place.clone(), reason.into());
                continue;
            };
            if let Some(entry) = wanted.get_mut(place) {
                entry["pod-cidr"] = json!(chosen);
            }
            self.shared.given.insert(place.clone(), chosen);
        }
    }

    /// The subnet that the node of a pod was given here.
    pub(super) fn shared_with(&self, pod: &Pod) -> Option<&str> {
        let uid = self.cluster.node_of(pod)?.metadata.uid.as_deref()?;
        let place = Place::new(List::Nodes, crate::uuid(uid)?);
        self.shared.given.get(&place).map(String::as_str)
    }
}
