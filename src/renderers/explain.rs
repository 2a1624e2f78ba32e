//! Who asked for a flow, and what an object asked for.

use std::collections::BTreeSet;
use std::sync::Arc;

use std::net::IpAddr;

use ipnetwork::IpNetwork;

use super::Engine;
use super::difference::Difference;
use super::key::Key;
use super::plan::Plan;
use super::recipes::FLOATING;
use super::rendered::{Item, Output, flows_of};
use crate::model::{Address, Interface, InterfaceId, Model, PolicyItem, ServiceSubject};
use crate::net::Dpid;
use crate::pipeline::{COUNTED, Flow, OwnerName, Sheaf};
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
    /// Whether a flow of this sheaf may be meant. A cookie names its owner.
    fn may_be_in(&self, sheaf: &Sheaf) -> bool {
        self.cookie.is_none_or(|cookie| sheaf.may_hold(cookie & !COUNTED))
            && self.dpid.as_ref().is_none_or(|dpid| sheaf.switches().iter().any(|on| *dpid == on.to_string()))
    }

    fn holds(&self, dpid: Dpid, flow: &Flow) -> bool {
        self.table.is_none_or(|table| table == flow.table)
            && self.cookie.is_none_or(|cookie| cookie == flow.cookie)
            && self.dpid.as_ref().is_none_or(|wanted| *wanted == dpid.to_string())
            && self.text.as_ref().is_none_or(|text| flow.to_string().contains(text))
    }
}

impl Engine {
    /// How many flows there are of this kind, and the first of them with what is behind them, in the order of switches and tables.
    pub fn explain_flows(&self, query: &FlowQuery, limit: usize) -> (usize, Vec<Explained>) {
        let (count, found) = self.list_flows(query, limit);
        let explained = found.into_iter().map(|(dpid, flow)| {
            let mut paths = match flow.owner.feature() {
                "policy" => self.policies_behind(&flow),
                _ => Vec::new(),
            };
            // What pods of a switch share, and rules, are of no pod alone.
            if flow.owner.feature() != "policy" || self.model().interface_named(flow.owner.key()).is_some() {
                paths.extend(self.paths_behind(dpid, &flow.owner));
            }
            Explained { dpid, flow, paths }
        });
        (count, explained.collect())
    }

    /// How many flows there are of this kind, and the first of them, in the order of switches and tables.
    pub fn list_flows(&self, query: &FlowQuery, limit: usize) -> (usize, Vec<(Dpid, Arc<Flow>)>) {
        let sheaves = self.outputs().flat_map(|(_, output)| output.sheaves());
        let mut found: Vec<Item> = sheaves
            .filter(|sheaf| query.may_be_in(sheaf))
            .flat_map(flows_of)
            .filter(|item| matches!(item, Item::Flow(dpid, flow) if query.holds(*dpid, flow)))
            .collect();
        found.sort_by(Item::order);
        let count = found.len();
        let first = found.into_iter().take(limit).filter_map(|item| match item {
            Item::Flow(dpid, flow) => Some((dpid, flow)),
            _ => None,
        });
        (count, first.collect())
    }

    /// The pods that an owner's key leads to.
    pub fn paths_behind(&self, dpid: Dpid, owner: &OwnerName) -> Vec<DataPath> {
        let model = self.model();
        if owner.feature() == "service" && model.service(owner.key()).is_some() {
            return vec![self.reader().service_path(&ServiceSubject::Service(owner.key().into()))];
        }
        let pods: BTreeSet<Text> =
            interfaces_of(model, dpid, owner.key()).into_iter().map(|id| id.pod).collect();
        let asked = floating_of(owner.key()).and_then(|address| model.floating_at(address));
        let asked = asked.map(|at| self.reader().external_path(&at));
        asked.into_iter().chain(pods.iter().map(|pod| self.pod_path(pod))).collect()
    }

    /// Everything an object causes, as things that are added: a pod, a policy, or something that is derived, such as an ELAN instance, a VPN
    /// instance or an interface. `None`: the path names no such object.
    pub fn caused_by(&self, path: &DataPath) -> Option<Plan> {
        let keys = self.keys_of_pod(path).or_else(|| self.keys_of_services(path));
        let keys = keys.or_else(|| self.keys_of_policy(path)).or_else(|| self.keys_deriving(path))?;
        let mut difference = Difference::default();
        for key in keys {
            let came = self.output(&key).into_iter().flat_map(Output::items);
            difference.add(came);
        }
        Some(Plan::new(&difference.finish()))
    }

    /// What the allocation pools of a network cause, or that of one subnet: flows that bring requests to the controller, as
    /// things that are added, and the pods they are of.
    pub fn caused_by_pool(&self, network: &str, subnet: Option<IpNetwork>) -> (Plan, Vec<DataPath>) {
        let is_for = |interface: &&Interface| {
            let Some(subnet) = subnet else { return true };
            let serves = if subnet.is_ipv4() { interface.dhcp } else { interface.dhcp_v6 };
            let same = |own: &&Address| own.ip.is_ipv4() == subnet.is_ipv4();
            let mut own = interface.addresses.iter().filter(same).peekable();
            serves && (own.peek().is_none() || own.any(|own| subnet.contains(own.ip)))
        };
        // What is punted of IPv6 says so in its match.
        let is_of =
            |flow: &Flow| subnet.is_none_or(|subnet| flow.to_string().contains("udp6") == subnet.is_ipv6());
        let served: Vec<&InterfaceId> =
            self.model().served_by(network).filter(is_for).map(|interface| &interface.id).collect();
        let mut difference = Difference::default();
        for id in &served {
            let items = self.output(&Key::Interface((*id).clone())).into_iter().flat_map(Output::items);
            let punts = items.filter(
                |item| matches!(item, Item::Flow(_, flow) if flow.owner.feature() == "dhcp" && is_of(flow)),
            );
            difference.add(punts);
        }
        let pods: BTreeSet<&Text> = served.iter().map(|id| &id.pod).collect();
        (Plan::new(&difference.finish()), pods.into_iter().map(|pod| self.pod_path(pod)).collect())
    }

    fn keys_of_pod(&self, path: &DataPath) -> Option<Vec<Key>> {
        let model = self.model();
        let pod = model.pods().find(|uid| self.pod_path(uid) == *path)?.clone();
        let interfaces = model.interfaces().map(|interface| &interface.id).filter(|id| id.pod == pod);
        let mut keys = vec![Key::Pod(pod.clone())];
        for id in interfaces {
            keys.push(Key::Interface(id.clone()));
            let on = model.interface(id).and_then(|interface| interface.attachment.as_ref());
            keys.extend(on.map(|at| Key::Policy(at.dpid, PolicyItem::Target(id.clone()))));
            if let Some(name) = model.host_port_name(id) {
                keys.extend(model.addresses_serving(&name).map(Key::Endpoint));
                keys.push(Key::Service(name));
            }
        }
        Some(keys)
    }

    /// One service or all, or endpoints: those services, and the places where something is served for them.
    fn keys_of_services(&self, path: &DataPath) -> Option<Vec<Key>> {
        let (model, reader) = (self.model(), self.reader());
        let is_meant = |subject: ServiceSubject| {
            let own = reader.service_path(&subject);
            own == *path || (path.steps.len() == 1 && own.steps.starts_with(&path.steps))
        };
        let mut services: BTreeSet<&Text> =
            model.services().filter(|uid| is_meant(ServiceSubject::Service((*uid).clone()))).collect();
        for uid in model.told_endpoints().filter(|uid| is_meant(ServiceSubject::Endpoints((*uid).clone()))) {
            services.extend(model.services_with(uid));
        }
        if services.is_empty() {
            return None;
        }
        let addresses: BTreeSet<_> = services.iter().flat_map(|uid| model.addresses_serving(uid)).collect();
        let keys = services.into_iter().cloned().map(Key::Service);
        Some(keys.chain(addresses.into_iter().map(Key::Endpoint)).collect())
    }

    /// What derives the node at a path, and all that stands for the same object.
    fn keys_deriving(&self, path: &DataPath) -> Option<Vec<Key>> {
        let is_there = |item: Item| match item {
            Item::Node(node) => {
                Some(node.place().node) == path.last_node() && node.steps()[..] == path.steps[..]
            }
            _ => false,
        };
        let (key, _) = self.outputs().find(|(_, output)| output.others().any(is_there))?;
        let model = self.model();
        let same = |of: fn(&Key) -> Option<&Text>, name: &Text| -> Vec<Key> {
            self.outputs().map(|(key, _)| key).filter(|key| of(key) == Some(name)).cloned().collect()
        };
        let mut keys: Vec<Key> = match key {
            Key::Elan(name) => same(elan_of, name),
            Key::Vpn(name) => same(vpn_of, name),
            other => vec![other.clone()],
        };
        let inside: Vec<&InterfaceId> = match key {
            Key::Elan(name) => model.elan(name).into_iter().flat_map(|elan| elan.interfaces.keys()).collect(),
            Key::Vpn(name) => model.vpn(name).into_iter().flat_map(|vpn| &vpn.interfaces).collect(),
            _ => Vec::new(),
        };
        keys.extend(inside.into_iter().cloned().map(Key::Interface));
        Some(keys)
    }
}

fn elan_of(key: &Key) -> Option<&Text> {
    match key {
        Key::Elan(name) | Key::ElanOnSwitch(name, _) => Some(name),
        Key::Chunk(chunk) => Some(&chunk.elan),
        _ => None,
    }
}

fn vpn_of(key: &Key) -> Option<&Text> {
    match key {
        Key::Vpn(name) | Key::VpnOnSwitch(name, _) | Key::Gateway(name, _) => Some(name),
        _ => None,
    }
}

/// The floating address that an owner's key names.
fn floating_of(key: &str) -> Option<IpAddr> {
    key.strip_prefix(FLOATING)?.parse().ok()
}

/// The interfaces behind the key of an owner: one by its name, those of an ELAN or a VPN, or all of a switch.
fn interfaces_of(model: &Model, dpid: Dpid, key: &str) -> Vec<InterfaceId> {
    if let Some(interface) = model.interface_named(key) {
        return vec![interface.id.clone()];
    }
    if let Some(address) = floating_of(key) {
        return model
            .floating(address)
            .and_then(Result::ok)
            .map(|found| found.interface)
            .into_iter()
            .collect();
    }
    if let Some(elan) = model.elan(key) {
        return elan.interfaces.keys().cloned().collect();
    }
    if let Some(vpn) = model.vpn(key) {
        return vpn.interfaces.iter().cloned().collect();
    }
    model.interfaces_on(dpid).into_iter().flatten().cloned().collect()
}
