//! What differs between two trees. Shared parts are skipped by pointer, so the cost follows the edit.

use std::cmp::Ordering;

use super::data::{Entries, Key, List, Node};
use super::fields::Fields;
use super::ir::{Kind, Schema, SchemaId};
use super::map::DiffItem;
use super::path::{DataPath, Step};

/// A path, and what stood there before and after.
pub type Difference = (DataPath, Option<Node>, Option<Node>);

/// The differences between two roots, each at the deepest list entry (or, outside lists, the top-level node) in which
/// something differs. A created or removed entry is one difference; an entry whose nested lists changed is
/// reported by their entries, and itself only if its other fields changed. In the order of the schema and keys.
pub fn diff(schema: &Schema, before: &Fields, after: &Fields) -> Vec<Difference> {
    let mut differ = Differ { schema, found: Vec::new() };
    if before.ptr_eq(after) {
        return differ.found;
    }
    for (id, a, b) in pairs(before, after) {
        let at = DataPath::root().child(id);
        match &schema.node(id).kind {
            Kind::Container { presence } => {
                let (x, y) = (a.and_then(Node::fields), b.and_then(Node::fields));
                differ.context(&at, x, y, *presence && a.is_some() != b.is_some());
            }
            Kind::List { .. } if keyed(a) || keyed(b) => {
                let (a, b) = (a.and_then(Node::as_list), b.and_then(Node::as_list));
                differ.list(&DataPath::root(), id, a, b);
                if reordered(a, b) {
                    let whole = |list: Option<&List>| list.cloned().map(Node::List);
                    differ.found.push((at, whole(a), whole(b)));
                }
            }
            _ if a != b => differ.found.push((at, a.cloned(), b.cloned())),
            _ => {}
        }
    }
    differ.found
}

/// The same for one entry of a list, at its path, where nothing else differs.
pub fn diff_entry(
    schema: &Schema,
    path: &DataPath,
    before: Option<&Fields>,
    after: Option<&Fields>,
) -> Vec<Difference> {
    let mut differ = Differ { schema, found: Vec::new() };
    if let (Some(above), Some(Step { node, key: Some(key) })) = (path.parent(), path.steps.last())
        && (before.is_some() || after.is_some())
    {
        differ.entry(&above, *node, key, before, after);
    }
    differ.found
}

struct Differ<'a> {
    schema: &'a Schema,
    found: Vec<Difference>,
}

impl Differ<'_> {
    /// Compares two states of one list entry or top-level container.
    fn context(&mut self, at: &DataPath, a: Option<&Fields>, b: Option<&Fields>, mut own: bool) {
        let place = self.found.len();
        self.fields(at, a, b, &mut own);
        if own {
            let whole = |fields: Option<&Fields>| fields.cloned().map(Node::Container);
            self.found.insert(place, (at.clone(), whole(a), whole(b)));
        }
    }

    /// Sets `own` if something other than entries of lists differs.
    fn fields(&mut self, at: &DataPath, a: Option<&Fields>, b: Option<&Fields>, own: &mut bool) {
        let empty = Fields::default();
        let (a, b) = (a.unwrap_or(&empty), b.unwrap_or(&empty));
        if a.ptr_eq(b) {
            return;
        }
        for (id, x, y) in pairs(a, b) {
            match &self.schema.node(id).kind {
                Kind::Container { presence } => {
                    *own |= *presence && x.is_some() != y.is_some();
                    let (x, y) = (x.and_then(Node::fields), y.and_then(Node::fields));
                    self.fields(&at.clone().child(id), x, y, own);
                }
                Kind::List { .. } if keyed(x) || keyed(y) => {
                    let (x, y) = (x.and_then(Node::as_list), y.and_then(Node::as_list));
                    self.list(at, id, x, y);
                    *own |= reordered(x, y);
                }
                _ => *own |= x != y,
            }
        }
    }

    fn list(&mut self, at: &DataPath, id: SchemaId, a: Option<&List>, b: Option<&List>) {
        if let (Some(Entries::Many(x)), Some(Entries::Many(y))) = (a.map(List::entries), b.map(List::entries))
        {
            for item in x.diff(y) {
                match item {
                    DiffItem::Add(key, entry) => self.entry(at, id, key, None, Some(entry)),
                    DiffItem::Remove(key, entry) => self.entry(at, id, key, Some(entry), None),
                    DiffItem::Update { old: (key, old), new: (_, new) } => {
                        self.entry(at, id, key, Some(old), Some(new));
                    }
                }
            }
            return;
        }
        let ordered =
            |list: Option<&List>| !list.is_some_and(|list| matches!(list.entries(), Entries::User(_)));
        if ordered(a) && ordered(b) {
            let mut x = a.into_iter().flat_map(List::iter).peekable();
            let mut y = b.into_iter().flat_map(List::iter).peekable();
            loop {
                let order = match (x.peek(), y.peek()) {
                    (Some((left, _)), Some((right, _))) => left.cmp(right),
                    (Some(_), None) => Ordering::Less,
                    (None, Some(_)) => Ordering::Greater,
                    (None, None) => break,
                };
                let old = if order.is_le() { x.next() } else { None };
                let new = if order.is_ge() { y.next() } else { None };
                if let Some((key, _)) = old.or(new) {
                    self.entry(at, id, key, old.map(|(_, entry)| entry), new.map(|(_, entry)| entry));
                }
            }
            return;
        }
        for (key, old) in a.into_iter().flat_map(List::iter) {
            self.entry(at, id, key, Some(old), b.and_then(|list| list.get(key)));
        }
        for (key, new) in b.into_iter().flat_map(List::iter) {
            if a.and_then(|list| list.get(key)).is_none() {
                self.entry(at, id, key, None, Some(new));
            }
        }
    }

    fn entry(&mut self, at: &DataPath, id: SchemaId, key: &Key, a: Option<&Fields>, b: Option<&Fields>) {
        match (a, b) {
            (Some(a), Some(b)) if a.ptr_eq(b) => {}
            (Some(_), Some(_)) => self.context(&at.clone().entry(id, key.clone()), a, b, false),
            _ => {
                let whole = |fields: Option<&Fields>| fields.cloned().map(Node::Container);
                self.found.push((at.clone().entry(id, key.clone()), whole(a), whole(b)));
            }
        }
    }
}

fn keyed(node: Option<&Node>) -> bool {
    matches!(node, Some(Node::List(list)) if !matches!(list.entries(), Entries::Keyless(_)))
}

/// Is the order another than that of removing what is gone and appending what is new?
fn reordered(a: Option<&List>, b: Option<&List>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return false };
    if !matches!(a.entries(), Entries::User(_)) || a.ptr_eq(b) {
        return false;
    }
    let kept = a.iter().map(|(key, _)| key).filter(|key| b.get(key).is_some());
    let added = b.iter().map(|(key, _)| key).filter(|key| a.get(key).is_none());
    !kept.chain(added).eq(b.iter().map(|(key, _)| key))
}

/// All children of either, in order, with what each side has.
pub(super) fn pairs<'a>(
    a: &'a Fields,
    b: &'a Fields,
) -> impl Iterator<Item = (SchemaId, Option<&'a Node>, Option<&'a Node>)> {
    let mut left = a.iter().peekable();
    let mut right = b.iter().peekable();
    std::iter::from_fn(move || {
        let order = match (left.peek(), right.peek()) {
            (Some(x), Some(y)) => x.0.cmp(y.0),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return None,
        };
        let x = if order.is_le() { left.next() } else { None };
        let y = if order.is_ge() { right.next() } else { None };
        let id = *x.or(y)?.0;
        Some((id, x.map(|x| x.1), y.map(|y| y.1)))
    })
}
