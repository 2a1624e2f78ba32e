//! Pods enter and leave groups; policies take groups into use.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::apply::{Model, Work, remove_from};
use super::clauses::{Clause, GroupKey, clauses};
use super::{Entry, Group, Known, Policies, PolicyItem, interface_of};
use crate::net::Dpid;
use crate::policy::{Direction, NamedPort, Policy, Protocol, Scope, selects_namespace};
use crate::schema::Text;

impl Model {
    /// A pod as it is now: which groups it is in, where it is and at which addresses.
    pub(super) fn settle_policies_of(&mut self, pod: &Text, work: &mut Work, renamed: &mut BTreeSet<Text>) {
        let before = self.policies.known.remove(pod).unwrap_or_default();
        let mut after = self.known(pod);
        after.groups = self.policies.groups_of(&after);
        let same_but_groups = Known { groups: before.groups.clone(), ..after.clone() } == before;
        self.policies.move_pod(pod, &before, &after);
        let changed = before.groups.symmetric_difference(&after.groups);
        let both = before.groups.intersection(&after.groups).filter(|_| !same_but_groups);
        let groups: BTreeSet<Arc<GroupKey>> = changed.chain(both).cloned().collect();
        let addresses: BTreeSet<_> = before.addresses.union(&after.addresses).copied().collect();
        let mut spans: BTreeSet<(Text, Dpid)> = BTreeSet::new();
        for key in &groups {
            let Some(group) = self.policies.groups.get_mut(key) else { continue };
            let had: BTreeSet<Dpid> = group.spans.keys().copied().collect();
            if before.groups.contains(key) {
                before.places.iter().for_each(|(_, dpid, _)| leave(&mut group.spans, *dpid));
                group.members.remove(pod);
            }
            if after.groups.contains(key) {
                after.places.iter().for_each(|(_, dpid, _)| *group.spans.entry(*dpid).or_default() += 1);
                group.members.insert(pod.clone());
            }
            let has: BTreeSet<Dpid> = group.spans.keys().copied().collect();
            let moved = had.symmetric_difference(&has);
            spans.extend(moved.flat_map(|dpid| group.targets_of.iter().map(|id| (id.clone(), *dpid))));
            let users = group.targets_of.iter().chain(&group.peers_of);
            if before.groups.contains(key) != after.groups.contains(key) {
                work.touched.policy_states.extend(users.clone().cloned());
            }
            let named =
                users.filter(|id| self.policies.entries.get(*id).is_some_and(|entry| entry.names_ports));
            renamed.extend(named.cloned());
        }
        let is_target = |group: &&Arc<GroupKey>| {
            self.policies.groups.get(*group).is_some_and(|group| !group.targets_of.is_empty())
        };
        if groups.iter().any(|group| is_target(&group)) {
            for (id, dpid, _) in before.places.iter().chain(&after.places) {
                work.touched.policies.insert((*dpid, PolicyItem::Target(id.clone())));
            }
        }
        // As a peer, it is an item on each switch that has pods of a policy that it is a peer of.
        for key in &groups {
            let Some(group) = self.policies.groups.get(key) else { continue };
            for entry in group.peers_of.iter().filter_map(|id| self.policies.entries.get(id)) {
                for dpid in self.policies.switches_of(entry) {
                    for direction in entry.directions_with(key) {
                        let items =
                            addresses.iter().map(|address| PolicyItem::Peer(direction, (*address).into()));
                        work.touched.policies.extend(items.map(|item| (dpid, item)));
                    }
                }
            }
        }
        // The first or last pod of a policy on a switch brings or takes all that the policy needs there, itself as a peer included.
        for (id, dpid) in spans {
            for direction in Direction::BOTH {
                let items = addresses.iter().map(|address| PolicyItem::Peer(direction, (*address).into()));
                work.touched.policies.extend(items.map(|item| (dpid, item)));
            }
            if let Some(entry) = self.policies.entries.get(&id) {
                self.policies.mark_on(entry, dpid, work);
            }
        }
        if after != Known::default() {
            self.policies.known.insert(pod.clone(), after);
        }
        let left: Vec<_> = before.places.iter().map(|(id, dpid, _)| (id.clone(), *dpid)).collect();
        for (id, dpid) in left {
            let selected = self.policies.is_selected(&id, dpid);
            self.policies.set_policed(&id, dpid, selected, work);
        }
        self.policies.note_policed(pod, work);
    }

    fn known(&self, uid: &Text) -> Known {
        if let Some(name) = interface_of(uid) {
            return self.known_interface(name);
        }
        let Some(pod) = self.pods.get(uid) else { return Known::default() };
        let Some(namespace) = pod.namespace.clone() else { return Known::default() };
        let interfaces = pod
            .interfaces
            .iter()
            .filter_map(|row| self.interface(&super::InterfaceId { pod: uid.clone(), uid: row.uid.clone() }));
        let mut known =
            Known { namespace, labels: pod.labels.clone(), ports: pod.ports.clone(), ..Known::default() };
        for interface in interfaces {
            known.addresses.extend(interface.addresses.iter().map(|address| address.ip));
            if let Some((_, lport, attachment)) = interface.plugged() {
                known.places.push((interface.id.clone(), attachment.dpid, lport));
            }
        }
        known
    }
}

impl Model {
    /// An interface as what access lists are bound to.
    fn known_interface(&self, name: &str) -> Known {
        let bound = self.policies.bound.get(name);
        let (Some(spaces), Some(interface)) = (bound, self.interface_named(name)) else {
            return Known::default();
        };
        let interface_id = Some(interface.id.clone());
        let mut known = Known { spaces: spaces.clone(), interface: interface_id, ..Known::default() };
        known.addresses.extend(interface.addresses.iter().map(|address| address.ip));
        if let Some((_, lport, attachment)) = interface.plugged() {
            known.places.push((interface.id.clone(), attachment.dpid, lport));
        }
        known
    }
}

impl Policies {
    /// The groups that a pod belongs to, of those there are.
    fn groups_of(&self, pod: &Known) -> BTreeSet<Arc<GroupKey>> {
        let own = pod.all_spaces().filter_map(|space| self.groups_in.get(space)).flatten();
        own.chain(&self.groups_across).filter(|group| self.is_member(group, pod)).cloned().collect()
    }

    fn is_member(&self, group: &GroupKey, pod: &Known) -> bool {
        let namespace = match &group.scope {
            Scope::Namespace(name) => pod.all_spaces().any(|space| space == name),
            Scope::Selected(selector) => {
                !pod.namespace.is_empty() && {
                    let labels = self.namespaces.get(&pod.namespace).map(|namespace| &namespace.labels);
                    selects_namespace(selector, &pod.namespace, labels)
                }
            }
        };
        namespace && group.pods.selects(&pod.labels)
    }

    /// Keeps the indices by namespace and address.
    fn move_pod(&mut self, pod: &Text, before: &Known, after: &Known) {
        let (was, is): (BTreeSet<_>, BTreeSet<_>) =
            (before.all_spaces().collect(), after.all_spaces().collect());
        for space in was.difference(&is) {
            remove_from(&mut self.pods_in, *space, pod);
        }
        for space in is.difference(&was) {
            self.pods_in.entry((*space).clone()).or_default().insert(pod.clone());
        }
        if let Some(name) = interface_of(pod) {
            // Another name may have it by now.
            let own =
                before.interface.as_ref().filter(|id| self.bound_ids.get(id).is_some_and(|of| of == name));
            own.into_iter().for_each(|id| drop(self.bound_ids.remove(id)));
            self.bound_ids.extend(after.interface.iter().map(|id| (id.clone(), name.into())));
        }
        for address in before.addresses.difference(&after.addresses) {
            let Some(pods) = self.by_address.get_mut(address) else { continue };
            pods.remove(pod);
            if pods.is_empty() {
                self.by_address.remove(address);
            }
        }
        for address in after.addresses.difference(&before.addresses) {
            self.by_address.entry(*address).or_default().insert(pod.clone());
        }
    }

    /// A group in use, made if nobody used it so far.
    pub(super) fn enter_group(&mut self, key: &Arc<GroupKey>) -> Arc<GroupKey> {
        if let Some((shared, _)) = self.groups.get_key_value(key) {
            return shared.clone();
        }
        let of_namespace = match &key.scope {
            Scope::Namespace(name) => Some(name),
            Scope::Selected(_) => None,
        };
        let near: Vec<Text> = match of_namespace {
            Some(name) => self.pods_in.get(name).into_iter().flatten().cloned().collect(),
            None => self.known.keys().cloned().collect(),
        };
        let mut group = Group::default();
        for pod in near {
            let Some(known) = self.known.get(&pod).filter(|known| self.is_member(key, known)) else {
                continue;
            };
            known.places.iter().for_each(|(_, dpid, _)| *group.spans.entry(*dpid).or_default() += 1);
            if let Some(known) = self.known.get_mut(&pod) {
                known.groups.insert(key.clone());
            }
            group.members.insert(pod);
        }
        match of_namespace {
            Some(name) => self.groups_in.entry(name.clone()).or_default().insert(key.clone()),
            None => self.groups_across.insert(key.clone()),
        };
        self.groups.insert(key.clone(), group);
        key.clone()
    }

    /// Forgets a group that nobody uses any more.
    pub(super) fn leave_group(&mut self, key: &Arc<GroupKey>) {
        let unused = |group: &Group| group.targets_of.is_empty() && group.peers_of.is_empty();
        if !self.groups.get(key).is_some_and(unused) {
            return;
        }
        let members = self.groups.remove(key).map(|group| group.members).unwrap_or_default();
        for pod in members {
            if let Some(known) = self.known.get_mut(&pod) {
                known.groups.remove(key);
            }
        }
        match &key.scope {
            Scope::Namespace(name) => {
                remove_from(&mut self.groups_in, name, key);
            }
            Scope::Selected(_) => {
                self.groups_across.remove(key);
            }
        }
    }

    pub(super) fn clauses_of(&self, id: &str, policy: &Policy, targets: &GroupKey) -> Vec<Clause> {
        let shared = |key: &GroupKey| {
            let known = self.groups.get_key_value(key).map(|(shared, _)| shared.clone());
            known.unwrap_or_else(|| Arc::new(key.clone()))
        };
        let known = |key: &GroupKey, protocol: Protocol, name: &Text| -> BTreeSet<NamedPort> {
            let members = self.groups.get(key).into_iter().flat_map(|group| &group.members);
            let ports = members.filter_map(|pod| self.known.get(pod)).flat_map(|known| &known.ports);
            ports.filter(|port| port.protocol == protocol && port.name == *name).cloned().collect()
        };
        clauses(id, policy, targets, &shared, &known)
    }

    /// Makes an entry be found by its groups, prefixes, ports and keys.
    pub(super) fn index(&mut self, id: &Text, entry: &Entry) {
        if let Some(group) = self.groups.get_mut(&entry.targets) {
            group.targets_of.insert(id.clone());
        }
        for key in &entry.peers {
            if let Some(group) = self.groups.get_mut(key) {
                group.peers_of.insert(id.clone());
            }
        }
        for (at, clause) in entry.clauses.iter().enumerate() {
            let reference = || (id.clone(), at);
            for prefix in clause.peers.iter().flat_map(|peers| &peers.prefixes) {
                self.by_prefix.entry((clause.direction, *prefix)).or_default().insert(reference());
            }
            for port in clause.ports.iter().flatten() {
                self.by_port.entry((clause.direction, *port)).or_default().insert(reference());
            }
            if clause.is_open() {
                self.open.entry(clause.direction).or_default().insert(reference());
            }
            self.by_key.insert(clause.key.clone(), reference());
        }
    }

    pub(super) fn unindex(&mut self, id: &Text, entry: &Entry) {
        if let Some(group) = self.groups.get_mut(&entry.targets) {
            group.targets_of.remove(id);
        }
        for key in &entry.peers {
            if let Some(group) = self.groups.get_mut(key) {
                group.peers_of.remove(id);
            }
        }
        for (at, clause) in entry.clauses.iter().enumerate() {
            let reference = (id.clone(), at);
            for prefix in clause.peers.iter().flat_map(|peers| &peers.prefixes) {
                remove_from(&mut self.by_prefix, &(clause.direction, *prefix), &reference);
            }
            for port in clause.ports.iter().flatten() {
                remove_from(&mut self.by_port, &(clause.direction, *port), &reference);
            }
            if clause.is_open() {
                remove_from(&mut self.open, &clause.direction, &reference);
            }
            self.by_key.remove(&clause.key);
        }
    }

    /// Everything that a policy has on its switches.
    pub(super) fn mark_policy(&self, entry: &Entry, work: &mut Work) {
        for dpid in self.switches_of(entry) {
            self.mark_on(entry, dpid, work);
        }
        let members = self.groups.get(&entry.targets).into_iter().flat_map(|group| &group.members);
        for (id, dpid, _) in members.filter_map(|pod| self.known.get(pod)).flat_map(|known| &known.places) {
            work.touched.policies.insert((*dpid, PolicyItem::Target(id.clone())));
        }
    }

    /// Everything but the targets that a policy has on a switch.
    fn mark_on(&self, entry: &Entry, dpid: Dpid, work: &mut Work) {
        for clause in &entry.clauses {
            let direction = clause.direction;
            let mut mark = |item| work.touched.policies.insert((dpid, item));
            mark(PolicyItem::Clause(clause.key.clone()));
            if clause.is_open() {
                mark(PolicyItem::Everything(direction));
            }
            for port in clause.ports.iter().flatten() {
                mark(PolicyItem::Port(direction, *port));
                mark(PolicyItem::Fragments(direction, port.protocol));
            }
            let Some(peers) = &clause.peers else { continue };
            for prefix in &peers.prefixes {
                mark(PolicyItem::Peer(direction, *prefix));
            }
            let members =
                peers.groups.iter().filter_map(|key| self.groups.get(key)).flat_map(|group| &group.members);
            for address in members.filter_map(|pod| self.known.get(pod)).flat_map(|known| &known.addresses) {
                mark(PolicyItem::Peer(direction, (*address).into()));
            }
        }
    }

    /// Switches that have pods under a policy.
    pub(super) fn switches_of(&self, entry: &Entry) -> Vec<Dpid> {
        self.groups.get(&entry.targets).map(|group| group.spans.keys().copied().collect()).unwrap_or_default()
    }

    /// The pods that a policy selects, by their labels alone.
    pub(super) fn selected_by(&self, policy: &Policy) -> Vec<Text> {
        let key = GroupKey::targets(policy);
        let near = self.pods_in.get(&policy.namespace).into_iter().flatten();
        near.filter(|pod| self.known.get(*pod).is_some_and(|known| self.is_member(&key, known)))
            .cloned()
            .collect()
    }

    /// Notes whether a pod's interfaces are under policies.
    pub(super) fn note_policed(&mut self, pod: &Text, work: &mut Work) {
        let Some(known) = self.known.get(pod) else { return };
        let places: Vec<_> = known.places.iter().map(|(id, dpid, _)| (id.clone(), *dpid)).collect();
        for (id, dpid) in places {
            let policed = self.is_selected(&id, dpid);
            self.set_policed(&id, dpid, policed, work);
        }
    }

    fn set_policed(&mut self, id: &super::InterfaceId, dpid: Dpid, policed: bool, work: &mut Work) {
        let was = self.policed_on.get(&dpid).is_some_and(|all| all.contains(id));
        if was == policed {
            return;
        }
        if policed {
            self.policed_on.entry(dpid).or_default().insert(id.clone());
        } else {
            remove_from(&mut self.policed_on, &dpid, id);
        }
        work.touched.interfaces.insert(id.clone());
        work.touched.policies.insert((dpid, PolicyItem::Target(id.clone())));
        work.touched.policies.insert((dpid, PolicyItem::Switch));
    }
}

impl Known {
    /// Its namespace, and the groups that access lists put it in.
    fn all_spaces(&self) -> impl Iterator<Item = &Text> {
        Some(&self.namespace).filter(|namespace| !namespace.is_empty()).into_iter().chain(&self.spaces)
    }
}

impl Entry {
    /// The directions in which a group is among the peers.
    fn directions_with(&self, key: &Arc<GroupKey>) -> BTreeSet<Direction> {
        let with = |clause: &&Clause| clause.peers.as_ref().is_some_and(|peers| peers.groups.contains(key));
        self.clauses.iter().filter(with).map(|clause| clause.direction).collect()
    }
}

fn leave(spans: &mut BTreeMap<Dpid, usize>, dpid: Dpid) {
    let Some(count) = spans.get_mut(&dpid) else { return };
    *count -= 1;
    if *count == 0 {
        spans.remove(&dpid);
    }
}
