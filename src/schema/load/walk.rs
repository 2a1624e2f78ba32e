//! The walk over the compiled tree, node by node.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use yang5::ffi;
use yang5::schema::{SchemaNode as LyNode, SchemaNodeKind, SchemaPathFormat};

use super::LoadError;
use super::conditions::{musts, whens};
use super::raw::{self, sized, special};
use crate::schema::Expression;
use crate::schema::ir::{
    CaseId, Choice, DefaultDeny, IdentityId, Kind, ModuleId, Schema, SchemaId, SchemaNode, Type,
};

/// What has been copied, and where libyang keeps the originals.
#[derive(Default)]
pub struct Walk {
    pub schema: Schema,
    pub modules: HashMap<usize, ModuleId>,
    pub identities: HashMap<usize, IdentityId>,
    /// Schema ids by libyang's node.
    pub nodes: HashMap<usize, SchemaId>,
    /// Leafref targets and uniques, as libyang's nodes, until all nodes are known.
    pub references: Vec<(SchemaId, usize)>,
    pub uniques: Vec<(SchemaId, Vec<usize>)>,
    /// By what stands in the module: many leafs are of one typedef.
    pub expressions: RefCell<HashMap<Arc<str>, Expression>>,
}

impl Walk {
    /// The regular expression of a pattern.
    pub fn expression(&self, text: Arc<str>) -> Expression {
        let mut all = self.expressions.borrow_mut();
        all.entry(text.clone()).or_insert_with(|| Expression::new(text)).clone()
    }

    /// Takes a node and what is below it. Choices and cases vanish; their nodes remember them.
    pub fn take(
        &mut self,
        node: &LyNode<'_>,
        parent: Option<SchemaId>,
        cases: &[CaseId],
        depth: u16,
    ) -> Result<(), LoadError> {
        if node.kind() == SchemaNodeKind::Choice {
            return self.take_choice(node, parent, cases, depth);
        }
        let raw = node.as_raw().cast_const();
        let id = SchemaId(self.schema.nodes.len() as u32);
        let name: Arc<str> = Arc::from(node.name());
        let kind = self.kind(id, node)?;
        self.nodes.insert(raw as usize, id);
        self.schema.nodes.push(SchemaNode {
            id,
            parent,
            module: self.module_of(node),
            name,
            kind,
            config: node.is_config(),
            cases: cases.to_vec(),
            children: Vec::new(),
            musts: musts(node),
            whens: whens(raw),
            depth,
            description: node.description().map(Arc::from),
        });
        self.schema.enlist(id);
        let raw = node.as_raw().cast_const();
        let denied = [("default-deny-all", DefaultDeny::All), ("default-deny-write", DefaultDeny::Write)];
        if let Some((_, deny)) = denied.into_iter().find(|(name, _)| raw::extension(raw, name)) {
            self.schema.default_deny.insert(id, deny);
        }
        let children: Vec<_> = node.all_children().collect();
        for child in children {
            self.take(&child, Some(id), &[], depth + 1)?;
        }
        self.resolve_keys(id, node);
        Ok(())
    }

    fn take_choice(
        &mut self,
        node: &LyNode<'_>,
        parent: Option<SchemaId>,
        cases: &[CaseId],
        depth: u16,
    ) -> Result<(), LoadError> {
        let choice = self.schema.choices.len() as u32;
        let all: Vec<_> = node.children().collect();
        let default = node.default_case();
        self.schema.choices.push(Choice {
            parent,
            module: self.module_of(node),
            name: Arc::from(node.name()),
            mandatory: node.is_mandatory(),
            config: node.is_config(),
            cases: all.iter().map(|case| Arc::from(case.name())).collect(),
            default: default.and_then(|default| all.iter().position(|case| *case == default)),
            within: cases.to_vec(),
            whens: whens(node.as_raw().cast_const()),
        });
        for (number, case) in all.iter().enumerate() {
            let mut inside = cases.to_vec();
            inside.push(CaseId { choice, case: number as u32 });
            let members: Vec<_> = case.children().collect();
            for member in members {
                self.take(&member, parent, &inside, depth)?;
            }
        }
        Ok(())
    }

    fn module_of(&self, node: &LyNode<'_>) -> ModuleId {
        self.modules.get(&(node.module().as_raw() as usize)).copied().unwrap_or(ModuleId(0))
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
                    positional: raw::extension(raw, "positional-key"),
                    min: list.map_or(0, |list| list.min),
                    max: list.map_or(u32::MAX, |list| list.max),
                    unique: Vec::new(),
                }
            }
            SchemaNodeKind::Leaf => Kind::Leaf {
                type_: self.leaf_type(id, node)?,
                mandatory: node.is_mandatory(),
                // Asked for the default of a leaf that has none, libyang judges the empty text instead.
                default: special::<ffi::lysc_node_leaf>(raw)
                    .filter(|leaf| !leaf.dflt.str_.is_null())
                    .and_then(|_| node.default_value_canonical().ok().flatten().map(Arc::from)),
            },
            SchemaNodeKind::LeafList => {
                let list = special::<ffi::lysc_node_leaflist>(raw);
                Kind::LeafList {
                    type_: self.leaf_type(id, node)?,
                    user_ordered: node.is_config() && node.is_user_ordered(),
                    min: list.map_or(0, |list| list.min),
                    max: list.map_or(u32::MAX, |list| list.max),
                    defaults: raw::leaf_list_defaults(raw),
                }
            }
            SchemaNodeKind::AnyData | SchemaNodeKind::AnyXml => Kind::Any { mandatory: node.is_mandatory() },
            SchemaNodeKind::Rpc | SchemaNodeKind::Action => Kind::Rpc,
            SchemaNodeKind::Input => Kind::Input,
            SchemaNodeKind::Output => Kind::Output,
            SchemaNodeKind::Notification => Kind::Notification,
            other => {
                return Err(LoadError::Unserved {
                    node: node.name().to_owned(),
                    reason: format!("a node of kind {other:?}"),
                });
            }
        })
    }

    fn leaf_type(&mut self, id: SchemaId, node: &LyNode<'_>) -> Result<Type, LoadError> {
        let raw = node.as_raw().cast_const();
        let type_ =
            special::<ffi::lysc_node_leaf>(raw).map_or(std::ptr::null(), |leaf| leaf.type_.cast_const());
        let unserved =
            |reason: String| LoadError::Unserved { node: node.path(SchemaPathFormat::DATA), reason };
        let found = self.type_of(type_, &unserved)?;
        if matches!(found, Type::LeafRef { .. })
            && let Some(target) = raw::leafref_target(raw)
        {
            self.references.push((id, target));
        }
        Ok(found)
    }
}
