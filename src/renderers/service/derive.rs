//! What became of each service: `/coeus-service:service-states`.

use super::super::nodes::{Build, InnerList, ListAt};
use super::super::{Key, Keys, Rendered, Renderer};
use super::flows::endpoint_text;
use super::services_touched;
use crate::datastore::Store;
use crate::model::{Model, Touched};
use crate::net::Transport;
use crate::pipeline::service_groups;
use crate::schema::{Schema, SchemaId, Text, Value};

/// `state`, in the order of the model.
const NONE: i32 = 0;
const WAITING: i32 = 1;
const ACTIVE: i32 = 2;

/// What is shown of services.
pub struct ServiceStates {
    service: ListAt,
    name: SchemaId,
    namespace: SchemaId,
    address: SchemaId,
    state: SchemaId,
    reason: SchemaId,
    port: InnerList,
    port_name: SchemaId,
    group: SchemaId,
    endpoint: SchemaId,
}

impl ServiceStates {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &Schema) -> ServiceStates {
        let id = |leaf: &str| schema.resolve(&format!("/coeus-service:service-states/service/{leaf}"));
        ServiceStates {
            service: ListAt::new(schema, "/coeus-service:service-states/service"),
            name: id("name"),
            namespace: id("namespace"),
            address: id("address"),
            state: id("state"),
            reason: id("reason"),
            port: InnerList::new(schema, "/coeus-service:service-states/service/port"),
            port_name: id("port/name"),
            group: id("port/group"),
            endpoint: id("port/endpoint"),
        }
    }
}

impl Renderer for ServiceStates {
    fn name(&self) -> &'static str {
        "service-states"
    }

    fn affected(&self, touched: &Touched, model: &Model, keys: &mut Keys) {
        services_touched(touched, model, keys);
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        let Key::Service(uid) = key else { return };
        let Some(service) = model.service(uid) else { return };
        let addresses = model.service_addresses(service);
        let addresses: Vec<_> = addresses.chain(model.outside_addresses(service)).collect();
        let mut reasons: Vec<Text> = Vec::new();
        let mut waits = false;
        if service.headless {
            reasons.push("it is headless: its clients ask a name server for its endpoints".into());
        } else if addresses.is_empty() && service.addresses.is_empty() {
            reasons
                .push("it has no cluster-ip-address, and there is no service-pool that has one left".into());
        } else if service.ports.is_empty() {
            reasons.push("it has no service-ports".into());
        }
        let taken = service.addresses.iter().filter(|address| !addresses.contains(address));
        for address in taken.filter(|_| !service.headless) {
            reasons.push(format!("address {address} belongs to another service").into());
        }
        for address in model.ungranted(service) {
            let what = "is granted by no external network: it is not served from outside";
            reasons.push(format!("address {address} {what}").into());
        }
        let ports = model.served_ports(service).map(|served| {
            for reason in &served.reasons {
                let reason: Text = reason.to_string().into();
                if !reasons.contains(&reason) {
                    reasons.push(reason);
                }
            }
            let (transport, number) = (served.port.transport, served.port.number);
            for address in &addresses {
                if !served.endpoints.iter().any(|(ip, _)| ip.is_ipv6() == address.is_ipv6()) {
                    waits = true;
                    reasons.push(
                        format!("{transport} port {number} has no endpoint that {address} could lead to")
                            .into(),
                    );
                }
            }
            let group = served.number.zip(addresses.first());
            let group = group.map(|(number, first)| service_groups::of_port(number, first.is_ipv6()));
            let endpoints = served.endpoints.iter().map(|endpoint| Value::text(endpoint_text(endpoint)));
            let endpoints: Vec<Value> = endpoints.collect();
            let (name, port) = (served.port.name.clone(), u64::from(number));
            let rest = move |build: Build| {
                build
                    .leaf_if(self.port_name, name.map(Value::Text))
                    .leaf_if(self.group, group.map(|group| Value::Uint(group.into())))
                    .leaf_list(self.endpoint, endpoints)
            };
            ([Value::Enum(enum_of(transport)), Value::Uint(port)], rest)
        });
        let ports: Vec<_> = ports.collect();
        let is_none = addresses.is_empty() || ports.is_empty();
        let state = if is_none {
            NONE
        } else if waits {
            WAITING
        } else {
            ACTIVE
        };
        let (path, build) = self.service.entry([Value::Text(uid.clone())]);
        let mut build = build
            .leaf_if(self.name, service.name.clone().map(Value::Text))
            .leaf_if(self.namespace, service.namespace.clone().map(Value::Text))
            .leaf_list(self.address, addresses.iter().map(|address| Value::text(address.to_string())))
            .leaf(self.state, Value::Enum(state))
            .leaf_list(self.reason, reasons.into_iter().map(Value::Text));
        if !ports.is_empty() {
            build = build.child(self.port.each(ports));
        }
        out.node(Store::Operational, path, build.node());
    }
}

/// In the order of the model.
fn enum_of(transport: Transport) -> i32 {
    match transport {
        Transport::Tcp => 0,
        Transport::Udp => 1,
        Transport::Sctp => 2,
    }
}
