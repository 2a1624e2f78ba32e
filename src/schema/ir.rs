//! The compiled schema: a flat vector of nodes, addressed by [`SchemaId`].

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};

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

/// One case of one choice: both numbers are unique in the schema.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct CaseId {
    pub choice: u32,
    pub case: u32,
}

/// All modules of `yang/`, compiled. Built once, then leaked: everything holds a `&'static Schema`.
#[derive(Debug)]
pub struct Schema {
    pub nodes: Vec<SchemaNode>,
    pub modules: Vec<Module>,
    pub identities: Vec<Identity>,
    /// Top-level data nodes of all modules.
    pub roots: Vec<SchemaId>,
    /// RPCs of all modules.
    pub rpcs: Vec<SchemaId>,
    /// Children by parent (`None`: top level, RPCs included) and local name; more than one module may use a name.
    pub by_name: HashMap<(Option<SchemaId>, Arc<str>), Vec<SchemaId>>,
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
}

#[derive(Debug)]
pub struct Identity {
    pub module: ModuleId,
    pub name: Arc<str>,
    /// All identities this one derives from, directly or not.
    pub bases: Vec<IdentityId>,
}

/// A data node, RPC, or RPC input or output. Choices and cases do not appear: their nodes carry [`CaseId`]s.
#[derive(Debug)]
pub struct SchemaNode {
    pub id: SchemaId,
    pub parent: Option<SchemaId>,
    pub module: ModuleId,
    pub name: Arc<str>,
    pub kind: Kind,
    /// `config true` (effective).
    pub config: bool,
    /// The cases this node stands in, outermost first; empty for most nodes.
    pub cases: Vec<CaseId>,
    /// Data children, choices flattened.
    pub children: Vec<SchemaId>,
    pub musts: Vec<Must>,
    pub whens: Vec<When>,
    /// Depth below the top level: 0 for a root.
    pub depth: u16,
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
    },
    /// anydata or anyxml: kept as the JSON text it came as.
    Any,
    Rpc,
    Input,
    Output,
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
    },
    /// uint8 to uint64.
    Uint {
        bits: u8,
        ranges: Vec<RangeInclusive<u64>>,
    },
    /// Scaled by 10^fraction_digits.
    Decimal64 {
        fraction_digits: u8,
        ranges: Vec<RangeInclusive<i64>>,
    },
    /// Lengths are in characters; patterns are anchored, `true` in the second place is invert-match.
    String {
        lengths: Vec<RangeInclusive<u64>>,
        patterns: Vec<(regex::Regex, bool)>,
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

    /// The child called `name` below `parent` (`None`: top level), of `module` where that is given.
    /// Without a module the name must be the only one of its kind.
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
