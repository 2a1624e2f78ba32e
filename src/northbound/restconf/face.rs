//! The faces: how each spells paths and answers success.

use axum::http::StatusCode;

use super::{Problem, Problems};
use crate::datastore::Store;
use crate::schema::json::Mode;
use crate::schema::{DataPath, Schema};

/// The datastores of RFC 8342 that have a resource of their own (RFC 8527 section 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Datastore {
    /// What was written.
    Running,
    /// What the user has edited of that, and not committed yet.
    Candidate,
    /// That, and the configuration that follows from it.
    Intended,
    /// Everything in use: intended configuration, and what switches and renderers report.
    Operational,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Face {
    /// RFC 8040.
    Rests,
    /// One datastore, RFC 8527.
    Ds(Datastore),
    /// OpenDaylight's draft-bierman-02 root, for one of its two stores.
    Legacy(Store),
}

impl Datastore {
    /// # Errors
    /// Lists the datastores that there are.
    pub fn named(name: &str) -> Result<Datastore, Problems> {
        match name.strip_prefix("ietf-datastores:") {
            Some("running") => Ok(Datastore::Running),
            Some("candidate") => Ok(Datastore::Candidate),
            Some("intended") => Ok(Datastore::Intended),
            Some("operational") => Ok(Datastore::Operational),
            _ => {
                let name: String = name.chars().take(64).collect();
                let known = "running, candidate, intended and operational";
                let message = format!("no datastore is named {name:?}; of ietf-datastores there are {known}");
                Err(Problem::new("invalid-value", message).with_status(StatusCode::NOT_FOUND).into())
            }
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Datastore::Running => "running",
            Datastore::Candidate => "candidate",
            Datastore::Intended => "intended",
            Datastore::Operational => "operational",
        }
    }
}

impl Face {
    pub fn is_legacy(self) -> bool {
        matches!(self, Face::Legacy(_))
    }

    /// What is edited here takes effect when it is committed.
    pub fn is_candidate(self) -> bool {
        self == Face::Ds(Datastore::Candidate)
    }

    /// What follows from what was written is not shown.
    pub fn shows_written(self) -> bool {
        matches!(self, Face::Ds(Datastore::Running | Datastore::Candidate))
    }

    pub fn mode(self) -> Mode {
        if self.is_legacy() { Mode::Lenient } else { Mode::Strict }
    }

    /// Data that clients may write.
    pub fn is_writable(self) -> bool {
        !matches!(
            self,
            Face::Legacy(Store::Operational) | Face::Ds(Datastore::Intended | Datastore::Operational)
        )
    }

    /// The data path of a raw (still encoded) URI path below the face's root.
    ///
    /// # Errors
    /// Names the segment that leads nowhere.
    pub fn path(self, schema: &Schema, raw: &str) -> Result<DataPath, Problems> {
        let raw = raw.strip_prefix('/').unwrap_or(raw);
        if raw.starts_with('/') {
            return Err(Problem::new(
                "malformed-message",
                "an empty segment in the path; write one slash, not two",
            )
            .into());
        }
        Ok(if self.is_legacy() {
            DataPath::parse_legacy(schema, raw.strip_suffix('/').unwrap_or(raw))?
        } else {
            DataPath::parse_rfc8040(schema, raw)?
        })
    }

    /// Where a resource is, in the spelling of this face.
    pub fn location(self, schema: &Schema, path: &DataPath) -> String {
        match self {
            Face::Rests => format!("/rests/data/{}", path.to_rfc8040(schema)),
            Face::Ds(datastore) => {
                format!("/rests/ds/ietf-datastores:{}/{}", datastore.name(), path.to_rfc8040(schema))
            }
            Face::Legacy(_) => format!("/restconf/config/{}", path.to_legacy(schema)),
        }
    }

    /// PUT that replaced something, and PATCH.
    pub fn replaced(self) -> StatusCode {
        if self.is_legacy() { StatusCode::OK } else { StatusCode::NO_CONTENT }
    }

    pub fn posted(self) -> StatusCode {
        if self.is_legacy() { StatusCode::NO_CONTENT } else { StatusCode::CREATED }
    }

    pub fn deleted(self) -> StatusCode {
        self.replaced()
    }

    /// Methods of a data resource, for `Allow`.
    pub fn methods(self, root: bool) -> &'static str {
        match (self.is_writable(), root) {
            (false, _) => "GET, HEAD, OPTIONS",
            (true, true) => "GET, HEAD, OPTIONS, POST, PUT, PATCH",
            (true, false) => "GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE",
        }
    }
}
