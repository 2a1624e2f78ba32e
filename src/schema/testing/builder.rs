//! A schema put together by hand, where libyang would be out of proportion.

use std::sync::Arc;

use super::super::ir::*;

pub struct Builder {
    schema: Schema,
}

#[expect(clippy::new_without_default, reason = "a builder of tests")]
impl Builder {
    pub fn new() -> Builder {
        Builder { schema: Schema::default() }
    }

    pub fn module(&mut self, name: &str, prefix: &str) -> ModuleId {
        let namespace = format!("urn:{name}");
        let (name, namespace, prefix) = (name.into(), namespace.into(), prefix.into());
        self.schema.modules.push(Module {
            name,
            namespace,
            prefix,
            revision: None,
            implemented: true,
            internal: false,
            features: Vec::new(),
            deviated_by: Vec::new(),
            source: "".into(),
        });
        ModuleId(self.schema.modules.len() as u16 - 1)
    }

    pub fn identity(&mut self, module: ModuleId, name: &str, bases: &[IdentityId]) -> IdentityId {
        let mut all = bases.to_vec();
        bases.iter().for_each(|base| all.extend(self.schema.identities[usize::from(base.0)].bases.clone()));
        self.schema.identities.push(Identity { module, name: name.into(), bases: all });
        IdentityId(self.schema.identities.len() as u16 - 1)
    }

    pub fn add(&mut self, parent: Option<SchemaId>, module: ModuleId, name: &str, kind: Kind) -> SchemaId {
        let id = SchemaId(self.schema.nodes.len() as u32);
        let name: Arc<str> = name.into();
        let above = parent.map(|parent| self.schema.node(parent));
        let (config, depth) = (above.is_none_or(|node| node.config), above.map_or(0, |node| node.depth + 1));
        self.schema.nodes.push(SchemaNode {
            id,
            parent,
            module,
            name,
            kind,
            config,
            cases: Vec::new(),
            children: Vec::new(),
            musts: Vec::new(),
            whens: Vec::new(),
            depth,
            description: None,
        });
        self.schema.enlist(id);
        id
    }

    pub fn container(&mut self, parent: Option<SchemaId>, module: ModuleId, name: &str) -> SchemaId {
        self.add(parent, module, name, Kind::Container { presence: false })
    }

    /// A list without keys yet; see [`Builder::keys`].
    pub fn list(&mut self, parent: Option<SchemaId>, module: ModuleId, name: &str) -> SchemaId {
        let (user_ordered, positional, min, max) = (false, false, 0, u32::MAX);
        let kind = Kind::List { keys: Vec::new(), user_ordered, positional, min, max, unique: Vec::new() };
        self.add(parent, module, name, kind)
    }

    pub fn leaf(&mut self, parent: SchemaId, name: &str, type_: Type) -> SchemaId {
        let module = self.schema.node(parent).module;
        self.add(Some(parent), module, name, Kind::Leaf { type_, mandatory: false, default: None })
    }

    pub fn leaf_list(&mut self, parent: SchemaId, name: &str, type_: Type, user_ordered: bool) -> SchemaId {
        let module = self.schema.node(parent).module;
        let kind = Kind::LeafList { type_, user_ordered, min: 0, max: u32::MAX, defaults: Vec::new() };
        self.add(Some(parent), module, name, kind)
    }

    pub fn keys(&mut self, list: SchemaId, leafs: &[SchemaId]) {
        let Kind::List { keys, .. } = &mut self.node(list).kind else { panic!("not a list") };
        *keys = leafs.to_vec();
    }

    pub fn node(&mut self, id: SchemaId) -> &mut SchemaNode {
        &mut self.schema.nodes[id.0 as usize]
    }

    pub fn must(&mut self, id: SchemaId, condition: &str) {
        let error_message = Some("the sample says no".into());
        let must = Must { condition: condition.into(), error_message, error_app_tag: Some("no".into()) };
        self.node(id).musts.push(must);
    }

    pub fn when(&mut self, id: SchemaId, condition: &str, context_is_parent: bool) {
        self.node(id).whens.push(When { condition: condition.into(), context_is_parent });
    }

    /// A choice, one case for each row.
    pub fn choice(&mut self, cases: &[&[SchemaId]]) {
        let choice = self.schema.choices.len() as u32;
        for (at, case) in cases.iter().enumerate() {
            let case_id = CaseId { choice, case: at as u32 };
            case.iter().for_each(|id| self.node(*id).cases.push(case_id));
        }
        let first = self.schema.node(cases[0][0]);
        self.schema.choices.push(Choice {
            parent: first.parent,
            module: first.module,
            name: format!("choice-{choice}").into(),
            mandatory: false,
            config: first.config,
            cases: (0..cases.len()).map(|case| format!("case-{case}").into()).collect(),
            default: None,
            within: Vec::new(),
            whens: Vec::new(),
        });
    }

    /// Turns a subtree into state.
    pub fn state(&mut self, id: SchemaId) {
        self.node(id).config = false;
        let children = self.node(id).children.clone();
        children.into_iter().for_each(|child| self.state(child));
    }

    pub fn build(self) -> &'static Schema {
        let schema: &'static Schema = Box::leak(Box::new(self.schema));
        schema.rules().expect("the rules of a sample compile");
        schema
    }

    /// For expressions that must be refused.
    pub fn refused(self) -> super::super::RuleError {
        self.schema.rules().expect_err("the rules must not compile")
    }
}
