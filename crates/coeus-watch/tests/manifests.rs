//! What is written for kubectl, in `deploy/` and `csit/`, is what Kubernetes' own types say: each document is read by the type of its kind, and nothing that
//! stands in it is lost on the way, as a misspelt field would be.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{
    ConfigMap, Endpoints, Namespace, Node, Pod, Secret, Service, ServiceAccount,
};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "yaml") {
            found.push(path);
        }
    }
}

fn documents(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let all = serde_norway::Deserializer::from_str(&text).map(|one| Value::deserialize(one).unwrap());
    all.filter(|document| !document.is_null()).collect()
}

/// What the type makes of it.
fn again<T: DeserializeOwned + Serialize>(document: &Value) -> Result<Value, String> {
    let read: T = serde_json::from_value(document.clone()).map_err(|error| error.to_string())?;
    serde_json::to_value(read).map_err(|error| error.to_string())
}

fn by_its_type(document: &Value) -> Result<Value, String> {
    let text = |name: &str| document[name].as_str().unwrap_or_default();
    match (text("apiVersion"), text("kind")) {
        ("v1", "ConfigMap") => again::<ConfigMap>(document),
        ("v1", "Endpoints") => again::<Endpoints>(document),
        ("v1", "Namespace") => again::<Namespace>(document),
        ("v1", "Node") => again::<Node>(document),
        ("v1", "Pod") => again::<Pod>(document),
        ("v1", "Secret") => again::<Secret>(document),
        ("v1", "Service") => again::<Service>(document),
        ("v1", "ServiceAccount") => again::<ServiceAccount>(document),
        ("apps/v1", "DaemonSet") => again::<DaemonSet>(document),
        ("apps/v1", "Deployment") => again::<Deployment>(document),
        ("apps/v1", "StatefulSet") => again::<StatefulSet>(document),
        ("discovery.k8s.io/v1", "EndpointSlice") => again::<EndpointSlice>(document),
        ("coordination.k8s.io/v1", "Lease") => again::<Lease>(document),
        ("networking.k8s.io/v1", "NetworkPolicy") => again::<NetworkPolicy>(document),
        ("rbac.authorization.k8s.io/v1", "ClusterRole") => again::<ClusterRole>(document),
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding") => again::<ClusterRoleBinding>(document),
        ("rbac.authorization.k8s.io/v1", "Role") => again::<Role>(document),
        ("rbac.authorization.k8s.io/v1", "RoleBinding") => again::<RoleBinding>(document),
        (version, kind) => Err(format!("no type is known for {version} {kind}; add it here")),
    }
}

/// The first member of the one that the other does not have.
fn lost(before: &Value, after: &Value, at: &str) -> Option<String> {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => before.iter().find_map(|(name, value)| {
            let at = format!("{at}/{name}");
            match after.get(name) {
                Some(after) => lost(value, after, &at),
                // An empty list or object says nothing.
                None => (value != &json!([]) && value != &json!({})).then_some(at),
            }
        }),
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => before
            .iter()
            .zip(after)
            .enumerate()
            .find_map(|(number, (before, after))| lost(before, after, &format!("{at}/{number}"))),
        (before, after) => (before != after).then(|| at.to_owned()),
    }
}

fn is_of_kustomize(document: &Value) -> bool {
    document["apiVersion"].as_str().is_some_and(|version| version.starts_with("kustomize.config.k8s.io/"))
}

#[test]
fn manifests_are_what_the_types_say() {
    let mut found = Vec::new();
    for folder in ["deploy", "csit/manifests"] {
        files(&root().join(folder), &mut found);
    }
    let mut count = 0;
    for path in found {
        for document in documents(&path).iter().filter(|document| !is_of_kustomize(document)) {
            let what = format!("{} {}", path.display(), document["metadata"]["name"]);
            let after = by_its_type(document).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(lost(document, &after, ""), None, "{what}: the type has no such field");
            count += 1;
        }
    }
    assert!(count > 20, "{count} documents");
}

#[test]
fn a_misspelt_field_is_noticed() {
    let right = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    assert_eq!(lost(&right, &by_its_type(&right).unwrap(), ""), None);
    let mut wrong = right.clone();
    wrong["spec"]["containers"][0]["imagePullPolice"] = json!("Always");
    assert_eq!(
        lost(&wrong, &by_its_type(&wrong).unwrap(), ""),
        Some("/spec/containers/0/imagePullPolice".into())
    );
    let mut wrong = right;
    wrong["spec"]["containers"] = json!("c");
    assert!(by_its_type(&wrong).is_err());
}

#[test]
fn the_plain_manifest_is_all_of_the_base() {
    let base = root().join("deploy/kubernetes/base");
    let kustomization = documents(&base.join("kustomization.yaml")).remove(0);
    let named: BTreeSet<_> = kustomization["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| base.join(name.as_str().unwrap()))
        .collect();
    let mut there = Vec::new();
    files(&base, &mut there);
    there.retain(|path| !path.ends_with("kustomization.yaml"));
    assert_eq!(named, there.into_iter().collect(), "every file is named");
    let named_by =
        |document: Value| (format!("{} {}", document["kind"], document["metadata"]["name"]), document);
    let of_base: BTreeMap<_, _> = named.iter().flat_map(|path| documents(path)).map(named_by).collect();
    let plain = documents(&root().join("deploy/kubernetes/coeus.yaml"));
    let plain: BTreeMap<_, _> = plain.into_iter().map(named_by).collect();
    let all: BTreeSet<_> = of_base.keys().chain(plain.keys()).collect();
    let others: Vec<_> = all.into_iter().filter(|name| of_base.get(*name) != plain.get(*name)).collect();
    assert_eq!(
        others, [""; 0],
        "deploy/plain.sh makes deploy/kubernetes/coeus.yaml of deploy/kubernetes/base"
    );
}
