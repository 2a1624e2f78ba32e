//! What an allocation pool is about: requests that reach it, leases from it.

use serde_json::{Value, json};

use super::{Asked, plan};
use crate::datastore::{Snapshot, Store};
use crate::northbound::restconf::Problems;
use crate::renderers::Engine;
use crate::schema::{DataPath, Fields, Key, Schema};

/// The network that a path names, and the subnet if it names one of its pools.
pub struct Pools {
    network: String,
    subnet: Option<String>,
}

impl Pools {
    /// `None`: the path leads elsewhere.
    pub fn named(schema: &Schema, path: &DataPath) -> Option<Pools> {
        let network = "/dhcp_allocation_pool:dhcp_allocation_pool/network";
        let nodes = [schema.resolve(network), schema.resolve(&format!("{network}/allocation-pool"))];
        let key = |at: usize| {
            let step = path.steps.get(at).filter(|step| step.node == nodes[at - 1])?;
            step.key.as_ref()?.values().first()?.as_text().map(str::to_owned)
        };
        let pools = Pools { network: key(1)?, subnet: key(2) };
        (path.steps.len() == 2 + usize::from(pools.subnet.is_some())).then_some(pools)
    }

    /// Flows that bring requests to it; pods whose those are, leases from it, and how full it is.
    pub async fn explain(self, asked: &Asked) -> Result<Value, Problems> {
        let snapshot = asked.call.datastore.snapshot();
        let schema = snapshot.schema;
        let subnet = self.subnet.as_ref().and_then(|subnet| subnet.parse().ok());
        let network = self.network.clone();
        let found =
            asked.call.datastore.ask(move |engine: &Engine| engine.caused_by_pool(&network, subnet)).await;
        let (caused, pods) = found.ok_or_else(super::explain::no_network)?;
        let visible = |path: &DataPath| snapshot.read(Store::Config, path).is_some();
        let mut concerns: Vec<DataPath> = pods.into_iter().filter(visible).collect();
        for list in ["leases/lease", "leases/ipv6-lease", "leases/relayed-lease", "pools/pool"] {
            concerns.extend(self.entries(&snapshot, list));
        }
        let mut out = plan::of(schema, &caused);
        out["revision"] = json!(snapshot.revision.0.to_string());
        out["concerns"] = concerns.iter().map(|path| path.to_rfc8040(schema)).collect();
        Ok(out)
    }

    /// The entries of a list of `coeus-dhcp` that are of these pools.
    fn entries(&self, snapshot: &Snapshot, list: &str) -> Vec<DataPath> {
        let schema = snapshot.schema;
        let top = list.split('/').next().unwrap_or(list);
        let top = schema.resolve(&format!("/coeus-dhcp:{top}"));
        let id = schema.resolve(&format!("/coeus-dhcp:{list}"));
        let leaf = |name: &str| schema.resolve(&format!("/coeus-dhcp:{list}/{name}"));
        let (network, subnet) = (leaf("network-id"), leaf("subnet"));
        let ours = |(_, entry): &(&Key, &Fields)| {
            entry.text(network) == Some(self.network.as_str())
                && self.subnet.as_deref().is_none_or(|wanted| entry.text(subnet) == Some(wanted))
        };
        let path = DataPath::root().child(top);
        let whole = snapshot.read(Store::Operational, &path);
        let list = whole.as_ref().and_then(|node| node.fields()).and_then(|fields| fields.list(id));
        let entries = list.into_iter().flatten().filter(ours);
        entries.map(|(key, _)| path.clone().entry(id, key.clone())).collect()
    }
}
