//! Sums in the shape of `coeus-policy:counters`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::kept::{Kept, Place};
use super::sums::Count;
use crate::net::Dpid;
use crate::policy::Direction;
use crate::renderers::{Counted, CountedRule, Subject};
use crate::schema::{DataPath, Node, Schema, Text, json as yang_json};

/// Everything that is shown.
pub struct Report<'a> {
    pub counted: &'a Counted,
    pub totals: &'a BTreeMap<Subject, Count>,
    pub kept: &'a Kept,
    /// Switches that did not answer.
    pub silent: &'a BTreeSet<Dpid>,
}

impl Counted {
    /// Where a rule is configured, in words for people and requests.
    pub(super) fn place(&self, rule: &CountedRule, schema: &Schema) -> Option<Place> {
        let path = self.policies.get(&rule.policy)?.get(rule.direction, rule.number)?;
        Some(Place::Rule(path.to_rfc8040(schema).into()))
    }
}

/// The container at this path. `None`: it does not fit the models, which is logged.
pub fn node(schema: &Schema, at: &DataPath, report: &Report<'_>) -> Option<Node> {
    let body = json!({ "coeus-policy:counters": container(schema, report) }).to_string();
    match yang_json::parse_resource(schema, at, body.as_bytes(), yang_json::Mode::Lenient) {
        Ok(node) => Some(node),
        Err(errors) => {
            tracing::warn!(%errors, "counters of policies do not fit their model");
            None
        }
    }
}

fn container(schema: &Schema, report: &Report<'_>) -> Value {
    let Report { counted, totals, kept, silent } = report;
    let total = |subject: Subject| totals.get(&subject).copied().unwrap_or_default();
    // Allowed and denied, by policy and direction.
    let mut policies: BTreeMap<(&Text, Direction), [Count; 2]> = BTreeMap::new();
    let mut rules = Vec::new();
    for rule in &counted.rules {
        let Some(place) = counted.place(rule, schema) else { continue };
        let mut count = kept.get(&place);
        rule.conjunctions.iter().for_each(|id| count += total(Subject::Rule(*id)));
        policies.entry((&rule.policy, rule.direction)).or_default()[0] += count;
        let Place::Rule(path) = place else { continue };
        let mut entry = said(count, "packets", "bytes");
        entry.insert("path".into(), json!(&*path));
        entry.insert("policy".into(), json!(&*rule.policy));
        entry.extend(name(counted, &rule.policy));
        entry.insert("direction".into(), json!(rule.direction.to_string()));
        entry.insert("number".into(), json!(rule.number));
        rules.push(Value::Object(entry));
    }
    let mut denied: BTreeMap<(&Text, Direction), (Count, Option<&BTreeSet<Text>>)> = BTreeMap::new();
    for (place, count) in kept.iter() {
        if let Place::Denied(interface, direction) = place {
            denied.insert((interface, *direction), (*count, None));
        }
    }
    for port in &counted.ports {
        for direction in Direction::BOTH {
            let selected = port.policies(direction);
            let now = total(Subject::Denied(direction, port.lport));
            if selected.is_empty() && now.is_zero() {
                continue;
            }
            let entry = denied.entry((&port.interface, direction)).or_default();
            entry.0 += now;
            entry.1 = Some(selected);
            for id in selected {
                policies.entry((id, direction)).or_default()[1] += entry.0;
            }
        }
    }
    let interfaces = denied.into_iter().map(|((interface, direction), (count, selected))| {
        let mut entry = said(count, "dropped-packets", "dropped-bytes");
        entry.insert("name".into(), json!(&**interface));
        entry.insert("direction".into(), json!(direction.to_string()));
        entry.insert("policy".into(), selected.into_iter().flatten().map(|id| json!(&**id)).collect());
        Value::Object(entry)
    });
    let interfaces: Vec<Value> = interfaces.collect();
    let policies = policies.into_iter().map(|((id, direction), [allowed, stopped])| {
        let mut entry = said(allowed, "packets", "bytes");
        entry.extend(said(stopped, "dropped-packets", "dropped-bytes"));
        entry.insert("id".into(), json!(&**id));
        entry.extend(name(counted, id));
        entry.insert("direction".into(), json!(direction.to_string()));
        Value::Object(entry)
    });
    let policies: Vec<Value> = policies.collect();
    json!({
        "rule": rules,
        "interface": interfaces,
        "policy": policies,
        "silent-switch": silent.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "kept": written_down(kept),
    })
}

/// Packets and bytes under these names. 64-bit numbers are strings (RFC 7951 section 6.1).
fn said(count: Count, packets: &str, bytes: &str) -> Map<String, Value> {
    let counts = [(packets, count.packets), (bytes, count.bytes)];
    counts.into_iter().map(|(name, count)| (name.to_owned(), json!(count.to_string()))).collect()
}

fn name(counted: &Counted, id: &Text) -> Option<(String, Value)> {
    let name = counted.policies.get(id)?.name.as_ref()?;
    Some(("name".into(), json!(&**name)))
}

fn written_down(kept: &Kept) -> Value {
    let (mut rules, mut interfaces) = (Vec::new(), Vec::new());
    for (place, count) in kept.iter() {
        let mut entry = said(*count, "packets", "bytes");
        match place {
            Place::Rule(path) => {
                entry.insert("path".into(), json!(&**path));
                rules.push(Value::Object(entry));
            }
            Place::Denied(interface, direction) => {
                entry.insert("name".into(), json!(&**interface));
                entry.insert("direction".into(), json!(direction.to_string()));
                interfaces.push(Value::Object(entry));
            }
        }
    }
    json!({ "rule": rules, "interface": interfaces })
}
