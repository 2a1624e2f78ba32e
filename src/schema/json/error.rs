/// What is wrong with a JSON body: all that was found (at most 20), in the order of the text; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonErrors(pub Vec<JsonError>);

/// One fault in a JSON body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct JsonError {
    pub kind: JsonErrorKind,
    /// Where, in the form of [`crate::schema::DataPath::display`]; `/` for the body as a whole.
    pub path: String,
    /// Names the object, the reason, and the next step.
    pub message: String,
}

/// The error-tags of RFC 8040 section 7, and what they stand for here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JsonErrorKind {
    /// Not JSON, or not the JSON of this resource.
    MalformedMessage,
    UnknownElement,
    UnknownNamespace,
    InvalidValue,
    /// A key or the value itself is missing.
    MissingElement,
    /// A node of the wrong shape, or one that may not stand here.
    BadElement,
    /// Nested deeper than 64 levels.
    TooBig,
    /// A member or list entry occurs twice.
    Duplicate,
}

impl JsonErrorKind {
    /// The error-tag of RFC 8040.
    pub fn error_tag(self) -> &'static str {
        match self {
            JsonErrorKind::MalformedMessage => "malformed-message",
            JsonErrorKind::UnknownElement => "unknown-element",
            JsonErrorKind::UnknownNamespace => "unknown-namespace",
            JsonErrorKind::InvalidValue => "invalid-value",
            JsonErrorKind::MissingElement => "missing-element",
            JsonErrorKind::BadElement => "bad-element",
            JsonErrorKind::TooBig => "too-big",
            JsonErrorKind::Duplicate => "bad-element",
        }
    }
}

impl std::fmt::Display for JsonErrors {
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

impl std::error::Error for JsonErrors {}
