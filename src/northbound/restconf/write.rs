//! POST, PUT, PATCH and DELETE: each is one transaction of one edit.

use axum::http::StatusCode;

use super::face::Face;
use super::{App, Problem, Problems};
use crate::datastore::{Edit, Operation, Store, Transaction};
use crate::schema::{DataPath, json};

/// A write that was carried out.
pub struct Written {
    pub status: StatusCode,
    /// Where a new resource is.
    pub location: Option<String>,
}

/// The four ways to write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    Post,
    Put,
    Patch,
    Delete,
}

/// # Errors
/// Everything that is wrong with the request, or that the datastore refuses.
pub async fn write(
    app: &App,
    user: &str,
    face: Face,
    method: Method,
    path: DataPath,
    body: &[u8],
) -> Result<Written, Problems> {
    if face == Face::Legacy(Store::Operational) {
        let message = "operational data are what switches and renderers report; write configuration under /restconf/config";
        return Err(Problem::new("operation-not-supported", message).into());
    }
    let schema = app.datastore.snapshot().schema;
    let there = |path: &DataPath| app.datastore.snapshot().written(Store::Config, path).is_some();
    let (operation, path, node) = match method {
        Method::Post => {
            if !path.steps.is_empty()
                && app.datastore.snapshot().read(Store::Config, &path).is_none()
                && is_entry(&path)
            {
                return Err(Problem::missing(path.display(schema)).into());
            }
            let (child, node) = json::parse_child(schema, &path, body, face.mode())?;
            (Operation::Create, child, Some(node))
        }
        Method::Put => {
            (Operation::Replace, path.clone(), Some(json::parse_resource(schema, &path, body, face.mode())?))
        }
        Method::Patch => {
            let node = json::parse_resource(schema, &path, body, face.mode())?;
            if is_entry(&path) && app.datastore.snapshot().read(Store::Config, &path).is_none() {
                return Err(Problem::missing(path.display(schema)).into());
            }
            (Operation::Merge, path, Some(node))
        }
        Method::Delete if path.steps.is_empty() => {
            return Err(
                Problem::new("operation-not-supported", "the datastore itself cannot be deleted").into()
            );
        }
        Method::Delete => (Operation::Delete, path, None),
    };
    let existed = path.steps.is_empty() || there(&path);
    let location = (method == Method::Post || method == Method::Put && !existed)
        .then(|| format!("/rests/data/{}", path.to_rfc8040(schema)));
    let edit = Edit { store: Store::Config, operation, path, node };
    let committed = app.datastore.commit(Transaction::new(user, vec![edit])).await?;
    let created = committed.created.first().copied().unwrap_or_default();
    let status = match method {
        Method::Post => face.posted(),
        Method::Put if created => StatusCode::CREATED,
        Method::Put | Method::Patch => face.replaced(),
        Method::Delete => face.deleted(),
    };
    Ok(Written { status, location: location.filter(|_| created || method == Method::Post) })
}

/// A list entry: PATCH never makes one.
fn is_entry(path: &DataPath) -> bool {
    path.steps.last().is_some_and(|step| step.key.is_some())
}
