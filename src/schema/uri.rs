//! Paths as they stand in URLs.

use super::ir::Schema;
use super::path::DataPath;

/// Why a path in a URL names nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PathError {
    /// The segment as it was sent.
    pub segment: String,
    /// The instance path up to the segment.
    pub at: String,
    pub kind: PathErrorKind,
    /// Names the segment, what was expected, and the next step.
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathErrorKind {
    /// Percent-encoding, empty segments, text that is not UTF-8.
    Malformed,
    UnknownElement,
    UnknownNamespace,
    /// Wrong number of keys, or keys where none belong.
    Keys,
    InvalidValue,
}

impl DataPath {
    /// The resource identifier of RFC 8040 section 3.5.3, percent-encoded as it came: `pod:coe/pods=UID`.
    /// Without the `data/` before it. Empty: the datastore.
    pub fn parse_rfc8040(schema: &Schema, text: &str) -> Result<DataPath, PathError> {
        todo!("{schema:?} {text}")
    }

    /// The older form of OpenDaylight's `/restconf/config/`: keys are segments of their own, a slash may trail, names of
    /// augments may lack their module where they are unambiguous: `pod:coe/pods/UID/`.
    pub fn parse_legacy(schema: &Schema, text: &str) -> Result<DataPath, PathError> {
        todo!("{schema:?} {text}")
    }

    /// An instance-identifier in JSON form, as [`DataPath::display`] writes it.
    pub fn parse_instance_identifier(schema: &Schema, text: &str) -> Result<DataPath, PathError> {
        todo!("{schema:?} {text}")
    }
}
