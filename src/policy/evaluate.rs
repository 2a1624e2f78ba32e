//! Who may reach whom.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::{Direction, Labels, NamedPort, Peer, Policy, Protocol, Rule, Scope, Selector};
use crate::schema::Text;

/// The label that every namespace has: its name. Source: Kubernetes, well-known labels.
const NAMESPACE_NAME: Text = arcstr::literal!("kubernetes.io/metadata.name");

/// What policies see of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodFacts {
    pub namespace: Text,
    pub labels: Labels,
    pub addresses: Vec<IpAddr>,
    pub ports: Vec<NamedPort>,
    /// Groups of interfaces that it is in by access lists. They stand where policies have a namespace; who is in one is open to
    /// what the lists permit alone.
    pub groups: Vec<Text>,
}

impl PodFacts {
    fn is_in(&self, space: &Text) -> bool {
        self.namespace == *space || self.groups.contains(space)
    }
}

/// Everything that decides.
#[derive(Clone, Debug, Default)]
pub struct World<'a> {
    pub policies: Vec<&'a Policy>,
    /// Labels of the namespaces that have any besides their name.
    pub namespaces: BTreeMap<Text, Labels>,
    /// Namespaces that are isolated.
    pub isolated: Vec<Text>,
}

/// The first packet of a connection. `port` without a protocol of [`Protocol`] means nothing: ICMP and its like have `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    pub protocol: Option<Protocol>,
    pub port: u16,
}

/// One of the two ends.
#[derive(Clone, Copy, Debug)]
pub struct End<'a> {
    pub address: IpAddr,
    /// The pod that has it, if one does.
    pub pod: Option<&'a PodFacts>,
}

impl World<'_> {
    /// Whether a connection may begin: its sender may send it, and its receiver may get it.
    pub fn allows(&self, from: End<'_>, to: End<'_>, packet: Packet) -> bool {
        self.lets(Direction::Egress, from, to, packet) && self.lets(Direction::Ingress, to, from, packet)
    }

    /// Whether one end's policies of a direction allow it with the other end.
    pub fn lets(&self, direction: Direction, own: End<'_>, peer: End<'_>, packet: Packet) -> bool {
        let Some(pod) = own.pod else { return true };
        let isolated = self.isolated.iter().map(Policy::isolated).collect::<Vec<_>>();
        let of_pod = |policy: &&Policy| pod.is_in(&policy.namespace) && policy.pods.selects(&pod.labels);
        let all = self.policies.iter().copied().chain(&isolated).filter(of_pod);
        let mut rules = all.filter_map(|policy| policy.rules(direction)).peekable();
        let names = match direction {
            Direction::Ingress => own.pod,
            Direction::Egress => peer.pod,
        };
        let names = names.map_or(&[][..], |pod| &pod.ports);
        rules.peek().is_none() && pod.groups.is_empty()
            || rules.flatten().any(|rule| {
                let port = |names: &[NamedPort]| holds_for(rule, packet, names);
                rule.peers.is_empty() && port(names)
                    || rule.peers.iter().filter(|wanted| self.is_peer(wanted, peer)).any(|wanted| {
                        // Behind a block are addresses, which have no names of ports.
                        let has_names = direction == Direction::Ingress || !matches!(wanted, Peer::Block(_));
                        port(if has_names { names } else { &[] })
                    })
            })
    }

    fn is_peer(&self, wanted: &Peer, peer: End<'_>) -> bool {
        match (wanted, peer.pod) {
            (Peer::Block(block), _) => block.contains(peer.address),
            (Peer::Pods(scope, pods), Some(pod)) => {
                let namespace = match scope {
                    Scope::Namespace(name) => pod.is_in(name),
                    Scope::Selected(selector) => {
                        !pod.namespace.is_empty()
                            && selects_namespace(
                                selector,
                                &pod.namespace,
                                self.namespaces.get(&pod.namespace),
                            )
                    }
                };
                namespace && pods.selects(&pod.labels)
            }
            (Peer::Pods(..), None) => false,
        }
    }
}

/// Whether the ports of a rule hold for a packet.
fn holds_for(rule: &Rule, packet: Packet, names: &[NamedPort]) -> bool {
    let on = |protocol| rule.ports.iter().any(|ports| ports.holds(protocol, packet.port, names));
    rule.ports.is_empty() || packet.protocol.is_some_and(on)
}

/// Whether a selector selects a namespace, whose name is a label of it.
pub fn selects_namespace(selector: &Selector, name: &Text, labels: Option<&Labels>) -> bool {
    let mut labels = labels.cloned().unwrap_or_default();
    labels.insert(NAMESPACE_NAME, name.clone());
    selector.selects(&labels)
}
