//! The edits between two states.

use proptest::prelude::*;

use super::super::*;
use crate::schema::testing::{arbitrary_root, sample};
use crate::schema::{Fields, Key, Value, builtin, json};

fn snapshot(input: &Fields) -> Snapshot {
    let mut snapshot = Snapshot::empty(sample());
    snapshot.layers_mut(Store::Config).input = input.clone();
    snapshot
}

fn text(root: &Fields) -> String {
    let mut out = Vec::new();
    json::write(sample(), None, root, &mut out);
    String::from_utf8(out).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// They lead from one state to the other, there and back, and equal states have none between them.
    #[test]
    fn edits_lead_from_one_state_to_the_other(a in arbitrary_root(sample(), false), b in arbitrary_root(sample(), false), few in any::<bool>()) {
        let b = if few {
            // One subtree differs.
            let mut mixed = a.clone();
            if let Some((id, node)) = b.iter().next() {
                mixed.set(*id, Some(node.clone()));
            }
            mixed
        } else {
            b
        };
        for (from, to) in [(&a, &b), (&b, &a)] {
            let edits = edits_between(sample(), Store::Config, from, to);
            let (after, _) = edited(&snapshot(from), &edits).unwrap();
            prop_assert_eq!(text(&after.config.input), text(to));
        }
        prop_assert!(edits_between(sample(), Store::Config, &a, &a.clone().dated(77)).is_empty());
    }
}

#[test]
fn many_derived_edits_at_once_give_what_they_give_one_by_one() {
    let schema = builtin();
    let node = |number: usize, store: Store, top: &str, list: &str| {
        let path = DataPath::root().child(schema.resolve(top));
        let name = schema.resolve(&format!("{top}/{list}/name"));
        let value = Value::text(format!("blue:p{number}"));
        let path = path.entry(schema.resolve(&format!("{top}/{list}")), Key::one(value.clone()));
        DerivedNode::new(schema, store, path, Fields::of(vec![(name, Node::Leaf(value))]).into())
    };
    let mut edits: Vec<DerivedEdit> = (0..1500)
        .flat_map(|number| {
            [
                node(number, Store::Config, "/ietf-interfaces:interfaces", "interface"),
                node(number, Store::Operational, "/ietf-interfaces:interfaces-state", "interface"),
            ]
        })
        .map(DerivedEdit::Put)
        .collect();
    let gone = edits.iter().step_by(3).map(|edit| DerivedEdit::Gone(edit.at().clone())).collect::<Vec<_>>();
    edits.extend(gone);
    let (mut at_once, mut one_by_one) = (Snapshot::empty(schema), Snapshot::empty(schema));
    core::derive(&mut at_once, &edits, 7);
    for edit in &edits {
        core::derive(&mut one_by_one, std::slice::from_ref(edit), 7);
    }
    for store in [Store::Config, Store::Operational] {
        assert_eq!(at_once.layers(store).derived, one_by_one.layers(store).derived);
        let Some(Node::Container(all)) = at_once.read(store, &DataPath::root()) else { panic!("no root") };
        assert!(!all.is_empty());
    }
}
