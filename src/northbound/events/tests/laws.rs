//! Law: the edits between two snapshots, carried out on what was there, give what is there.

use proptest::prelude::*;

use super::super::changes::{Action, Change, changes};
use super::super::filter::disjoint;
use super::super::source::Source;
use crate::datastore::{Layers, Snapshot};
use crate::schema::testing::{arbitrary_config_node, arbitrary_node, arbitrary_root, sample};
use crate::schema::{DataPath, Fields, Node, Parents, Position, Schema, builtin, lexical, reposition, tree};

/// Carries edits out as a client would that trusts them: nothing may be there that is created, and what is deleted is there.
pub fn carry_out(schema: &Schema, root: &mut Fields, changes: &[Change]) -> Result<(), String> {
    for change in changes {
        let there = tree::get(root, &change.path).is_some();
        let path = change.path.display(schema);
        match (change.action, &change.node) {
            (Action::Create, Some(_)) if there => return Err(format!("{path} is created twice")),
            (Action::Create | Action::Replace, Some(node)) => {
                tree::put(root, schema, &change.path, node.clone(), Parents::Create)
                    .map_err(|e| e.to_string())?;
            }
            (Action::Delete, None) if there => {
                tree::remove(root, schema, &change.path).map_err(|e| e.to_string())?;
            }
            (Action::MoveLast, None) => {
                reposition(root, schema, &change.path, &Position::Last).map_err(|e| e.to_string())?;
            }
            other => return Err(format!("{path}: {other:?}, there: {there}")),
        }
    }
    Ok(())
}

/// Some of the other tree's nodes put in place, and some of its own taken away.
fn edited(schema: &Schema, root: &Fields, other: &Fields, picks: &[(bool, prop::sample::Index)]) -> Fields {
    let mut root = root.clone();
    for (put, pick) in picks {
        let paths = if *put { all_paths(schema, other) } else { all_paths(schema, &root) };
        let Some(path) = (!paths.is_empty()).then(|| pick.get(&paths).clone()) else { continue };
        let backup = root.clone();
        let outcome = match tree::get(other, &path).filter(|_| *put) {
            Some(node) => tree::put(&mut root, schema, &path, node, Parents::Create),
            None => tree::remove(&mut root, schema, &path).map(drop),
        };
        if outcome.is_err() {
            root = backup;
        }
    }
    root
}

/// All paths of list entries, containers and leafs.
fn all_paths(schema: &Schema, root: &Fields) -> Vec<DataPath> {
    fn below(schema: &Schema, at: &DataPath, fields: &Fields, found: &mut Vec<DataPath>) {
        for (id, node) in fields.iter() {
            match node {
                Node::Container(inner) => below(schema, &at.clone().child(*id), inner, found),
                Node::List(list) => {
                    for (key, entry) in list.iter().filter(|(key, _)| !key.is_empty()) {
                        let entry_at = at.clone().entry(*id, key.clone());
                        found.push(entry_at.clone());
                        below(schema, &entry_at, entry, found);
                        // A key goes with its entry only.
                        found.retain(|path| {
                            let leaf = path.parent().filter(|above| *above == entry_at).and(path.last_node());
                            !leaf.is_some_and(|leaf| lexical::key_leafs(schema, *id).contains(&leaf))
                        });
                    }
                }
                _ => {}
            }
            found.push(at.clone().child(*id));
        }
    }
    let mut found = Vec::new();
    below(schema, &DataPath::root(), root, &mut found);
    found
}

fn root_of(schema: &'static Schema, names: &[&str], state: bool) -> BoxedStrategy<Fields> {
    let nodes: Vec<_> = names
        .iter()
        .map(|name| {
            let id = schema.resolve(name);
            let node = if state { arbitrary_node(schema, id) } else { arbitrary_config_node(schema, id) };
            prop::option::weighted(0.8, node).prop_map(move |node| node.map(|node| (id, node)))
        })
        .collect();
    let kept =
        |(_, node): &(crate::schema::SchemaId, Node)| node.fields().is_none_or(|fields| !fields.is_empty());
    nodes.prop_map(move |nodes| Fields::of(nodes.into_iter().flatten().filter(kept).collect())).boxed()
}

type Picks = Vec<(bool, prop::sample::Index)>;

fn picks() -> impl Strategy<Value = Picks> {
    prop::collection::vec((any::<bool>(), any::<prop::sample::Index>()), 0..6)
}

fn snapshot(schema: &'static Schema, layers: &[Fields; 4]) -> Snapshot {
    let [a, b, c, d] = layers.clone();
    Snapshot {
        config: Layers { input: a, derived: b },
        operational: Layers { input: c, derived: d },
        ..Snapshot::empty(schema)
    }
}

fn holds(
    schema: &'static Schema,
    source: Source,
    before: &Snapshot,
    after: &Snapshot,
    pick: &[prop::sample::Index; 3],
) -> Result<(), TestCaseError> {
    let mut parts = vec![DataPath::root()];
    let whole = |snapshot| source.alone(schema, snapshot, &[DataPath::root()]).unwrap();
    parts.extend(all_paths(schema, &whole(before)));
    parts.extend(all_paths(schema, &whole(after)));
    let one = pick[0].get(&parts).clone();
    let several = disjoint(pick.iter().map(|pick| pick.get(&parts).clone()).collect()).unwrap();
    for parts in [vec![DataPath::root()], vec![one], several] {
        let told = changes(schema, source, &parts, before, after);
        let mut root = source.alone(schema, before, &parts).unwrap();
        let failed = carry_out(schema, &mut root, &told).err();
        let shown: Vec<String> = parts.iter().map(|part| part.display(schema)).collect();
        prop_assert_eq!(failed, None, "{:?} {:?}", source, shown);
        for part in &parts {
            let (is, wanted) = if part.steps.is_empty() {
                (Some(Node::Container(root.clone())), Some(Node::Container(whole(after))))
            } else {
                (tree::get(&root, part), source.read(after, part))
            };
            prop_assert_eq!(is, wanted, "{:?} {:?}", source, shown);
        }
        if parts.iter().all(|part| source.read(before, part) == source.read(after, part)) {
            prop_assert_eq!(told, vec![]);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// In one layer, with choices, presence containers and lists of all kinds.
    #[test]
    fn the_edits_of_what_was_written_lead_from_one_state_to_the_other(
        root in arbitrary_root(sample(), false),
        other in arbitrary_root(sample(), false),
        picks in picks(),
        pick in any::<[prop::sample::Index; 3]>(),
    ) {
        let schema = sample();
        let after = edited(schema, &root, &other, &picks);
        let of = |root: &Fields| snapshot(schema, &[root.clone(), Fields::default(), Fields::default(), Fields::default()]);
        holds(schema, Source::Running, &of(&root), &of(&after), &pick)?;
        holds(schema, Source::Running, &of(&root), &of(&other), &pick)?;
    }
}

proptest! {
    // These trees are large.
    #![proptest_config(ProptestConfig { cases: 32, max_shrink_iters: 64, ..ProptestConfig::default() })]

    /// Where written and derived data of both stores lie over one another.
    #[test]
    fn the_edits_of_several_layers_lead_from_one_state_to_the_other(
        (roots, others) in {
            let names = &["/pod:coe", "/ietf-interfaces:interfaces-state", "/coeus-status:objects"];
            let four = || [false, false, true, true].map(|state| root_of(builtin(), names, state));
            (four(), four())
        },
        picks in [picks(), picks(), picks(), picks()],
        pick in any::<[prop::sample::Index; 3]>(),
    ) {
        let schema = builtin();
        let mut after = roots.clone();
        for (at, layer) in after.iter_mut().enumerate() {
            // Now and then a layer takes up what another one has.
            let other = if at % 2 == 0 { &others[at] } else { &roots[at - 1] };
            *layer = edited(schema, layer, other, &picks[at]);
        }
        for source in [Source::Intended, Source::State, Source::Operational] {
            holds(schema, source, &snapshot(schema, &roots), &snapshot(schema, &after), &pick)?;
        }
    }
}
