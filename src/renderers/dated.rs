//! Since when an object is as it is: the revision at which its part of a switch last changed.

use super::rendered::{Item, Output};
use crate::datastore::DerivedNode;
use crate::net::Dpid;
use crate::schema::{Node, SchemaId, Value};

/// A derived node that shows a date, among what its key renders beside flows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dated {
    pub at: usize,
    /// The leaf that holds the date.
    pub leaf: SchemaId,
    /// The switch it is about.
    pub switch: Dpid,
}

impl Dated {
    /// The node was rendered with the date of today. Gives it the date it had, if its key contributes to the switch what
    /// it did.
    pub fn settle(self, before: &Output, output: &mut Output) {
        let Some(node) = output.node(self.at) else { return };
        let shown = |item: Item| match item {
            Item::Node(old) if old.same_path(&node) => self.date(&old),
            _ => None,
        };
        let Some(date) = before.others().find_map(shown) else { return };
        if before.on(self.switch) != output.on(self.switch) {
            return;
        }
        output.edit_node(self.at, |fields| {
            fields.edit(self.leaf, |leaf| *leaf = Node::Leaf(date));
        });
    }

    fn date(self, node: &DerivedNode) -> Option<Value> {
        node.fields()?.leaf(self.leaf).cloned()
    }
}
