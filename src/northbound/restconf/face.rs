//! The two faces: how each spells paths and answers success.

use axum::http::StatusCode;

use super::{Problem, Problems};
use crate::datastore::Store;
use crate::schema::json::Mode;
use crate::schema::{DataPath, Schema};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Face {
    /// RFC 8040.
    Rests,
    /// OpenDaylight's draft-bierman-02 root, for one of its two stores.
    Legacy(Store),
}

impl Face {
    pub fn mode(self) -> Mode {
        match self {
            Face::Rests => Mode::Strict,
            Face::Legacy(_) => Mode::Lenient,
        }
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
        Ok(match self {
            Face::Rests => DataPath::parse_rfc8040(schema, raw)?,
            Face::Legacy(_) => DataPath::parse_legacy(schema, raw.strip_suffix('/').unwrap_or(raw))?,
        })
    }

    /// PUT that replaced something, and PATCH.
    pub fn replaced(self) -> StatusCode {
        if self == Face::Rests { StatusCode::NO_CONTENT } else { StatusCode::OK }
    }

    pub fn posted(self) -> StatusCode {
        if self == Face::Rests { StatusCode::CREATED } else { StatusCode::NO_CONTENT }
    }

    pub fn deleted(self) -> StatusCode {
        self.replaced()
    }

    /// Methods of a data resource, for `Allow`.
    pub fn methods(self, root: bool) -> &'static str {
        match (self, root) {
            (Face::Legacy(Store::Operational), _) => "GET, HEAD, OPTIONS",
            (_, true) => "GET, HEAD, OPTIONS, POST, PUT, PATCH",
            (_, false) => "GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE",
        }
    }
}
