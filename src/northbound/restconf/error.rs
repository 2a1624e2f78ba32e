//! The only place that turns errors into error-tags and tags into statuses (RFC 8040 section 7).

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::face::Face;
use super::media::Encoding;
use crate::datastore::{CandidateError, DatastoreError};
use crate::schema::BodyErrors;
use crate::schema::{PathError, Schema, TreeError, ValidationError, xml};

/// Conflicts of a candidate that one answer names.
const CONFLICTS: usize = 100;

/// One fault of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub tag: &'static str,
    pub app_tag: Option<String>,
    pub path: Option<String>,
    /// Names object, reason and next step.
    pub message: String,
    /// Where the field disagrees with the table of RFC 8040, or HTTP has its own word.
    pub status: Option<StatusCode>,
    /// What is possible where the method is not.
    pub allow: Option<&'static str>,
}

/// All faults of a request, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl Problem {
    pub fn new(tag: &'static str, message: impl Into<String>) -> Problem {
        Problem { tag, app_tag: None, path: None, message: message.into(), status: None, allow: None }
    }

    pub fn with_allow(mut self, methods: &'static str) -> Problem {
        self.allow = Some(methods);
        self
    }

    pub fn at(mut self, path: impl Into<String>) -> Problem {
        self.path = Some(path.into());
        self
    }

    pub fn with_status(mut self, status: StatusCode) -> Problem {
        self.status = Some(status);
        self
    }

    /// Nothing is there. 404 as in erratum 5565 of RFC 8040 and in OpenDaylight; the RFC's own table says 409.
    pub fn missing(path: impl Into<String>) -> Problem {
        let path = path.into();
        Problem::new("data-missing", format!("no data at {path}")).at(path).with_status(StatusCode::NOT_FOUND)
    }

    /// An instance-identifier names a node: there is none of the whole datastore (RFC 7950 section 9.13).
    fn shown_path(&self) -> Option<&str> {
        self.path.as_deref().filter(|path| *path != "/")
    }

    /// `error-type`: what is said about data comes from the application.
    fn kind(&self) -> &'static str {
        if self.path.is_some() { "application" } else { "protocol" }
    }

    fn status(&self) -> StatusCode {
        self.status.unwrap_or_else(|| status(self.tag))
    }
}

/// RFC 8040 section 7, table 4.
fn status(tag: &str) -> StatusCode {
    match tag {
        "in-use" | "lock-denied" | "resource-denied" | "data-exists" | "data-missing" => StatusCode::CONFLICT,
        "too-big" => StatusCode::PAYLOAD_TOO_LARGE,
        "access-denied" => StatusCode::FORBIDDEN,
        "operation-not-supported" => StatusCode::METHOD_NOT_ALLOWED,
        "operation-failed" => StatusCode::PRECONDITION_FAILED,
        "rollback-failed" | "partial-operation" => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::BAD_REQUEST,
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Problems(vec![problem])
    }
}

impl From<PathError> for Problem {
    fn from(error: PathError) -> Self {
        Problem::new(error.kind.error_tag(), error.to_string()).at(error.at)
    }
}

impl From<PathError> for Problems {
    fn from(error: PathError) -> Self {
        Problem::from(error).into()
    }
}

impl From<Vec<ValidationError>> for Problems {
    fn from(errors: Vec<ValidationError>) -> Self {
        Problems(errors.into_iter().map(Problem::from).collect())
    }
}

impl From<BodyErrors> for Problems {
    fn from(errors: BodyErrors) -> Self {
        let problem = |error: crate::schema::BodyError| {
            Problem::new(error.kind.error_tag(), error.message).at(error.path)
        };
        Problems(errors.0.into_iter().map(problem).collect())
    }
}

impl From<TreeError> for Problem {
    fn from(error: TreeError) -> Self {
        let message = error.to_string();
        match error {
            TreeError::ParentMissing { path, .. } => Problem::new("data-missing", message).at(path),
            TreeError::Shape { path, .. }
            | TreeError::KeyMismatch { path, .. }
            | TreeError::Order { path, .. }
            | TreeError::KeyLeaf { path } => Problem::new("invalid-value", message).at(path),
            TreeError::NotData { path, .. } => Problem::new("unknown-element", message).at(path),
        }
    }
}

impl From<ValidationError> for Problem {
    fn from(error: ValidationError) -> Self {
        let (tag, app_tag) = error.kind.tags();
        let app_tag = error.app_tag.or(app_tag.map(str::to_owned));
        Problem { tag, app_tag, path: Some(error.path), message: error.message, status: None, allow: None }
    }
}

impl From<CandidateError> for Problems {
    fn from(error: CandidateError) -> Self {
        let message = error.to_string();
        match error {
            CandidateError::None => {
                Problem::new("data-missing", message).with_status(StatusCode::NOT_FOUND).into()
            }
            CandidateError::Conflict { paths, base } => {
                let one = |path: String| {
                    let alone = CandidateError::Conflict { paths: vec![path.clone()], base };
                    Problem::new("in-use", alone.to_string()).at(path)
                };
                Problems(paths.into_iter().take(CONFLICTS).map(one).collect())
            }
            CandidateError::Expired(_)
            | CandidateError::TooMany(_)
            | CandidateError::TooManyEdits(_)
            | CandidateError::TooLong(_) => Problem::new("resource-denied", message).into(),
        }
    }
}

impl From<DatastoreError> for Problems {
    fn from(error: DatastoreError) -> Self {
        let message = error.to_string();
        match error {
            DatastoreError::Missing { path } => Problem::missing(path),
            DatastoreError::Exists { path } => Problem::new("data-exists", message).at(path),
            DatastoreError::DerivedOwned { path, .. } => Problem::new("resource-denied", message).at(path),
            DatastoreError::Tree(error) => error.into(),
            DatastoreError::Invalid(errors) => return errors.into(),
            DatastoreError::Denied(denial) => Problem::new("access-denied", message).at(denial.path),
            DatastoreError::Conflict { path, .. } => Problem::new("in-use", message).at(path),
            DatastoreError::Candidate(error) => return error.into(),
            DatastoreError::AtEdit { error, .. } => return (*error).into(),
            DatastoreError::Precondition { path } => Problem::new("operation-failed", message).at(path),
            DatastoreError::Refused { path, tag, .. } => Problem::new(tag, message).at(path),
            DatastoreError::NotDurable { .. } | DatastoreError::Rendering { .. } => {
                Problem::new("operation-failed", message).with_status(StatusCode::INTERNAL_SERVER_ERROR)
            }
            DatastoreError::Stopped | DatastoreError::NotActive => {
                Problem::new("operation-failed", message).with_status(StatusCode::SERVICE_UNAVAILABLE)
            }
        }
        .into()
    }
}

impl Problems {
    /// The status of the first fault: that is the one a client acts on.
    pub fn status(&self) -> StatusCode {
        self.0.first().map_or(StatusCode::INTERNAL_SERVER_ERROR, Problem::status)
    }

    /// The body, with the wrapper's name as the face spells it.
    pub fn body(&self, schema: &Schema, face: Face, encoding: Encoding) -> Vec<u8> {
        match encoding {
            Encoding::Json => {
                let name = if face.is_legacy() { "errors" } else { "ietf-restconf:errors" };
                json!({ name: self.errors() }).to_string().into_bytes()
            }
            Encoding::Xml => {
                let mut out = Vec::new();
                self.errors_xml(Some(xml::RESTCONF), &mut xml::Writer::new(schema, &mut out));
                out
            }
        }
    }

    /// The same container as XML, in a namespace of its own or in that around it.
    pub fn errors_xml(&self, namespace: Option<&str>, writer: &mut xml::Writer<'_>) {
        writer.start(namespace, "errors");
        for problem in &self.0 {
            writer.start(None, "error");
            writer.leaf("error-type", problem.kind());
            writer.leaf("error-tag", problem.tag);
            if let Some(tag) = &problem.app_tag {
                writer.leaf("error-app-tag", tag);
            }
            if let Some(path) = problem.shown_path() {
                writer.path("error-path", path);
            }
            writer.leaf("error-message", &problem.message);
            writer.end("error");
        }
        writer.end("errors");
    }

    /// The container `errors` of RFC 8040 section 8.
    pub fn errors(&self) -> Value {
        let one = |problem: &Problem| {
            let mut error = json!({
                "error-type": problem.kind(),
                "error-tag": problem.tag,
                "error-message": problem.message,
            });
            if let Some(path) = problem.shown_path() {
                error["error-path"] = json!(path);
            }
            if let Some(tag) = &problem.app_tag {
                error["error-app-tag"] = json!(tag);
            }
            error
        };
        let errors: Vec<Value> = self.0.iter().map(one).collect();
        json!({"error": errors})
    }
}
