//! Rules as tables: what is asked, by whom, and what becomes of it.

use std::sync::Arc;

use proptest::prelude::*;

use super::{Grants, Identity, Operation, Policy};
use crate::schema::{DataPath, Fields, Node, Schema, builtin, json};

const UID: &str = "ac092d9b-e9eb-bae2-eed8-74aca2b7fa9c";
const OTHER: &str = "bc092d9b-e9eb-bae2-eed8-74aca2b7fa9c";

fn tree(schema: &Schema, text: &str) -> Fields {
    match json::parse_resource(schema, &DataPath::root(), text.as_bytes(), json::Mode::Strict).unwrap() {
        Node::Container(fields) => fields,
        other => panic!("{other:?}"),
    }
}

fn policy(nacm: &str) -> Result<Policy, String> {
    let schema = builtin();
    let id = schema.resolve("/ietf-netconf-acm:nacm");
    let text = format!(r#"{{"ietf-restconf:data":{{"ietf-netconf-acm:nacm":{nacm}}}}}"#);
    Policy::of(schema, tree(schema, &text).container(id).unwrap())
}

fn grants(nacm: &str, groups: &[&str]) -> Arc<Grants> {
    policy(nacm).unwrap().grants(builtin(), &Identity::new("bob", groups)).unwrap()
}

/// Rules for the group `ops`, as `name path operations action`; `-` leaves a part out.
fn rules(rules: &[&str]) -> String {
    let rule = |rule: &&str| {
        let parts: Vec<&str> = rule.split(' ').collect();
        let [name, about, operations, action] = parts[..] else { panic!("{rule}") };
        let about = match about.split_once('=').filter(|(key, _)| key.ends_with("-name")) {
            Some((key, value)) => format!(r#""{key}":"{value}","#),
            None if about == "-" => String::new(),
            None => format!(r#""path":"{about}","#),
        };
        let operations = operations.replace('+', " ");
        let operations =
            if operations == "-" { String::new() } else { format!(r#""access-operations":"{operations}","#) };
        format!(r#"{{"name":"{name}",{about}{operations}"action":"{action}"}}"#)
    };
    let rules: Vec<String> = rules.iter().map(rule).collect();
    format!(r#"{{"rule-list":[{{"name":"l","group":["ops"],"rule":[{}]}}]}}"#, rules.join(","))
}

fn decide(grants: &Grants, path: &str, operation: Operation) -> Result<(), Option<String>> {
    let path = DataPath::parse_rfc8040(builtin(), path).unwrap();
    let outcome = grants.decide(builtin(), &path.steps, operation);
    outcome.map_err(|denial| denial.rule.map(|rule| rule.to_string()))
}

#[test]
fn the_first_rule_that_fits_decides() {
    let denied = |rule: &str| Err(Some(rule.to_owned()));
    let (read, create, delete) = (Operation::Read, Operation::Create, Operation::Delete);
    let pod = format!("pod:coe/pods={UID}");
    let keyed = format!("/pod:coe/pods[uid='{UID}']");
    for (given, path, operation, wanted) in [
        (rules(&[]), "pod:coe", read, Ok(())),
        (rules(&[]), "pod:coe", create, Err(None)),
        (rules(&["a /pod:coe create permit"]), &pod, create, Ok(())),
        (rules(&["a /pod:coe create permit"]), &pod, delete, Err(None)),
        (rules(&["a /pod:coe create+delete permit"]), &pod, delete, Ok(())),
        (rules(&["a /pod:coe * permit"]), "elan:elan-instances", create, Err(None)),
        (rules(&["a /pod:coe/pods read deny"]), "pod:coe", read, Ok(())),
        (rules(&["a /pod:coe/pods read deny"]), &format!("{pod}/name"), read, denied("l/a")),
        (rules(&["a /pod:coe/pods/name - deny", "b /pod:coe - permit"]), &pod, create, Ok(())),
        (
            rules(&["a /pod:coe/pods/name - deny", "b /pod:coe - permit"]),
            &format!("{pod}/name"),
            create,
            denied("l/a"),
        ),
        (rules(&[&format!("a {keyed} - deny"), "b /pod:coe - permit"]), &pod, create, denied("l/a")),
        (
            rules(&[&format!("a {keyed} - deny"), "b /pod:coe - permit"]),
            &pod.replace(UID, OTHER),
            create,
            Ok(()),
        ),
        (rules(&[&format!("a {keyed} - permit")]), &format!("{pod}/name"), delete, Ok(())),
        (rules(&[&format!("a {keyed} - permit")]), &pod.replace(UID, OTHER), delete, Err(None)),
        (rules(&["a module-name=pod - permit"]), &pod, create, Ok(())),
        (rules(&["a module-name=pod - permit"]), "elan:elan-instances", create, Err(None)),
        (rules(&["a rpc-name=* - permit"]), &pod, create, Err(None)),
        (rules(&["a - - permit"]), &pod, create, Ok(())),
        (rules(&["a - - deny"]), &pod, read, denied("l/a")),
        (rules(&[]), "ietf-netconf-acm:nacm", read, Err(None)),
        (rules(&[]), "ietf-netconf-acm:nacm/groups", read, Err(None)),
        (rules(&["a - read permit"]), "ietf-netconf-acm:nacm/groups", read, Ok(())),
    ] {
        let grants = grants(&given, &["ops"]);
        assert_eq!(decide(&grants, path, operation), wanted, "{given} {path} {operation:?}");
    }
}

#[test]
fn rules_are_for_groups() {
    let text = r#"{"groups":{"group":[{"name":"crew","user-name":["bob","eve"]}]},"rule-list":[
        {"name":"a","group":["crew"],"rule":[{"name":"x","path":"/pod:coe","action":"permit"}]},
        {"name":"b","group":["*"],"rule":[{"name":"y","path":"/elan:elan-instances","action":"permit"}]},
        {"name":"c","group":["ops"],"rule":[{"name":"z","path":"/service:service-information","action":"permit"}]}]
        EXTERNAL}"#;
    let may = |external: bool, name: &str, groups: &[&str], path: &str| {
        let external = if external { "" } else { r#","enable-external-groups":false"# };
        let policy = policy(&text.replace("EXTERNAL", external)).unwrap();
        let grants = policy.grants(builtin(), &Identity::new(name, groups));
        grants.is_none_or(|grants| decide(&grants, path, Operation::Create).is_ok())
    };
    let (pods, elans, services) = ("pod:coe", "elan:elan-instances", "service:service-information");
    assert!(may(true, "bob", &[], pods) && may(true, "bob", &[], elans) && !may(true, "bob", &[], services));
    assert!(may(true, "bob", &["ops"], services) && !may(false, "bob", &["ops"], services));
    assert!(
        !may(true, "mallory", &[], elans),
        "who is in no group has no rules, not even those for all groups"
    );
    assert!(may(true, "mallory", &["ops"], elans) && !may(true, "mallory", &["ops"], pods));
    assert!(
        may(true, "anybody", &["admin"], "ietf-netconf-acm:nacm"),
        "an administrator recovers from any rule"
    );
    assert!(
        policy(r#"{"enable-nacm":false}"#)
            .unwrap()
            .grants(builtin(), &Identity::new("x", &[""; 0]))
            .is_none()
    );
}

#[test]
fn defaults_and_extensions() {
    let none = |text: &str| grants(text, &["ops"]);
    let closed = none(r#"{"read-default":"deny","exec-default":"deny","write-default":"permit"}"#);
    assert_eq!(decide(&closed, "pod:coe", Operation::Read), Err(None));
    assert_eq!(decide(&closed, "pod:coe", Operation::Create), Ok(()));
    assert_eq!(decide(&closed, "ietf-netconf-acm:nacm", Operation::Create), Err(None), "default-deny-all");
}

#[test]
fn a_rule_whose_path_leads_nowhere_is_refused() {
    for path in
        ["pod:coe", "/", "/pod:cow", "/coe", "/pod:coe/pods[name='a']", "/pod:coe/pods[uid=a]", "/pod:coe x"]
    {
        let error = policy(&rules(&["a /PATH - deny"]).replace("/PATH", path)).unwrap_err();
        assert!(error.contains("rule l/a") && error.contains(path), "{error}");
    }
}

#[test]
fn what_may_not_be_read_is_left_out_and_the_rest_is_shared() {
    let schema = builtin();
    let pod = |uid: &str| format!(r#"{{"uid":"{uid}","name":"a","interface":[{{"uid":"{uid}"}}]}}"#);
    let text = format!(
        r#"{{"ietf-restconf:data":{{"pod:coe":{{"pods":[{},{}]}},"k8s-node:k8s-nodes-info":{{"id":"n"}}}}}}"#,
        pod(UID),
        pod(OTHER)
    );
    let root = tree(schema, &text);
    let shown = |given: &[&str]| {
        let seen = grants(&rules(given), &["ops"]).readable(schema, &root);
        let mut out = Vec::new();
        json::write_resource(schema, &DataPath::root(), &Node::Container(seen.clone()), &mut out);
        (String::from_utf8(out).unwrap(), seen)
    };
    let (_, same) = shown(&[]);
    assert!(same.ptr_eq(&root), "where no rule bites nothing is copied");
    let (text, _) = shown(&["a /k8s-node:k8s-nodes-info read deny"]);
    assert!(text.contains("pods") && !text.contains("k8s-nodes-info"), "{text}");
    let (text, seen) = shown(&[&format!("a /pod:coe/pods[uid='{UID}'] read deny")]);
    assert!(text.contains(OTHER) && !text.contains(UID), "{text}");
    let nodes = schema.resolve("/k8s-node:k8s-nodes-info");
    assert!(seen.container(nodes).unwrap().ptr_eq(root.container(nodes).unwrap()));
    let (text, _) = shown(&["a /pod:coe/pods/interface read deny", "b /pod:coe/pods/name read deny"]);
    assert!(text.contains(OTHER) && !text.contains("interface") && !text.contains("name\""), "{text}");
    let (text, _) = shown(&["a /pod:coe/pods/uid read deny"]);
    assert!(!text.contains("pods"), "an entry without its key would be none: {text}");
}

/// Any rules on the paths of the sample models.
fn any_rules() -> impl Strategy<Value = String> {
    let paths = ["/pod:coe", "/pod:coe/pods", "/pod:coe/pods/name", "/pod:coe/pods/interface", "-"];
    let rule = (
        prop::sample::select(paths.to_vec()),
        any::<bool>(),
        prop::sample::select(vec!["-", "read", "create", "update+delete"]),
    );
    prop::collection::vec(rule, 0..6).prop_map(|given| {
        let line = |(at, (path, permit, operations)): (usize, &(&str, bool, &str))| {
            format!("r{at} {path} {operations} {}", if *permit { "permit" } else { "deny" })
        };
        let lines: Vec<String> = given.iter().enumerate().map(line).collect();
        rules(&lines.iter().map(String::as_str).collect::<Vec<_>>())
    })
}

proptest! {
    /// The tree that is shown holds what each single decision permits, and nothing else.
    #[test]
    fn a_filtered_tree_is_what_the_decisions_say(given in any_rules(), count in 0_usize..4) {
        let schema = builtin();
        let grants = grants(&given, &["ops"]);
        let entry = |n: usize| format!(r#"{{"uid":"{n}c092d9b-e9eb-bae2-eed8-74aca2b7fa9c","name":"a"}}"#);
        let entries: Vec<String> = (0..count).map(entry).collect();
        let text = format!(r#"{{"ietf-restconf:data":{{"pod:coe":{{"pods":[{}]}}}}}}"#, entries.join(","));
        let root = tree(schema, &text);
        let seen = grants.readable(schema, &root);
        for n in 0..count {
            let uid = format!("{n}c092d9b-e9eb-bae2-eed8-74aca2b7fa9c");
            let may = |path: &str| decide(&grants, path, Operation::Read).is_ok();
            let at = format!("pod:coe/pods={uid}");
            let above = may("pod:coe") && may(&at) && may(&format!("{at}/uid"));
            for (path, wanted) in [(at.clone(), above), (format!("{at}/name"), above && may(&format!("{at}/name")))] {
                let path = DataPath::parse_rfc8040(schema, &path).unwrap();
                let there = crate::schema::tree::get_ref(&seen, &path).is_some();
                prop_assert_eq!(there, wanted, "{} {}", path.display(schema), given);
            }
        }
    }
}
