//! Which pods which policies are about, kept up to date by what changes.
//!
//! ```text
//! policy ─► clauses (targets × peers × ports) ─► groups (selectors, each once) ─► pods ─► switches
//!        └► by prefix · by port
//! ```
//! A switch holds what the clauses of its own pods need. What looks different is named flow by flow ([`PolicyItem`]): a pod that
//! joins the peers of a policy is one item on each switch that has pods under it. While there is no policy, nothing is
//! kept.

mod acls;
mod clauses;
mod groups;
mod paths;
mod query;
mod read;
mod state;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use ipnetwork::IpNetwork;

pub use acls::{AclNames, AclRow};
pub use clauses::{Clause, GroupKey, Peers};
pub use paths::RulePaths;
pub(super) use paths::rule_paths;
pub use query::Stance;
pub use read::{Namespace, PolicyFault, PolicyNames, PolicyObject, PolicyRow};
pub use state::PolicyState;

use super::apply::{Model, Work, remove_from, replace};
use super::ids::{Allocator, Pool};
use super::interface::InterfaceId;
use super::members::Members;
use super::rows::Row;
use crate::net::{Dpid, LportTag};
use crate::policy::{Direction, Labels, NamedPort, Policy, PortMatch, Protocol};
use crate::schema::{Key, Text};

/// What makes the flow, or the few flows, that one thing on a switch has in the tables of policies.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PolicyItem {
    /// What all policies of the switch share.
    Switch,
    /// An interface that policies select.
    Target(InterfaceId),
    /// Addresses that are peers.
    Peer(Direction, IpNetwork),
    Port(Direction, PortMatch),
    /// What has no ports and belongs to what has: later fragments.
    Fragments(Direction, Protocol),
    /// What rules about everybody and all ports allow.
    Everything(Direction),
    /// A conjunction, by its key.
    Clause(Text),
}

/// A clause: the policy and its number in there.
pub(super) type ClauseRef = (Text, usize);

/// All policies with their indices.
#[derive(Debug, Default)]
pub struct Policies {
    rows: BTreeMap<Text, Arc<PolicyRow>>,
    namespaces: BTreeMap<Text, Namespace>,
    /// Policies in force by id: those of `rows` by uuid, and those of isolated namespaces by [`isolation_id`].
    entries: BTreeMap<Text, Entry>,
    groups: BTreeMap<Arc<GroupKey>, Group>,
    /// Groups that one namespace alone has pods of.
    groups_in: BTreeMap<Text, BTreeSet<Arc<GroupKey>>>,
    groups_across: BTreeSet<Arc<GroupKey>>,
    /// Pods as policies see them; kept while there are policies.
    known: BTreeMap<Text, Known>,
    pods_in: BTreeMap<Text, BTreeSet<Text>>,
    by_address: BTreeMap<IpAddr, Members<Text>>,
    by_prefix: BTreeMap<(Direction, IpNetwork), BTreeSet<ClauseRef>>,
    by_port: BTreeMap<(Direction, PortMatch), BTreeSet<ClauseRef>>,
    /// Clauses about everybody and all ports.
    open: BTreeMap<Direction, BTreeSet<ClauseRef>>,
    by_key: BTreeMap<Text, ClauseRef>,
    /// Interfaces of pods that policies select, by switch.
    policed_on: BTreeMap<Dpid, BTreeSet<InterfaceId>>,
    /// Policies with a clause that got no id.
    lacking: BTreeSet<Text>,
    /// The groups that interfaces are in by their access lists, by name, and the other way round; and the names by which those that
    /// there are were found.
    bound: BTreeMap<Text, BTreeSet<Text>>,
    bound_to: BTreeMap<Text, BTreeSet<Text>>,
    bound_ids: BTreeMap<InterfaceId, Text>,
    /// Keys of access lists, by their ids.
    acl_keys: BTreeMap<Text, Key>,
    /// What the next settling looks at.
    dirty: Dirty,
}

#[derive(Debug, Default)]
struct Dirty {
    policies: BTreeSet<Text>,
    namespaces: BTreeSet<Text>,
    interfaces: BTreeSet<Text>,
}

/// A policy in force.
#[derive(Debug)]
struct Entry {
    policy: Arc<Policy>,
    targets: Arc<GroupKey>,
    peers: Vec<Arc<GroupKey>>,
    clauses: Vec<Clause>,
    names_ports: bool,
}

/// The pods of a group, and the policies that it is the targets or peers of.
#[derive(Debug, Default)]
struct Group {
    members: BTreeSet<Text>,
    /// Attached interfaces of members, by switch.
    spans: BTreeMap<Dpid, usize>,
    targets_of: BTreeSet<Text>,
    peers_of: BTreeSet<Text>,
}

/// A pod as policies see it, or an interface that access lists are bound to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Known {
    namespace: Text,
    /// The groups of access lists.
    spaces: BTreeSet<Text>,
    labels: Labels,
    ports: Box<[NamedPort]>,
    addresses: BTreeSet<IpAddr>,
    places: Vec<(InterfaceId, Dpid, LportTag)>,
    /// Of an interface with access lists, also while it is not plugged in.
    interface: Option<InterfaceId>,
    groups: BTreeSet<Arc<GroupKey>>,
}

/// The id of what an isolated namespace has in place of a policy. No uuid has a colon.
fn isolation_id(namespace: &str) -> Text {
    format!("namespace:{namespace}").into()
}

/// Under what an interface is known, as pods are under their uids. No uid has a colon.
fn interface_key(name: &str) -> Text {
    format!("interface:{name}").into()
}

fn interface_of(key: &str) -> Option<&str> {
    key.strip_prefix("interface:")
}

/// The interfaces with access lists that a change concerns, under what they are known.
fn pods_of_bound(model: &Model, bound: &BTreeSet<Text>, work: &Work) -> BTreeSet<Text> {
    let policies = &model.policies;
    let touched = work.touched.interfaces.iter();
    let names = touched.flat_map(|id| {
        let now = model.interface(id).and_then(|interface| Some(&interface.identity.as_ref()?.name));
        now.into_iter().chain(policies.bound_ids.get(id))
    });
    let names = names.filter(|name| policies.bound.contains_key(*name));
    names.chain(bound).map(|name| interface_key(name)).collect()
}

impl Model {
    /// The access lists of this name are a policy whose pods are the interfaces that they are bound to.
    pub(super) fn put_acl(&mut self, name: &Text, row: Option<Arc<AclRow>>) {
        let id = acls::acl_space(name);
        replace(&mut self.policies.acl_keys, &id, row.as_ref().map(|row| row.key.clone()));
        self.put_policy(&id, row.map(|row| Arc::new(row.row.clone())));
    }

    pub(super) fn put_binding(&mut self, name: &Text, row: Option<BTreeSet<Text>>) {
        let before = replace(&mut self.policies.bound, name, row.clone());
        if before != row {
            for space in before.iter().flatten() {
                remove_from(&mut self.policies.bound_to, space, name);
            }
            for space in row.iter().flatten() {
                self.policies.bound_to.entry(space.clone()).or_default().insert(name.clone());
            }
            self.policies.dirty.policies.extend(before.into_iter().chain(row).flatten());
            self.policies.dirty.interfaces.insert(name.clone());
        }
    }

    /// The key of an access list by its id.
    pub fn acl_key(&self, id: &str) -> Option<&Key> {
        self.policies.acl_keys.get(id)
    }

    pub(super) fn put_policy(&mut self, uuid: &Text, row: Option<Arc<PolicyRow>>) {
        if replace(&mut self.policies.rows, uuid, row.clone()) != row {
            self.policies.dirty.policies.insert(uuid.clone());
        }
    }

    pub(super) fn put_namespace(&mut self, name: &Text, row: Option<Namespace>) {
        if replace(&mut self.policies.namespaces, name, row.clone()) != row {
            self.policies.dirty.namespaces.insert(name.clone());
            self.policies.dirty.policies.insert(isolation_id(name));
        }
    }

    /// Looks for policies that cannot be meant, and for labels that are none, among what changes.
    ///
    /// # Errors
    /// The first fault.
    pub fn check_policies(&self, rows: &[Row]) -> Result<(), PolicyFault> {
        let fault = |at, message| Err(PolicyFault { at, message });
        for row in rows {
            match row {
                Row::Policy(uuid, Some(row)) => {
                    if let Some(found) = row.faults.first() {
                        return fault(
                            PolicyObject::Policy(uuid.clone()),
                            format!("network policy {uuid}: {found}"),
                        );
                    }
                }
                Row::Namespace(name, Some(row)) => {
                    if let Some(found) = read::label_fault(&row.labels) {
                        return fault(
                            PolicyObject::Namespace(name.clone()),
                            format!("namespace {name}: {found}"),
                        );
                    }
                }
                Row::Acl(name, Some(acl)) => {
                    if let Some(found) = acl.row.faults.first() {
                        let at = PolicyObject::Acl(Some(acl.key.clone()));
                        return fault(at, format!("access list {name}: {found}"));
                    }
                }
                Row::Pod(uid, Some(pod)) => {
                    if let Some(found) = read::label_fault(&pod.labels) {
                        return fault(PolicyObject::Pod(uid.clone()), format!("pod {uid}: {found}"));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Brings everything about policies up to date, once pods and interfaces are.
    pub(super) fn settle_policies(&mut self, allocator: &mut dyn Allocator, work: &mut Work) {
        let Dirty { mut policies, namespaces, interfaces } = std::mem::take(&mut self.policies.dirty);
        let begins = self.policies.entries.is_empty();
        if begins && policies.is_empty() {
            return;
        }
        policies.append(&mut self.policies.lacking);
        let mut pods: BTreeSet<Text> = if begins {
            let bound = self.policies.bound.keys().map(|name| interface_key(name));
            self.pods.keys().cloned().chain(bound).collect()
        } else {
            pods_of_bound(self, &interfaces, work)
        };
        if !begins {
            let interfaces = work.touched.interfaces.iter().filter(|id| !id.is_hand_made());
            pods.extend(interfaces.map(|id| id.pod.clone()).chain(work.touched.pods.iter().cloned()));
        }
        let relabelled = namespaces.iter().filter_map(|name| self.policies.pods_in.get(name));
        let relabelled: Vec<Text> = relabelled.flatten().cloned().collect();
        // Whether their drops are logged is the namespace's to say.
        let places = relabelled.iter().filter_map(|pod| self.policies.known.get(pod));
        let places = places.flat_map(|known| &known.places);
        work.touched.policies.extend(places.map(|(id, dpid, _)| (*dpid, PolicyItem::Target(id.clone()))));
        pods.extend(relabelled);
        let mut renamed = BTreeSet::new();
        for pod in pods {
            self.settle_policies_of(&pod, work, &mut renamed);
        }
        policies.extend(renamed);
        for id in policies {
            self.settle_policy(&id, allocator, work);
        }
        if self.policies.entries.is_empty() {
            let Policies { rows, namespaces, bound, bound_to, acl_keys, .. } =
                std::mem::take(&mut self.policies);
            self.policies = Policies { rows, namespaces, bound, bound_to, acl_keys, ..Policies::default() };
        }
    }

    /// The policy of this id as it should be in force.
    fn wanted_policy(&self, id: &Text) -> Option<Arc<Policy>> {
        if let Some(row) = self.policies.rows.get(id) {
            return Some(Arc::new(row.policy.clone()));
        }
        // What is bound and not there permits nothing.
        if self.policies.bound_to.contains_key(id) {
            return Some(Arc::new(acls::empty_acl(id)));
        }
        let name: Text = id.strip_prefix("namespace:")?.into();
        let isolated = self.policies.namespaces.get(&name).is_some_and(|namespace| namespace.isolated);
        isolated.then(|| Arc::new(Policy::isolated(&name)))
    }

    /// Takes a policy out as it was and in as it is.
    fn settle_policy(&mut self, id: &Text, allocator: &mut dyn Allocator, work: &mut Work) {
        work.touched.policy_states.insert(id.clone());
        let after = self.wanted_policy(id);
        let before = self.policies.entries.remove(id);
        if let Some(entry) = &before {
            self.policies.mark_policy(entry, work);
            self.policies.unindex(id, entry);
        }
        if let Some(policy) = after {
            let targets = Arc::new(GroupKey::targets(&policy));
            let targets = self.policies.enter_group(&targets);
            let peers = clauses::peer_groups(&policy).into_iter().map(Arc::new);
            let peers: Vec<_> = peers.map(|group| self.policies.enter_group(&group)).collect();
            let mut clauses = self.policies.clauses_of(id, &policy, &targets);
            for clause in &mut clauses {
                clause.id = self.ids.acquire(allocator, Pool::Policies, &clause.key);
                match clause.id {
                    Some(_) => self.ids.missing.remove(&(Pool::Policies, clause.key.clone())),
                    None => self.policies.lacking.insert(id.clone()),
                };
            }
            let names_ports = clauses::names_ports(&policy);
            let entry = Entry { policy, targets, peers, clauses, names_ports };
            self.policies.index(id, &entry);
            self.policies.mark_policy(&entry, work);
            self.policies.entries.insert(id.clone(), entry);
        }
        for entry in before.iter() {
            for clause in &entry.clauses {
                self.ids.leave(Pool::Policies, &clause.key);
            }
            let groups = entry.peers.iter().chain([&entry.targets]);
            groups.for_each(|group| self.policies.leave_group(group));
        }
        let now = self.policies.entries.get(id);
        let groups = before.iter().chain(now).map(|entry| entry.targets.clone()).collect::<BTreeSet<_>>();
        let selects =
            |group: &Arc<GroupKey>| self.policies.groups.get(group).map(|group| group.members.clone());
        let mut pods: BTreeSet<Text> = groups.iter().filter_map(selects).flatten().collect();
        pods.extend(before.into_iter().flat_map(|entry| self.policies.selected_by(&entry.policy)));
        for pod in pods {
            self.policies.note_policed(&pod, work);
        }
    }

    /// Whether an id's number is still needed.
    pub(super) fn has_clause(&self, key: &str) -> bool {
        self.policies.by_key.contains_key(key)
    }
}
