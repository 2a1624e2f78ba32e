//! A namespace: its labels, and whether it is isolated.

use k8s_openapi::api::core::v1::Namespace;
use serde_json::{Map, Value, json};

use super::{labels, put, put_all};
use crate::{List, Place};

/// What isolated a namespace before there were policies with peers in other namespaces (Kubernetes 1.2 to 1.6), and what Kuryr's users write.
const ISOLATION: &str = "net.beta.kubernetes.io/network-policy";

/// A namespace's entry; `None`: it has no name.
pub fn namespace(cluster: &str, namespace: &Namespace) -> Option<(Place, Value)> {
    let name = namespace.metadata.name.clone()?;
    let mut fields = Map::new();
    fields.insert("name".into(), json!(name));
    fields.insert(List::Namespaces.owner().into(), json!(cluster));
    put_all(&mut fields, "label", labels(namespace.metadata.labels.as_ref()));
    put(&mut fields, "isolated", is_isolated(namespace).then_some(true));
    Some((Place::new(List::Namespaces, name), Value::Object(fields)))
}

/// `{"ingress": {"isolation": "DefaultDeny"}}`
fn is_isolated(namespace: &Namespace) -> bool {
    let written = namespace.metadata.annotations.as_ref().and_then(|all| all.get(ISOLATION));
    let said = written.and_then(|text| serde_json::from_str::<Value>(text).ok());
    said.is_some_and(|said| said.pointer("/ingress/isolation") == Some(&json!("DefaultDeny")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Value> {
        namespace("c1", &serde_json::from_str(text).unwrap()).map(|(_, entry)| entry)
    }

    #[test]
    fn labels_are_entries() {
        let read = read(
            r#"{"metadata": {"name": "blue", "labels": {"team": "a", "kubernetes.io/metadata.name": "blue"}}}"#,
        );
        let label =
            json!([{"key": "kubernetes.io/metadata.name", "value": "blue"}, {"key": "team", "value": "a"}]);
        assert_eq!(read, Some(json!({"name": "blue", "coeus-kube:cluster-id": "c1", "label": label})));
    }

    #[test]
    fn an_annotation_isolates() {
        let with = |annotation: &str| {
            let meta = json!({"name": "red", "annotations": {ISOLATION: annotation}});
            read(&json!({"metadata": meta}).to_string()).unwrap()["isolated"].clone()
        };
        assert_eq!(with(r#"{"ingress": {"isolation": "DefaultDeny"}}"#), json!(true));
        assert_eq!(with(r#"{"ingress": {}}"#), Value::Null);
        assert_eq!(with("no JSON"), Value::Null);
    }
}
