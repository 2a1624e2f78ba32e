/// What is wrong with a body: all that was found (at most 20), in the order of the text; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BodyErrors(pub Vec<BodyError>);

/// One fault in a body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BodyError {
    pub kind: BodyErrorKind,
    /// Where, in the form of [`crate::schema::DataPath::display`]; `/` for the body as a whole.
    pub path: String,
    /// Names the object, the reason, and the next step.
    pub message: String,
}

/// The error-tags of RFC 8040 section 7, and what they stand for here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BodyErrorKind {
    /// Not JSON or XML, or not that of this resource.
    MalformedMessage,
    UnknownElement,
    UnknownNamespace,
    InvalidValue,
    /// A key or the value itself is missing.
    MissingElement,
    /// An XML attribute that means nothing here.
    UnknownAttribute,
    /// A node of the wrong shape, or one that may not stand here.
    BadElement,
    /// Nested too deeply.
    TooBig,
    /// A member or list entry occurs twice.
    Duplicate,
}

impl BodyErrorKind {
    /// The error-tag of RFC 8040.
    pub fn error_tag(self) -> &'static str {
        match self {
            BodyErrorKind::MalformedMessage => "malformed-message",
            BodyErrorKind::UnknownElement => "unknown-element",
            BodyErrorKind::UnknownNamespace => "unknown-namespace",
            BodyErrorKind::InvalidValue => "invalid-value",
            BodyErrorKind::MissingElement => "missing-element",
            BodyErrorKind::UnknownAttribute => "unknown-attribute",
            BodyErrorKind::BadElement => "bad-element",
            BodyErrorKind::TooBig => "too-big",
            BodyErrorKind::Duplicate => "bad-element",
        }
    }
}

impl std::fmt::Display for BodyErrors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, error) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{}: {}", error.path, error.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for BodyErrors {}
