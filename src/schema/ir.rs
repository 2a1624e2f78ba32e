//! The compiled schema: a flat vector of nodes, addressed by [`SchemaId`].

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};

use super::expression::Expression;
use super::rules::Rules;

/// Index into [`Schema::nodes`]. Siblings are numbered in the order of the module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SchemaId(pub u32);

/// Index into [`Schema::modules`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ModuleId(pub u16);

/// Index into [`Schema::identities`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct IdentityId(pub u16);

/// One case of one choice: an index into [`Schema::choices`], and one into its cases.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct CaseId {
    pub choice: u32,
    pub case: u32,
}

/// All modules of `yang/`, compiled. Built once, then leaked: everything holds a `&'static Schema`.
#[derive(Debug, Default)]
pub struct Schema {
    pub nodes: Vec<SchemaNode>,
    pub modules: Vec<Module>,
    pub identities: Vec<Identity>,
    /// Top-level data nodes of all modules.
    pub roots: Vec<SchemaId>,
    /// RPCs of all modules. See `operations.rs` for what one asks of operations.
    pub rpcs: Vec<SchemaId>,
    /// Actions of all data nodes; `parent` is the data node.
    pub actions: Vec<SchemaId>,
    /// Notifications of all modules, those of data nodes included.
    pub notifications: Vec<SchemaId>,
    pub choices: Vec<Choice>,
    /// Children by parent (`None`: top level) and local name, operations and notifications included; more than one
    /// module may use a name.
    pub by_name: HashMap<(Option<SchemaId>, Arc<str>), Vec<SchemaId>>,
    /// Nodes that bear `nacm:default-deny-write` or `nacm:default-deny-all` (RFC 8341).
    pub default_deny: HashMap<SchemaId, DefaultDeny>,
    /// must, when, leafref and unique, compiled by [`Schema::rules`]; starts as `OnceLock::new()`.
    pub rules: OnceLock<Rules>,
}

#[derive(Debug)]
pub struct Module {
    pub name: Arc<str>,
    pub namespace: Arc<str>,
    pub prefix: Arc<str>,
    pub revision: Option<Arc<str>>,
    /// Implemented (has data nodes or augments) as against imported for its types only.
    pub implemented: bool,
    /// Not one of the modules that were asked for: libyang has it for itself, or for others to import.
    pub internal: bool,
    /// Features that are on.
    pub features: Vec<Arc<str>>,
    /// Names of the modules that deviate from this one.
    pub deviated_by: Vec<Arc<str>>,
    /// The module in YANG.
    pub source: Arc<str>,
}

#[derive(Debug)]
pub struct Identity {
    pub module: ModuleId,
    pub name: Arc<str>,
    /// All identities this one derives from, directly or not.
    pub bases: Vec<IdentityId>,
}

/// A choice. Its data nodes carry [`CaseId`]s and stand among the children of `parent`.
#[derive(Debug)]
pub struct Choice {
    /// The data node (or operation part) around it; `None`: top level.
    pub parent: Option<SchemaId>,
    pub module: ModuleId,
    pub name: Arc<str>,
    pub mandatory: bool,
    pub config: bool,
    /// Names of the cases.
    pub cases: Vec<Arc<str>>,
    /// Number of the default case.
    pub default: Option<usize>,
    /// The cases the choice itself stands in, outermost first.
    pub within: Vec<CaseId>,
    pub whens: Vec<When>,
}

/// A data node, an operation with its input and output, or a notification. Choices and cases do not appear: their
/// nodes carry [`CaseId`]s.
#[derive(Debug)]
pub struct SchemaNode {
    pub id: SchemaId,
    pub parent: Option<SchemaId>,
    pub module: ModuleId,
    pub name: Arc<str>,
    pub kind: Kind,
    /// `config true` (effective); false in operations and notifications.
    pub config: bool,
    /// The cases this node stands in, outermost first; empty for most nodes.
    pub cases: Vec<CaseId>,
    /// Data children, choices flattened; for an operation its input and output. Actions and notifications of a data
    /// node are not among them, so that no data path leads to them.
    pub children: Vec<SchemaId>,
    pub musts: Vec<Must>,
    pub whens: Vec<When>,
    /// Depth below the top level: 0 for a root.
    pub depth: u16,
    pub description: Option<Arc<str>>,
}

#[derive(Debug)]
pub enum Kind {
    Container {
        presence: bool,
    },
    List {
        /// Empty for a keyless (operational) list.
        keys: Vec<SchemaId>,
        user_ordered: bool,
        /// `coeus-extensions:positional-key`: entries sent without their key get their position (1…) as the key.
        positional: bool,
        min: u32,
        max: u32,
        /// Each `unique` statement: paths below the entry, as chains of schema ids ending in a leaf.
        unique: Vec<Vec<Vec<SchemaId>>>,
    },
    Leaf {
        type_: Type,
        mandatory: bool,
        /// Canonical text of the default, if any.
        default: Option<Arc<str>>,
    },
    LeafList {
        type_: Type,
        user_ordered: bool,
        min: u32,
        max: u32,
        /// Canonical texts of the defaults, in their order.
        defaults: Vec<Arc<str>>,
    },
    /// anydata or anyxml: kept as the JSON text it came as.
    Any {
        mandatory: bool,
    },
    /// An RPC, or below a data node an action.
    Rpc,
    Input,
    Output,
    Notification,
}

/// `must`: an XPath condition and what to say when it does not hold.
#[derive(Debug)]
pub struct Must {
    pub condition: Arc<str>,
    pub error_message: Option<Arc<str>>,
    pub error_app_tag: Option<Arc<str>>,
}

/// `when`: the node exists only where the condition holds. Context is the node itself, or its parent for
/// conditions that come from a choice, case, uses or augment.
#[derive(Debug)]
pub struct When {
    pub condition: Arc<str>,
    pub context_is_parent: bool,
}

/// A resolved type: typedefs are gone, restrictions are gathered.
#[derive(Debug, Clone)]
pub enum Type {
    /// int8 to int64: allowed ranges, at least one.
    Int {
        bits: u8,
        ranges: Vec<RangeInclusive<i64>>,
        says: Says,
    },
    /// uint8 to uint64.
    Uint {
        bits: u8,
        ranges: Vec<RangeInclusive<u64>>,
        says: Says,
    },
    /// Scaled by 10^fraction_digits.
    Decimal64 {
        fraction_digits: u8,
        ranges: Vec<RangeInclusive<i64>>,
        says: Says,
    },
    /// Lengths are in characters; `says` is about them.
    String {
        lengths: Vec<RangeInclusive<u64>>,
        says: Says,
        patterns: Vec<Pattern>,
        kind: StringKind,
    },
    Boolean,
    Empty,
    /// Name and value, in schema order.
    Enumeration(Vec<(Arc<str>, i32)>),
    /// Name and position, in position order.
    Bits(Vec<(Arc<str>, u32)>),
    /// Lengths in bytes.
    Binary {
        lengths: Vec<RangeInclusive<u64>>,
        says: Says,
    },
    /// Any identity derived from all of these bases.
    IdentityRef(Vec<IdentityId>),
    /// The target leaf, the path as written, and the type of the target.
    LeafRef {
        target: Option<SchemaId>,
        path: Arc<str>,
        require_instance: bool,
        real: Box<Type>,
    },
    InstanceIdentifier {
        require_instance: bool,
    },
    Union(Vec<Type>),
}

/// The model's own words for a value outside of a range or length (`error-message`).
pub type Says = Option<Arc<str>>;

/// A `pattern` statement.
#[derive(Debug, Clone)]
pub struct Pattern {
    pub expression: Expression,
    /// `modifier invert-match`.
    pub inverted: bool,
    /// The model's own words for a text that does not fit.
    pub says: Says,
}

/// String typedefs of ietf-inet-types and ietf-yang-types whose canonical form is not the text as given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StringKind {
    Plain,
    /// yang:uuid, mac-address, phys-address, hex-string: lower case.
    LowerCase,
    Ipv4Address,
    /// RFC 5952.
    Ipv6Address,
    /// Host bits are cleared.
    Ipv4Prefix,
    Ipv6Prefix,
}

impl Schema {
    pub fn node(&self, id: SchemaId) -> &SchemaNode {
        &self.nodes[id.0 as usize]
    }

    pub fn module(&self, id: ModuleId) -> &Module {
        &self.modules[id.0 as usize]
    }

    /// Enters the node, which has just been pushed, into the indices.
    pub(super) fn enlist(&mut self, id: SchemaId) {
        let node = &self.nodes[id.0 as usize];
        let (parent, name) = (node.parent, node.name.clone());
        let siblings = match (&node.kind, parent) {
            (Kind::Notification, _) => &mut self.notifications,
            (Kind::Rpc, None) => &mut self.rpcs,
            (Kind::Rpc, Some(_)) => &mut self.actions,
            (_, None) => &mut self.roots,
            (_, Some(parent)) => &mut self.nodes[parent.0 as usize].children,
        };
        siblings.push(id);
        self.by_name.entry((parent, name)).or_default().push(id);
    }

    /// The nodes from the top to this one, itself included.
    pub fn way_to(&self, id: SchemaId) -> Vec<SchemaId> {
        let mut way: Vec<_> = std::iter::successors(Some(id), |id| self.node(*id).parent).collect();
        way.reverse();
        way
    }

    /// The child called `name` below `parent` (`None`: top level), of `module` where that is given.
    /// Without a module the name must be the only one of its kind. Finds operations and notifications too.
    pub fn child(&self, parent: Option<SchemaId>, module: Option<&str>, name: &str) -> Option<SchemaId> {
        let candidates = self.by_name.get(&(parent, Arc::from(name)))?;
        match module {
            Some(module) => {
                candidates.iter().copied().find(|id| &*self.module(self.node(*id).module).name == module)
            }
            None => match candidates.as_slice() {
                [only] => Some(*only),
                _ => None,
            },
        }
    }

    /// A node by its qualified path, as in `/pod:coe/pods/interface`; a step without a module stays in that of
    /// its parent. For paths that code is built on: a path that does not exist is a fault of the program.
    ///
    /// # Panics
    /// When there is no such node.
    pub fn resolve(&self, path: &str) -> SchemaId {
        let mut parent = None;
        let mut module = "";
        for step in path.split('/').filter(|step| !step.is_empty()) {
            let name = match step.split_once(':') {
                Some((prefix, name)) => {
                    module = prefix;
                    name
                }
                None => step,
            };
            match self.child(parent, Some(module), name) {
                Some(id) => parent = Some(id),
                None => panic!("the models have no node {path} (looking for {module}:{name})"),
            }
        }
        parent.unwrap_or_else(|| panic!("{path:?} names no node"))
    }
}

/// What a model says about access where no rule does (the extensions of RFC 8341). The later is the stricter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DefaultDeny {
    /// `nacm:default-deny-write`.
    Write,
    /// `nacm:default-deny-all`.
    All,
}
