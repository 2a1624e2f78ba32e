//! A policy as conjunctions: so many targets, peers and ports, each of the one with each of the others.

use std::collections::BTreeSet;
use std::sync::Arc;

use ipnetwork::IpNetwork;

use crate::policy::{Direction, NamedPort, Peer, Policy, PortMatch, Ports, Protocol, Rule, Scope, Selector};
use crate::schema::Text;

/// Pods that somebody selects: whoever selects alike shares the group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupKey {
    pub scope: Scope,
    pub pods: Selector,
}

/// A rule, or what a port's name makes of it: that name with one number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// The conjunction's number; `None` while their pool is used up.
    pub id: Option<u32>,
    /// What the number is kept under: policy, direction, rule and the name with its number.
    pub key: Text,
    pub direction: Direction,
    /// The rule's number in its policy and direction, counted from 1.
    pub rule: usize,
    /// Only pods that have this port under its name count, as the receiver of a connection.
    pub named: Option<NamedPort>,
    /// `None`: everybody.
    pub peers: Option<Peers>,
    /// `None`: all ports, and what has none.
    pub ports: Option<Vec<PortMatch>>,
}

/// Whom a clause is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peers {
    pub groups: Vec<Arc<GroupKey>>,
    pub prefixes: Vec<IpNetwork>,
}

impl GroupKey {
    /// The pods that a policy is for.
    pub fn targets(policy: &Policy) -> GroupKey {
        GroupKey { scope: Scope::Namespace(policy.namespace.clone()), pods: policy.pods.clone() }
    }

    /// All pods.
    fn everybody() -> GroupKey {
        GroupKey { scope: Scope::Selected(Selector::default()), pods: Selector::default() }
    }
}

impl Clause {
    /// Dimensions of the conjunction: targets, and peers and ports where they matter.
    pub fn dimensions(&self) -> u8 {
        1 + u8::from(self.peers.is_some()) + u8::from(self.ports.is_some())
    }

    /// Everybody and all ports: its targets alone matter.
    pub fn is_open(&self) -> bool {
        self.dimensions() == 1
    }

    /// Whether a pod with these ports counts as a target.
    pub fn is_for(&self, ports: &[NamedPort]) -> bool {
        self.direction == Direction::Egress || self.named.as_ref().is_none_or(|named| ports.contains(named))
    }

    /// Whether a pod with these ports counts as a peer.
    pub fn is_with(&self, ports: &[NamedPort]) -> bool {
        self.direction == Direction::Ingress || self.named.as_ref().is_none_or(|named| ports.contains(named))
    }
}

/// The groups of a rule's peers; of one about everybody that names a port, all pods.
fn groups(rule: &Rule, direction: Direction) -> Vec<GroupKey> {
    let of = |peer: &Peer| match peer {
        Peer::Pods(scope, pods) => Some(GroupKey { scope: scope.clone(), pods: pods.clone() }),
        Peer::Block(_) => None,
    };
    if rule.peers.is_empty() && direction == Direction::Egress && names(rule).next().is_some() {
        return vec![GroupKey::everybody()];
    }
    rule.peers.iter().filter_map(of).collect()
}

fn names(rule: &Rule) -> impl Iterator<Item = (Protocol, &Text)> {
    rule.ports.iter().filter_map(|ports| match ports {
        Ports::Named(protocol, name) => Some((*protocol, name)),
        _ => None,
    })
}

/// Groups of peers of a policy, each once.
pub(super) fn peer_groups(policy: &Policy) -> BTreeSet<GroupKey> {
    let rules = Direction::BOTH.into_iter().flat_map(|direction| {
        let rules = policy.rules(direction).unwrap_or_default().iter();
        rules.flat_map(move |rule| groups(rule, direction))
    });
    rules.collect()
}

/// Whether what it allows depends on the names of pods' ports.
pub(super) fn names_ports(policy: &Policy) -> bool {
    let all = Direction::BOTH.into_iter().flat_map(|direction| policy.rules(direction).unwrap_or_default());
    all.into_iter().any(|rule| names(rule).next().is_some())
}

/// What a policy's rules come to. `known` answers which ports the members of a group have under a name.
pub(super) fn clauses(
    id: &str,
    policy: &Policy,
    targets: &GroupKey,
    shared: &dyn Fn(&GroupKey) -> Arc<GroupKey>,
    known: &dyn Fn(&GroupKey, Protocol, &Text) -> BTreeSet<NamedPort>,
) -> Vec<Clause> {
    let mut found = Vec::new();
    for direction in Direction::BOTH {
        for (at, rule) in policy.rules(direction).unwrap_or_default().iter().enumerate() {
            let number = at + 1;
            let key = format!("{id} {direction} {number}");
            let prefixes = rule.peers.iter().flat_map(|peer| match peer {
                Peer::Block(block) => block.prefixes(),
                Peer::Pods(..) => Vec::new(),
            });
            let prefixes: BTreeSet<IpNetwork> = prefixes.collect();
            let groups = groups(rule, direction);
            let shared: Vec<Arc<GroupKey>> = groups.iter().map(shared).collect();
            let of_all = (!rule.peers.is_empty())
                .then(|| Peers { groups: shared.clone(), prefixes: prefixes.into_iter().collect() });
            let matches: BTreeSet<PortMatch> = rule.ports.iter().flat_map(Ports::matches).collect();
            if rule.ports.is_empty() || !matches.is_empty() {
                let ports = (!rule.ports.is_empty()).then(|| matches.into_iter().collect());
                let key = key.as_str().into();
                let peers = of_all.clone();
                found.push(Clause { id: None, key, direction, rule: number, named: None, peers, ports });
            }
            let numbers: BTreeSet<NamedPort> = match direction {
                Direction::Ingress => {
                    names(rule).flat_map(|(protocol, name)| known(targets, protocol, name)).collect()
                }
                Direction::Egress => names(rule)
                    .flat_map(|name| groups.iter().map(move |group| (group, name)))
                    .flat_map(|(group, (protocol, name))| known(group, protocol, name))
                    .collect(),
            };
            for named in numbers {
                let key = format!("{key} {} {} {}", named.name, named.protocol, named.port).into();
                // A name is a pod's: addresses of a block have none.
                let peers = match direction {
                    Direction::Ingress => of_all.clone(),
                    Direction::Egress => Some(Peers { groups: shared.clone(), prefixes: Vec::new() }),
                };
                let ports = Some(vec![PortMatch::one(named.protocol, named.port)]);
                let named = Some(named);
                found.push(Clause { id: None, key, direction, rule: number, named, peers, ports });
            }
        }
    }
    found
}
