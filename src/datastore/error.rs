use super::{CandidateError, Refusal, Revision};
use crate::access::Denial;
use crate::schema::{TreeError, ValidationError};

/// Why a transaction was not carried out. Nothing of it happened.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DatastoreError {
    #[error("no data at {path}")]
    Missing { path: String },
    #[error("{path} exists already; use PUT to replace it")]
    Exists { path: String },
    #[error("{path} follows from {owner} and cannot be deleted itself; delete or change that instead")]
    DerivedOwned { path: String, owner: String },
    #[error(transparent)]
    Tree(#[from] TreeError),
    #[error("{}", .0.first().map_or_else(String::new, ToString::to_string))]
    Invalid(Vec<ValidationError>),
    #[error("{path} changed since revision {read:?}; read it again and repeat the change")]
    Conflict { path: String, read: Revision },
    #[error(
        "the precondition on {path} does not hold: it changed, came or went since it was read; read it again"
    )]
    Precondition { path: String },
    /// In a transaction of several edits: the number of the one that failed, from 0.
    #[error("{error}")]
    AtEdit { number: usize, error: Box<DatastoreError> },
    #[error("{message}")]
    Refused { path: String, tag: &'static str, message: String },
    #[error(transparent)]
    Candidate(#[from] CandidateError),
    /// RFC 8341.
    #[error("{0}")]
    Denied(Denial),
    #[error(
        "the change could not be made durable ({reason}); nothing was changed, free the disk and try again"
    )]
    NotDurable { reason: String },
    #[error("rendering failed ({reason}); the change was taken back, please report this")]
    Rendering { reason: String },
    #[error("another controller is the active one; writes go there")]
    NotActive,
    #[error("the datastore has stopped")]
    Stopped,
}

impl DatastoreError {
    /// It is not permitted, whatever else may be wrong with it.
    pub fn is_denied(&self) -> bool {
        match self {
            DatastoreError::Denied(_) => true,
            DatastoreError::AtEdit { error, .. } => error.is_denied(),
            _ => false,
        }
    }

    pub(super) fn refused(refusal: Refusal, path: String) -> DatastoreError {
        DatastoreError::Refused { path, tag: refusal.tag, message: refusal.message }
    }
}
