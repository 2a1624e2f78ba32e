//! What is to be said of a node that `/coeus-north-south:source-nat` names: an address of no node, or sources that lead nowhere.

use std::net::IpAddr;

use ipnetwork::IpNetwork;

use super::apply::{Model, Work};
use super::source_nat::SourceNat;
use super::status::Reason;
use crate::net::Dpid;
use crate::schema::Text;

/// How far a node of the configuration is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSourceState {
    /// The switch of the node; `None`: its pods have no such addresses yet.
    pub switch: Option<Dpid>,
    /// What it waits for, and what is wrong with its sources.
    pub reasons: Vec<Reason>,
}

impl SourceNat {
    /// Nodes that have source addresses of their own.
    pub(super) fn nodes(&self) -> impl Iterator<Item = IpAddr> {
        self.sources.keys().chain(self.sources_v6.keys()).copied()
    }
}

impl Model {
    /// What became of the node with this address in the configuration; `None`: there is none.
    pub fn node_source(&self, node: IpAddr) -> Option<NodeSourceState> {
        let nat = self.source_nat.as_ref()?;
        let mut sources = nat.all().filter(|(of, _)| *of == node).map(|(_, source)| source).peekable();
        sources.peek()?;
        let known = self.switches_of_node_address(node).next();
        let lacks_port = |dpid: &Dpid| nat.network.is_none() && self.node_port(*dpid).is_none();
        let mut reasons = Vec::new();
        match known {
            None => reasons.push(Reason::SourceOfNobody { node }),
            Some(dpid) if lacks_port(&dpid) => reasons.push(Reason::NoNodePort(dpid)),
            Some(_) => {}
        }
        for source in sources {
            if let Some(owner) = self.node_that_has(source) {
                reasons.push(Reason::SourceIsNodes { address: source, owner });
            }
            if let Some(node) = self.prefixes.holder(IpNetwork::from(source)) {
                reasons.push(Reason::SourceInPodCidr { address: source, node: node.clone() });
            }
        }
        Some(NodeSourceState { switch: known.filter(|dpid| !lacks_port(dpid)), reasons })
    }

    /// The node that has an address, as people know it.
    fn node_that_has(&self, address: IpAddr) -> Option<Text> {
        let named = self.nodes_at(address).next().map(|node| format!("node {}", node.uid));
        let of_switch = || {
            let dpid = self.switches_of_node_address(address).next()?;
            Some(format!("the node of switch {dpid}"))
        };
        named.or_else(of_switch).map(Text::from)
    }

    /// Nodes have come to these addresses, or have left them.
    pub(super) fn mark_node_sources(&self, moved: impl IntoIterator<Item = IpAddr>, work: &mut Work) {
        let Some(nat) = &self.source_nat else { return };
        for moved in moved {
            let about = nat.all().filter(|(node, source)| [*node, *source].contains(&moved));
            work.touched.node_sources.extend(about.map(|(node, _)| node));
        }
    }

    /// A prefix has become pods', or is not any more.
    pub(super) fn mark_node_sources_in(&self, prefix: IpNetwork, work: &mut Work) {
        let all = self.source_nat.iter().flat_map(SourceNat::all);
        let within = all.filter(|(_, source)| prefix.contains(*source));
        work.touched.node_sources.extend(within.map(|(node, _)| node));
    }
}
