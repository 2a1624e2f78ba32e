//! Sums in the shape of `coeus-policy:counters`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::kept::{Kept, Place};
use super::ledger::Ledger;
use super::sums::Count;
use crate::net::Dpid;
use crate::policy::Direction;
use crate::renderers::Subject;
use crate::schema::{DataPath, Node, Schema, Text, json as yang_json};

/// Everything that is shown.
pub struct Report<'a> {
    pub ledger: &'a Ledger,
    pub totals: &'a BTreeMap<Subject, Count>,
    pub kept: &'a Kept,
    /// Switches that did not answer.
    pub silent: &'a BTreeSet<Dpid>,
}

/// What was denied to interfaces, and the policies that select them now.
type Denied<'a> = BTreeMap<(&'a Text, Direction), (Count, Option<&'a BTreeSet<Text>>)>;

/// The container at this path. `None`: it does not fit the models, which is logged.
pub fn node(schema: &Schema, at: &DataPath, report: &Report<'_>) -> Option<Node> {
    let body = json!({ "coeus-policy:counters": container(report) }).to_string();
    match yang_json::parse_resource(schema, at, body.as_bytes(), yang_json::Mode::Lenient) {
        Ok(node) => Some(node),
        Err(errors) => {
            tracing::warn!(%errors, "counters of policies do not fit their model");
            None
        }
    }
}

fn container(report: &Report<'_>) -> Value {
    let Report { ledger, totals, kept, silent } = report;
    let total = |subject: Subject| totals.get(&subject).copied().unwrap_or_default();
    // Allowed and denied, by policy and direction.
    let mut policies: BTreeMap<(&Text, Direction), [Count; 2]> = BTreeMap::new();
    let mut rules = Vec::new();
    for rule in &ledger.counted.rules {
        let Some(path) = ledger.path(rule) else { continue };
        let mut count = kept.get(&Place::Rule(path.clone()));
        rule.conjunctions.iter().for_each(|id| count += total(Subject::Rule(*id)));
        policies.entry((&rule.policy, rule.direction)).or_default()[0] += count;
        let mut entry = said(count, "packets", "bytes");
        entry.insert("path".into(), json!(&**path));
        entry.insert("policy".into(), json!(&*rule.policy));
        entry.extend(name(ledger, &rule.policy));
        entry.insert("direction".into(), json!(rule.direction.to_string()));
        entry.insert("number".into(), json!(rule.number));
        rules.push(Value::Object(entry));
    }
    let mut denied = Denied::new();
    for (place, count) in kept.iter() {
        if let Place::Denied(interface, direction) = place {
            denied.insert((interface, *direction), (*count, None));
        }
    }
    for port in &ledger.counted.ports {
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
        entry.extend(name(ledger, id));
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

fn name(ledger: &Ledger, id: &Text) -> Option<(String, Value)> {
    Some(("name".into(), json!(&**ledger.name(id)?)))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datastore::{Layers, Revision, Snapshot};
    use crate::model::Reader;
    use crate::net::LportTag;
    use crate::renderers::{Counted, CountedPort, CountedRule};
    use crate::schema::{Parents, builtin, tree};

    const POLICY: &str = "11111111-2222-4333-8444-555555555555";

    fn count(packets: u64) -> Count {
        Count { packets, bytes: packets * 100 }
    }

    /// A rule that names a port is two conjunctions; what is kept is part of each number.
    #[test]
    fn sums_are_shown_under_the_paths_of_rules() {
        let schema = builtin();
        let text = format!("k8s:k8s/network-policies/network-policy={POLICY}/network-policy-spec/ingress=1");
        let at = format!("k8s:k8s/network-policies/network-policy={POLICY}");
        let body = format!(
            r#"{{"k8s:network-policy":[{{"uuid":"{POLICY}","name":"web","network-policy-spec":{{"ingress":[{{}}]}}}}]}}"#
        );
        let policy = DataPath::parse_rfc8040(schema, &at).unwrap();
        let written = yang_json::parse_resource(schema, &policy, body.as_bytes(), yang_json::Mode::Strict);
        let (mut config, operational) = (Layers::default(), Layers::default());
        tree::put(&mut config.input, schema, &policy, written.unwrap(), Parents::Create).unwrap();
        let snapshot = Snapshot { revision: Revision(1), schema, config, operational };
        let rule = CountedRule {
            policy: POLICY.into(),
            direction: Direction::Ingress,
            number: 1,
            conjunctions: vec![1, 2],
        };
        let port = CountedPort {
            interface: "blue:p1".into(),
            lport: LportTag(9),
            egress: BTreeSet::new(),
            ingress: [POLICY.into()].into(),
        };
        let counted = Counted { rules: vec![rule], ports: vec![port], switches: BTreeSet::new() };
        let ledger = Ledger::new(counted, &Reader::new(schema), &snapshot);
        let denied = Subject::Denied(Direction::Ingress, LportTag(9));
        let totals = [(Subject::Rule(1), count(1)), (Subject::Rule(2), count(2)), (denied, count(5))].into();
        let mut kept = Kept::default();
        kept.add(Place::Rule(text.as_str().into()), count(10));
        kept.add(Place::Denied("blue:p1".into(), Direction::Ingress), count(20));
        let silent = [Dpid(1)].into();
        let report = Report { ledger: &ledger, totals: &totals, kept: &kept, silent: &silent };
        let shown = container(&report);
        assert_eq!((&shown["rule"][0]["path"], &shown["rule"][0]["name"]), (&json!(text), &json!("web")));
        assert_eq!(
            (&shown["rule"][0]["packets"], &shown["rule"][0]["bytes"]),
            (&json!("13"), &json!("1300"))
        );
        assert_eq!(shown["interface"][0]["dropped-packets"], "25");
        assert_eq!(shown["policy"][0]["packets"], "13");
        assert_eq!(shown["policy"][0]["dropped-packets"], "25");
        let at = DataPath::root().child(schema.resolve("/coeus-policy:counters"));
        let body = json!({ "coeus-policy:counters": shown }).to_string();
        let parsed = yang_json::parse_resource(schema, &at, body.as_bytes(), yang_json::Mode::Strict);
        assert!(parsed.is_ok(), "{:?}", parsed.err());
        assert!(node(schema, &at, &report).is_some());
    }
}
