//! Since when an object is as it is: the revision at which its part of a switch last changed.

use std::sync::Arc;

use super::rendered::Item;
use crate::datastore::DerivedNode;
use crate::net::Dpid;
use crate::schema::{Node, SchemaId, Value};

/// A derived node that shows a date, among the items of its key.
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
    pub fn settle(self, before: &[Item], items: &mut [Item]) {
        let Some(Item::Node(node)) = items.get(self.at) else { return };
        let shown = |item: &Item| match item {
            Item::Node(old) if old.same_path(node) => self.date(old),
            _ => None,
        };
        let Some(date) = before.iter().find_map(shown) else { return };
        let part = |item: &&Item| item.switch() == Some(self.switch);
        if !before.iter().filter(part).eq(items.iter().filter(part)) {
            return;
        }
        if let Some(Item::Node(node)) = items.get_mut(self.at)
            && let Some(fields) = node.fields_mut()
            && let Some((_, leaf)) =
                Arc::make_mut(fields).children.iter_mut().find(|(leaf, _)| *leaf == self.leaf)
        {
            *leaf = Node::Leaf(date);
        }
    }

    fn date(self, node: &DerivedNode) -> Option<Value> {
        node.fields()?.leaf(self.leaf).cloned()
    }
}
