//! `opendaylight-inventory:nodes`: the switches and their ports by OpenFlow's numbers.

use super::super::nodes::{InnerList, ListAt};
use super::super::{Key, Keys, Rendered, Renderer};
use crate::datastore::Store;
use crate::model::{Model, Touched};
use crate::net::{Dpid, OfPort};
use crate::schema::{Schema, SchemaId, Text, Value};

/// How a database numbers the bridge's own port; OpenFlow calls it LOCAL. Source: ovs-vswitchd.conf.db(5), `ofport`.
const LOCAL: OfPort = OfPort(65_534);

/// The feature's derived nodes that tell of ports.
pub struct Inventory {
    nodes: ListAt,
    connectors: InnerList,
    port_number: SchemaId,
    name: SchemaId,
}

impl Inventory {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &Schema) -> Inventory {
        const CONNECTOR: &str = "/opendaylight-inventory:nodes/node/node-connector";
        let leaf = |leaf: &str| schema.resolve(&format!("{CONNECTOR}/flow-node-inventory:{leaf}"));
        Inventory {
            nodes: ListAt::new(schema, "/opendaylight-inventory:nodes/node"),
            connectors: InnerList::new(schema, CONNECTOR),
            port_number: leaf("port-number"),
            name: leaf("name"),
        }
    }

    fn connector(&self, dpid: Dpid, port: OfPort, name: &Text, out: &mut Rendered) {
        let number: Text = if port == LOCAL { "LOCAL".into() } else { port.to_string().into() };
        let node = dpid.node_id();
        let id = Value::text(format!("{node}:{number}"));
        let (path, build) = self.connectors.entry(self.nodes.inner([Value::text(node)]), [id]);
        let node =
            build.leaf(self.port_number, Value::Text(number)).leaf(self.name, Value::Text(name.clone()));
        out.node(Store::Operational, path, node.node());
    }
}

impl Renderer for Inventory {
    fn name(&self) -> &'static str {
        "interface"
    }

    fn affected(&self, touched: &Touched, _: &Model, keys: &mut Keys) {
        keys.extend(touched.switches.iter().copied().map(Key::Switch));
        let numbers = touched.port_numbers.iter().cloned();
        keys.extend(numbers.map(|(node_id, number)| Key::PortNumber(node_id, number)));
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        match key {
            Key::Switch(dpid) if model.switch(*dpid).is_some() => {
                let (path, build) = self.nodes.entry([Value::text(dpid.node_id())]);
                out.node(Store::Operational, path, build.node());
            }
            Key::PortNumber(node_id, number) => {
                if let Some((dpid, name)) = model.port_numbered(node_id, *number) {
                    self.connector(dpid, *number, name, out);
                }
            }
            _ => {}
        }
    }
}
