//! What a transaction writes that can be programmed: pods, and interfaces by name.

use std::collections::BTreeSet;

use crate::datastore::{Edit, Store};
use crate::model::Model;
use crate::schema::{Key, Node, Schema, SchemaId, Text, Value};

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
        Written {
            pods: keys(schema, PODS, edits).collect(),
            interfaces: BY_NAME.iter().flat_map(|list| keys(schema, list, edits)).collect(),
        }
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

/// The keys of the entries of one list that edits put, change or remove.
fn keys(schema: &Schema, list: &str, edits: &[Edit]) -> impl Iterator<Item = Text> {
    let way = schema.way_to(schema.resolve(list));
    edits.iter().filter(|edit| edit.store == Store::Config).flat_map(move |edit| keys_of(&way, edit))
}

/// Those of one edit: the one that its path leads through, or all that it brings along.
fn keys_of(way: &[SchemaId], edit: &Edit) -> Vec<Text> {
    let steps = &edit.path.steps;
    if !steps.iter().zip(way).all(|(step, id)| step.node == *id) {
        return Vec::new();
    }
    if let Some(step) = steps.get(way.len() - 1) {
        return step.key.as_ref().and_then(text).into_iter().collect();
    }
    let below = &way[steps.len()..];
    let brought = edit.node.as_ref();
    let list = brought.and_then(|node| below.iter().try_fold(node, |node, id| node.fields()?.get(*id)));
    list.and_then(Node::as_list).into_iter().flatten().filter_map(|(key, _)| text(key)).collect()
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
    use crate::schema::{DataPath, builtin, json};

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
