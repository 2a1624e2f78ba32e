//! Requests on data resources: from HTTP to `read` and `write`, and back.

use std::sync::Arc;
use std::time::SystemTime;

use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};

use super::conditions::{self, Verdict};
use super::face::Face;
use super::media::{self, BodyKind, Encoding};
use super::read::{self, Found};
use super::way::{self, Fate};
use super::{
    App, Problem, Problems, answer, gzip, monitoring, operations, paging, patch, query, relay, stream, write,
};
use crate::access::Operation;
use crate::datastore::{Stamp, Store};
use crate::schema::{DataPath, Kind};

/// Answers up to so many bytes are made in one piece; longer ones are sent while they are made.
pub const ONE_PIECE: usize = 256 * 1024;

/// Answers a request on the data below a face's root.
///
/// # Errors
/// Whatever is wrong with it.
pub async fn handle(
    app: &App,
    user: &str,
    face: Face,
    raw: &str,
    parts: &Parts,
    body: Body,
) -> Result<Response<Body>, Problems> {
    let on_candidate = face.is_candidate().then(|| app.with(app.datastore.on_candidate()));
    let app = on_candidate.as_ref().unwrap_or(app);
    let method = match parts.method {
        Method::GET | Method::HEAD => return get(app, face, raw, parts).await,
        Method::OPTIONS => {
            query::none(parts.uri.query())?;
            return options(app, face, raw);
        }
        Method::POST => write::Method::Post,
        Method::PUT => write::Method::Put,
        Method::PATCH => write::Method::Patch,
        Method::DELETE => write::Method::Delete,
        _ => return Err(answer::not_allowed(&parts.method, face.methods(raw.trim_matches('/').is_empty()))),
    };
    // In a box: what a write keeps while it waits is large, and would be moved about with each read.
    Box::pin(put(app, user, face, raw, parts, body, method)).await
}

async fn put(
    app: &App,
    user: &str,
    face: Face,
    raw: &str,
    parts: &Parts,
    body: Body,
    method: write::Method,
) -> Result<Response<Body>, Problems> {
    let schema = app.datastore.schema();
    let path = match face.path(schema, raw) {
        Ok(path) => path,
        Err(problems) => {
            return match DataPath::parse_action(schema, raw.strip_prefix('/').unwrap_or(raw)) {
                Ok(path) if !face.is_legacy() && !face.is_candidate() => {
                    operations::action(app, user, face, path, parts, body).await
                }
                _ => Err(problems),
            };
        }
    };
    if !face.is_writable() {
        let message = match face {
            Face::Legacy(_) => {
                "operational data are what switches and renderers report; write configuration under /restconf/config"
            }
            _ => "this datastore follows from ietf-datastores:running; write there",
        };
        let methods = face.methods(path.steps.is_empty());
        return Err(Problem::new("operation-not-supported", message).with_allow(methods).into());
    }
    if path.steps.iter().any(|step| !schema.node(step.node).config) {
        let message = format!(
            "{} is state data: read it, and write the configuration it follows from",
            path.display(schema)
        );
        return Err(Problem::new("operation-not-supported", message).with_allow("GET, HEAD, OPTIONS").into());
    }
    let (way, query) = way::of(app, parts.uri.query())?;
    if face.is_candidate() && way.wait.is_some() {
        let message = "a candidate is not programmed; commit-candidate is what switches hear of";
        return Err(Problem::new("invalid-value", message).into());
    }
    if face.is_candidate() && matches!(way.fate, Fate::Confirm { .. }) {
        let message =
            "nothing is committed here that could go back; give confirm-timeout to commit-candidate";
        return Err(Problem::new("invalid-value", message).into());
    }
    let (headers, query) = (&parts.headers, query.as_deref());
    let (body, encoding) = match method {
        write::Method::Delete => (Bytes::new(), Encoding::Json),
        _ => match media::of_body(headers)? {
            BodyKind::Data(encoding) => (app.whole(body).await?, encoding),
            BodyKind::YangPatch(encoding) if method == write::Method::Patch => {
                query::none(query)?;
                let body = app.whole(body).await?;
                let request = patch::Request { user, face, path: &path, headers, encoding, body: &body };
                if way.fate == Fate::DryRun {
                    return Ok(way::planned(&patch::plan(app, request).await?));
                }
                let patched = patch::patch(app, request, &way).await?;
                let mut response = patched_answer(app, face, parts, patched);
                way.tell(app, &mut response);
                return Ok(response);
            }
            BodyKind::YangPatch(_) => {
                let problem = Problem::new("invalid-value", "a YANG Patch is sent with PATCH");
                return Err(problem.with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE).into());
            }
        },
    };
    let request = write::Request { user, face, method, path, headers, query, body: &body, encoding };
    if way.fate == Fate::DryRun {
        return Ok(way::planned(&write::plan(app, request).await?));
    }
    let written = write::write(app, request, &way).await?;
    let mut response = done(app, face, written);
    way.tell(app, &mut response);
    Ok(response)
}

/// The methods that this resource has for this user.
fn allowed(app: &App, face: Face, path: &DataPath) -> String {
    let schema = app.datastore.schema();
    let is_config = path.steps.iter().all(|step| schema.node(step.node).config);
    let last = path.last_node().map(|id| schema.node(id));
    let is_leaf = |kind: &Kind| matches!(kind, Kind::Leaf { .. } | Kind::LeafList { .. } | Kind::Any { .. });
    let may = |operation| app.datastore.may_try(path, operation);
    let may_write = face.is_writable() && is_config && (may(Operation::Create) || may(Operation::Update));
    let has_children = last.is_none_or(|node| !is_leaf(&node.kind));
    let list = last.and_then(|node| node.parent).map(|above| &schema.node(above).kind);
    let is_key =
        last.is_some_and(|node| matches!(list, Some(Kind::List { keys, .. }) if keys.contains(&node.id)));
    let may_delete = face.is_writable() && is_config && last.is_some() && !is_key && may(Operation::Delete);
    let methods = [
        ("GET", true),
        ("HEAD", true),
        ("OPTIONS", true),
        ("POST", may_write && has_children),
        ("PUT", may_write),
        ("PATCH", may_write),
        ("DELETE", may_delete),
    ];
    let methods: Vec<&str> = methods.into_iter().filter(|(_, has)| *has).map(|(method, _)| method).collect();
    methods.join(", ")
}

fn options(app: &App, face: Face, raw: &str) -> Result<Response<Body>, Problems> {
    let schema = app.datastore.schema();
    match face.path(schema, raw) {
        Ok(path) => Ok(answer::allow(&allowed(app, face, &path))),
        Err(problems) => match DataPath::parse_action(schema, raw.strip_prefix('/').unwrap_or(raw)) {
            Ok(_) if !face.is_legacy() && !face.is_candidate() => Ok(answer::allow(operations::METHODS)),
            _ => Err(problems),
        },
    }
}

/// The answer to a write, with the tag of what is there now unless somebody else has been there since.
fn done(app: &App, face: Face, written: write::Written) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = written.status;
    let headers = response.headers_mut();
    if let Some(location) = written.location.and_then(|location| HeaderValue::from_str(&location).ok()) {
        headers.insert(header::LOCATION, location);
    }
    if let Some((path, revision)) = written.resource
        && let Some(stamp) = stamp(app, face, &path)
        && stamp.latest() <= revision
    {
        Validators::of(app, stamp, "").put(headers);
    }
    if let Some(report) = &written.report {
        report.tell(&mut response, true);
    }
    response
}

/// What the tag of a resource of the configuration is made of now.
fn stamp(app: &App, face: Face, path: &DataPath) -> Option<Stamp> {
    let snapshot = app.datastore.snapshot();
    if face.shows_written() {
        snapshot.stamp_of_written(Store::Config, path)
    } else {
        snapshot.stamp(Store::Config, path)
    }
}

/// The answer to a YANG Patch, whose status says what became of each edit.
fn patched_answer(app: &App, face: Face, parts: &Parts, patched: patch::Patched) -> Response<Body> {
    let media = media::of_answer(&parts.headers, face).unwrap_or(media::usual(face));
    let body = patched.body(app.datastore.schema(), media.encoding);
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = patched.status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media.name));
    if let Some(path) = patched.changed
        && let Some(stamp) = stamp(app, face, &path)
    {
        Validators::of(app, stamp, "").put(response.headers_mut());
    }
    if let Some(report) = &patched.report {
        report.tell(&mut response, false);
    }
    response
}

/// `ETag` and `Last-Modified`.
struct Validators {
    tag: String,
    modified: SystemTime,
}

impl Validators {
    fn of(app: &App, stamp: Stamp, suffix: &str) -> Validators {
        let modified = app.datastore.time_of(stamp.latest());
        Validators { tag: conditions::etag(stamp, suffix), modified }
    }

    fn put(&self, headers: &mut HeaderMap) {
        if let Ok(tag) = HeaderValue::from_str(&self.tag) {
            headers.insert(header::ETAG, tag);
        }
        if let Ok(modified) = HeaderValue::from_str(&httpdate::fmt_http_date(self.modified)) {
            headers.insert(header::LAST_MODIFIED, modified);
        }
    }
}

async fn get(app: &App, face: Face, raw: &str, parts: &Parts) -> Result<Response<Body>, Problems> {
    let snapshot = app.datastore.snapshot();
    let path = face.path(snapshot.schema, raw)?;
    let media = media::of_read(&parts.headers, face, paging::is_list(snapshot.schema, &path).is_some())?;
    let query = query::read(snapshot.schema, face, &path, parts.uri.query())?;
    let shows_state = read::shows_state(face, &query);
    let live = match &app.live {
        Some(live) if shows_state => live(snapshot.clone(), path.clone()).await,
        _ => None,
    };
    let is_live = live.is_some();
    let base = live.as_ref().unwrap_or(&snapshot);
    let located = shows_state.then(|| monitoring::located(base, &path, || relay::origin(parts))).flatten();
    let more = located.map(Arc::new).or(live);
    let snapshot = more.map_or(snapshot, |more| app.datastore.readable(more));
    let mut found = if query.page.looks_at_all() {
        stream::aside(move || read::read(snapshot, face, path, query)).await?
    } else {
        read::read(snapshot, face, path, query)?
    };
    found.in_list = media.is_list();
    if is_live {
        // Counters move without a revision: no tag says that they are the same.
        found.stamp = None;
    }
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::VARY, HeaderValue::from_static("accept, accept-encoding"));
    if let Some(stamp) = found.stamp {
        let validators = Validators::of(app, stamp, media.suffix());
        validators.put(headers);
        match conditions::of_read(&parts.headers, Some(&validators.tag), validators.modified, found.fresh)? {
            Verdict::Send => {}
            Verdict::NotModified => {
                *response.status_mut() = StatusCode::NOT_MODIFIED;
                return Ok(response);
            }
            Verdict::Failed => {
                let message = "the resource is not as the precondition wants it; read it again without one";
                return Err(Problem::new("operation-failed", message).into());
            }
        }
    }
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media.name));
    pages(&found, parts, headers);
    let as_sent = AsSent { encoding: media.encoding, gzip: gzip::wanted(&parts.headers) };
    fill(&mut response, found, as_sent, parts.method == Method::HEAD)?;
    Ok(response)
}

/// Where the pages around this one are (RFC 8288), and how much is behind it.
fn pages(found: &Found, parts: &Parts, headers: &mut HeaderMap) {
    let Some(turned) = &found.turned else { return };
    headers.insert("x-remaining", HeaderValue::from(turned.remaining));
    let kept = parts.uri.query().unwrap_or_default().split('&');
    let kept: Vec<&str> = kept
        .filter(|pair| !pair.is_empty() && !pair.starts_with("cursor=") && !pair.starts_with("offset="))
        .collect();
    let mut link = |relation: &str, start: String| {
        let link = format!("<{}?{}&{start}>; rel=\"{relation}\"", parts.uri.path(), kept.join("&"));
        if let Ok(link) = HeaderValue::from_str(&link) {
            headers.append(header::LINK, link);
        }
    };
    match &turned.next {
        Some(next) => link("next", format!("cursor={}", next.replace('%', "%25"))),
        // Entries without names are counted.
        None if turned.remaining > 0 => link("next", format!("offset={}", found.until)),
        None => {}
    }
    if let Some(previous) = &turned.previous {
        link("prev", format!("cursor={}", previous.replace('%', "%25")));
    }
}

/// JSON with lines and indentation.
fn indented(text: Vec<u8>) -> Vec<u8> {
    let value: Option<serde_json::Value> = serde_json::from_slice(&text).ok();
    value.and_then(|value| serde_json::to_vec_pretty(&value).ok()).unwrap_or(text)
}

/// How an answer goes out.
#[derive(Clone, Copy)]
pub struct AsSent {
    pub encoding: Encoding,
    pub gzip: bool,
}

/// Puts the data into the response: at once if they are few, else piece by piece.
fn fill(response: &mut Response<Body>, found: Found, as_sent: AsSent, head: bool) -> Result<(), Problems> {
    let mut out = Vec::new();
    let complete = found.write(as_sent.encoding, &mut out, &mut |out| out.len() < ONE_PIECE)?;
    if complete && found.pretty() && as_sent.encoding == Encoding::Json {
        out = indented(out);
    }
    if as_sent.gzip && (!complete || out.len() >= gzip::LEAST) {
        gzip::mark(response.headers_mut());
        if complete {
            out = gzip::whole(&out);
        }
    }
    if complete {
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(out.len()));
    }
    *response.body_mut() = match (head, complete) {
        (true, _) => Body::empty(),
        (false, true) => Body::from(out),
        (false, false) => stream::body(found, as_sent),
    };
    Ok(())
}
