//! POST, PUT, PATCH and DELETE: each is one transaction of one edit.

use axum::http::{HeaderMap, StatusCode};

use super::face::Face;
use super::media::Encoding;
use super::query::Insert;
use super::wait::Report;
use super::way::{Carried, Way};
use super::{App, Problem, Problems, bounds, conditions, query};
use crate::datastore::{Edit, Operation, Planned, Revision, Store, Transaction};
use crate::schema::{DataPath, Kind, Node, Position, Schema, Step, user_ordered};

/// A write that was carried out.
pub struct Written {
    pub status: StatusCode,
    /// Where a new resource is.
    pub location: Option<String>,
    /// What was written, and the revision that did it; none for what is gone.
    pub resource: Option<(DataPath, Revision)>,
    /// How far the switches are, if that was waited for.
    pub report: Option<Report>,
}

/// The four ways to write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    Post,
    Put,
    Patch,
    Delete,
}

/// What is asked.
pub struct Request<'a> {
    pub user: &'a str,
    pub face: Face,
    pub method: Method,
    pub path: DataPath,
    pub headers: &'a HeaderMap,
    pub query: Option<&'a str>,
    pub body: &'a [u8],
    pub encoding: Encoding,
}

/// # Errors
/// Everything that is wrong with the request, or that the datastore refuses.
pub async fn write(app: &App, request: Request<'_>, way: &Way) -> Result<Written, Problems> {
    let (face, method) = (request.face, request.method);
    let schema = app.datastore.schema();
    let (transaction, at) = transaction(app, request)?;
    let Carried { committed, report } = way.commit(app, transaction).await?;
    let created = committed.created.first().copied().unwrap_or_default();
    let status = match method {
        Method::Post => face.posted(),
        Method::Put if created => StatusCode::CREATED,
        Method::Put | Method::Patch => face.replaced(),
        Method::Delete => face.deleted(),
    };
    let location =
        (created && matches!(method, Method::Post | Method::Put)).then(|| face.location(schema, &at));
    let resource = (method != Method::Delete).then_some((at, committed.revision));
    Ok(Written { status, location, resource, report })
}

/// What the write would do.
///
/// # Errors
/// As [`write`].
pub async fn plan(app: &App, request: Request<'_>) -> Result<Planned, Problems> {
    let (transaction, _) = transaction(app, request)?;
    Ok(app.datastore.plan(transaction).await?)
}

/// What is asked as a transaction, and the path it is about.
fn transaction(app: &App, request: Request<'_>) -> Result<(Transaction, DataPath), Problems> {
    let Request { user, face, method, path, headers, query, body, encoding } = request;
    let snapshot = app.datastore.snapshot();
    let schema = snapshot.schema;
    let insert = match method {
        Method::Post | Method::Put => query::insert(schema, face, query)?,
        Method::Patch | Method::Delete => {
            query::none(query)?;
            None
        }
    };
    let preconditions = conditions::of_write(headers, &app.datastore, face, &path)?;
    let there = |path: &DataPath| snapshot.stamp(Store::Config, path).is_some();
    let (operation, path, node) = match method {
        Method::Post => {
            if is_entry(&path) && !there(&path) {
                return Err(Problem::missing(path.display(schema)).into());
            }
            let (child, node) = encoding.child(schema, &path, body, face.mode())?;
            (Operation::Create, child, Some(node))
        }
        Method::Put => {
            let node = encoding.resource(schema, &path, body, face.mode())?;
            keep_from_wiping(&path, &node, !preconditions.is_empty())?;
            (Operation::Replace, path, Some(node))
        }
        Method::Patch => {
            let node = encoding.resource(schema, &path, body, face.mode())?;
            let needed = needed(schema, &path);
            if !there(&needed) {
                return Err(Problem::missing(needed.display(schema)).into());
            }
            (Operation::Merge, path, Some(node))
        }
        Method::Delete if path.steps.is_empty() => {
            let message = "the datastore itself cannot be deleted";
            return Err(Problem::new("operation-not-supported", message)
                .with_allow(face.methods(true))
                .into());
        }
        Method::Delete => (Operation::Delete, path, None),
    };
    let position = insert.map(|insert| position(schema, &path, insert)).transpose()?;
    let at = path.clone();
    let edit = Edit { store: Store::Config, operation, path, node, position };
    let transaction = Transaction::new(user, vec![edit]).if_all(preconditions);
    bounds::edits(&snapshot, &app.limits, &transaction.edits)?;
    Ok((transaction, at))
}

/// What has to be there for PATCH, which makes no resource (RFC 8040 section 4.6). A container without presence is there with what is around
/// it (RFC 7950 section 7.5.1), and so is a leaf with a default; a list is what its entries are in.
fn needed(schema: &Schema, path: &DataPath) -> DataPath {
    let is_implied = |step: &Step| match &schema.node(step.node).kind {
        Kind::Container { presence } => !presence,
        Kind::Leaf { default, .. } => default.is_some(),
        Kind::List { .. } | Kind::LeafList { .. } => step.key.is_none(),
        _ => false,
    };
    let mut needed = path.clone();
    while needed.steps.last().is_some_and(is_implied) {
        needed.steps.pop();
    }
    needed
}

/// A list entry.
fn is_entry(path: &DataPath) -> bool {
    path.steps.last().is_some_and(|step| step.key.is_some())
}

/// An empty datastore would take everything away: that must have been read before.
fn keep_from_wiping(path: &DataPath, node: &Node, conditional: bool) -> Result<(), Problems> {
    let empty = matches!(node, Node::Container(fields) if fields.is_empty());
    if path.steps.is_empty() && empty && !conditional {
        let message = "this would delete the whole configuration; if that is meant, send the datastore's ETag with If-Match";
        let problem = Problem::new("operation-failed", message).at("/");
        return Err(problem.with_status(StatusCode::PRECONDITION_REQUIRED).into());
    }
    Ok(())
}

/// Where a query wants the entry at `path`.
///
/// # Errors
/// When the list is not ordered by the user, or the point is in another list.
pub fn position(schema: &Schema, path: &DataPath, insert: Insert) -> Result<Position, Problems> {
    let ordered = path.steps.last().filter(|step| step.key.is_some() && user_ordered(schema, step.node));
    if ordered.is_none() {
        let message = "insert is for entries of lists and leaf-lists that are ordered by the user";
        return Err(Problem::new("invalid-value", message).at(path.display(schema)).into());
    }
    let key = |point: DataPath| {
        let beside = point.parent() == path.parent() && point.last_node() == path.last_node();
        point.steps.last().and_then(|step| step.key.clone()).filter(|_| beside).ok_or_else(|| {
            let message = format!(
                "point {} is not an entry of the list that {} is in",
                point.display(schema),
                path.display(schema)
            );
            Problems::from(Problem::new("invalid-value", message).at(path.display(schema)))
        })
    };
    Ok(match insert {
        Insert::First => Position::First,
        Insert::Last => Position::Last,
        Insert::Before(point) => Position::Before(key(point)?),
        Insert::After(point) => Position::After(key(point)?),
    })
}
