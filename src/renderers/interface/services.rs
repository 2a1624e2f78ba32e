//! `service-bindings`, `bound-services-state-list` and `dpn-to-interface-list`: what table 17 does with each interface.

use super::super::key::{interfaces_of_elan, interfaces_of_vpn, touched_interfaces};
use super::super::nodes::{InnerList, ListAt, shared};
use super::super::{Key, Keys, Rendered, Renderer};
use super::flows;
use crate::datastore::Store;
use crate::model::{Interface, Model, Touched, identity};
use crate::pipeline::LPORT_DISPATCHER;
use crate::schema::{Fields, IdentityId, Key as ListKey, List, Node, Schema, SchemaId, Value};

/// The feature's derived nodes that tell of services.
pub struct Services {
    services: ListAt,
    ingress: Option<IdentityId>,
    /// The services of an interface: the same for all with the same extras, by their number, and held once.
    bound: [(SchemaId, Node); 16],
    states: ListAt,
    dpid: SchemaId,
    port_no: SchemaId,
    if_index: SchemaId,
    interface_type: SchemaId,
    l2vlan: Option<IdentityId>,
    switches: ListAt,
    switch_interfaces: InnerList,
    switch_interface_type: SchemaId,
}

impl Services {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &Schema) -> Services {
        const STATE: &str = "/interface-service-bindings:bound-services-state-list/bound-services-state";
        const SWITCH: &str = "/odl-interface-meta:dpn-to-interface-list/dpn-to-interface";
        let state = |leaf: &str| schema.resolve(&format!("{STATE}/{leaf}"));
        let interfaces = format!("{SWITCH}/interface-name-entry");
        let services = |extras| {
            let service = |(priority, name)| service(schema, priority, name);
            let list = schema.resolve(BOUND);
            let entries = flows::services(extras).into_iter().map(service);
            shared((list, Node::List(List::of(schema, list, entries))))
        };
        Services {
            services: ListAt::new(schema, "/interface-service-bindings:service-bindings/services-info"),
            ingress: identity(schema, "interface-service-bindings", "service-mode-ingress"),
            bound: flows::Extras::all().map(services),
            states: ListAt::new(schema, STATE),
            dpid: state("dpid"),
            port_no: state("port-no"),
            if_index: state("if-index"),
            interface_type: state("interface-type"),
            l2vlan: identity(schema, "iana-if-type", "l2vlan"),
            switches: ListAt::new(schema, SWITCH),
            switch_interfaces: InnerList::new(schema, &interfaces),
            switch_interface_type: schema.resolve(&format!("{interfaces}/interface-type")),
        }
    }

    fn interface(&self, interface: &Interface, model: &Model, out: &mut Rendered) {
        let Some((identity, lport, attachment)) = interface.plugged() else { return };
        let name = || Value::Text(identity.name.clone());
        let dpid = || Value::Uint(attachment.dpid.0);
        let l2vlan = || self.l2vlan.map(Value::Identity);
        let (path, build) = self.switch_interfaces.entry(self.switches.inner([dpid()]), [name()]);
        out.node(Store::Operational, path, build.leaf_if(self.switch_interface_type, l2vlan()).node());
        let elan = model.elan(&identity.elan).and_then(|elan| elan.tag);
        let (Some(_), Some(_), Some(ingress)) = (elan, flows::routing(identity, model), self.ingress) else {
            return;
        };
        let (path, build) = self.services.entry([name(), Value::Identity(ingress)]);
        let bound = self.bound[flows::Extras::of(interface, model).number()].clone();
        out.node(Store::Config, path, build.shares([bound.0]).child(bound).node());
        let (path, build) = self.states.entry([name(), Value::Identity(ingress)]);
        let node = build
            .leaf(self.dpid, dpid())
            .leaf(self.port_no, Value::Uint(attachment.ofport.0.into()))
            .leaf(self.if_index, Value::Int(lport.0.into()))
            .leaf_if(self.interface_type, l2vlan())
            .shares([self.dpid]);
        out.node(Store::Operational, path, node.node());
    }
}

const BOUND: &str = "/interface-service-bindings:service-bindings/services-info/bound-services";

/// One service as all interfaces have it.
fn service(schema: &Schema, priority: u8, name: &str) -> (ListKey, Fields) {
    let id = |leaf: &str| schema.resolve(&format!("{BOUND}/{leaf}"));
    let flow_based = identity(schema, "interface-service-bindings", "service-type-flow-based");
    let leafs = [
        (id("service-priority"), Some(Value::Uint(priority.into()))),
        (id("service-type"), flow_based.map(Value::Identity)),
        (id("service-name"), Some(Value::text(name))),
        (id("dispatcher-table-id"), Some(Value::Uint(LPORT_DISPATCHER.id().into()))),
        (id("flow-priority"), Some(Value::Uint(flows::SERVICE.into()))),
    ];
    let leafs = leafs.into_iter().filter_map(|(leaf, value)| Some((leaf, Node::Leaf(value?))));
    (ListKey::one(Value::Uint(priority.into())), Fields::of(leafs.collect()))
}

impl Renderer for Services {
    fn name(&self) -> &'static str {
        "interface"
    }

    fn affected(&self, touched: &Touched, model: &Model, keys: &mut Keys) {
        touched_interfaces(touched, keys);
        keys.extend(touched.switches.iter().copied().map(Key::Switch));
        touched.vpns.iter().for_each(|vpn| interfaces_of_vpn(vpn, model, keys));
        touched.elans.iter().for_each(|elan| interfaces_of_elan(elan, model, keys));
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        match key {
            Key::Interface(id) => {
                if let Some(interface) = model.interface(id) {
                    self.interface(interface, model, out);
                }
            }
            Key::Switch(dpid) if model.switch(*dpid).is_some() => {
                let (path, build) = self.switches.entry([Value::Uint(dpid.0)]);
                out.node(Store::Operational, path, build.node());
            }
            _ => {}
        }
    }
}
