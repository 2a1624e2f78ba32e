//! Addresses for pods that have none: decided here, settled by the datastore, which takes no address twice.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;

use super::{Datastore, Trouble, Writer};
use crate::allocate::{self, Range};
use crate::value::{items, member};
use crate::{Entries, List, Object, Place, amend, report};

/// What is known of addresses beyond the entries.
#[derive(Default)]
pub(super) struct Given {
    pub(super) gives: bool,
    /// What pods of others have, as it was asked.
    pub(super) others: BTreeSet<IpAddr>,
    /// What proved taken since.
    pub(super) avoided: BTreeSet<IpAddr>,
    /// The pools, as they were asked last.
    pub(super) pools: Value,
    /// What is about to be written.
    chosen: BTreeMap<Place, Vec<IpAddr>>,
    /// Who got none, and why.
    pub(super) lacking: BTreeMap<Place, String>,
}

impl Given {
    /// Something of a place is another's, as the reason says. Answers whether that is an address which was chosen for it, and not, say, a
    /// port of its node, which it would want with any address.
    pub(super) fn was_taken(&mut self, place: &Place, reason: &str) -> bool {
        let chosen = self.chosen.remove(place).unwrap_or_default();
        let is_said = chosen.iter().any(|address| reason.contains(&address.to_string()));
        if is_said {
            self.avoided.extend(chosen);
        }
        is_said
    }
}

impl<D: Datastore> Writer<D> {
    /// Gives addresses to those that want none of their own and hold none.
    pub(super) fn give(&mut self, wanted: &mut Entries, held: &Entries) -> Result<(), Trouble> {
        self.given.chosen.clear();
        if !self.given.gives {
            return Ok(());
        }
        let has = |place: &Place, entry: &Value| !amend::addresses(place, entry).is_empty();
        let lacks = wanted.iter().filter(|(place, entry)| {
            place.list == List::Pods
                && !has(place, entry)
                && !held.get(place).is_some_and(|held| has(place, held))
        });
        let lacks: Vec<_> = lacks.map(|(place, _)| place.clone()).collect();
        if lacks.is_empty() {
            return Ok(());
        }
        self.given.pools = self.datastore.state("dhcp_allocation_pool:dhcp_allocation_pool")?;
        let mut taken = self.taken(&self.datastore.state("coeus-dhcp:leases")?);
        let pods = lacks.into_iter().filter_map(|place| match self.cluster.object_of(&place) {
            Some(Object::Pod(pod)) => Some((report::had(pod, &place.key), self.ranges(pod), place)),
            _ => None,
        });
        let mut pods: Vec<_> = pods.collect();
        // Who had one before comes before those to whom anyone will do.
        pods.sort_by_key(|(had, ..)| had.is_empty());
        for (had, ranges, place) in pods {
            match allocate::choose(&ranges, &taken, &had) {
                Ok(chosen) => {
                    taken.extend(&chosen);
                    if let Some(entry) = wanted.get_mut(&place) {
                        amend::give(entry, &chosen, &allocate::mac(&place.key));
                    }
                    self.given.chosen.insert(place, chosen);
                }
                Err(reason) => drop(self.given.lacking.insert(place, reason)),
            }
        }
        Ok(())
    }

    /// Where a pod's addresses may be from.
    pub(super) fn ranges(&self, pod: &Pod) -> Vec<Range> {
        let mut of_node = self.cluster.node_of(pod).map(allocate::of_node).unwrap_or_default();
        of_node.extend(self.shared_with(pod).and_then(allocate::of_cidr));
        if !of_node.is_empty() {
            return of_node;
        }
        let network = pod.metadata.namespace.as_deref().unwrap_or_default();
        allocate::of_pools(&self.given.pools, network)
    }

    /// What no pod may get: it is held, about to be, leased, or proved another's.
    fn taken(&self, leases: &Value) -> BTreeSet<IpAddr> {
        let pods = |(place, entry): (&Place, &Value)| {
            (place.list == List::Pods).then(|| amend::all_addresses(entry)).into_iter().flatten()
        };
        let leases = member(leases, "leases").unwrap_or(leases);
        let leased = ["lease", "ipv6-lease"].into_iter().flat_map(|list| items(leases, list));
        let leased = leased.filter_map(|lease| member(lease, "address")?.as_str()?.parse().ok());
        let held = self.held.iter().flatten().flat_map(pods);
        let wanted = self.cluster.entries().iter().flat_map(pods);
        held.chain(wanted)
            .chain(leased)
            .chain(self.given.others.iter().chain(&self.given.avoided).copied())
            .collect()
    }
}
