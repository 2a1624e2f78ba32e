//! A part of a long list: draft-ietf-netconf-list-pagination (`limit`, `offset`, `cursor`, `direction`, `sort-by`).

use super::super::data::{Entries, Fields, Key, List, Node};
use super::super::ir::{Kind, Schema, SchemaId};
use super::super::tree::NodeRef;
use super::super::value::Value;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Direction {
    #[default]
    Forwards,
    Backwards,
}

/// What is asked for. The steps follow each other: sort, turn round, go to the cursor, skip, cut off.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Page {
    /// Most entries to return.
    pub limit: Option<usize>,
    /// Entries to skip.
    pub offset: usize,
    /// The entry after which to go on.
    pub cursor: Option<Key>,
    pub direction: Direction,
    /// A leaf of the entry whose values give the order; absent ones come first.
    pub sort_by: Option<SchemaId>,
}

/// A page that cannot be served.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PageError {
    #[error("offset {offset} is beyond the {length} entries of the list")]
    OffsetOutOfRange { offset: usize, length: usize },
    #[error("the entry that cursor names is gone; start again without a cursor")]
    CursorNotFound,
}

/// Some entries of a list.
#[derive(Clone, PartialEq, Debug)]
pub struct Part {
    pub node: Node,
    /// Entries behind the last one of the page.
    pub remaining: usize,
    /// Where the next page starts; `None` at the end.
    pub next: Option<Key>,
}

impl Page {
    pub fn is_all(&self) -> bool {
        *self == Page::default()
    }

    /// Cuts the page out of a list or leaf-list.
    ///
    /// # Errors
    /// When offset or cursor lead nowhere.
    pub fn of(&self, schema: &Schema, id: SchemaId, node: &Node) -> Result<Part, PageError> {
        match node {
            Node::List(list) => self.of_list(schema, id, list),
            Node::LeafList(values) => {
                let all: Vec<&Value> = self.turned(values.iter().collect());
                let at = self.start(&all, |value, key| key.values().first() == Some(*value))?;
                let (chosen, remaining) = self.cut(&all, at)?;
                let next = next(remaining, chosen.last().map(|value| Key::one((*value).clone())));
                let values: Vec<Value> = chosen.iter().map(|value| (*value).clone()).collect();
                Ok(Part { node: Node::LeafList(values.into_iter().collect()), remaining, next })
            }
            other => Ok(Part { node: other.clone(), remaining: 0, next: None }),
        }
    }

    fn of_list(&self, schema: &Schema, id: SchemaId, list: &List) -> Result<Part, PageError> {
        let keyless = matches!(&schema.node(id).kind, Kind::List { keys, .. } if keys.is_empty());
        let mut all: Vec<_> = list.iter().collect();
        if let Some(leaf) = self.sort_by {
            all.sort_by(|(_, a), (_, b)| sort_value(a, leaf).cmp(&sort_value(b, leaf)));
        }
        let all = self.turned(all);
        let at = self.start(&all, |(key, _), wanted| *key == wanted)?;
        let (chosen, remaining) = self.cut(&all, at)?;
        let last = chosen.last().filter(|_| !keyless).map(|(key, _)| (*key).clone());
        let entries = if keyless {
            Entries::Keyless(chosen.iter().map(|(_, entry)| (*entry).clone()).collect())
        } else {
            Entries::User(chosen.iter().map(|(key, entry)| ((*key).clone(), (*entry).clone())).collect())
        };
        Ok(Part { node: Node::List(List::from(entries)), remaining, next: next(remaining, last) })
    }

    fn turned<T>(&self, mut all: Vec<T>) -> Vec<T> {
        if self.direction == Direction::Backwards {
            all.reverse();
        }
        all
    }

    fn start<T>(&self, all: &[T], is: impl Fn(&T, &Key) -> bool) -> Result<usize, PageError> {
        let Some(cursor) = &self.cursor else { return Ok(0) };
        let at = all.iter().position(|item| is(item, cursor)).ok_or(PageError::CursorNotFound)?;
        Ok(at + 1)
    }

    fn cut<'t, T>(&self, all: &'t [T], at: usize) -> Result<(&'t [T], usize), PageError> {
        let rest = &all[at..];
        if self.offset > rest.len() {
            return Err(PageError::OffsetOutOfRange { offset: self.offset, length: rest.len() });
        }
        let rest = &rest[self.offset..];
        let length = self.limit.unwrap_or(rest.len()).min(rest.len());
        Ok((&rest[..length], rest.len() - length))
    }
}

fn next(remaining: usize, last: Option<Key>) -> Option<Key> {
    if remaining > 0 { last } else { None }
}

fn sort_value(entry: &Fields, leaf: SchemaId) -> Option<&Value> {
    match entry.get(leaf).map(NodeRef::from) {
        Some(NodeRef::Leaf(value)) => Some(value),
        _ => None,
    }
}
