//! What refers to other nodes: keys, leafrefs, uniques. Filled in once those are known.

use yang5::schema::{SchemaNode as LyNode, SchemaNodeKind};

use super::walk::Walk;
use crate::schema::ir::{Kind, SchemaId, Type};

impl Walk {
    /// Keys in the order of the key statement.
    pub(super) fn resolve_keys(&mut self, id: SchemaId, node: &LyNode<'_>) {
        if node.kind() != SchemaNodeKind::List {
            return;
        }
        let found: Vec<SchemaId> =
            node.list_keys().filter_map(|key| self.nodes.get(&(key.as_raw() as usize)).copied()).collect();
        if let Kind::List { keys, .. } = &mut self.schema.nodes[id.0 as usize].kind {
            *keys = found;
        }
    }

    /// Leafref targets and uniques.
    pub(super) fn resolve_references(&mut self) {
        for (id, found) in std::mem::take(&mut self.references) {
            let to = self.nodes.get(&found).copied();
            if let Kind::Leaf { type_: Type::LeafRef { target, .. }, .. }
            | Kind::LeafList { type_: Type::LeafRef { target, .. }, .. } =
                &mut self.schema.nodes[id.0 as usize].kind
            {
                *target = to;
            }
        }
        for (list, leafs) in std::mem::take(&mut self.uniques) {
            let mut chains = Vec::new();
            for leaf in leafs {
                let mut chain = Vec::new();
                let mut at = self.nodes.get(&leaf).copied();
                while let Some(id) = at.filter(|id| *id != list) {
                    chain.push(id);
                    at = self.schema.node(id).parent;
                }
                chain.reverse();
                chains.push(chain);
            }
            if let Kind::List { unique, .. } = &mut self.schema.nodes[list.0 as usize].kind {
                unique.push(chains);
            }
        }
    }
}
