//! Instance data: immutable trees that share what did not change.
//!
//! Small things are sorted arrays behind an `Arc`; only long lists are persistent maps.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use triomphe::Arc;

use super::fields::Fields;
use super::map::Map;
use super::value::Value;
use super::values::Values;

/// The key values of a list entry, in the order of the `key` statement.
#[derive(Clone)]
pub struct Key(KeyValues);

/// Most keys are one value, most others two. The form follows from the number.
#[derive(Clone)]
enum KeyValues {
    One(Value),
    Two(Arc<[Value; 2]>),
    Others(Arc<Vec<Value>>),
}

/// One data node. A list entry that stands alone is a `Container` of its fields, a leaf-list entry a `Leaf`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    Container(Fields),
    List(List),
    Leaf(Value),
    LeafList(Values),
}

/// A list: its entries, ordered by key, by the user, or by position. The methods are in `list.rs`.
/// Behind one pointer: most nodes are leafs, and all nodes are as large as the largest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List(pub(super) triomphe::Arc<Entries>);

/// The form follows from the contents (`Few` up to [`List::FEW`] entries), so that equal data have equal forms. All forms are as
/// large as the first: most nested lists have one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entries {
    /// One entry of a list that the system orders.
    One((Key, Fields)),
    /// None or few: sorted by key (system-ordered).
    Few(Box<[(Key, Fields)]>),
    /// Many entries, system-ordered.
    Many(Box<Map<Key, Fields>>),
    /// Ordered by the user. Such lists are short: an edit copies the array of pointers.
    User(Box<[(Key, Fields)]>),
    /// Keyless (operational only).
    Keyless(Box<[Fields]>),
}

impl Key {
    pub fn one(value: Value) -> Key {
        Key(KeyValues::One(value))
    }

    pub fn text(text: impl AsRef<str>) -> Key {
        Key::one(Value::text(text))
    }

    pub fn values(&self) -> &[Value] {
        match &self.0 {
            KeyValues::One(value) => std::slice::from_ref(value),
            KeyValues::Two(values) => &**values,
            KeyValues::Others(values) => values,
        }
    }

    /// True for what keyless entries show as their key.
    pub fn is_empty(&self) -> bool {
        self.values().is_empty()
    }
}

impl FromIterator<Value> for Key {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Key {
        let mut values = values.into_iter();
        match (values.next(), values.next(), values.next()) {
            (Some(only), None, _) => Key::one(only),
            (Some(first), Some(second), None) => Key(KeyValues::Two(Arc::new([first, second]))),
            (first, second, third) => {
                let first = first.into_iter().chain(second).chain(third);
                Key(KeyValues::Others(Arc::new(first.chain(values).collect())))
            }
        }
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.values() == other.values()
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        match (&self.0, &other.0) {
            // As a rule; lists are searched all the time.
            (KeyValues::One(Value::Text(one)), KeyValues::One(Value::Text(other))) => {
                one.as_bytes().cmp(other.as_bytes())
            }
            _ => self.values().cmp(other.values()),
        }
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.values().hash(state);
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.values()).finish()
    }
}

impl Node {
    /// The fields of a container or list entry.
    pub fn fields(&self) -> Option<&Fields> {
        if let Node::Container(fields) = self { Some(fields) } else { None }
    }

    pub fn as_list(&self) -> Option<&List> {
        if let Node::List(list) = self { Some(list) } else { None }
    }

    pub fn as_leaf(&self) -> Option<&Value> {
        if let Node::Leaf(value) = self { Some(value) } else { None }
    }
}
