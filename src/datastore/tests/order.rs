//! Lists that the user orders, and preconditions.

use std::sync::LazyLock;
use std::time::SystemTime;

use proptest::prelude::*;

use super::super::journal::{Journal, MemoryJournal, Record};
use super::super::*;
use crate::schema::json::{self, Mode};
use crate::schema::{Key, Position, load};

fn lab() -> &'static Schema {
    static LAB: LazyLock<&'static Schema> =
        LazyLock::new(|| load::load_from(&[("lab", include_str!("../../schema/testing/lab.yang"))]).unwrap());
    *LAB
}

fn core() -> Core {
    Core::new(Snapshot::empty(lab()), &[], Box::new(NullEngine), SystemTime::now())
}

fn path(text: &str) -> DataPath {
    DataPath::parse_rfc8040(lab(), text).unwrap()
}

fn step(operation: Operation, name: u8, position: Option<Position>) -> Edit {
    let path = path(&format!("lab:lab/step={name}"));
    let body = format!(r#"{{"lab:step":[{{"name":"{name}"}}]}}"#);
    let node = json::parse_resource(lab(), &path, body.as_bytes(), Mode::Strict).unwrap();
    let node = (operation != Operation::Move && operation != Operation::Delete).then_some(node);
    Edit { position, ..Edit::new(Store::Config, operation, path, node) }
}

fn order(snapshot: &Snapshot) -> Vec<u8> {
    match snapshot.read(Store::Config, &path("lab:lab/step")) {
        Some(Node::List(list)) => {
            list.iter().map(|(key, _)| key.values()[0].as_text().unwrap().parse().unwrap()).collect()
        }
        _ => Vec::new(),
    }
}

/// What the edit makes of a plain row of names; `None`: it is refused.
fn model(row: &[u8], operation: Operation, name: u8, position: &Option<(u8, u8)>) -> Option<Vec<u8>> {
    let there = row.contains(&name);
    let mut row = row.to_vec();
    match operation {
        Operation::Create if there => return None,
        Operation::Move | Operation::Delete if !there => return None,
        Operation::Delete => row.retain(|other| *other != name),
        _ if !there => row.push(name),
        _ => {}
    }
    let Some((kind, point)) = position else { return Some(row) };
    row.retain(|other| *other != name);
    let at = |row: &[u8]| row.iter().position(|other| other == point);
    let at = match kind {
        0 => 0,
        1 => row.len(),
        2 => at(&row)?,
        _ => at(&row)? + 1,
    };
    row.insert(at, name);
    Some(row)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Positions do to a list what they do to a plain row; the journal of it gives the same order again.
    #[test]
    fn the_order_agrees_with_a_row_of_names(
        edits in prop::collection::vec((0_usize..4, 0_u8..8, prop::option::of((0_u8..4, 0_u8..8))), 1..30)
    ) {
        let mut core = core();
        let mut journal = MemoryJournal::default();
        let mut row = Vec::new();
        for (number, (operation, name, position)) in edits.into_iter().enumerate() {
            let operation = [Operation::Create, Operation::Replace, Operation::Move, Operation::Delete][operation];
            let position = position.filter(|_| operation != Operation::Delete);
            let place = position.map(|(kind, point)| {
                let key = Key::text(point.to_string());
                match kind {
                    0 => Position::First,
                    1 => Position::Last,
                    2 => Position::Before(key),
                    _ => Position::After(key),
                }
            });
            let wanted = model(&row, operation, name, &position);
            let edit = step(operation, name, place);
            let outcome = core.apply(&Transaction::new("t", vec![edit.clone()]), SystemTime::now());
            prop_assert_eq!(outcome.is_ok(), wanted.is_some());
            if let (Ok(committed), Some(wanted)) = (outcome, wanted) {
                prop_assert_eq!(committed.changed, wanted != row);
                row = wanted;
                let revision = number as u64 + 1;
                let record = Record { revision, author: "t".into(), time: 0, edits: vec![edit].into(), ids: vec![].into() };
                journal.append(&[(revision, record.to_bytes(lab()))]).unwrap();
            }
            prop_assert_eq!(order(core.snapshot()), row.clone());
        }
        prop_assert_eq!(order(&recover(lab(), &mut journal, 0).unwrap().snapshot), row);
    }
}

#[test]
fn lists_that_the_system_orders_take_no_position() {
    let mut core = core();
    let path = path("lab:lab/item=x");
    let node = json::parse_resource(lab(), &path, br#"{"lab:item":[{"name":"x"}]}"#, Mode::Strict).unwrap();
    let edit = Edit { position: Some(Position::First), ..Edit::put(Store::Config, path, node) };
    let outcome = core.apply(&Transaction::new("t", vec![edit]), SystemTime::now());
    assert!(matches!(outcome, Err(DatastoreError::Tree(crate::schema::TreeError::Order { .. }))));
}

#[test]
fn a_precondition_is_about_the_moment_of_the_commit() {
    let mut core = core();
    let put = |name: u8| step(Operation::Replace, name, None);
    let mut apply = |edit: Edit, at: &str, wanted: Wanted| {
        let precondition = Precondition { store: Store::Config, path: path(at), written_only: false, wanted };
        let transaction = Transaction::new("t", vec![edit]).if_all(vec![precondition]);
        core.apply(&transaction, SystemTime::now())
            .map(|_| core.snapshot().stamp(Store::Config, &path(at)).unwrap())
    };
    let refused = |outcome: Result<Stamp, DatastoreError>| {
        assert!(matches!(outcome, Err(DatastoreError::Precondition { .. })), "{outcome:?}");
    };
    refused(apply(put(1), "lab:lab/step=1", Wanted::Present));
    let first = apply(put(1), "lab:lab/step=1", Wanted::Absent).unwrap();
    refused(apply(put(1), "lab:lab/step=1", Wanted::Absent));
    let around = apply(put(2), "lab:lab", Wanted::One(vec![first])).unwrap();
    assert!(around.latest() > first.latest(), "what holds a change changes with it");
    refused(apply(put(3), "lab:lab", Wanted::One(vec![first])));
    refused(apply(put(3), "lab:lab", Wanted::None(vec![around])));
    apply(put(3), "lab:lab", Wanted::None(vec![first])).unwrap();
    let still = apply(put(1), "lab:lab/step=1", Wanted::Unchanged(first.latest())).unwrap();
    assert_eq!(still, first, "changes beside an entry are none of it");
    refused(apply(put(4), "lab:lab", Wanted::Unchanged(around.latest())));
    refused(apply(put(4), "lab:lab/step=4", Wanted::One(vec![first])));
    apply(put(4), "lab:lab/step=4", Wanted::None(vec![first])).unwrap();
}
