//! `coeus-policy:policies`: what became of each policy.

use super::super::nodes::ListAt;
use super::super::{Key, Keys, Rendered, Renderer};
use crate::datastore::Store;
use crate::model::{Model, Touched};
use crate::schema::{Schema, SchemaId, Value};

/// The feature's derived nodes.
pub struct PolicyStates {
    policies: ListAt,
    namespace: SchemaId,
    selected_pods: SchemaId,
    reason: SchemaId,
}

impl PolicyStates {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &Schema) -> PolicyStates {
        const POLICY: &str = "/coeus-policy:policies/policy";
        let id = |leaf: &str| schema.resolve(&format!("{POLICY}/{leaf}"));
        PolicyStates {
            policies: ListAt::new(schema, POLICY),
            namespace: id("namespace"),
            selected_pods: id("selected-pods"),
            reason: id("reason"),
        }
    }
}

impl Renderer for PolicyStates {
    fn name(&self) -> &'static str {
        "policy"
    }

    fn affected(&self, touched: &Touched, _: &Model, keys: &mut Keys) {
        keys.extend(touched.policy_states.iter().cloned().map(Key::PolicyState));
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        let Key::PolicyState(id) = key else { return };
        let Some(state) = model.policy_state(id) else { return };
        let (path, build) = self.policies.entry([Value::Text(id.clone())]);
        let node = build
            .leaf(self.namespace, Value::Text(state.namespace))
            .leaf(self.selected_pods, Value::Uint(state.selected as u64))
            .leaf_list(self.reason, state.reasons.into_iter().map(Value::text));
        out.node(Store::Operational, path, node.node());
    }
}
