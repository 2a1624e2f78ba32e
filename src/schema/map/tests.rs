use std::cell::Cell;
use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

type Pairs = BTreeMap<u16, u8>;

/// What every map is, besides its contents.
fn is_sound(map: &Map<u16, u8>) {
    fn depths(branch: &Branch<u16, u8>, least: Option<u16>, depth: usize, found: &mut Vec<usize>) {
        assert!(branch.len() <= MOST);
        match branch {
            Branch::Leaf(entries) => {
                assert!(entries.capacity() <= entries.len() + 1, "room for nobody");
                assert!(entries.iter().all(|(key, _)| least.is_none_or(|least| least <= *key)));
                found.push(depth);
            }
            Branch::Fork(fork) => {
                assert!(!fork.below.is_empty() && fork.below.len() == fork.least.len());
                assert!(fork.least.is_sorted_by(|one, other| one < other));
                assert!(fork.least.iter().all(|own| least.is_none_or(|least| least <= *own)));
                for (least, below) in fork.least.iter().zip(&fork.below) {
                    depths(below, Some(*least), depth + 1, found);
                }
            }
        }
    }
    let mut found = Vec::new();
    depths(&map.root, None, 0, &mut found);
    assert!(found.iter().all(|depth| *depth == found[0]), "leaves are equally deep");
}

/// The differences of two maps, found key by key.
fn naive(old: &Pairs, new: &Pairs) -> Vec<(u16, Option<u8>, Option<u8>)> {
    let mut keys: Vec<u16> = old.keys().chain(new.keys()).copied().collect();
    keys.sort_unstable();
    keys.dedup();
    let both = |key: u16| (key, old.get(&key).copied(), new.get(&key).copied());
    keys.into_iter().map(both).filter(|(_, old, new)| old != new).collect()
}

fn found(old: &Map<u16, u8>, new: &Map<u16, u8>) -> Vec<(u16, Option<u8>, Option<u8>)> {
    let item = |item| match item {
        DiffItem::Add(key, new) => (*key, None, Some(*new)),
        DiffItem::Remove(key, old) => (*key, Some(*old), None),
        DiffItem::Update { old: (key, old), new: (_, new) } => (*key, Some(*old), Some(*new)),
    };
    old.diff(new).map(item).collect()
}

/// Runs of keys that come or go, ascending or descending: leaves fill, split, empty and unite.
fn edits() -> impl Strategy<Value = Vec<(u16, u16, u8, bool, bool)>> {
    let edit = (0_u16..2_500, 1_u16..400, 0_u8..3, any::<bool>(), any::<bool>());
    prop::collection::vec(edit, 0..24)
}

proptest! {
    #[test]
    fn edited_in_any_way_it_is_a_map(edits in edits()) {
        let (mut map, mut model) = (Map::new(), Pairs::new());
        let mut kept = vec![(map.clone(), model.clone())];
        for (first, count, value, goes, down) in edits {
            let steps = (0..count).map(|step| first + if down { count - step } else { step });
            for key in steps.filter(|key| count > 200 || key % 7 < 3) {
                if goes {
                    prop_assert_eq!(map.remove(&key), model.remove(&key));
                } else {
                    prop_assert_eq!(map.insert(key, value), model.insert(key, value));
                }
            }
            if let Some(held) = map.get_mut(&first) {
                *held += 1;
            }
            if let Some(held) = model.get_mut(&first) {
                *held += 1;
            }
            is_sound(&map);
            prop_assert!(map.iter().eq(&model));
            prop_assert_eq!(map.len(), model.len());
            prop_assert!((0..3_000).all(|key| map.get(&key) == model.get(&key)));
            for from in [first, first.saturating_sub(400), 2_900] {
                prop_assert!(map.range(from..).eq(model.range(from..)));
            }
            kept.push((map.clone(), model.clone()));
        }
        // What was copied before stays as it was, and is told from what came after.
        for (old, old_model) in &kept {
            prop_assert!(old.iter().eq(old_model));
            prop_assert_eq!(found(old, &map), naive(old_model, &model));
            prop_assert_eq!(found(&map, old), naive(&model, old_model));
            prop_assert_eq!(*old == map, *old_model == model);
        }
        let again: Map<u16, u8> = model.iter().rev().map(|(key, value)| (*key, *value)).collect();
        is_sound(&again);
        prop_assert_eq!(again, map);
    }

    #[test]
    fn of_two_with_one_key_the_later_stays(pairs in prop::collection::vec((0_u16..90, any::<u8>()), 0..200)) {
        let map: Map<u16, u8> = pairs.iter().copied().collect();
        let model: Pairs = pairs.into_iter().collect();
        is_sound(&map);
        prop_assert!(map.iter().eq(&model));
    }
}

/// Counts how often it is compared.
#[derive(Clone, Debug)]
struct Counted(u32);

thread_local! {
    static COMPARED: Cell<usize> = const { Cell::new(0) };
}

impl PartialEq for Counted {
    fn eq(&self, other: &Counted) -> bool {
        COMPARED.set(COMPARED.get() + 1);
        self.0 == other.0
    }
}

#[test]
fn what_is_shared_is_not_compared() {
    let old: Map<u32, Counted> = (0..100_000).map(|key| (key * 2, Counted(key))).collect();
    let mut new = old.clone();
    new.insert(777, Counted(1));
    new.remove(&150_000);
    new.insert(42, Counted(0));
    assert_eq!(old.diff(&new).count(), 3);
    assert!(COMPARED.get() < 5 * MOST, "{}", COMPARED.get());
}

#[test]
fn entries_in_ascending_order_leave_full_leaves() {
    let mut map = Map::new();
    (0..10_000).for_each(|key| assert_eq!(map.insert(key, ()), None));
    let Branch::Fork(top) = &map.root else { panic!("many entries") };
    let Branch::Fork(middle) = &top.below[0] else { panic!("many entries") };
    assert!(middle.below.iter().all(|below| below.len() == MOST));
}
