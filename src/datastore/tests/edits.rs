//! The edits between two states.

use std::sync::Arc;

use proptest::prelude::*;

use super::super::*;
use crate::schema::testing::{arbitrary_root, sample};
use crate::schema::{Fields, json};

fn snapshot(input: &Arc<Fields>) -> Snapshot {
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
            let mut mixed = (*a).clone();
            if let Some((id, node)) = b.children.first() {
                mixed.set(*id, Some(node.clone()));
            }
            Arc::new(mixed)
        } else {
            b
        };
        for (from, to) in [(&a, &b), (&b, &a)] {
            let edits = edits_between(sample(), Store::Config, from, to);
            let (after, _) = edited(&snapshot(from), &edits).unwrap();
            prop_assert_eq!(text(&after.config.input), text(to));
        }
        prop_assert!(edits_between(sample(), Store::Config, &a, &Arc::new((*a).clone())).is_empty());
    }
}
