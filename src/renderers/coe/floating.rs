//! `floating-ip-info` of services: an entry a service, an address a pod.

use std::collections::BTreeMap;

use super::super::nodes::{Build, InnerList, ListAt};
use super::super::{Key, Keys, Rendered, Renderer};
use crate::datastore::Store;
use crate::model::{Mapping, Model, Touched};
use crate::schema::{Node, Schema, SchemaId, Text, Value};

/// The part of the feature that is about services.
pub struct ServiceAddresses {
    router: ListAt,
    network: SchemaId,
    ports: InnerList,
    mappings: InnerList,
    external_ip: SchemaId,
}

impl ServiceAddresses {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &Schema) -> ServiceAddresses {
        const ROUTER: &str = "/odl-nat:floating-ip-info/router-ports";
        let mappings = format!("{ROUTER}/ports/internal-to-external-port-map");
        ServiceAddresses {
            router: ListAt::new(schema, ROUTER),
            network: schema.resolve(&format!("{ROUTER}/external-network-id")),
            ports: InnerList::new(schema, &format!("{ROUTER}/ports")),
            external_ip: schema.resolve(&format!("{mappings}/external-ip")),
            mappings: InnerList::new(schema, &mappings),
        }
    }

    /// The router of a service is called by the service's uid.
    fn service(&self, uid: &Text, model: &Model, out: &mut Rendered) {
        let Some(row) = model.floating_of_service(uid) else { return };
        let router = [Value::Text(uid.clone())];
        let (path, build) = self.router.entry(router.clone());
        out.node(Store::Config, path.clone(), build.node());
        // By itself: an entry that is put anew is put without the addresses in it.
        if let Some(network) = &row.network {
            out.node(Store::Config, path.child(self.network), Node::Leaf(Value::Text(network.clone())));
        }
        // A pod with addresses of both versions has one port and two mappings.
        let mut ports: BTreeMap<&Text, Vec<&Mapping>> = BTreeMap::new();
        for mapping in &row.mappings {
            ports.entry(&mapping.port).or_default().push(mapping);
        }
        for (port, mappings) in ports {
            let (path, build) =
                self.ports.entry(self.router.inner(router.clone()), [Value::Text(port.clone())]);
            let mappings =
                self.mappings.each(mappings.into_iter().map(|Mapping { external, internal, .. }| {
                    let rest = |entry: Build| entry.leaf(self.external_ip, Value::text(external.to_string()));
                    ([Value::text(internal.to_string())], rest)
                }));
            out.node(Store::Config, path, build.child(mappings).node());
        }
    }
}

impl Renderer for ServiceAddresses {
    fn name(&self) -> &'static str {
        "coe"
    }

    fn affected(&self, touched: &Touched, _: &Model, keys: &mut Keys) {
        keys.extend(touched.services.iter().cloned().map(Key::Service));
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        if let Key::Service(uid) = key {
            self.service(uid, model, out);
        }
    }
}
