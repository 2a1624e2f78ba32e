//! A part of a long list: draft-ietf-netconf-list-pagination section 3 (`where`, `sort-by`, `direction`, `offset`, `cursor`,
//! `limit`, in this order).

use super::super::data::{Entries, Key, List, Node};
use super::super::fields::Fields;
use super::super::ir::{Kind, Schema, SchemaId};
use super::super::path::DataPath;
use super::super::tree::NodeRef;
use super::super::value::Value;
use super::Condition;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Direction {
    #[default]
    Forwards,
    Backwards,
}

/// What gives the order of entries; those that have none of it come last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SortBy {
    /// The value of a leaf-list's entry.
    Itself,
    /// A leaf below the entry of a list, and the containers on the way to it.
    Leaf(Vec<SchemaId>),
}

/// What is asked for. The steps follow each other: choose, sort, turn round, go to the cursor, skip, cut off.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Page {
    /// What entries must fulfil.
    pub condition: Option<Condition>,
    pub sort_by: Option<SortBy>,
    pub direction: Direction,
    /// The entry after which to go on.
    pub cursor: Option<Key>,
    /// Entries to skip.
    pub offset: usize,
    /// Most entries to return.
    pub limit: Option<usize>,
}

/// A page that cannot be served.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PageError {
    #[error("offset {offset} is beyond the {length} entries of the list")]
    OffsetOutOfRange { offset: usize, length: usize },
    #[error("the entry that cursor names is gone; start again without a cursor")]
    CursorNotFound,
    #[error(
        "where looks at more than {most} nodes to choose entries; ask about less, or about the entries alone"
    )]
    TooMuch { most: usize },
}

/// Some entries of a list.
#[derive(Clone, PartialEq, Debug)]
pub struct Part {
    pub node: Node,
    /// Entries before the first one of the page.
    pub before: usize,
    /// Entries behind the last one of the page.
    pub remaining: usize,
    /// The cursor of the next page; `None` at the end, and where entries have no name.
    pub next: Option<Key>,
    /// The cursor of the page before; `None` where that is the first one.
    pub previous: Option<Key>,
}

impl Page {
    pub fn is_all(&self) -> bool {
        *self == Page::default()
    }

    /// Every entry is looked into.
    pub fn looks_at_all(&self) -> bool {
        self.condition.is_some() || self.sort_by.is_some()
    }

    /// Cuts the page out of a list or leaf-list that stands at `path` in the tree `root`.
    ///
    /// # Errors
    /// When offset or cursor lead nowhere, and when the condition costs too much.
    pub fn of(
        &self,
        schema: &Schema,
        root: &Fields,
        path: &DataPath,
        node: &Node,
    ) -> Result<Part, PageError> {
        let chosen = match &self.condition {
            Some(condition) => Some(condition.choose(schema, root, path, node)?),
            None => None,
        };
        let holds = |at: usize| chosen.as_ref().is_none_or(|chosen| chosen[at]);
        match node {
            Node::List(list) => {
                let all: Vec<_> = list.iter().enumerate().filter(|(at, _)| holds(*at)).collect();
                self.of_list(schema, path, all.into_iter().map(|(_, entry)| entry).collect())
            }
            Node::LeafList(values) => {
                let all = values.iter().enumerate().filter(|(at, _)| holds(*at));
                let mut all: Vec<&Value> = all.map(|(_, value)| value).collect();
                if self.sort_by.is_some() {
                    all.sort();
                }
                let (all, before, until) = self.cut(all, 0)?;
                let values: Vec<Value> = all[before..until].iter().map(|value| (*value).clone()).collect();
                let node = Node::LeafList(values.into_iter().collect());
                Ok(Part { node, before, remaining: all.len() - until, next: None, previous: None })
            }
            other => Ok(Part { node: other.clone(), before: 0, remaining: 0, next: None, previous: None }),
        }
    }

    fn of_list(
        &self,
        schema: &Schema,
        path: &DataPath,
        mut all: Vec<(&Key, &Fields)>,
    ) -> Result<Part, PageError> {
        if let Some(SortBy::Leaf(way)) = &self.sort_by {
            let value = |(_, entry): &(&Key, &Fields)| {
                let value = sort_value(entry, way).cloned();
                (value.is_none(), value)
            };
            all.sort_by_cached_key(value);
        }
        let start = match &self.cursor {
            None => 0,
            Some(cursor) => self.place(&all, cursor)?,
        };
        let (all, before, until) = self.cut(all, start)?;
        let remaining = all.len() - until;
        let keyless = path
            .last_node()
            .is_some_and(|id| matches!(&schema.node(id).kind, Kind::List { keys, .. } if keys.is_empty()));
        let key = |at: usize| all.get(at).filter(|_| !keyless).map(|(key, _)| (*key).clone());
        let next = until.checked_sub(1).filter(|_| remaining > 0).and_then(key);
        let first_of_previous = before.saturating_sub(self.limit.unwrap_or(before));
        let previous = first_of_previous.checked_sub(1).and_then(key);
        let chosen = &all[before..until];
        let entries = if keyless {
            Entries::Keyless(chosen.iter().map(|(_, entry)| (*entry).clone()).collect())
        } else {
            Entries::User(chosen.iter().map(|(key, entry)| ((*key).clone(), (*entry).clone())).collect())
        };
        Ok(Part { node: Node::List(List::from(entries)), before, remaining, next, previous })
    }

    /// The place behind the entry that the cursor names, in the direction of reading. The empty text is the beginning, unless
    /// an entry is named so.
    fn place(&self, all: &[(&Key, &Fields)], cursor: &Key) -> Result<usize, PageError> {
        let at = match self.direction {
            Direction::Forwards => all.iter().position(|(key, _)| *key == cursor),
            Direction::Backwards => all.iter().rev().position(|(key, _)| *key == cursor),
        };
        match at {
            Some(at) => Ok(at + 1),
            None if *cursor == Key::one(Value::text("")) => Ok(0),
            None => Err(PageError::CursorNotFound),
        }
    }

    /// All in the direction of reading, and which of them are on the page.
    fn cut<T>(&self, mut all: Vec<T>, start: usize) -> Result<(Vec<T>, usize, usize), PageError> {
        if self.direction == Direction::Backwards {
            all.reverse();
        }
        let length = all.len() - start;
        if self.offset > length {
            return Err(PageError::OffsetOutOfRange { offset: self.offset, length });
        }
        let before = start + self.offset;
        let until = self.limit.map_or(all.len(), |limit| before.saturating_add(limit).min(all.len()));
        Ok((all, before, until))
    }
}

fn sort_value<'a>(entry: &'a Fields, way: &[SchemaId]) -> Option<&'a Value> {
    let (leaf, above) = way.split_last()?;
    let mut fields = entry;
    for container in above {
        fields = fields.container(*container)?;
    }
    match fields.get(*leaf).map(NodeRef::from) {
        Some(NodeRef::Leaf(value)) => Some(value),
        _ => None,
    }
}
