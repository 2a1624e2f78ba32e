//! What a request leads to. Both IP versions.

use super::book::Entry;
use super::count::Count;

/// A reply, what the book says then, and what is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer<Reply> {
    pub reply: Option<Reply>,
    pub entries: Vec<Entry>,
    pub counts: Vec<Count>,
}

impl<Reply> Answer<Reply> {
    /// Nothing but counts.
    pub fn counted(counts: impl Into<Vec<Count>>) -> Answer<Reply> {
        Answer { reply: None, entries: Vec::new(), counts: counts.into() }
    }
}
