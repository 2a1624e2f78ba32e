//! What each pod interface waits for: `/coeus-status:objects`.

use super::super::Rendered;
use super::super::nodes::{Build, ListAt, Made};
use crate::datastore::Store;
use crate::model::{Address, GatewaySource, Interface, Model, Pod, Reason};
use crate::net::Dpid;
use crate::schema::{DataPath, Schema, SchemaId, Text, Value};

/// `state`, in the order of the model.
const PENDING: i32 = 0;
const DESIRED: i32 = 1;

pub(super) struct Names {
    object: ListAt,
    pod_uid: SchemaId,
    pod_name: SchemaId,
    namespace: SchemaId,
    state: SchemaId,
    reason: SchemaId,
    address: SchemaId,
    secondary_address: SchemaId,
    route: SchemaId,
    mac_address: SchemaId,
    gateway: SchemaId,
    gateway_source: SchemaId,
    switch: SchemaId,
    port: SchemaId,
    desired_revision: SchemaId,
    /// What switches are called.
    dpids: Made<Dpid, Text>,
}

impl Names {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn of(schema: &Schema) -> Names {
        let id = |leaf: &str| schema.resolve(&format!("/coeus-status:objects/object/{leaf}"));
        Names {
            object: ListAt::new(schema, "/coeus-status:objects/object"),
            pod_uid: id("pod-uid"),
            pod_name: id("pod-name"),
            namespace: id("namespace"),
            state: id("state"),
            reason: id("reason"),
            address: id("address"),
            secondary_address: id("secondary-address"),
            route: id("route"),
            mac_address: id("mac-address"),
            gateway: id("gateway"),
            gateway_source: id("gateway-source"),
            switch: id("switch"),
            port: id("port"),
            desired_revision: id("desired-revision"),
            dpids: Made::default(),
        }
    }

    /// A pod without any interface.
    pub fn bare_pod(&self, pod: &Pod, out: &mut Rendered) {
        let (path, build) = self.object.entry([Value::Text(pod.uid.clone())]);
        let build = self.pod(build, pod).leaf(self.state, Value::Enum(PENDING));
        let node = build.leaf_list(self.reason, [Value::text(Reason::NoInterface.to_string())]);
        out.node(Store::Operational, path, node.node());
    }

    /// One interface: its state, why, and what is known of it.
    pub fn interface(&self, model: &Model, interface: &Interface, out: &mut Rendered) {
        let (path, mut build) = self.entry(interface);
        if let Some(pod) = model.pod(&interface.id.pod) {
            build = self.pod(build, pod);
        }
        let (missing, differs) = model.underlay_reasons(interface);
        let other = model.node_reason(interface);
        let waits = !interface.pending.is_empty() || missing.is_some();
        let state = if waits { PENDING } else { DESIRED };
        let reasons =
            interface.pending.iter().chain(&missing).chain(&interface.notes).chain(&differs).chain(&other);
        build = build
            .leaf(self.state, Value::Enum(state))
            .leaf_list(self.reason, reasons.map(|reason| Value::text(reason.to_string())))
            .leaf_if(self.address, interface.first_address().map(text))
            .leaf_list(self.secondary_address, interface.addresses.iter().skip(1).map(text))
            .leaf_list(self.route, interface.routes.iter().map(|route| Value::Text(route.text.clone())))
            .shares([self.namespace, self.gateway, self.switch]);
        if !waits {
            // What it waits for may be its own; what should be known follows from its switch and its subnet.
            build = build.shares([self.reason]);
        }
        if let Some(first) = interface.first_address()
            && let Some(gateway) = first.gateway
        {
            let source = match gateway.source {
                GatewaySource::Pool => 0,
                GatewaySource::PodCidr => 1,
                GatewaySource::Assumed => 2,
                GatewaySource::LinkLocal => 3,
                GatewaySource::Adjacency => 4,
            };
            build = build
                .text_if(self.gateway, &first.gateway_text)
                .leaf(self.gateway_source, Value::Enum(source));
        }
        if let Some(attachment) = &interface.attachment {
            let dpid = attachment.dpid;
            build = build
                .text_if(self.mac_address, &interface.mac_text)
                .leaf(self.switch, Value::Text(self.dpids.of(dpid, || dpid.to_string().into())))
                .leaf(self.port, Value::Text(attachment.port.clone()))
                .leaf(self.desired_revision, out.date_next(self.desired_revision, attachment.dpid));
        }
        out.node(Store::Operational, path, build.node());
    }

    fn entry(&self, interface: &Interface) -> (DataPath, Build) {
        self.object.entry([Value::Text(interface.object_name())])
    }

    fn pod(&self, build: Build, pod: &Pod) -> Build {
        build
            .leaf(self.pod_uid, Value::Text(pod.uid.clone()))
            .leaf_if(self.pod_name, pod.name.clone().map(Value::Text))
            .leaf_if(self.namespace, pod.namespace.clone().map(Value::Text))
    }
}

fn text(address: &Address) -> Value {
    Value::Text(address.text.clone())
}
