//! Reading and editing trees. An edit copies the nodes on its path and shares all others.

use super::data::{Key, List, Node};
use super::fields::Fields;
use super::ir::{Kind, Schema, SchemaId};
use super::merge::merge_nodes;
use super::path::{DataPath, Step};
use super::stamp::stamp_node_since;
use super::value::Value;
use super::values::Values;

/// What to do about a parent that is not there. Non-presence containers are never missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parents {
    /// An absent list entry or presence container on the way is an error.
    Require,
    /// They are made, list entries with their keys.
    Create,
}

/// Why a tree cannot be edited so. Paths are in the form of [`DataPath::display`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    #[error("{parent} does not exist, so nothing can be written below it; create it first")]
    ParentMissing { path: String, parent: String },
    #[error("{path} is {expected}, but the node given for it is {found}")]
    Shape { path: String, expected: &'static str, found: &'static str },
    #[error("key leaf {leaf} of {path} must keep the value that the path names")]
    KeyMismatch { path: String, leaf: String },
    #[error("{path} is a key of its list entry: remove the entry as a whole instead")]
    KeyLeaf { path: String },
    #[error("{path} cannot be brought to this position: {reason}")]
    Order { path: String, reason: String },
    #[error("{path} is not a place for data: {reason}")]
    NotData { path: String, reason: &'static str },
}

/// A node where it stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NodeRef<'a> {
    /// A container, list entry, or the root.
    Fields(&'a Fields),
    List(&'a List),
    /// A leaf or leaf-list entry.
    Leaf(&'a Value),
    LeafList(&'a Values),
}

impl NodeRef<'_> {
    pub fn to_node(self) -> Node {
        match self {
            NodeRef::Fields(fields) => Node::Container(fields.clone()),
            NodeRef::List(list) => Node::List(list.clone()),
            NodeRef::Leaf(value) => Node::Leaf(value.clone()),
            NodeRef::LeafList(values) => Node::LeafList(values.clone()),
        }
    }
}

impl<'a> From<&'a Node> for NodeRef<'a> {
    fn from(node: &'a Node) -> NodeRef<'a> {
        match node {
            Node::Container(fields) => NodeRef::Fields(fields),
            Node::List(list) => NodeRef::List(list),
            Node::Leaf(value) => NodeRef::Leaf(value),
            Node::LeafList(values) => NodeRef::LeafList(values),
        }
    }
}

/// What stands at `path`. The empty path is the root itself.
pub fn get_ref<'a>(root: &'a Fields, path: &DataPath) -> Option<NodeRef<'a>> {
    find(root, &path.steps)
}

fn find<'a>(root: &'a Fields, steps: &[Step]) -> Option<NodeRef<'a>> {
    let mut at = NodeRef::Fields(root);
    for step in steps {
        let NodeRef::Fields(fields) = at else { return None };
        let node = fields.get(step.node)?;
        at = match (&step.key, node) {
            (None, node) => node.into(),
            (Some(key), Node::List(list)) => NodeRef::Fields(list.get(key)?),
            (Some(key), Node::LeafList(values)) => NodeRef::Leaf(values.get(key.values().first()?)?),
            (Some(_), _) => return None,
        };
    }
    Some(at)
}

/// As [`get_ref`], as a node of its own (a pointer is copied, not the data).
pub fn get(root: &Fields, path: &DataPath) -> Option<Node> {
    get_ref(root, path).map(NodeRef::to_node)
}

/// Puts `node` at `path` in place of whatever was there. An empty list or non-presence container put is one
/// taken away. Nodes of other cases of a choice give way.
///
/// Nodes that others hold too are copied on the way, all others are edited where they are.
///
/// # Errors
/// When the model does not allow it. The tree may then hold parts of the edit: clone the root before, if it is needed.
pub fn put(
    root: &mut Fields,
    schema: &Schema,
    path: &DataPath,
    node: Node,
    parents: Parents,
) -> Result<(), TreeError> {
    put_at(root, schema, path, node, parents, 0)
}

/// As [`put`]; what changes is stamped with a revision at once (0: not committed yet).
///
/// # Errors
/// As [`put`].
pub fn put_at(
    root: &mut Fields,
    schema: &Schema,
    path: &DataPath,
    node: Node,
    parents: Parents,
    revision: u64,
) -> Result<(), TreeError> {
    let change = |old: Option<Node>| Ok(Some(stamped(old.as_ref(), node.clone(), revision)));
    let (steps, change) = (&path.steps[..], &change);
    Editor { schema, steps, parents, change, revision, is_derived: false }.root(root)
}

/// Unites `node` with what is at `path`: containers and list entries field by field, leafs are replaced,
/// leaf-lists gain what they lack, keyless and positional lists are replaced as a whole.
///
/// # Errors
/// As [`put`].
pub fn merge(
    root: &mut Fields,
    schema: &Schema,
    path: &DataPath,
    node: Node,
    parents: Parents,
) -> Result<(), TreeError> {
    merge_at(root, schema, path, node, parents, 0)
}

/// As [`merge`]; what changes is stamped with a revision at once (0: not committed yet).
///
/// # Errors
/// As [`put`].
pub fn merge_at(
    root: &mut Fields,
    schema: &Schema,
    path: &DataPath,
    node: Node,
    parents: Parents,
    revision: u64,
) -> Result<(), TreeError> {
    let id = path.steps.last().map(|step| step.node);
    let change = |old: Option<Node>| {
        let new = match &old {
            Some(old) => merge_nodes(schema, id, old, &node),
            None => node.clone(),
        };
        Ok(Some(stamped(old.as_ref(), new, revision)))
    };
    let (steps, change) = (&path.steps[..], &change);
    Editor { schema, steps, parents, change, revision, is_derived: false }.root(root)
}

fn stamped(old: Option<&Node>, mut new: Node, revision: u64) -> Node {
    if revision != 0 {
        stamp_node_since(old, &mut new, revision);
    }
    new
}

/// Takes what is at `path` away, with the non-presence containers and lists that this leaves empty. False: nothing was there.
///
/// # Errors
/// As [`put`]; the key of a list entry cannot go alone.
pub fn remove(root: &mut Fields, schema: &Schema, path: &DataPath) -> Result<bool, TreeError> {
    take(root, schema, &path.steps, 0)
}

/// As [`put`] (`Some`) or [`remove`] (`None`), with parents made and the way stamped with a revision. For what is derived: entries
/// of leaf-lists that come one by one stand in order, so that it does not matter which came first.
///
/// # Errors
/// As [`put`].
pub fn set(
    root: &mut Fields,
    schema: &Schema,
    steps: &[Step],
    node: Option<Node>,
    revision: u64,
) -> Result<(), TreeError> {
    let Some(node) = node else { return take(root, schema, steps, revision).map(drop) };
    let change = |_| Ok(Some(node.clone()));
    let (parents, change) = (Parents::Create, &change);
    Editor { schema, steps, parents, change, revision, is_derived: true }.root(root)
}

fn take(root: &mut Fields, schema: &Schema, steps: &[Step], revision: u64) -> Result<bool, TreeError> {
    let (parents, change) = (Parents::Require, &|_| Ok(None));
    let editor = Editor { schema, steps, parents, change, revision, is_derived: false };
    if let [.., Step { node: list, key: Some(_) }, Step { node: leaf, key: None }] = steps
        && let Kind::List { keys, .. } = &schema.node(*list).kind
        && keys.contains(leaf)
    {
        return Err(TreeError::KeyLeaf { path: editor.path() });
    }
    if find(root, steps).is_none() {
        return Ok(false);
    }
    editor.root(root)?;
    Ok(true)
}

/// What becomes of the node at the end of the path.
type Change<'a> = dyn Fn(Option<Node>) -> Result<Option<Node>, TreeError> + 'a;

struct Editor<'a> {
    schema: &'a Schema,
    steps: &'a [Step],
    parents: Parents,
    change: &'a Change<'a>,
    /// What the nodes on the way are stamped with; 0: not committed yet.
    revision: u64,
    /// What becomes of a node does not depend on what was there, and entries of leaf-lists are put in their place even where they
    /// are state.
    is_derived: bool,
}

impl Editor<'_> {
    fn root(&self, root: &mut Fields) -> Result<(), TreeError> {
        if !self.steps.is_empty() {
            return self.fields(root, 0);
        }
        *root = match (self.change)(Some(Node::Container(root.clone())))? {
            Some(Node::Container(fields)) => fields,
            None => Fields::default(),
            Some(other) => return Err(self.shape(0, "a datastore", &other)),
        };
        Ok(())
    }

    /// Edits the node of step `at` within the fields above it.
    fn fields(&self, fields: &mut Fields, at: usize) -> Result<(), TreeError> {
        fields.set_modified(self.revision);
        let step = &self.steps[at];
        let last = at + 1 == self.steps.len();
        let new = match (&self.schema.node(step.node).kind, &step.key) {
            (Kind::Container { presence }, None) if last => {
                let new = self.changed_fields(at, fields.container(step.node), "a container")?;
                new.filter(|fields| *presence || !fields.is_empty()).map(Node::Container)
            }
            (Kind::Container { presence }, None) => {
                let edited = fields.edit(step.node, |found| {
                    let Node::Container(inner) = found else { return Ok(None) };
                    self.fields(inner, at + 1)?;
                    Ok(Some(*presence || !inner.is_empty()))
                });
                if let Some(stays) = edited.transpose()?.flatten() {
                    if stays {
                        return Ok(());
                    }
                    None
                } else if *presence && self.parents == Parents::Require {
                    return Err(self.missing(at));
                } else {
                    let mut inner = Fields::default();
                    self.fields(&mut inner, at + 1)?;
                    (*presence || !inner.is_empty()).then(|| inner.into())
                }
            }
            (Kind::List { keys, .. }, Some(key)) => {
                if keys.is_empty() || keys.len() != key.values().len() {
                    return Err(self.not_data(at, "the number of key values is not that of the list's keys"));
                }
                let edited = fields.edit(step.node, |found| {
                    let Node::List(list) = found else { return Ok(None) };
                    self.entry(list, keys, key, at)?;
                    Ok(Some(!list.is_empty()))
                });
                if let Some(stays) = edited.transpose()?.flatten() {
                    if stays {
                        return Ok(());
                    }
                    None
                } else {
                    let mut list = List::empty(self.schema, step.node);
                    self.entry(&mut list, keys, key, at)?;
                    Some(Node::List(list)).filter(not_empty)
                }
            }
            (Kind::List { .. }, None) if last => match (self.change)(fields.get(step.node).cloned())? {
                Some(node @ Node::List(_)) => Some(node).filter(not_empty),
                None => None,
                Some(other) => return Err(self.shape(at, "a list", &other)),
            },
            (Kind::LeafList { .. }, None) if last => match (self.change)(fields.get(step.node).cloned())? {
                Some(node @ Node::LeafList(_)) => Some(node).filter(not_empty),
                None => None,
                Some(other) => return Err(self.shape(at, "a leaf-list", &other)),
            },
            (Kind::LeafList { .. }, Some(key)) if last => {
                self.leaf_list_entry(fields.get(step.node), key, at)?
            }
            (Kind::Leaf { .. } | Kind::Any { .. }, None) if last => {
                match (self.change)(fields.get(step.node).cloned())? {
                    node @ (Some(Node::Leaf(_)) | None) => {
                        self.keep_key(fields, at, node.as_ref())?;
                        node
                    }
                    Some(other) => return Err(self.shape(at, "a leaf", &other)),
                }
            }
            (Kind::Leaf { .. } | Kind::LeafList { .. } | Kind::Any { .. }, _) => {
                return Err(self.not_data(at, "a leaf has nothing below it"));
            }
            (Kind::List { .. }, None) => return Err(self.not_data(at, "a list is entered by its keys")),
            (Kind::Container { .. }, Some(_)) => return Err(self.not_data(at, "a container has no keys")),
            (Kind::Rpc | Kind::Input | Kind::Output | Kind::Notification, _) => {
                return Err(self.not_data(at, "it is an operation"));
            }
        };
        place(self.schema, fields, step.node, new);
        Ok(())
    }

    /// Edits one entry of a list.
    fn entry(&self, list: &mut List, keys: &[SchemaId], key: &Key, at: usize) -> Result<(), TreeError> {
        if at + 1 == self.steps.len() {
            let old = if self.is_derived { None } else { list.get(key) };
            match self.changed_fields(at, old, "a list entry")? {
                Some(fields) => list.insert(key.clone(), self.with_keys(fields, keys, key, at)?),
                None => drop(list.remove(key)),
            }
            return Ok(());
        }
        if let Some(inner) = list.get_mut(key) {
            return self.fields(inner, at + 1);
        }
        if self.parents == Parents::Require {
            return Err(self.missing(at));
        }
        let mut made = self.with_keys(Fields::default(), keys, key, at)?;
        self.fields(&mut made, at + 1)?;
        list.insert(key.clone(), made);
        Ok(())
    }

    /// The entry with its key leafs in place.
    fn with_keys(
        &self,
        mut fields: Fields,
        keys: &[SchemaId],
        key: &Key,
        at: usize,
    ) -> Result<Fields, TreeError> {
        for (leaf, value) in keys.iter().zip(key.values()) {
            match fields.leaf(*leaf) {
                Some(present) if present == value => {}
                Some(_) => {
                    let leaf = self.schema.node(*leaf).name.to_string();
                    return Err(TreeError::KeyMismatch { path: self.upto(at), leaf });
                }
                None => fields.set(*leaf, Some(Node::Leaf(value.clone()))),
            }
        }
        Ok(fields)
    }

    /// A key leaf may be written only as it is.
    fn keep_key(&self, entry: &Fields, at: usize, new: Option<&Node>) -> Result<(), TreeError> {
        let leaf = self.steps[at].node;
        let is_key = at.checked_sub(1).is_some_and(|above| {
            matches!(&self.schema.node(self.steps[above].node).kind,
                Kind::List { keys, .. } if keys.contains(&leaf))
        });
        if is_key && entry.get(leaf) != new {
            let leaf = self.schema.node(leaf).name.to_string();
            return Err(TreeError::KeyMismatch { path: self.upto(at - 1), leaf });
        }
        Ok(())
    }

    fn changed_fields(
        &self,
        at: usize,
        old: Option<&Fields>,
        expected: &'static str,
    ) -> Result<Option<Fields>, TreeError> {
        match (self.change)(old.cloned().map(Node::Container))? {
            Some(Node::Container(fields)) => Ok(Some(fields)),
            None => Ok(None),
            Some(other) => Err(self.shape(at, expected, &other)),
        }
    }

    fn leaf_list_entry(&self, old: Option<&Node>, key: &Key, at: usize) -> Result<Option<Node>, TreeError> {
        let [value] = key.values() else {
            return Err(self.not_data(at, "a leaf-list entry is named by one value"));
        };
        let none = Values::default();
        let old = if let Some(Node::LeafList(values)) = old { values } else { &none };
        let id = self.steps[at].node;
        let in_order =
            is_sorted_set(self.schema, id) || self.is_derived && is_system_ordered(self.schema, id);
        let new = (self.change)(old.get(value).cloned().map(Node::Leaf))?;
        let values = match new {
            None => old.without(value),
            Some(Node::Leaf(given)) if given == *value => old.with(value, in_order),
            Some(Node::Leaf(_)) => {
                let leaf = self.schema.node(self.steps[at].node).name.to_string();
                return Err(TreeError::KeyMismatch { path: self.upto(at), leaf });
            }
            Some(other) => return Err(self.shape(at, "a leaf-list entry", &other)),
        };
        Ok(Some(Node::LeafList(values)).filter(not_empty))
    }

    fn upto(&self, at: usize) -> String {
        DataPath { steps: self.steps[..=at].iter().cloned().collect() }.display(self.schema)
    }

    fn path(&self) -> String {
        DataPath { steps: self.steps.iter().cloned().collect() }.display(self.schema)
    }

    fn missing(&self, at: usize) -> TreeError {
        TreeError::ParentMissing { path: self.path(), parent: self.upto(at) }
    }

    fn not_data(&self, at: usize, reason: &'static str) -> TreeError {
        TreeError::NotData { path: self.upto(at), reason }
    }

    fn shape(&self, at: usize, expected: &'static str, found: &Node) -> TreeError {
        let found = match found {
            Node::Container(_) => "a container or list entry",
            Node::List(_) => "a list",
            Node::Leaf(_) => "a leaf",
            Node::LeafList(_) => "a leaf-list",
        };
        let path = if self.steps.is_empty() { "/".into() } else { self.upto(at) };
        TreeError::Shape { path, expected, found }
    }
}

fn not_empty(node: &Node) -> bool {
    match node {
        Node::List(list) => !list.is_empty(),
        Node::LeafList(values) => !values.is_empty(),
        Node::Container(_) | Node::Leaf(_) => true,
    }
}

/// A leaf-list in its one form: configuration that the system orders is sorted and a set; the rest stays as given.
pub fn leaf_list(schema: &Schema, id: SchemaId, values: Vec<Value>) -> Node {
    let set = is_sorted_set(schema, id);
    Node::LeafList(if set { Values::ascending(values) } else { values.into_iter().collect() })
}

/// Configuration that the system orders; state stays in the order it was told in (RFC 7950 section 7.7.7).
fn is_sorted_set(schema: &Schema, id: SchemaId) -> bool {
    schema.node(id).config && is_system_ordered(schema, id)
}

fn is_system_ordered(schema: &Schema, id: SchemaId) -> bool {
    matches!(schema.node(id).kind, Kind::LeafList { user_ordered: false, .. })
}

/// Sets `child`; nodes of other cases of its choices give way.
pub(super) fn place(schema: &Schema, fields: &mut Fields, child: SchemaId, new: Option<Node>) {
    let makes_way = new.is_some() && !schema.node(child).cases.is_empty();
    fields.set(child, new);
    if makes_way && fields.iter().any(|(other, _)| excludes(schema, child, *other)) {
        let others = fields.iter().filter(|(other, _)| !excludes(schema, child, **other));
        let others = others.map(|(id, node)| (*id, node.clone())).collect();
        *fields = Fields::sorted(others, &[], fields.modified());
    }
}

/// True for nodes in different cases of one choice.
pub(super) fn excludes(schema: &Schema, one: SchemaId, other: SchemaId) -> bool {
    let others = &schema.node(other).cases;
    schema.node(one).cases.iter().any(|a| others.iter().any(|b| a.choice == b.choice && a.case != b.case))
}
