//! What validation finds.

/// A rule of the models that the candidate breaks.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{message}")]
pub struct ValidationError {
    /// The offending node, in the form of [`DataPath::display`].
    pub path: String,
    pub kind: ValidationErrorKind,
    /// The model's own error-app-tag of a must, where it has one.
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
    /// Something mandatory in what an operation is called with, or answers.
    MandatoryInOperation,
    MissingChoice,
    TooFew,
    TooMany,
    NotUnique,
    LeafrefDangling,
    TwoCases,
    Must,
    When,
    /// The models themselves cannot be served (found at load; see [`super::RuleError`]).
    Rules,
}

impl ValidationErrorKind {
    /// error-tag (RFC 8040 section 7) and error-app-tag (RFC 7950 section 15).
    pub fn tags(self) -> (&'static str, Option<&'static str>) {
        match self {
            ValidationErrorKind::NotConfig => ("invalid-value", None),
            ValidationErrorKind::MissingKey => ("missing-element", None),
            ValidationErrorKind::Mandatory => ("data-missing", None),
            ValidationErrorKind::MandatoryInOperation => ("missing-element", None),
            ValidationErrorKind::MissingChoice => ("data-missing", Some("missing-choice")),
            ValidationErrorKind::TooFew => ("operation-failed", Some("too-few-elements")),
            ValidationErrorKind::TooMany => ("operation-failed", Some("too-many-elements")),
            ValidationErrorKind::NotUnique => ("operation-failed", Some("data-not-unique")),
            ValidationErrorKind::LeafrefDangling => ("data-missing", Some("instance-required")),
            ValidationErrorKind::TwoCases => ("bad-element", None),
            ValidationErrorKind::Must => ("operation-failed", Some("must-violation")),
            ValidationErrorKind::When => ("unknown-element", None),
            ValidationErrorKind::Rules => ("operation-failed", None),
        }
    }
}
