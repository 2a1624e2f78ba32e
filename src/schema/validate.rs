//! Validation in proportion to the edit.

use std::sync::Arc;

use super::data::Fields;
use super::diff::Difference;
use super::ir::Schema;

/// A rule of the models that the candidate breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ValidationError {
    /// The offending node, in the form of [`crate::schema::DataPath::display`].
    pub path: String,
    pub kind: ValidationErrorKind,
    /// The model's own words for a must, where it has them.
    pub app_tag: Option<String>,
    /// Names the object, the reason, and the next step.
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValidationErrorKind {
    /// config false data in the config store.
    NotConfig,
    MissingKey,
    Mandatory,
    TooFew,
    TooMany,
    NotUnique,
    LeafrefDangling,
    TwoCases,
    Must,
    When,
}

impl ValidationErrorKind {
    /// error-tag (RFC 8040 section 7) and error-app-tag (RFC 7950 section 15).
    pub fn tags(self) -> (&'static str, Option<&'static str>) {
        match self {
            ValidationErrorKind::NotConfig => ("invalid-value", None),
            ValidationErrorKind::MissingKey => ("missing-element", None),
            ValidationErrorKind::Mandatory => ("data-missing", None),
            ValidationErrorKind::TooFew => ("operation-failed", Some("too-few-elements")),
            ValidationErrorKind::TooMany => ("operation-failed", Some("too-many-elements")),
            ValidationErrorKind::NotUnique => ("operation-failed", Some("data-not-unique")),
            ValidationErrorKind::LeafrefDangling => ("data-missing", Some("instance-required")),
            ValidationErrorKind::TwoCases => ("bad-element", None),
            ValidationErrorKind::Must => ("operation-failed", Some("must-violation")),
            ValidationErrorKind::When => ("unknown-element", None),
        }
    }
}

/// Checks what `changes` (from [`super::diff`]) touch in `root`, the candidate with both layers merged, and what refers
/// to it. In the operational store (RFC 8342 section 5.3) only the shape is checked, not constraints.
pub fn validate(
    schema: &Schema,
    store_is_config: bool,
    root: &Arc<Fields>,
    changes: &[Difference],
) -> Result<(), Vec<ValidationError>> {
    todo!("{schema:?} {store_is_config} {root:?} {changes:?}")
}
