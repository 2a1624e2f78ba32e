//! What is to be written: the difference between what a cluster makes and what the datastore holds of it.

use serde_json::{Map, Value, json};

use crate::amend::{Amend, amend};
use crate::value::{member, plain};
use crate::{Entries, List, Place};

/// Containers that mean nothing while they are empty: the datastore does not show them then.
const WITHOUT_PRESENCE: [&str; 5] = [
    "network-policy-spec",
    "pod-selector",
    "network-policy-ingress-rule",
    "network-policy-egress-rule",
    "network-policy-port",
];

/// An edit of the datastore.
#[derive(Clone, PartialEq, Debug)]
pub enum Edit {
    Put(Place, Value),
    /// What an entry says beside others that say something in it, too.
    Amend(Amend),
    Remove(Place),
}

impl Edit {
    pub fn place(&self) -> &Place {
        match self {
            Edit::Put(place, _) | Edit::Remove(place) => place,
            Edit::Amend(amend) => &amend.place,
        }
    }
}

/// What makes the entries that are held of a cluster those that are wanted: who goes goes first, so that who comes finds his address free.
/// Entries that only differ in how they are written are left alone.
pub fn edits(wanted: &Entries, held: &Entries) -> Vec<Edit> {
    let gone = held.keys().filter(|place| !wanted.contains_key(place)).rev();
    let gone = gone.map(|place| Edit::Remove(place.clone()));
    let others = wanted.iter().filter_map(|(place, value)| match place.list {
        List::Pods => amend(place, value, held.get(place)).map(Edit::Amend),
        _ => (held.get(place).map(normal) != Some(normal(value)))
            .then(|| Edit::Put(place.clone(), value.clone())),
    });
    gone.chain(others).collect()
}

/// The cluster's own entries of a list, from what a GET of its container answered; those of others are left out.
pub fn held(list: List, body: &Value, cluster: &str) -> Entries {
    let own = entries(list, body).filter(|entry| is_of(list, entry, cluster));
    let placed =
        own.filter_map(|entry| Some((Place::new(list, member(entry, list.key())?.as_str()?), entry.clone())));
    placed.collect()
}

/// The entries of a list that are not the cluster's.
pub fn of_others<'a>(list: List, body: &'a Value, cluster: &'a str) -> impl Iterator<Item = &'a Value> {
    entries(list, body).filter(move |entry| !is_of(list, entry, cluster))
}

fn is_of(list: List, entry: &Value, cluster: &str) -> bool {
    member(entry, list.owner()).and_then(Value::as_str) == Some(cluster)
}

fn entries(list: List, body: &Value) -> impl Iterator<Item = &Value> {
    let names = [list.container().rsplit('/').next().unwrap_or_default(), list.name()];
    let found = names.iter().try_fold(body, |value, name| member(value, name));
    found.and_then(Value::as_array).into_iter().flatten()
}

/// One way of writing for all that mean the same: without modules and positions, in one order.
pub(crate) fn normal(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept =
                fields.iter().map(|(name, value)| (plain(name), normal(value))).filter(|(name, value)| {
                    *name != "index"
                        && !(WITHOUT_PRESENCE.contains(name) && value.as_object().is_some_and(Map::is_empty))
                });
            Value::Object(kept.map(|(name, value)| (name.to_owned(), value)).collect())
        }
        Value::Array(values) => {
            let mut values: Vec<_> = values.iter().map(normal).collect();
            values.sort_by_cached_key(Value::to_string);
            Value::Array(values)
        }
        other => other.clone(),
    }
}

/// Edits as one YANG Patch of the root (RFC 8072 section 2.5): all of them come into force, or none.
pub fn patch(id: &str, edits: &[Edit]) -> Value {
    let steps = edits.iter().flat_map(|edit| match edit {
        Edit::Put(place, value) => vec![("replace", place.to_string(), Some((place, value)))],
        Edit::Remove(place) => vec![("remove", place.to_string(), None)],
        Edit::Amend(amend) => {
            let gone = amend.gone.iter().map(|below| ("remove", format!("{}/{below}", amend.place), None));
            let merge = ("merge", amend.place.to_string(), Some((&amend.place, &amend.said)));
            gone.chain([merge]).collect()
        }
    });
    let steps = steps.enumerate().map(|(number, (operation, target, value))| {
        let mut fields = Map::new();
        fields.insert("edit-id".into(), json!(number.to_string()));
        fields.insert("operation".into(), json!(operation));
        fields.insert("target".into(), json!(target));
        if let Some((place, value)) = value {
            let name = format!("{}:{}", place.list.module(), place.list.name());
            fields.insert("value".into(), json!({name: [value]}));
        }
        Value::Object(fields)
    });
    json!({"ietf-yang-patch:yang-patch": {"patch-id": id, "edit": steps.collect::<Vec<_>>()}})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(of: &[(&str, Value)]) -> Entries {
        of.iter().map(|(key, value)| (Place::new(List::Nodes, *key), value.clone())).collect()
    }

    #[test]
    fn who_goes_goes_first() {
        let wanted = entries(&[("a", json!({"uid": "a"})), ("c", json!({"uid": "c", "name": "new"}))]);
        let held = entries(&[
            ("b", json!({"uid": "b"})),
            ("c", json!({"uid": "c", "name": "old"})),
            ("a", json!({"uid": "a"})),
        ]);
        let wished = [
            Edit::Remove(Place::new(List::Nodes, "b")),
            Edit::Put(Place::new(List::Nodes, "c"), json!({"uid": "c", "name": "new"})),
        ];
        assert_eq!(edits(&wanted, &held), wished);
    }

    #[test]
    fn ways_of_writing_are_no_difference() {
        let ours = json!({"uid": "a", "coeus-policy:label": [{"key": "b", "value": ""}, {"key": "a"}],
                          "ingress": [{"network-policy-ingress-rule": {}}], "service-ports": [{"port": 1}]});
        let theirs = json!({"uid": "a", "label": [{"key": "a"}, {"key": "b", "value": ""}], "ingress": [{"index": 1}],
                            "service-ports": [{"index": 1, "port": 1}]});
        assert_eq!(edits(&entries(&[("a", ours)]), &entries(&[("a", theirs)])), []);
        let all = json!({"network-policy-peer": {"peer-pod-selector": {}}});
        let none = json!({"network-policy-peer": {}});
        assert_eq!(edits(&entries(&[("a", all)]), &entries(&[("a", none)])).len(), 1);
    }

    #[test]
    fn what_others_wrote_is_not_held() {
        let body = json!({"k8s-node:k8s-nodes-info": {"k8s-nodes": [{"uid": "a", "cluster-id": "c1"}, {"uid": "b", "cluster-id": "c2"}, {"uid": "d"}]}});
        assert_eq!(
            held(List::Nodes, &body, "c1"),
            entries(&[("a", json!({"uid": "a", "cluster-id": "c1"}))])
        );
        let body = json!({"k8s:network-policies": {"network-policy": [{"uuid": "p", "coeus-kube:cluster-id": "c1"}]}});
        assert_eq!(held(List::Policies, &body, "c1").len(), 1);
        assert_eq!(held(List::Policies, &json!({}), "c1").len(), 0);
    }

    #[test]
    fn edits_are_one_patch() {
        let edits = [
            Edit::Remove(Place::new(List::Nodes, "a")),
            Edit::Put(Place::new(List::Nodes, "b"), json!({"uid": "b"})),
        ];
        let wanted = json!({"ietf-yang-patch:yang-patch": {"patch-id": "1", "edit": [
            {"edit-id": "0", "operation": "remove", "target": "/k8s-node:k8s-nodes-info/k8s-nodes=a"},
            {"edit-id": "1", "operation": "replace", "target": "/k8s-node:k8s-nodes-info/k8s-nodes=b", "value": {"k8s-node:k8s-nodes": [{"uid": "b"}]}}]}});
        assert_eq!(patch("1", &edits), wanted);
    }
}
