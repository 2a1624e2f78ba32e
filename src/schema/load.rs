//! From `yang/` to [`Schema`]: libyang compiles the modules, one walk copies what we need, libyang is let go.
//!
//! The safe interface of the crate hides ranges, patterns, paths and conditions, so this file alone reads libyang's
//! compiled structures (`lysc_*`) through raw pointers.

#![expect(unsafe_code, reason = "libyang's compiled schema is a C structure; see the notes at each block")]

use std::collections::HashMap;
use std::ffi::CStr;
use std::ops::RangeInclusive;
use std::os::raw::c_char;
use std::sync::{Arc, OnceLock};

use yang5::context::{Context, ContextFlags, EmbeddedModuleKey};
use yang5::ffi;
use yang5::schema::{SchemaNode as LyNode, SchemaNodeKind};

use super::ir::{
    CaseId, Identity, IdentityId, Kind, Module, ModuleId, Must, Schema, SchemaId, SchemaNode, StringKind,
    Type, When,
};

include!(concat!(env!("OUT_DIR"), "/yang.rs"));

/// The models do not compile, or hold something that we cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("module {module} does not compile: {reason}")]
    Compile { module: String, reason: String },
    #[error("{node}: {reason}")]
    Unserved { node: String, reason: String },
    #[error(transparent)]
    Rule(#[from] super::RuleError),
}

/// The models that are built into the program, compiled on first use.
///
/// # Panics
/// When our own models do not compile; `tests/yang_models.rs` keeps that from happening.
pub fn builtin() -> &'static Schema {
    static SCHEMA: OnceLock<&'static Schema> = OnceLock::new();
    SCHEMA.get_or_init(|| load().unwrap_or_else(|error| panic!("the built-in models are broken: {error}")))
}

/// A libyang context with all built-in modules: the compiler, and the oracle of tests.
///
/// # Errors
/// Names the module that does not compile.
pub fn context() -> Result<Context, LoadError> {
    context_with(&[])
}

fn context_with(more: &[(&'static str, &'static str)]) -> Result<Context, LoadError> {
    let failed = |module: &str, error: yang5::Error| LoadError::Compile {
        module: module.to_owned(),
        reason: error.to_string(),
    };
    let mut context = Context::new(ContextFlags::NO_YANGLIBRARY | ContextFlags::ALL_IMPLEMENTED)
        .map_err(|error| failed("(none)", error))?;
    let all = || MODULES.iter().chain(more);
    let embedded =
        all().map(|(name, text)| (EmbeddedModuleKey::new(name, None, None, None), *text)).collect();
    context.set_embedded_modules(Box::leak(Box::new(embedded)));
    for (name, _) in all() {
        context.load_module(name, None, &[]).map_err(|error| failed(name, error))?;
    }
    Ok(context)
}

/// Names of the built-in modules and their texts.
pub fn modules() -> &'static [(&'static str, &'static str)] {
    MODULES
}

/// Compiles the built-in modules.
///
/// # Errors
/// Names the module or the node that cannot be served.
pub fn load() -> Result<&'static Schema, LoadError> {
    load_with(&[])
}

/// Compiles the built-in modules and more of them, by name and text.
///
/// # Errors
/// As [`load`].
pub fn load_with(more: &[(&'static str, &'static str)]) -> Result<&'static Schema, LoadError> {
    let context = context_with(more)?;
    let mut walk = Walk::default();
    walk.take_modules(&context);
    walk.take_identities(&context);
    for module in context.modules(true) {
        if !module.is_implemented() {
            continue;
        }
        let top: Vec<_> = module.data().chain(module.rpcs()).collect();
        for node in top {
            walk.take(&node, None, &[], 0)?;
        }
    }
    walk.resolve_references()?;
    let schema: &'static Schema = Box::leak(Box::new(walk.schema));
    schema.rules()?;
    Ok(schema)
}

struct Walk {
    schema: Schema,
    modules: HashMap<usize, ModuleId>,
    identities: HashMap<usize, IdentityId>,
    /// Schema ids by libyang's node.
    nodes: HashMap<usize, SchemaId>,
    /// Cases by libyang's case node.
    cases: HashMap<usize, CaseId>,
    /// Leafref targets and uniques, as libyang's nodes, until all nodes are known.
    references: Vec<(SchemaId, usize)>,
    uniques: Vec<(SchemaId, Vec<usize>)>,
}

impl Default for Walk {
    fn default() -> Self {
        Walk {
            schema: Schema {
                nodes: Vec::new(),
                modules: Vec::new(),
                identities: Vec::new(),
                roots: Vec::new(),
                rpcs: Vec::new(),
                by_name: HashMap::new(),
                rules: OnceLock::new(),
            },
            modules: HashMap::new(),
            identities: HashMap::new(),
            nodes: HashMap::new(),
            cases: HashMap::new(),
            references: Vec::new(),
            uniques: Vec::new(),
        }
    }
}

/// Text of a C string; empty for a null pointer.
fn text(pointer: *const c_char) -> Arc<str> {
    if pointer.is_null() {
        return Arc::from("");
    }
    // SAFETY: libyang keeps its strings NUL-terminated and alive as long as the context, which outlives the walk.
    Arc::from(unsafe { CStr::from_ptr(pointer) }.to_string_lossy().as_ref())
}

fn some_text(pointer: *const c_char) -> Option<Arc<str>> {
    (!pointer.is_null()).then(|| text(pointer))
}

/// The elements of one of libyang's sized arrays: the count stands in the 64 bits before the first element.
fn sized<'a, T>(array: *const T) -> &'a [T] {
    if array.is_null() {
        return &[];
    }
    // SAFETY: LY_ARRAY_COUNT reads the same place; the array lives as long as the context.
    unsafe {
        let count = *array.cast::<u64>().sub(1);
        std::slice::from_raw_parts(array, count as usize)
    }
}

/// Reads a libyang structure.
fn read<'a, T>(pointer: *const T) -> Option<&'a T> {
    // SAFETY: pointers come from libyang's compiled tree, which is not changed and lives as long as the context.
    unsafe { pointer.as_ref() }
}

/// The same structure seen as its more special kind (`lysc_node` as `lysc_node_list` …).
fn special<'a, T>(node: *const ffi::lysc_node) -> Option<&'a T> {
    read(node.cast::<T>())
}

impl Walk {
    fn take_modules(&mut self, context: &Context) {
        for module in context.modules(false) {
            let id = ModuleId(self.schema.modules.len() as u16);
            self.modules.insert(module.as_raw() as usize, id);
            self.schema.modules.push(Module {
                name: Arc::from(module.name()),
                namespace: Arc::from(module.namespace()),
                prefix: Arc::from(module.prefix()),
                revision: module.revision().map(Arc::from),
                implemented: module.is_implemented(),
            });
        }
    }

    fn take_identities(&mut self, context: &Context) {
        let mut all: Vec<&ffi::lysc_ident> = Vec::new();
        for module in context.modules(false) {
            if let Some(raw) = read(module.as_raw()) {
                all.extend(sized(raw.identities));
            }
        }
        for identity in &all {
            let id = IdentityId(self.schema.identities.len() as u16);
            self.identities.insert(std::ptr::from_ref(*identity) as usize, id);
            let module = self.modules.get(&(identity.module as usize)).copied().unwrap_or(ModuleId(0));
            self.schema.identities.push(Identity { module, name: text(identity.name), bases: Vec::new() });
        }
        for base in &all {
            let base_id = self.identities[&(std::ptr::from_ref(*base) as usize)];
            let mut waiting: Vec<*mut ffi::lysc_ident> = sized(base.derived).to_vec();
            while let Some(pointer) = waiting.pop() {
                let Some(derived) = read(pointer) else { continue };
                if let Some(id) = self.identities.get(&(pointer as usize)) {
                    let bases = &mut self.schema.identities[id.0 as usize].bases;
                    if !bases.contains(&base_id) {
                        bases.push(base_id);
                    }
                }
                waiting.extend(sized(derived.derived));
            }
        }
    }

    /// Takes a node and what is below it. Choices and cases vanish; their nodes remember them.
    fn take(
        &mut self,
        node: &LyNode<'_>,
        parent: Option<SchemaId>,
        cases: &[CaseId],
        depth: u16,
    ) -> Result<(), LoadError> {
        let raw = node.as_raw().cast_const();
        match node.kind() {
            SchemaNodeKind::Choice => {
                let choice = raw as usize as u32 ^ (raw as usize >> 32) as u32;
                for (number, case) in node.children().enumerate() {
                    let id = CaseId { choice, case: number as u32 };
                    self.cases.insert(case.as_raw() as usize, id);
                    let mut inside = cases.to_vec();
                    inside.push(id);
                    let members: Vec<_> = case.children().collect();
                    for member in members {
                        self.take(&member, parent, &inside, depth)?;
                    }
                }
                return Ok(());
            }
            SchemaNodeKind::Notification => return Ok(()),
            _ => {}
        }
        let id = SchemaId(self.schema.nodes.len() as u32);
        let name: Arc<str> = Arc::from(node.name());
        let module = self.modules.get(&(node.module().as_raw() as usize)).copied().unwrap_or(ModuleId(0));
        self.nodes.insert(raw as usize, id);
        self.schema.by_name.entry((parent, name.clone())).or_default().push(id);
        match parent {
            Some(parent) => self.schema.nodes[parent.0 as usize].children.push(id),
            None if node.kind() == SchemaNodeKind::Rpc => self.schema.rpcs.push(id),
            None => self.schema.roots.push(id),
        }
        let kind = self.kind(id, node)?;
        self.schema.nodes.push(SchemaNode {
            id,
            parent,
            module,
            name,
            kind,
            config: node.is_config(),
            cases: cases.to_vec(),
            children: Vec::new(),
            musts: musts(node),
            whens: whens(raw),
            depth,
        });
        let children: Vec<_> = node.children().collect();
        for child in children {
            self.take(&child, Some(id), &[], depth + 1)?;
        }
        self.resolve_keys(id, node);
        Ok(())
    }

    fn kind(&mut self, id: SchemaId, node: &LyNode<'_>) -> Result<Kind, LoadError> {
        let raw = node.as_raw().cast_const();
        Ok(match node.kind() {
            SchemaNodeKind::Container => Kind::Container { presence: !node.is_np_container() },
            SchemaNodeKind::List => {
                let list = special::<ffi::lysc_node_list>(raw);
                for unique in list.map(|list| sized(list.uniques)).unwrap_or_default() {
                    self.uniques.push((id, sized(*unique).iter().map(|leaf| *leaf as usize).collect()));
                }
                Kind::List {
                    keys: Vec::new(),
                    // libyang calls all state lists user-ordered; RFC 7950 7.7.7 gives them no order, so by key.
                    user_ordered: node.is_config() && node.is_user_ordered(),
                    positional: extension(raw, "positional-key"),
                    min: list.map_or(0, |list| list.min),
                    max: list.map_or(u32::MAX, |list| list.max),
                    unique: Vec::new(),
                }
            }
            SchemaNodeKind::Leaf => Kind::Leaf {
                type_: self.leaf_type(id, node)?,
                mandatory: node.is_mandatory(),
                default: node.default_value_canonical().ok().flatten().map(Arc::from),
            },
            SchemaNodeKind::LeafList => {
                let list = special::<ffi::lysc_node_leaflist>(raw);
                Kind::LeafList {
                    type_: self.leaf_type(id, node)?,
                    user_ordered: node.is_user_ordered(),
                    min: list.map_or(0, |list| list.min),
                    max: list.map_or(u32::MAX, |list| list.max),
                }
            }
            SchemaNodeKind::AnyData => Kind::Any,
            SchemaNodeKind::Rpc | SchemaNodeKind::Action => Kind::Rpc,
            SchemaNodeKind::Input => Kind::Input,
            SchemaNodeKind::Output => Kind::Output,
            other => {
                return Err(LoadError::Unserved {
                    node: node.name().to_owned(),
                    reason: format!("a node of kind {other:?}"),
                });
            }
        })
    }

    /// Keys in the order of the key statement.
    fn resolve_keys(&mut self, id: SchemaId, node: &LyNode<'_>) {
        if node.kind() != SchemaNodeKind::List {
            return;
        }
        let found: Vec<SchemaId> =
            node.list_keys().filter_map(|key| self.nodes.get(&(key.as_raw() as usize)).copied()).collect();
        if let Kind::List { keys, .. } = &mut self.schema.nodes[id.0 as usize].kind {
            *keys = found;
        }
    }

    fn leaf_type(&mut self, id: SchemaId, node: &LyNode<'_>) -> Result<Type, LoadError> {
        let type_ = special::<ffi::lysc_node_leaf>(node.as_raw().cast_const())
            .map_or(std::ptr::null(), |leaf| leaf.type_.cast_const());
        let found = self.type_of(type_, node)?;
        if matches!(found, Type::LeafRef { .. })
            && let Some(target) = node.find_leafref_target()
        {
            self.references.push((id, target));
        }
        Ok(found)
    }

    fn type_of(&self, raw: *const ffi::lysc_type, node: &LyNode<'_>) -> Result<Type, LoadError> {
        let unserved = |reason: String| LoadError::Unserved {
            node: node.path(yang5::schema::SchemaPathFormat::DATA),
            reason,
        };
        let type_ = read(raw).ok_or_else(|| unserved("a leaf without a type".into()))?;
        let name = text(type_.name);
        let name = name.rsplit(':').next().unwrap_or_default();
        Ok(match type_.basetype {
            ffi::LY_DATA_TYPE::LY_TYPE_INT8 => int(raw, 8),
            ffi::LY_DATA_TYPE::LY_TYPE_INT16 => int(raw, 16),
            ffi::LY_DATA_TYPE::LY_TYPE_INT32 => int(raw, 32),
            ffi::LY_DATA_TYPE::LY_TYPE_INT64 => int(raw, 64),
            ffi::LY_DATA_TYPE::LY_TYPE_UINT8 => uint(raw, 8),
            ffi::LY_DATA_TYPE::LY_TYPE_UINT16 => uint(raw, 16),
            ffi::LY_DATA_TYPE::LY_TYPE_UINT32 => uint(raw, 32),
            ffi::LY_DATA_TYPE::LY_TYPE_UINT64 => uint(raw, 64),
            ffi::LY_DATA_TYPE::LY_TYPE_DEC64 => {
                let decimal = read(raw.cast::<ffi::lysc_type_dec>());
                Type::Decimal64 {
                    fraction_digits: decimal.map_or(1, |decimal| decimal.fraction_digits),
                    ranges: or_all(
                        signed(decimal.map_or(std::ptr::null_mut(), |decimal| decimal.range)),
                        i64::MIN..=i64::MAX,
                    ),
                }
            }
            ffi::LY_DATA_TYPE::LY_TYPE_STRING => {
                let string = read(raw.cast::<ffi::lysc_type_str>());
                let mut patterns = Vec::new();
                for pattern in string.map(|string| sized(string.patterns)).unwrap_or_default() {
                    let Some(pattern) = read(*pattern) else { continue };
                    let expression = format!("^(?:{})$", text(pattern.expr));
                    let regex =
                        regex::Regex::new(&expression).map_err(|error| unserved(error.to_string()))?;
                    patterns.push((regex, pattern.inverted() != 0));
                }
                let lengths = unsigned(string.map_or(std::ptr::null_mut(), |string| string.length));
                Type::String { lengths: or_all(lengths, 0..=u64::MAX), patterns, kind: string_kind(name) }
            }
            ffi::LY_DATA_TYPE::LY_TYPE_BOOL => Type::Boolean,
            ffi::LY_DATA_TYPE::LY_TYPE_EMPTY => Type::Empty,
            ffi::LY_DATA_TYPE::LY_TYPE_ENUM => {
                let items = read(raw.cast::<ffi::lysc_type_enum>())
                    .map(|type_| sized(type_.enums))
                    .unwrap_or_default();
                // SAFETY: the union holds the value for enumerations.
                Type::Enumeration(
                    items
                        .iter()
                        .map(|item| (text(item.name), unsafe { item.__bindgen_anon_1.value }))
                        .collect(),
                )
            }
            ffi::LY_DATA_TYPE::LY_TYPE_BITS => {
                let items = read(raw.cast::<ffi::lysc_type_bits>())
                    .map(|type_| sized(type_.bits))
                    .unwrap_or_default();
                // SAFETY: the union holds the position for bits.
                Type::Bits(
                    items
                        .iter()
                        .map(|item| (text(item.name), unsafe { item.__bindgen_anon_1.position }))
                        .collect(),
                )
            }
            ffi::LY_DATA_TYPE::LY_TYPE_BINARY => {
                let length =
                    read(raw.cast::<ffi::lysc_type_bin>()).map_or(std::ptr::null_mut(), |type_| type_.length);
                Type::Binary { lengths: or_all(unsigned(length), 0..=u64::MAX) }
            }
            ffi::LY_DATA_TYPE::LY_TYPE_IDENT => {
                let bases = read(raw.cast::<ffi::lysc_type_identityref>())
                    .map(|type_| sized(type_.bases))
                    .unwrap_or_default();
                Type::IdentityRef(
                    bases.iter().filter_map(|base| self.identities.get(&(*base as usize)).copied()).collect(),
                )
            }
            ffi::LY_DATA_TYPE::LY_TYPE_INST => {
                let require = read(raw.cast::<ffi::lysc_type_instanceid>())
                    .is_some_and(|type_| type_.require_instance != 0);
                Type::InstanceIdentifier { require_instance: require }
            }
            ffi::LY_DATA_TYPE::LY_TYPE_LEAFREF => {
                let leafref = read(raw.cast::<ffi::lysc_type_leafref>())
                    .ok_or_else(|| unserved("an empty leafref".into()))?;
                Type::LeafRef {
                    target: None,
                    path: expression(leafref.path),
                    require_instance: leafref.require_instance != 0,
                    real: Box::new(self.type_of(leafref.realtype.cast_const(), node)?),
                }
            }
            ffi::LY_DATA_TYPE::LY_TYPE_UNION => {
                let members = read(raw.cast::<ffi::lysc_type_union>())
                    .map(|type_| sized(type_.types))
                    .unwrap_or_default();
                let members: Result<_, _> =
                    members.iter().map(|member| self.type_of(member.cast_const(), node)).collect();
                Type::Union(members?)
            }
            _ => return Err(unserved(format!("type {name} is of no kind that we know"))),
        })
    }

    /// Fills in what refers to nodes that came later.
    fn resolve_references(&mut self) -> Result<(), LoadError> {
        for (id, found) in std::mem::take(&mut self.references) {
            let to = self.nodes.get(&found).copied();
            if let Kind::Leaf { type_: Type::LeafRef { target, .. }, .. }
            | Kind::LeafList { type_: Type::LeafRef { target, .. }, .. } =
                &mut self.schema.nodes[id.0 as usize].kind
            {
                *target = to;
            }
        }
        for (list, leafs) in std::mem::take(&mut self.uniques) {
            let mut chains = Vec::new();
            for leaf in leafs {
                let mut chain = Vec::new();
                let mut at = self.nodes.get(&leaf).copied();
                while let Some(id) = at.filter(|id| *id != list) {
                    chain.push(id);
                    at = self.schema.node(id).parent;
                }
                chain.reverse();
                chains.push(chain);
            }
            if let Kind::List { unique, .. } = &mut self.schema.nodes[list.0 as usize].kind {
                unique.push(chains);
            }
        }
        Ok(())
    }
}

/// Finds where a leafref leads.
trait LeafrefTarget {
    fn find_leafref_target(&self) -> Option<usize>;
}

impl LeafrefTarget for LyNode<'_> {
    fn find_leafref_target(&self) -> Option<usize> {
        // SAFETY: `lysc_node_lref_target` reads the compiled tree only and takes a leaf or leaf-list.
        let target = unsafe { ffi::lysc_node_lref_target(self.as_raw()) };
        (!target.is_null()).then_some(target as usize)
    }
}

fn expression(raw: *const ffi::lyxp_expr) -> Arc<str> {
    // SAFETY: returns the text that the expression was parsed from, which lives as long as the expression.
    text(unsafe { ffi::lyxp_get_expr(raw) })
}

fn musts(node: &LyNode<'_>) -> Vec<Must> {
    let list = node.musts().into_iter().flatten();
    list.filter_map(|must| {
        let raw = read(must.as_raw())?;
        Some(Must {
            condition: expression(raw.cond),
            error_message: some_text(raw.emsg),
            error_app_tag: some_text(raw.eapptag),
        })
    })
    .collect()
}

/// The conditions of a node and of the choices and cases around it.
fn whens(raw: *const ffi::lysc_node) -> Vec<When> {
    let mut found = Vec::new();
    let mut at = raw;
    while let Some(node) = read(at) {
        // SAFETY: returns the sized array of conditions of a node of any kind.
        let conditions = sized(unsafe { ffi::lysc_node_when(at) });
        for condition in conditions {
            if let Some(when) = read(*condition) {
                found.push(When {
                    condition: expression(when.cond),
                    context_is_parent: !std::ptr::eq(when.context.cast_const(), raw),
                });
            }
        }
        let around = node.parent.cast_const();
        let transparent = read(around)
            .is_some_and(|parent| u32::from(parent.nodetype) & (ffi::LYS_CHOICE | ffi::LYS_CASE) != 0);
        if !transparent {
            break;
        }
        at = around;
    }
    found
}

/// Whether an extension of ours stands on a node.
fn extension(raw: *const ffi::lysc_node, name: &str) -> bool {
    let instances = read(raw).map(|node| sized(node.exts)).unwrap_or_default();
    instances
        .iter()
        .any(|instance| read(instance.def).is_some_and(|definition| &*text(definition.name) == name))
}

fn int(raw: *const ffi::lysc_type, bits: u8) -> Type {
    let range = read(raw.cast::<ffi::lysc_type_num>()).map_or(std::ptr::null_mut(), |type_| type_.range);
    let all = i64::MIN >> (64 - bits)..=i64::MAX >> (64 - bits);
    Type::Int { bits, ranges: or_all(signed(range), all) }
}

fn uint(raw: *const ffi::lysc_type, bits: u8) -> Type {
    let range = read(raw.cast::<ffi::lysc_type_num>()).map_or(std::ptr::null_mut(), |type_| type_.range);
    Type::Uint { bits, ranges: or_all(unsigned(range), 0..=u64::MAX >> (64 - bits)) }
}

fn or_all<T>(ranges: Vec<RangeInclusive<T>>, all: RangeInclusive<T>) -> Vec<RangeInclusive<T>> {
    if ranges.is_empty() { vec![all] } else { ranges }
}

fn signed(range: *const ffi::lysc_range) -> Vec<RangeInclusive<i64>> {
    let parts = read(range).map(|range| sized(range.parts)).unwrap_or_default();
    // SAFETY: the union holds signed bounds for signed and decimal types.
    parts.iter().map(|part| unsafe { part.__bindgen_anon_1.min_64..=part.__bindgen_anon_2.max_64 }).collect()
}

fn unsigned(range: *const ffi::lysc_range) -> Vec<RangeInclusive<u64>> {
    let parts = read(range).map(|range| sized(range.parts)).unwrap_or_default();
    // SAFETY: the union holds unsigned bounds for unsigned types and lengths.
    parts
        .iter()
        .map(|part| unsafe { part.__bindgen_anon_1.min_u64..=part.__bindgen_anon_2.max_u64 })
        .collect()
}

fn string_kind(typedef: &str) -> StringKind {
    match typedef {
        "uuid" | "mac-address" | "phys-address" | "hex-string" => StringKind::LowerCase,
        "ipv4-address" | "ipv4-address-no-zone" => StringKind::Ipv4Address,
        "ipv6-address" | "ipv6-address-no-zone" => StringKind::Ipv6Address,
        "ipv4-prefix" => StringKind::Ipv4Prefix,
        "ipv6-prefix" => StringKind::Ipv6Prefix,
        _ => StringKind::Plain,
    }
}
