//! YANG Patch: RFC 8072. All edits are one transaction; the status tells of each.

mod body;
mod status;

use std::collections::HashSet;

use axum::http::{HeaderMap, StatusCode};

use self::body::{EditBody, Patch};
use self::status::Outcome;
pub use self::status::Patched;
use super::face::Face;
use super::media::Encoding;
use super::query::Insert;
use super::way::{Carried, Way};
use super::{App, Problem, Problems, bounds, conditions, write};
use crate::datastore::{DatastoreError, Edit, Operation, Planned, Store, Transaction};
use crate::schema::{DataPath, Schema};

/// What is asked.
pub struct Request<'a> {
    pub user: &'a str,
    pub face: Face,
    pub path: &'a DataPath,
    pub headers: &'a HeaderMap,
    pub encoding: Encoding,
    pub body: &'a [u8],
}

/// What is wrong with each edit, and what concerns none of them alone.
#[derive(Default)]
struct Faults {
    edits: Vec<Option<Problems>>,
    /// Edits from this one on were not looked at.
    reached: usize,
    others: Vec<Problem>,
}

/// Carries a patch of a resource out.
///
/// # Errors
/// When the body is no YANG Patch; what is wrong with edits is in the answer.
pub async fn patch(app: &App, request: Request<'_>, way: &Way) -> Result<Patched, Problems> {
    let path = request.path;
    let Read { id, ids, transaction, faults } = read(app, request)?;
    if !faults.is_empty() {
        return Ok(faults.answer(id, ids));
    }
    let schema = app.datastore.schema();
    let targets: Vec<String> = transaction.edits.iter().map(|edit| edit.path.display(schema)).collect();
    match way.commit(app, transaction).await {
        Ok(Carried { report, .. }) => {
            let changed = Some(path.clone());
            Ok(Patched { status: StatusCode::OK, changed, id, outcome: Outcome::Done, report })
        }
        Err(error) => {
            let mut faults = faults;
            faults.blame(error, &targets);
            Ok(faults.answer(id, ids))
        }
    }
}

/// What a patch would do.
///
/// # Errors
/// What is wrong with the body, with one of the edits, or with all of them together.
pub async fn plan(app: &App, request: Request<'_>) -> Result<Planned, Problems> {
    let Read { transaction, faults, .. } = read(app, request)?;
    if !faults.is_empty() {
        let found = faults.edits.into_iter().flatten().flat_map(|problems| problems.0);
        return Err(Problems(found.chain(faults.others).collect()));
    }
    Ok(app.datastore.plan(transaction).await?)
}

/// A patch made into a transaction; what is wrong with its edits is in `faults`.
struct Read {
    id: String,
    ids: Vec<String>,
    transaction: Transaction,
    faults: Faults,
}

fn read(app: &App, request: Request<'_>) -> Result<Read, Problems> {
    let Request { user, face, path, headers, encoding, body } = request;
    let snapshot = app.datastore.snapshot();
    let schema = snapshot.schema;
    let preconditions = conditions::of_write(headers, &app.datastore, face, path)?;
    let patch = Patch::read(encoding, body)?;
    let mut faults = Faults { reached: patch.edits.len(), ..Faults::default() };
    let mut known = HashSet::new();
    if let Some(twice) = patch.edits.iter().find(|edit| !known.insert(&*edit.id)) {
        let message = format!("two edits have the edit-id {:?}; give each its own", twice.id);
        faults.others.push(Problem::new("invalid-value", message));
    }
    let mut edits = Vec::with_capacity(patch.edits.len());
    for body in &patch.edits {
        let edit = edit(schema, face, path, body);
        faults.edits.push(edit.as_ref().err().cloned());
        edits.extend(edit);
    }
    if faults.is_empty() {
        bounds::edits(&snapshot, &app.limits, &edits)?;
    }
    let ids = patch.edits.into_iter().map(|edit| edit.id).collect();
    let transaction = Transaction::new(user, edits).if_all(preconditions);
    Ok(Read { id: patch.id, ids, transaction, faults })
}

/// One edit of the patch as one of a transaction.
fn edit(schema: &Schema, face: Face, base: &DataPath, body: &EditBody<'_>) -> Result<Edit, Problems> {
    let wrong = |message: String| Problems::from(Problem::new("invalid-value", message));
    let path = below(schema, face, base, &body.target)?;
    let (operation, has_value, is_placed) = match &*body.operation {
        "create" => (Operation::Create, true, false),
        "insert" => (Operation::Create, true, true),
        "merge" => (Operation::Merge, true, false),
        "replace" => (Operation::Replace, true, false),
        "delete" => (Operation::Delete, false, false),
        "remove" => (Operation::Remove, false, false),
        "move" => (Operation::Move, false, true),
        other => {
            let other: String = other.chars().take(64).collect();
            let known = "create, delete, insert, merge, move, replace and remove";
            return Err(wrong(format!("operation {other:?}: there are {known}")));
        }
    };
    if path.steps.is_empty() && matches!(operation, Operation::Create | Operation::Delete | Operation::Remove)
    {
        return Err(wrong(format!("the datastore itself takes no {}", body.operation)));
    }
    let node = match (body.has_value(), has_value) {
        (false, true) => {
            let message = format!("{} needs a value", body.operation);
            return Err(Problem::new("missing-element", message).at(path.display(schema)).into());
        }
        (true, false) => return Err(wrong(format!("{} takes no value", body.operation))),
        _ => body.node(schema, &path, face.mode())?,
    };
    if !is_placed && (body.point.is_some() || body.place.is_some()) {
        return Err(wrong(format!("{} takes neither where nor point", body.operation)));
    }
    let position = if is_placed {
        let insert = place(schema, face, base, body)?;
        Some(write::position(schema, &path, insert)?)
    } else {
        None
    };
    Ok(Edit { position, ..Edit::new(Store::Config, operation, path, node) })
}

fn place(schema: &Schema, face: Face, base: &DataPath, body: &EditBody<'_>) -> Result<Insert, Problems> {
    let point = || match &body.point {
        // Relative to the target resource as the target is; a path from the datastore will also do.
        Some(point) => below(schema, face, base, point)
            .or_else(|error| below(schema, face, &DataPath::root(), point).map_err(|_| error)),
        None => Err(Problem::new("missing-element", "where is before or after: that needs a point").into()),
    };
    match (body.place.as_deref().unwrap_or("last"), &body.point) {
        ("first", None) => Ok(Insert::First),
        ("last", None) => Ok(Insert::Last),
        ("before", _) => Ok(Insert::Before(point()?)),
        ("after", _) => Ok(Insert::After(point()?)),
        ("first" | "last", Some(_)) => {
            Err(Problem::new("invalid-value", "a point goes with where before or after only").into())
        }
        (other, _) => {
            let other: String = other.chars().take(64).collect();
            let message = format!("where {other:?}: say first, last, before or after");
            Err(Problem::new("invalid-value", message).into())
        }
    }
}

/// The path that an offset names below the target resource; `/` is the target itself.
fn below(schema: &Schema, face: Face, base: &DataPath, offset: &str) -> Result<DataPath, Problems> {
    if !offset.starts_with('/') {
        let offset: String = offset.chars().take(64).collect();
        let message = format!("{offset:?} does not begin with a slash, as targets and points do");
        return Err(Problem::new("invalid-value", message).into());
    }
    if offset == "/" {
        return Ok(base.clone());
    }
    let base = if face.is_legacy() { base.to_legacy(schema) } else { base.to_rfc8040(schema) };
    face.path(schema, &format!("{base}{offset}"))
}

impl Faults {
    fn is_empty(&self) -> bool {
        self.others.is_empty() && self.edits.iter().all(Option::is_none)
    }

    /// Finds the edit that a refusal is about.
    fn blame(&mut self, error: DatastoreError, targets: &[String]) {
        match error {
            DatastoreError::AtEdit { number, error } => {
                self.reached = number + 1;
                self.add(number, (*error).into());
            }
            error @ (DatastoreError::Invalid(_) | DatastoreError::Refused { .. }) => {
                for problem in Problems::from(error).0 {
                    let of = |target: &&String| {
                        let path = problem.path.as_deref().unwrap_or_default();
                        path.strip_prefix(&***target)
                            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '[']))
                    };
                    let closest = targets.iter().enumerate().filter(|(_, target)| of(target));
                    match closest.max_by_key(|(_, target)| target.len()) {
                        Some((number, _)) => self.add(number, problem.into()),
                        None => self.others.push(problem),
                    }
                }
            }
            DatastoreError::Precondition { .. }
            | DatastoreError::NotDurable { .. }
            | DatastoreError::Rendering { .. }
            | DatastoreError::Stopped
            | DatastoreError::NotActive
            | DatastoreError::Candidate(_)
            | DatastoreError::Conflict { .. } => self.others.extend(Problems::from(error).0),
            error if targets.len() == 1 => self.add(0, error.into()),
            error => self.others.extend(Problems::from(error).0),
        }
    }

    fn add(&mut self, number: usize, problems: Problems) {
        match self.edits.get_mut(number) {
            Some(Some(known)) => known.0.extend(problems.0),
            Some(none) => *none = Some(problems),
            None => self.others.extend(problems.0),
        }
    }

    /// The status is that of the first fault.
    fn answer(self, id: String, ids: Vec<String>) -> Patched {
        let first = self.edits.iter().flatten().map(Problems::status).next();
        let others = Problems(self.others);
        let code = if others.0.is_empty() { first } else { Some(others.status()) };
        let outcome = if others.0.is_empty() {
            Outcome::Edits(ids.into_iter().zip(self.edits).take(self.reached).collect())
        } else {
            Outcome::Refused(others)
        };
        let status = code.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Patched { status, changed: None, id, outcome, report: None }
    }
}
