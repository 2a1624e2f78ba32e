//! `coeus-north-south:source-nat-states`: how far each node of the configuration is.

use super::super::nodes::ListAt;
use super::super::{Key, Keys, Rendered, Renderer};
use crate::datastore::Store;
use crate::model::{Model, Touched};
use crate::schema::{Schema, SchemaId, Value};

/// `state`, in the order of the model.
const PENDING: i32 = 0;
const DESIRED: i32 = 1;

/// What is shown of nodes with source addresses.
pub struct SourceStates {
    node: ListAt,
    state: SchemaId,
    reason: SchemaId,
    switch: SchemaId,
}

impl SourceStates {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &Schema) -> SourceStates {
        const LIST: &str = "/coeus-north-south:source-nat-states/node";
        let leaf = |leaf: &str| schema.resolve(&format!("{LIST}/{leaf}"));
        SourceStates {
            node: ListAt::new(schema, LIST),
            state: leaf("state"),
            reason: leaf("reason"),
            switch: leaf("switch"),
        }
    }
}

impl Renderer for SourceStates {
    fn name(&self) -> &'static str {
        "source-states"
    }

    fn affected(&self, touched: &Touched, model: &Model, keys: &mut Keys) {
        let of_switches = touched.switches.iter().flat_map(|dpid| model.addresses_of_node(*dpid));
        keys.extend(touched.node_sources.iter().copied().chain(of_switches).map(Key::NodeSource));
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        let Key::NodeSource(address) = key else { return };
        let Some(found) = model.node_source(*address) else { return };
        let (path, build) = self.node.entry([Value::text(address.to_string())]);
        let state = if found.switch.is_some() { DESIRED } else { PENDING };
        let build = build
            .leaf(self.state, Value::Enum(state))
            .leaf_list(self.reason, found.reasons.iter().map(|reason| Value::text(reason.to_string())))
            .leaf_if(self.switch, found.switch.map(|dpid| Value::text(dpid.to_string())));
        out.node(Store::Operational, path, build.node());
    }
}
