//! Where a path leads.

use axum::body::Body;
use axum::http::{Response, StatusCode};

use super::discovery::{self, Document};
use super::face::{Datastore, Face};
use super::{App, Problem, Problems, Relay, answer};
use crate::datastore::Store;

/// A resource, and what is left of the path below it.
pub enum Target<'a> {
    Data(Face, &'a str),
    Operation(&'a str),
    Document(Document),
    /// JSON that no module describes.
    Json(serde_json::Value),
    /// The text of a module (RFC 8040 section 3.7).
    Module(&'static str),
}

/// What a path names, for those who are let in.
///
/// # Errors
/// 404 where there is nothing.
pub fn target<'a>(app: &App, path: &'a str) -> Result<Target<'a>, Problems> {
    if path.contains("/yang-ext:mount") {
        let message = "there are no mount points; each controller serves its own data only";
        let problem = Problem::new("operation-not-supported", message);
        return Err(problem.with_status(StatusCode::NOT_IMPLEMENTED).into());
    }
    let below = |root: &str| path.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    if let Some(rest) = below("/rests/data") {
        return Ok(Target::Data(Face::Rests, rest));
    }
    if let Some(rest) = below("/restconf/config") {
        return Ok(Target::Data(Face::Legacy(Store::Config), rest));
    }
    if let Some(rest) = below("/restconf/operational") {
        return Ok(Target::Data(Face::Legacy(Store::Operational), rest));
    }
    if let Some(rest) = path.strip_prefix("/rests/ds/") {
        let (name, _) = rest.split_once('/').unwrap_or((rest, ""));
        return Ok(Target::Data(Face::Ds(Datastore::named(name)?), &rest[name.len()..]));
    }
    if let Some(rest) = path.strip_prefix("/rests/operations/").or(path.strip_prefix("/restconf/operations/"))
        && !rest.is_empty()
    {
        return Ok(Target::Operation(rest));
    }
    if let Some(file) = path.strip_prefix("/rests/modules/") {
        let found = app.datastore.schema().source_named(file);
        return found.map(Target::Module).ok_or_else(|| {
            let message = format!("there is no module {file:?}; ask for one that ietf-yang-library:yang-library lists, as NAME or NAME@REVISION");
            Problem::new("invalid-value", message).with_status(StatusCode::NOT_FOUND).into()
        });
    }
    if let Some(named) = path.strip_prefix("/restconf/modules/module/") {
        let (name, revision) = named.trim_end_matches('/').split_once('/').unwrap_or((named, ""));
        let found = discovery::module(app.datastore.schema(), name, revision);
        return found.map(Target::Json).ok_or_else(|| {
            let message = format!(
                "there is no module {named:?}; ask for one that /restconf/modules lists, as NAME/REVISION"
            );
            Problem::new("data-missing", message).with_status(StatusCode::NOT_FOUND).into()
        });
    }
    match path.strip_suffix('/').unwrap_or(path) {
        "/rests" | "/restconf" => Ok(Target::Document(Document::Root)),
        "/rests/operations" | "/restconf/operations" => Ok(Target::Document(Document::Operations)),
        "/rests/yang-library-version" | "/restconf/yang-library-version" => {
            Ok(Target::Document(Document::LibraryVersion))
        }
        "/openapi.json" => {
            let schema = app.datastore.schema();
            let operations: Vec<_> = app.operations.all().collect();
            Ok(Target::Json(crate::northbound::openapi::document(schema, &operations)))
        }
        "/restconf/modules" => Ok(Target::Json(discovery::modules(app.datastore.schema()))),
        _ => {
            let message = format!("{path} is no resource; data are below /rests/data or /restconf/config");
            Err(Problem::new("invalid-value", message).with_status(StatusCode::NOT_FOUND).into())
        }
    }
}

/// What needs no login.
pub fn open(app: &App, path: &str) -> Option<Response<Body>> {
    let (status, kind, text) = match path {
        "/livez" => (StatusCode::OK, "text/plain", "alive\n".to_owned()),
        "/readyz" => {
            let waiting = app.readiness.waiting();
            if let Some(text) = app.relay.as_ref().and_then(Relay::following) {
                (StatusCode::OK, "text/plain", text)
            } else if waiting.is_empty() {
                (StatusCode::OK, "text/plain", "ready\n".to_owned())
            } else {
                let text = format!("waiting for {}\n", waiting.join(", "));
                (StatusCode::SERVICE_UNAVAILABLE, "text/plain", text)
            }
        }
        "/.well-known/host-meta" => (StatusCode::OK, "application/xrd+xml", discovery::HOST_META.to_owned()),
        "/.well-known/host-meta.json" => {
            (StatusCode::OK, "application/json", discovery::host_meta_json().to_string())
        }
        _ => return None,
    };
    Some(answer::text(status, kind, text.into_bytes()))
}
