//! Who asked for a flow, and what an object asked for.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Engine;
use super::difference::Difference;
use super::key::Key;
use super::plan::Plan;
use super::rendered::Item;
use crate::model::{InterfaceId, Model};
use crate::net::Dpid;
use crate::pipeline::{Flow, OwnerName};
use crate::schema::{DataPath, Text};

/// What a flow is looked for by; what is given has to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowQuery {
    pub dpid: Option<String>,
    pub table: Option<u8>,
    pub cookie: Option<u64>,
    /// Its line contains this.
    pub text: Option<String>,
}

/// A flow that should be on a switch, and the configuration behind it.
#[derive(Clone, Debug)]
pub struct Explained {
    pub dpid: Dpid,
    pub flow: Arc<Flow>,
    pub paths: Vec<DataPath>,
}

impl FlowQuery {
    fn holds(&self, dpid: Dpid, flow: &Flow) -> bool {
        self.table.is_none_or(|table| table == flow.table)
            && self.cookie.is_none_or(|cookie| cookie == flow.cookie)
            && self.dpid.as_ref().is_none_or(|wanted| *wanted == dpid.to_string())
            && self.text.as_ref().is_none_or(|text| flow.to_string().contains(text))
    }
}

impl Engine {
    /// How many flows there are of this kind, and the first of them, in the order of switches and tables.
    pub fn explain_flows(&self, query: &FlowQuery, limit: usize) -> (usize, Vec<Explained>) {
        let mut found: Vec<&Item> = self
            .items()
            .filter(|item| matches!(item, Item::Flow(dpid, flow) if query.holds(*dpid, flow)))
            .collect();
        found.sort_by(|one, other| one.order(other));
        let explained = found.iter().take(limit).filter_map(|item| {
            let Item::Flow(dpid, flow) = item else { return None };
            Some(Explained { dpid: *dpid, flow: flow.clone(), paths: self.paths_behind(*dpid, &flow.owner) })
        });
        (found.len(), explained.collect())
    }

    /// The pods that an owner's key leads to.
    fn paths_behind(&self, dpid: Dpid, owner: &OwnerName) -> Vec<DataPath> {
        let model = self.model();
        let pods: BTreeSet<Text> =
            interfaces_of(model, dpid, owner.key()).into_iter().map(|id| id.pod).collect();
        pods.iter().map(|pod| self.pod_path(pod)).collect()
    }

    /// Everything a pod causes, as things that are added. `None`: the path names no pod.
    pub fn caused_by(&self, path: &DataPath) -> Option<Plan> {
        let model = self.model();
        let pod = model.pods().find(|uid| self.pod_path(uid) == *path)?.clone();
        let interfaces = model.interfaces().map(|interface| &interface.id).filter(|id| id.pod == pod);
        let keys = interfaces.cloned().map(Key::Interface).chain([Key::Pod(pod.clone())]);
        let mut difference = Difference::default();
        for key in keys {
            difference.exchange(&[], &mut self.output(&key).to_vec());
        }
        Some(Plan::new(&difference.finish()))
    }
}

/// The interfaces behind the key of an owner: one by its name, those of an ELAN or a VPN, or all of a switch.
fn interfaces_of(model: &Model, dpid: Dpid, key: &str) -> Vec<InterfaceId> {
    if let Some(interface) = model.interface_named(key) {
        return vec![interface.id.clone()];
    }
    if let Some(elan) = model.elan(key) {
        return elan.interfaces.keys().cloned().collect();
    }
    if let Some(vpn) = model.vpn(key) {
        return vpn.interfaces.iter().cloned().collect();
    }
    model.interfaces_on(dpid).into_iter().flatten().cloned().collect()
}
