//! What the datastore should hold of an object of Kubernetes: one module a kind.

mod endpoints;
mod namespaces;
mod nodes;
mod pods;
mod policies;
mod quantity;
mod services;
mod subsets;

use std::collections::BTreeMap;
use std::net::IpAddr;

pub use endpoints::{Serving, serves, service_of, slice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
pub use namespaces::namespace;
pub use nodes::{internal_address, node};
pub use pods::pod;
pub use policies::policy;
use serde_json::{Map, Value, json};
pub use services::service;
pub use subsets::endpoints;

use crate::entry::uuid;

/// A member that is there only if there is something to say.
fn put(fields: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        fields.insert(name.to_owned(), value.into());
    }
}

/// A list that is there only if it has entries.
fn put_all(fields: &mut Map<String, Value>, name: &str, values: Vec<Value>) {
    put(fields, name, Some(values).filter(|values| !values.is_empty()));
}

/// The uid, as the datastore writes uuids; `None`: it is none.
fn uid(meta: &ObjectMeta) -> Option<String> {
    uuid(meta.uid.as_deref()?)
}

/// What are addresses, written in one way, each once, in their order.
fn addresses(texts: impl Iterator<Item = impl AsRef<str>>) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::new();
    let parsed = texts.filter_map(|text| text.as_ref().parse::<IpAddr>().ok());
    for address in parsed.map(|address| json!(address.to_string())) {
        if !found.contains(&address) {
            found.push(address);
        }
    }
    found
}

/// A port by number or name.
fn port_text(port: &IntOrString) -> String {
    match port {
        IntOrString::Int(number) => number.to_string(),
        IntOrString::String(name) => name.clone(),
    }
}

/// Labels as entries of a list.
fn labels(labels: Option<&BTreeMap<String, String>>) -> Vec<Value> {
    labels.into_iter().flatten().map(|(key, value)| json!({"key": key, "value": value})).collect()
}

/// A selector as `match-labels` and `match-expressions`.
fn selector(selector: &LabelSelector) -> Value {
    let mut fields = Map::new();
    put_all(&mut fields, "match-labels", labels(selector.match_labels.as_ref()));
    let expressions = selector.match_expressions.iter().flatten().map(|expression| {
        let mut fields = Map::new();
        fields.insert("key".into(), json!(expression.key));
        fields.insert("operator".into(), json!(expression.operator));
        let values = expression.values.iter().flatten().map(|value| json!(value)).collect();
        put_all(&mut fields, "values", values);
        Value::Object(fields)
    });
    put_all(&mut fields, "coeus-policy:match-expressions", expressions.collect());
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_uuids_are_uids() {
        let of = |uid: &str| super::uid(&ObjectMeta { uid: Some(uid.into()), ..ObjectMeta::default() });
        let written = "AAAAAAAA-0000-4000-8000-00000000000F";
        assert_eq!(of(written), Some(written.to_ascii_lowercase()));
        assert_eq!(of("0123456789abcdef0123456789abcdef"), None);
        assert_eq!(of("gaaaaaaa-0000-4000-8000-000000000000"), None);
    }
}
