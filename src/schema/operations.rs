//! RPCs, actions and notifications: apart from the data, so that no data path leads to them.

use super::ir::{Kind, Schema, SchemaId};

impl Schema {
    /// The RPC `module:name`.
    pub fn rpc(&self, module: &str, name: &str) -> Option<SchemaId> {
        self.rpcs.iter().copied().find(|id| self.is_named(*id, module, name))
    }

    /// The notification `module:name`, at the top level or below a data node.
    pub fn notification(&self, module: &str, name: &str) -> Option<SchemaId> {
        self.notifications.iter().copied().find(|id| self.is_named(*id, module, name))
    }

    /// The actions of a container or list.
    pub fn actions_of(&self, parent: SchemaId) -> impl Iterator<Item = SchemaId> + '_ {
        self.actions.iter().copied().filter(move |id| self.node(*id).parent == Some(parent))
    }

    /// The notifications of a container or list (`None`: those at the top level).
    pub fn notifications_of(&self, parent: Option<SchemaId>) -> impl Iterator<Item = SchemaId> + '_ {
        self.notifications.iter().copied().filter(move |id| self.node(*id).parent == parent)
    }

    /// The input of an RPC or action; it is there even where the model has none. `None` for anything else.
    pub fn input(&self, operation: SchemaId) -> Option<SchemaId> {
        self.part(operation, |kind| matches!(kind, Kind::Input))
    }

    /// The output of an RPC or action; it is there even where the model has none. `None` for anything else.
    pub fn output(&self, operation: SchemaId) -> Option<SchemaId> {
        self.part(operation, |kind| matches!(kind, Kind::Output))
    }

    /// The RPC, action or notification that a node belongs to, or is; `None` for data nodes.
    pub fn operation_of(&self, id: SchemaId) -> Option<SchemaId> {
        std::iter::successors(Some(id), |id| self.node(*id).parent)
            .find(|id| matches!(self.node(*id).kind, Kind::Rpc | Kind::Notification))
    }

    fn part(&self, operation: SchemaId, is: impl Fn(&Kind) -> bool) -> Option<SchemaId> {
        let node = self.node(operation);
        if !matches!(node.kind, Kind::Rpc) {
            return None;
        }
        node.children.iter().copied().find(|id| is(&self.node(*id).kind))
    }

    fn is_named(&self, id: SchemaId, module: &str, name: &str) -> bool {
        let node = self.node(id);
        *node.name == *name && *self.module(node.module).name == *module
    }
}
