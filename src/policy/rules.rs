//! A policy as its rules.

use std::fmt;

use super::{Block, Ports, Selector};
use crate::schema::Text;

/// What a pod sends, or what it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    Egress,
    Ingress,
}

/// A NetworkPolicy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Where the pods are that it selects.
    pub namespace: Text,
    pub pods: Selector,
    /// Rules of what its pods get. `None`: it says nothing of that; empty: nothing is allowed.
    pub ingress: Option<Vec<Rule>>,
    /// The same of what they send.
    pub egress: Option<Vec<Rule>>,
    /// Connections that were allowed go on.
    pub keeps_established: bool,
    /// What it stops is logged.
    pub logs_drops: bool,
}

/// Peers and ports that are allowed, each of the one with each of the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// Empty: everybody.
    pub peers: Vec<Peer>,
    /// Empty: all ports of all protocols, and what has no ports.
    pub ports: Vec<Ports>,
}

/// Whom a rule is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Peer {
    /// Pods by their labels, in these namespaces.
    Pods(Scope, Selector),
    Block(Block),
}

/// Namespaces of peers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// This one: the policy's own, as a rule.
    Namespace(Text),
    /// All that the selector selects.
    Selected(Selector),
}

impl Policy {
    /// What it says of a direction; `None`: nothing.
    pub fn rules(&self, direction: Direction) -> Option<&[Rule]> {
        match direction {
            Direction::Egress => self.egress.as_deref(),
            Direction::Ingress => self.ingress.as_deref(),
        }
    }

    /// What an isolated namespace has: its pods are reached by its pods.
    pub fn isolated(namespace: &Text) -> Policy {
        let own = Peer::Pods(Scope::Namespace(namespace.clone()), Selector::default());
        Policy {
            namespace: namespace.clone(),
            pods: Selector::default(),
            ingress: Some(vec![Rule { peers: vec![own], ports: Vec::new() }]),
            egress: None,
            keeps_established: false,
            logs_drops: false,
        }
    }
}

impl Direction {
    pub const BOTH: [Direction; 2] = [Direction::Egress, Direction::Ingress];
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Egress => "egress",
            Direction::Ingress => "ingress",
        })
    }
}
