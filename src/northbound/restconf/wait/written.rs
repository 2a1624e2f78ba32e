//! What a transaction writes that can be programmed: pods, and interfaces by name.

use std::collections::BTreeSet;

use crate::datastore::{Edit, Store};
use crate::model::Model;
use crate::schema::{DataPath, Key, Node, Schema, SchemaId, Text, Value};

/// The lists whose entries are interfaces, or say something of the interface of their name.
const BY_NAME: [&str; 3] = [
    "/ietf-interfaces:interfaces/interface",
    "/elan:elan-interfaces/elan-interface",
    "/l3vpn:vpn-interfaces/vpn-interface",
];
const PODS: &str = "/pod:coe/pods";

/// Keys of what a transaction writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    pods: BTreeSet<Text>,
    interfaces: BTreeSet<Text>,
}

impl Written {
    pub fn of(schema: &Schema, edits: &[Edit]) -> Written {
        let mut written = Written::default();
        for (path, list) in [(PODS, true), (BY_NAME[0], false), (BY_NAME[1], false), (BY_NAME[2], false)] {
            let found = if list { &mut written.pods } else { &mut written.interfaces };
            let id = schema.resolve(path);
            for edit in edits.iter().filter(|edit| edit.store == Store::Config) {
                keys(schema, id, edit, found);
            }
        }
        written
    }

    pub fn is_empty(&self) -> bool {
        self.pods.is_empty() && self.interfaces.is_empty()
    }

    /// Names of the objects that tell how far these are, as `/coeus-status:objects` has them.
    pub fn objects(&self, model: &Model) -> BTreeSet<Text> {
        let of_pods = self.pods.iter().flat_map(|uid| model.objects_of(uid));
        of_pods.chain(self.interfaces.iter().cloned()).collect()
    }
}

/// The keys of the entries of one list that an edit puts, changes or removes.
fn keys(schema: &Schema, list: SchemaId, edit: &Edit, found: &mut BTreeSet<Text>) {
    let way = way_to(schema, list);
    let DataPath { steps } = &edit.path;
    if let Some(step) = steps.get(way.len() - 1) {
        if steps.iter().zip(&way).all(|(step, id)| step.node == *id) {
            found.extend(step.key.as_ref().and_then(text));
        }
        return;
    }
    if !steps.iter().zip(&way).all(|(step, id)| step.node == *id) {
        return;
    }
    let mut node = edit.node.as_ref();
    for id in &way[steps.len()..] {
        node = node.and_then(Node::fields).and_then(|fields| fields.get(*id));
    }
    if let Some(list) = node.and_then(Node::as_list) {
        found.extend(list.iter().filter_map(|(key, _)| text(key)));
    }
}

/// The nodes from the top to this one.
fn way_to(schema: &Schema, id: SchemaId) -> Vec<SchemaId> {
    let mut way = vec![id];
    while let Some(parent) = way.last().and_then(|last| schema.node(*last).parent) {
        way.push(parent);
    }
    way.reverse();
    way
}

fn text(key: &Key) -> Option<Text> {
    match key.values() {
        [Value::Text(text)] => Some(text.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{builtin, json};

    const UID: &str = "11111111-1111-4111-8111-111111111111";

    fn edit(path: &str, body: &str) -> Edit {
        let path = DataPath::parse_rfc8040(builtin(), path).unwrap();
        if body.is_empty() {
            return Edit::remove(Store::Config, path);
        }
        let node = json::parse_resource(builtin(), &path, body.as_bytes(), json::Mode::Lenient).unwrap();
        Edit::put(Store::Config, path, node)
    }

    #[test]
    fn keys_come_from_the_path_or_from_the_body() {
        let pods: BTreeSet<Text> = [Text::from(UID)].into();
        let pod = format!(r#"{{"pods":[{{"uid":"{UID}"}}]}}"#);
        for edit in [
            edit("pod:coe", &format!(r#"{{"pod:coe":{pod}}}"#)),
            edit(&format!("pod:coe/pods={UID}"), &pod.replace("\"pods\"", "\"pod:pods\"")),
            edit(&format!("pod:coe/pods={UID}/interface={UID}"), ""),
        ] {
            let written = Written::of(builtin(), &[edit]);
            assert_eq!(written, Written { pods: pods.clone(), interfaces: BTreeSet::new() });
        }
        let by_name = edit("elan:elan-interfaces/elan-interface=blue%3Ap1", "");
        assert_eq!(Written::of(builtin(), &[by_name]).interfaces, [Text::from("blue:p1")].into());
        let other = edit("k8s-node:k8s-nodes-info", "");
        assert!(Written::of(builtin(), &[other]).is_empty());
    }
}
