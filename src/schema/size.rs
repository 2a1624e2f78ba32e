//! How much memory data take.

use std::mem::{size_of, size_of_val};

use super::data::{Entries, Key, List, Node};
use super::fields::Fields;
use super::ir::SchemaId;
use super::value::Value;

/// A counter, the row, a date, and how many children it has stand before a node's own children.
const HEAD: usize = 4 * size_of::<usize>();

/// Two counters stand before what an `Arc` points to.
const ARC: usize = 2 * size_of::<usize>();

/// Bytes on the heap below this node, as if nothing were shared, without what the allocator adds.
pub fn heap_size(node: &Node) -> usize {
    match node {
        Node::Container(fields) => fields_size(fields),
        Node::List(list) => list_size(list),
        Node::Leaf(value) => value_size(value),
        Node::LeafList(values) => {
            size_of::<usize>()
                + values.own_size()
                + values.iter().map(|value| size_of::<Value>() + value_size(value)).sum::<usize>()
        }
    }
}

fn fields_size(fields: &Fields) -> usize {
    let child = |(_, node): (&SchemaId, &Node)| size_of::<Node>() + heap_size(node);
    HEAD + fields.iter().map(child).sum::<usize>()
}

fn list_size(list: &List) -> usize {
    let slot = size_of::<(Key, Fields)>();
    let entries: usize = list.iter().map(|(key, entry)| key_size(key) + fields_size(entry)).sum();
    let slots = match list.entries() {
        Entries::One(_) => 0,
        Entries::Few(all) | Entries::User(all) => all.len() * slot,
        Entries::Many(all) => all.len() * slot,
        Entries::Keyless(all) => all.len() * size_of::<Fields>(),
    };
    size_of::<usize>() + size_of::<Entries>() + slots + entries
}

/// The texts of a key are those of its key leafs and are not counted again.
fn key_size(key: &Key) -> usize {
    let count = key.values().len();
    if count == 1 { 0 } else { ARC + size_of::<usize>() + size_of_val(key.values()) }
}

fn value_size(value: &Value) -> usize {
    match value {
        Value::Text(text) => ARC + text.len().next_multiple_of(size_of::<usize>()),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::json::{self, Mode};
    use super::super::testing::sample;
    use super::*;

    #[test]
    fn a_pod_of_ten_leafs_and_an_interface_takes_less_than_two_kibibytes() {
        let body = br#"{"test:coe":{"pods":[{"uid":"11111111-2222-3333-4444-555555555555","name":"pod-number-12345",
            "host-ip-address":"192.168.100.100","port-mac-address":"02:00:00:00:00:01","network-type":"VXLAN",
            "segmentation-id":4711,"dpn-id":"123456789","short":"abc","aug:extra":"the namespace of it","v4":"192.168.1.1",
            "interface":[{"uid":"21111111-2222-3333-4444-555555555555","ip-address":"10.11.12.13"}]}]}}"#;
        let root = json::parse(sample(), None, body, Mode::Strict).unwrap();
        let size = heap_size(&Node::Container(root));
        assert!(size < 1200, "{size} bytes");
        assert_eq!(size_of::<Node>(), 16);
        assert_eq!(size_of::<Fields>(), 8);
        assert_eq!(size_of::<(Key, Fields)>(), 24);
        assert_eq!(size_of::<Entries>(), 24);
    }
}
