//! Two who edited the same configuration: what of one can be brought into that of the other.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::CandidateError;
use crate::datastore::{DatastoreError, Edit, Operation, Snapshot, Store, edited, edits_between};
use crate::schema::{DataPath, Step, tree};

/// Who wins where both changed the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Resolution {
    /// Nobody: it is an error.
    #[default]
    Revert,
    /// The candidate, as if there was no conflict.
    Ignore,
    /// The running configuration: conflicting edits of the candidate are given up.
    Overwrite,
}

impl Resolution {
    /// As the resolution modes of draft-ietf-netconf-privcand are called.
    pub fn named(name: &str) -> Option<Resolution> {
        match name {
            "revert-on-conflict" => Some(Resolution::Revert),
            "ignore" => Some(Resolution::Ignore),
            "overwrite" => Some(Resolution::Overwrite),
            _ => None,
        }
    }
}

/// The edits of configuration that lead from one state to another.
pub fn between(from: &Snapshot, to: &Snapshot) -> Vec<Edit> {
    edits_between(from.schema, Store::Config, &from.config.input, &to.config.input)
}

/// The edits that bring what differs between `base` and `mine` into `present`.
///
/// Two edits are in conflict where one is about what the other is in, unless they do the same. Beyond that, what is brought in must
/// not take away anything by itself (the other case of a choice).
///
/// # Errors
/// Names the paths that are in conflict.
pub fn merge(
    base: &Snapshot,
    mine: &Snapshot,
    present: &Snapshot,
    resolution: Resolution,
) -> Result<Vec<Edit>, DatastoreError> {
    let schema = base.schema;
    let edits = between(base, mine);
    if base.config.input.ptr_eq(&present.config.input) {
        return Ok(edits);
    }
    let theirs = Paths::of(between(base, present));
    let (against, mut edits): (Vec<Edit>, Vec<Edit>) =
        edits.into_iter().partition(|edit| theirs.related(&edit.path).any(|other| !same(edit, other)));
    let conflict = |paths: Vec<&DataPath>| -> DatastoreError {
        let mut paths: Vec<String> = paths.into_iter().map(|path| path.display(schema)).collect();
        paths.dedup();
        CandidateError::Conflict { paths, base: base.revision }.into()
    };
    match resolution {
        Resolution::Revert if !against.is_empty() => {
            return Err(conflict(against.iter().map(|edit| &edit.path).collect()));
        }
        Resolution::Revert | Resolution::Overwrite => {}
        Resolution::Ignore => {
            let wanted = against.into_iter().map(|edit| restored(mine, &theirs, edit));
            edits.extend(wanted);
            // What is moved has to be there.
            edits.sort_by_key(|edit| edit.operation == Operation::Move);
            while let Some(number) = lost_move(present, &edits)? {
                edits.remove(number);
            }
            return Ok(edits);
        }
    }
    while let Some(number) = lost_move(present, &edits)? {
        let edit = edits.remove(number);
        if resolution == Resolution::Revert {
            return Err(conflict(vec![&edit.path]));
        }
    }
    let (merged, _) = edited(present, &edits)?;
    let mine = Paths::of(edits.clone());
    let beyond: Vec<Edit> = between(present, &merged);
    let beyond: Vec<&DataPath> =
        beyond.iter().map(|edit| &edit.path).filter(|path| !mine.covers(path)).collect();
    if beyond.is_empty() { Ok(edits) } else { Err(conflict(beyond)) }
}

/// A move that cannot be carried out, since others took away what moves or what it goes next to.
fn lost_move(present: &Snapshot, edits: &[Edit]) -> Result<Option<usize>, DatastoreError> {
    let is_move = |number: usize| edits.get(number).is_some_and(|edit| edit.operation == Operation::Move);
    match edited(present, edits) {
        Err(DatastoreError::AtEdit { number, .. }) if is_move(number) => Ok(Some(number)),
        outcome => outcome.map(|_| None),
    }
}

/// An edit that also works where others took away what it is in: then all of that comes back.
fn restored(mine: &Snapshot, theirs: &Paths, edit: Edit) -> Edit {
    let gone = theirs.above(&edit.path).find(|other| {
        let above = other.path.steps.len() < edit.path.steps.len();
        other.operation == Operation::Remove && (above || edit.operation == Operation::Move)
    });
    match gone.and_then(|other| Some((other.path.clone(), tree::get(&mine.config.input, &other.path)?))) {
        Some((path, node)) => Edit::put(Store::Config, path, node),
        None => edit,
    }
}

fn same(a: &Edit, b: &Edit) -> bool {
    a.path == b.path && a.operation == b.operation && a.node == b.node && a.position == b.position
}

/// Edits by path, so that relatives are found without looking at all of them.
struct Paths(BTreeMap<DataPath, Vec<Edit>>);

impl Paths {
    fn of(edits: Vec<Edit>) -> Paths {
        let mut paths: BTreeMap<DataPath, Vec<Edit>> = BTreeMap::new();
        for edit in edits {
            paths.entry(edit.path.clone()).or_default().push(edit);
        }
        Paths(paths)
    }

    /// Edits of what the path is in, and of the path itself.
    fn above<'a>(&'a self, path: &'a DataPath) -> impl Iterator<Item = &'a Edit> + 'a {
        let ends = 0..=path.steps.len();
        ends.flat_map(|end| {
            let exact = DataPath { steps: path.steps[..end].into() };
            // A list is what its entries are in.
            let whole = exact.steps.last().filter(|step| step.key.is_some()).map(|step| {
                let mut whole = exact.clone();
                if let Some(last) = whole.steps.last_mut() {
                    *last = Step { node: step.node, key: None };
                }
                whole
            });
            [Some(exact), whole].into_iter().flatten()
        })
        .filter_map(|path| self.0.get(&path))
        .flatten()
    }

    /// Edits of what is in the path.
    fn below<'a>(&'a self, path: &'a DataPath) -> impl Iterator<Item = &'a Edit> + 'a {
        let inside = move |(other, _): &(&DataPath, _)| {
            let Some((last, above)) = path.steps.split_last() else { return true };
            let is_last =
                |step: &Step| step.node == last.node && (last.key.is_none() || step.key == last.key);
            other.steps.starts_with(above) && other.steps.get(above.len()).is_some_and(is_last)
        };
        let behind = (Bound::Excluded(path), Bound::Unbounded);
        self.0.range::<DataPath, _>(behind).take_while(inside).flat_map(|(_, edits)| edits)
    }

    fn related<'a>(&'a self, path: &'a DataPath) -> impl Iterator<Item = &'a Edit> + 'a {
        self.above(path).chain(self.below(path))
    }

    fn covers(&self, path: &DataPath) -> bool {
        self.above(path).next().is_some()
    }
}
