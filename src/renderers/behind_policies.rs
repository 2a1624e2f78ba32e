//! From a flow of policies to the policies, and back.

use std::collections::BTreeSet;

use openflow_rs::{Action, Field, Instruction};

use super::Engine;
use super::key::Key;
use crate::model::{Clause, InterfaceId, Model, PolicyItem, PolicyObject};
use crate::net::Dpid;
use crate::pipeline::Flow;
use crate::schema::{DataPath, Text};

impl Engine {
    /// The policies, or isolated namespaces, that made a flow: those of its conjunctions, else those that select its pod.
    pub(super) fn policies_behind(&self, flow: &Flow) -> Vec<DataPath> {
        let model = self.model();
        let numbers = conjunctions(flow);
        let mut ids: BTreeSet<&Text> = model
            .conjunctions()
            .filter(|(_, number)| numbers.contains(number))
            .filter_map(|(key, _)| model.policy_of_clause(key))
            .collect();
        if ids.is_empty()
            && let Some(interface) = model.interface_named(flow.owner.key())
        {
            ids.extend(model.policies_selecting(&interface.id));
        }
        ids.into_iter().map(|id| self.policy_path(id)).collect()
    }

    /// Where a policy is configured.
    fn policy_path(&self, id: &Text) -> DataPath {
        let object = match id.strip_prefix("namespace:") {
            _ if id.starts_with("acl:") => PolicyObject::Acl(self.model().acl_key(id).cloned()),
            Some(name) => PolicyObject::Namespace(name.into()),
            None => PolicyObject::Policy(id.clone()),
        };
        self.reader().policy_path(&object)
    }

    /// Everything that a policy, or a namespace that is isolated, has a part in.
    pub(super) fn keys_of_policy(&self, path: &DataPath) -> Option<Vec<Key>> {
        let model = self.model();
        let (id, _) = model.policies().find(|(id, _)| self.policy_path(id) == *path)?;
        let of_policy = |key: &&Key| match key {
            Key::Policy(dpid, item) => has_part(model, id, *dpid, item),
            Key::PolicyState(of) => of == id,
            _ => false,
        };
        Some(self.outputs().map(|(key, _)| key).filter(of_policy).cloned().collect())
    }
}

fn has_part(model: &Model, id: &Text, dpid: Dpid, item: &PolicyItem) -> bool {
    let is_of = |clause: &Clause| model.policy_of_clause(&clause.key) == Some(id);
    match item {
        PolicyItem::Switch => false,
        PolicyItem::Target(interface) => selects(model, id, interface),
        PolicyItem::Peer(direction, prefix) => {
            model.clauses_with_peer(dpid, *direction, *prefix).into_iter().any(is_of)
        }
        PolicyItem::Port(direction, port) => {
            model.clauses_with_port(dpid, *direction, *port).into_iter().any(is_of)
        }
        PolicyItem::Fragments(direction, protocol) => {
            model.clauses_with_protocol(dpid, *direction, *protocol).into_iter().any(is_of)
        }
        PolicyItem::Everything(direction) => model.open_clauses(dpid, *direction).into_iter().any(is_of),
        PolicyItem::Clause(key) => model.policy_of_clause(key) == Some(id),
    }
}

fn selects(model: &Model, id: &Text, interface: &InterfaceId) -> bool {
    model.policies_selecting(interface).any(|one| one == id)
}

/// Numbers of the conjunctions that a flow is a part or the end of.
fn conjunctions(flow: &Flow) -> BTreeSet<u32> {
    let (conditions, instructions) = flow.parts();
    let ends = conditions.fields.iter().filter(|one| one.field == Field::ConjId).map(|one| one.value as u32);
    let actions = instructions.into_iter().flat_map(|instruction| match instruction {
        Instruction::Apply(actions) => actions,
        _ => Vec::new(),
    });
    let parts = actions.filter_map(|action| match action {
        Action::Conjunction { id, .. } => Some(id),
        _ => None,
    });
    parts.chain(ends).collect()
}
