//! What the renderer asks of policies.

use std::net::IpAddr;
use std::sync::Arc;

use ipnetwork::IpNetwork;

use super::super::apply::Model;
use super::super::interface::InterfaceId;
use super::clauses::Clause;
use super::{ClauseRef, Entry, Known, interface_key};
use crate::net::Dpid;
use crate::policy::{Direction, PodFacts, Policy, PortMatch, Protocol, World};
use crate::schema::Text;

/// What policies say of an interface in one direction.
#[derive(Debug, Default)]
pub struct Stance<'a> {
    /// Some policy selects it in this direction: what none allows is denied.
    pub is_isolated: bool,
    /// All of them let go on what was allowed.
    pub keeps_established: bool,
    /// One of them, or the pod's namespace, has what is denied logged.
    pub logs_drops: bool,
    pub clauses: Vec<&'a Clause>,
}

impl Model {
    /// Whether an interface is that of a pod that policies select.
    pub fn is_policed(&self, id: &InterfaceId, dpid: Dpid) -> bool {
        self.policies.policed_on.get(&dpid).is_some_and(|all| all.contains(id))
    }

    /// Whether a switch has such an interface.
    pub fn has_policies(&self, dpid: Dpid) -> bool {
        self.policies.policed_on.contains_key(&dpid)
    }

    /// What policies say of an interface.
    pub fn stance(&self, id: &InterfaceId, direction: Direction) -> Stance<'_> {
        let mut of_direction: Vec<(&Entry, &Known)> = Vec::new();
        for known in self.policies.knowns_of(id) {
            let groups = known.groups.iter().filter_map(|group| self.policies.groups.get(group));
            let entries = groups.flat_map(|group| &group.targets_of);
            let entries = entries.filter_map(|id| self.policies.entries.get(id));
            let entries = entries.filter(|entry| entry.policy.rules(direction).is_some());
            of_direction.extend(entries.map(|entry| (entry, known)));
        }
        let clauses = of_direction.iter().flat_map(|(entry, known)| {
            entry.clauses.iter().filter(|clause| clause.direction == direction && clause.is_for(&known.ports))
        });
        Stance {
            is_isolated: !of_direction.is_empty(),
            keeps_established: !of_direction.is_empty()
                && of_direction.iter().all(|(entry, _)| entry.policy.keeps_established),
            logs_drops: of_direction.iter().any(|(entry, known)| {
                let namespace = self.policies.namespaces.get(&known.namespace);
                entry.policy.logs_drops || namespace.is_some_and(|namespace| namespace.logs_drops)
            }),
            clauses: clauses.collect(),
        }
    }

    /// The clauses that a switch needs and that addresses are peers of.
    pub fn clauses_with_peer(&self, dpid: Dpid, direction: Direction, prefix: IpNetwork) -> Vec<&Clause> {
        let by_prefix = self.policies.by_prefix.get(&(direction, prefix)).into_iter().flatten();
        let mut found: Vec<&Clause> = by_prefix.filter_map(|at| self.clause_on(at, dpid)).collect();
        if prefix.prefix() == if prefix.is_ipv4() { 32 } else { 128 } {
            for known in self.pods_at(prefix.ip()) {
                let groups =
                    known.groups.iter().filter_map(|key| Some((key, self.policies.groups.get(key)?)));
                for (key, group) in groups {
                    let entries = group.peers_of.iter().filter_map(|id| self.policies.entries.get(id));
                    let clauses = entries
                        .filter(|entry| self.policies.is_on(entry, dpid))
                        .flat_map(|entry| &entry.clauses);
                    found.extend(clauses.filter(|clause| {
                        clause.direction == direction
                            && clause.is_with(&known.ports)
                            && clause.peers.as_ref().is_some_and(|peers| peers.groups.contains(key))
                    }));
                }
            }
        }
        found.sort_by(|one, other| one.key.cmp(&other.key));
        found.dedup_by(|one, other| one.key == other.key);
        found
    }

    fn pods_at(&self, address: IpAddr) -> impl Iterator<Item = &Known> {
        let pods = self.policies.by_address.get(&address);
        pods.into_iter().flat_map(|pods| pods.iter()).filter_map(|pod| self.policies.known.get(pod))
    }

    /// The clauses that a switch needs and that a port is of.
    pub fn clauses_with_port(&self, dpid: Dpid, direction: Direction, port: PortMatch) -> Vec<&Clause> {
        let found = self.policies.by_port.get(&(direction, port)).into_iter().flatten();
        let mut found: Vec<&Clause> = found.filter_map(|at| self.clause_on(at, dpid)).collect();
        found.sort_by(|one, other| one.key.cmp(&other.key));
        found
    }

    /// The clauses that a switch needs and that ports of a protocol are of.
    pub fn clauses_with_protocol(
        &self,
        dpid: Dpid,
        direction: Direction,
        protocol: Protocol,
    ) -> Vec<&Clause> {
        let bound = |bits| (direction, PortMatch { protocol, value: bits, mask: bits });
        let found = self.policies.by_port.range(bound(0)..=bound(u16::MAX)).flat_map(|(_, found)| found);
        let mut found: Vec<&Clause> = found.filter_map(|at| self.clause_on(at, dpid)).collect();
        found.sort_by(|one, other| one.key.cmp(&other.key));
        found.dedup_by(|one, other| one.key == other.key);
        found
    }

    /// The clauses about everybody and all ports that a switch needs.
    pub fn open_clauses(&self, dpid: Dpid, direction: Direction) -> Vec<&Clause> {
        let found = self.policies.open.get(&direction).into_iter().flatten();
        let mut found: Vec<&Clause> = found.filter_map(|at| self.clause_on(at, dpid)).collect();
        found.sort_by(|one, other| one.key.cmp(&other.key));
        found
    }

    /// The clause kept under this key, if a switch needs it.
    pub fn clause(&self, dpid: Dpid, key: &str) -> Option<&Clause> {
        self.clause_on(self.policies.by_key.get(key)?, dpid)
    }

    /// The policies that select an interface's pod.
    pub fn policies_selecting(&self, id: &InterfaceId) -> impl Iterator<Item = &Text> {
        let groups = self.policies.knowns_of(id).flat_map(|known| &known.groups);
        groups.filter_map(|group| self.policies.groups.get(group)).flat_map(|group| &group.targets_of)
    }

    /// The policy that a clause is of.
    pub fn policy_of_clause(&self, key: &str) -> Option<&Text> {
        self.policies.by_key.get(key).map(|(id, _)| id)
    }

    fn clause_on(&self, (id, at): &ClauseRef, dpid: Dpid) -> Option<&Clause> {
        let entry = self.policies.entries.get(id)?;
        entry.clauses.get(*at).filter(|_| self.policies.is_on(entry, dpid))
    }

    /// Clauses with their numbers, and the policies they are of.
    pub fn numbered_clauses(&self) -> impl Iterator<Item = (&Text, &Clause, u32)> {
        let all = self.policies.entries.iter();
        all.flat_map(|(id, entry)| {
            entry.clauses.iter().filter_map(move |clause| Some((id, clause, clause.id?)))
        })
    }

    /// All interfaces that policies select, and where they are.
    pub fn policed(&self) -> impl Iterator<Item = (Dpid, &InterfaceId)> {
        self.policies.policed_on.iter().flat_map(|(dpid, all)| all.iter().map(move |id| (*dpid, id)))
    }

    /// The policies that select an interface's pod and say something of this direction.
    pub fn policies_about(&self, id: &InterfaceId, direction: Direction) -> impl Iterator<Item = &Text> {
        let says = move |id: &&Text| {
            self.policies.entries.get(*id).is_some_and(|entry| entry.policy.rules(direction).is_some())
        };
        self.policies_selecting(id).filter(says)
    }

    /// Numbers of conjunctions, by the keys they are kept under.
    pub fn conjunctions(&self) -> impl Iterator<Item = (&Text, u32)> {
        let clauses = self.policies.entries.values().flat_map(|entry| &entry.clauses);
        clauses.filter_map(|clause| Some((&clause.key, clause.id?)))
    }

    /// All policies as they are written, to judge without any flow.
    pub fn policy_world(&self) -> World<'_> {
        let namespaces = || self.policies.namespaces.iter();
        let labels = namespaces().map(|(name, namespace)| (name.clone(), namespace.labels.clone()));
        let isolated = namespaces().filter(|(_, namespace)| namespace.isolated).map(|(name, _)| name.clone());
        World {
            policies: self.policies.rows.values().map(|row| &row.policy).collect(),
            namespaces: labels.collect(),
            isolated: isolated.collect(),
        }
    }

    /// What policies see of the pod that an interface belongs to, as it is written.
    pub fn pod_facts(&self, id: &InterfaceId) -> Option<PodFacts> {
        let interface = self.interface(id)?;
        let bound = interface.identity.as_ref().and_then(|identity| self.policies.bound.get(&identity.name));
        let groups: Vec<Text> = bound.into_iter().flatten().cloned().collect();
        let pod = self.pods.get(&id.pod);
        if pod.is_none() && groups.is_empty() {
            return None;
        }
        Some(PodFacts {
            namespace: pod.and_then(|pod| pod.namespace.clone()).unwrap_or_default(),
            labels: pod.map(|pod| pod.labels.clone()).unwrap_or_default(),
            addresses: interface.addresses.iter().map(|address| address.ip).collect(),
            ports: pod.map(|pod| pod.ports.to_vec()).unwrap_or_default(),
            groups,
        })
    }

    /// All policies in force, by id.
    pub fn policies(&self) -> impl Iterator<Item = (&Text, &Arc<Policy>)> {
        self.policies.entries.iter().map(|(id, entry)| (id, &entry.policy))
    }
}

impl super::Policies {
    /// An interface as its pod, and as one that access lists are bound to.
    pub(super) fn knowns_of(&self, id: &InterfaceId) -> impl Iterator<Item = &Known> {
        let bound = self.bound_ids.get(id).and_then(|name| self.known.get(&interface_key(name)));
        self.known.get(&id.pod).into_iter().chain(bound)
    }

    /// Whether policies select an interface where it is.
    pub(super) fn is_selected(&self, id: &InterfaceId, dpid: Dpid) -> bool {
        let is_target = |group| self.groups.get(group).is_some_and(|group| !group.targets_of.is_empty());
        self.knowns_of(id).any(|known| {
            let there = known.places.iter().any(|(at, on, _)| at == id && *on == dpid);
            there && known.groups.iter().any(is_target)
        })
    }

    fn is_on(&self, entry: &Entry, dpid: Dpid) -> bool {
        self.groups.get(&entry.targets).is_some_and(|group| group.spans.contains_key(&dpid))
    }
}
