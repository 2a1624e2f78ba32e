//! What is to be written: the difference between what a cluster makes and what the datastore holds of it.

use serde_json::{Map, Value, json};

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
    Remove(Place),
}

impl Edit {
    pub fn place(&self) -> &Place {
        match self {
            Edit::Put(place, _) | Edit::Remove(place) => place,
        }
    }
}

/// What makes the entries that are held of a cluster those that are wanted: who goes goes first, so that who comes finds his address free.
/// Entries that only differ in how they are written are left alone.
pub fn edits(wanted: &Entries, held: &Entries) -> Vec<Edit> {
    let gone = held.keys().filter(|place| !wanted.contains_key(place)).rev();
    let gone = gone.map(|place| Edit::Remove(place.clone()));
    let others = wanted.iter().filter(|(place, value)| held.get(place).map(normal) != Some(normal(value)));
    gone.chain(others.map(|(place, value)| Edit::Put(place.clone(), value.clone()))).collect()
}

/// The cluster's own entries of a list, from what a GET of its container answered; those of others are left out.
pub fn held(list: List, body: &Value, cluster: &str) -> Entries {
    let names = [list.container().rsplit('/').next().unwrap_or_default(), list.name()];
    let member = |value: &Value, name: &str| {
        let name = plain(name);
        value
            .as_object()
            .and_then(|fields| fields.iter().find(|(key, _)| plain(key) == name))
            .map(|(_, value)| value.clone())
    };
    let found = names.iter().try_fold(body.clone(), |value, name| member(&value, name));
    let entries = found.as_ref().and_then(Value::as_array).into_iter().flatten();
    let own =
        entries.filter(|entry| member(entry, list.owner()).as_ref().and_then(Value::as_str) == Some(cluster));
    let placed =
        own.filter_map(|entry| Some((Place::new(list, member(entry, list.key())?.as_str()?), entry.clone())));
    placed.collect()
}

/// The name without its module.
fn plain(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// One way of writing for all that mean the same: without modules and positions, in one order.
fn normal(value: &Value) -> Value {
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
    let edits = edits.iter().enumerate().map(|(number, edit)| {
        let (place, operation) = match edit {
            Edit::Put(place, _) => (place, "replace"),
            Edit::Remove(place) => (place, "remove"),
        };
        let mut fields = Map::new();
        fields.insert("edit-id".into(), json!(number.to_string()));
        fields.insert("operation".into(), json!(operation));
        fields.insert("target".into(), json!(place.to_string()));
        if let Edit::Put(_, value) = edit {
            let name = format!("{}:{}", place.list.module(), place.list.name());
            fields.insert("value".into(), json!({name: [value]}));
        }
        Value::Object(fields)
    });
    json!({"ietf-yang-patch:yang-patch": {"patch-id": id, "edit": edits.collect::<Vec<_>>()}})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(of: &[(&str, Value)]) -> Entries {
        of.iter().map(|(key, value)| (Place::new(List::Pods, *key), value.clone())).collect()
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
            Edit::Remove(Place::new(List::Pods, "b")),
            Edit::Put(Place::new(List::Pods, "c"), json!({"uid": "c", "name": "new"})),
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
        let body = json!({"pod:coe": {"pods": [{"uid": "a", "cluster-id": "c1"}, {"uid": "b", "cluster-id": "c2"}, {"uid": "d"}]}});
        assert_eq!(held(List::Pods, &body, "c1"), entries(&[("a", json!({"uid": "a", "cluster-id": "c1"}))]));
        let body = json!({"k8s:network-policies": {"network-policy": [{"uuid": "p", "coeus-kube:cluster-id": "c1"}]}});
        assert_eq!(held(List::Policies, &body, "c1").len(), 1);
        assert_eq!(held(List::Policies, &json!({}), "c1").len(), 0);
    }

    #[test]
    fn edits_are_one_patch() {
        let edits = [
            Edit::Remove(Place::new(List::Pods, "a")),
            Edit::Put(Place::new(List::Pods, "b"), json!({"uid": "b"})),
        ];
        let wanted = json!({"ietf-yang-patch:yang-patch": {"patch-id": "1", "edit": [
            {"edit-id": "0", "operation": "remove", "target": "/pod:coe/pods=a"},
            {"edit-id": "1", "operation": "replace", "target": "/pod:coe/pods=b", "value": {"pod:pods": [{"uid": "b"}]}}]}});
        assert_eq!(patch("1", &edits), wanted);
    }
}
