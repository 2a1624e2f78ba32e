//! RPCs and actions: RFC 8040 sections 3.6 and 4.4.2. Who can do something registers it under its schema node.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, Response, StatusCode, header};

use super::face::Face;
use super::media::{self, BodyKind};
use super::{App, Problem, Problems, answer, query};
use crate::datastore::{Handle, Store};
use crate::schema::{DataPath, Fields, Schema, SchemaId, merge_layers, validate_input, validate_output};

/// One call. The input has been validated.
pub struct Call {
    pub user: String,
    /// Ends in the operation; above an action stands the data node that it is about.
    pub path: DataPath,
    pub input: Fields,
    pub datastore: Handle,
}

/// The output, or why there is none.
pub type Outcome = Result<Fields, Problems>;

type Handler = Arc<dyn Fn(Call) -> Pin<Box<dyn Future<Output = Outcome> + Send>> + Send + Sync>;

/// The operations that somebody carries out.
#[derive(Clone, Default)]
pub struct Operations {
    handlers: BTreeMap<SchemaId, Handler>,
}

impl Operations {
    /// Has calls of an RPC or action answered by `handler`.
    pub fn on<F, Fut>(&mut self, operation: SchemaId, handler: F)
    where
        F: Fn(Call) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Outcome> + Send + 'static,
    {
        self.handlers.insert(operation, Arc::new(move |call| Box::pin(handler(call))));
    }

    /// All RPCs and actions that are carried out.
    pub fn all(&self) -> impl Iterator<Item = SchemaId> + '_ {
        self.handlers.keys().copied()
    }

    /// The RPCs among them.
    pub fn rpcs<'a>(&'a self, schema: &'a Schema) -> impl Iterator<Item = SchemaId> + 'a {
        self.handlers.keys().copied().filter(|id| schema.node(*id).parent.is_none())
    }
}

/// Methods of an operation, for `Allow`.
pub const METHODS: &str = "OPTIONS, POST";

/// Answers a request on the operation resource `rest` (without `operations/`).
///
/// # Errors
/// Whatever is wrong with it, or with the call.
pub async fn rpc(
    app: &App,
    user: &str,
    face: Face,
    rest: &str,
    parts: &Parts,
    body: Body,
) -> Result<Response<Body>, Problems> {
    let schema = app.datastore.schema();
    let path = DataPath::parse_rpc(schema, rest.strip_suffix('/').unwrap_or(rest))
        .map_err(|error| Problem::from(error).with_status(StatusCode::NOT_FOUND))?;
    invoke(app, user, face, path, parts, body).await
}

/// Answers a request on an action of a data resource.
///
/// # Errors
/// As [`rpc`]; also when the data resource is not there.
pub async fn action(
    app: &App,
    user: &str,
    face: Face,
    path: DataPath,
    parts: &Parts,
    body: Body,
) -> Result<Response<Body>, Problems> {
    let snapshot = app.datastore.snapshot();
    let parent = path.parent().unwrap_or_default();
    let there = |store| snapshot.stamp(store, &parent).is_some();
    if !there(Store::Config) && !there(Store::Operational) {
        return Err(Problem::missing(parent.display(snapshot.schema)).into());
    }
    invoke(app, user, face, path, parts, body).await
}

async fn invoke(
    app: &App,
    user: &str,
    face: Face,
    path: DataPath,
    parts: &Parts,
    body: Body,
) -> Result<Response<Body>, Problems> {
    match parts.method {
        Method::POST => {}
        Method::OPTIONS => return Ok(answer::allow(METHODS)),
        _ => return Err(answer::not_allowed(&parts.method, METHODS)),
    }
    query::none(parts.uri.query())?;
    app.datastore.may_invoke(&path)?;
    let media = media::of_answer(&parts.headers, face)?;
    let schema = app.datastore.schema();
    let Some((operation, handler)) =
        path.last_node().and_then(|id| Some((id, app.operations.handlers.get(&id)?)))
    else {
        let message = format!("{} is in the models, but nobody here carries it out", path.display(schema));
        let problem = Problem::new("operation-not-supported", message).at(path.display(schema));
        return Err(problem.with_status(StatusCode::NOT_IMPLEMENTED).into());
    };
    let body = app.whole(body).await?;
    let BodyKind::Data(encoding) = media::of_body(&parts.headers)? else {
        let problem = Problem::new("invalid-value", "a YANG Patch is sent with PATCH");
        return Err(problem.with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE).into());
    };
    let input = encoding.input(schema, &path, &body, face.mode())?;
    validate_input(schema, &root(app), &path, &input).map_err(Problems::from)?;
    let call = Call { user: user.to_owned(), path: path.clone(), input, datastore: app.datastore.clone() };
    let output = handler(call).await?;
    if let Err(errors) = validate_output(schema, &root(app), &path, &output) {
        let reasons: Vec<String> = errors.iter().map(ToString::to_string).collect();
        tracing::error!(
            path = path.display(schema),
            reasons = reasons.join("; "),
            "an output breaks its model"
        );
        let message = "the operation was carried out, but its output breaks the model; please report it";
        let problem = Problem::new("operation-failed", message);
        return Err(problem.with_status(StatusCode::INTERNAL_SERVER_ERROR).into());
    }
    let mut response = Response::new(Body::empty());
    if output.is_empty() {
        *response.status_mut() = StatusCode::NO_CONTENT;
    } else {
        let text = Bytes::from(media.encoding.output(schema, operation, &output));
        *response.body_mut() = Body::from(text);
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media.name));
    }
    Ok(response)
}

/// What the conditions of a model look at.
fn root(app: &App) -> Fields {
    let snapshot = app.datastore.snapshot();
    let whole = |store| {
        let layers = snapshot.layers(store);
        merge_layers(&layers.input, &layers.derived)
    };
    merge_layers(&whole(Store::Config), &whole(Store::Operational))
}
