use std::cell::RefCell;
use std::rc::Rc;

use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use super::*;
use crate::Object;

/// A datastore that takes no two pods with one address, and can be away.
#[derive(Clone, Default)]
struct Fake(Rc<RefCell<State>>);

#[derive(Default)]
struct State {
    entries: BTreeMap<String, Value>,
    states: BTreeMap<String, Value>,
    is_away: bool,
    is_range_refused: bool,
    writes: usize,
}

/// Where the range of services is read.
const POOL: &str = "coeus-service:service-pool?content=config";

fn uid(number: u32) -> String {
    format!("aaaaaaaa-0000-4000-8000-{number:012}")
}

impl Datastore for Fake {
    fn read(&self, list: List) -> Result<Value, Trouble> {
        let state = self.0.borrow();
        if state.is_away {
            return Err(Trouble::Away("no route".into()));
        }
        let start = format!("/{}/", list.container());
        let entries: Vec<_> = state
            .entries
            .iter()
            .filter(|(path, _)| path.starts_with(&start))
            .map(|(_, entry)| entry)
            .collect();
        Ok(json!({list.container(): {list.name(): entries}}))
    }

    fn state(&self, path: &str) -> Result<Value, Trouble> {
        Ok(self.0.borrow().states.get(path).cloned().unwrap_or_default())
    }

    fn write(&self, patch: &Value) -> Result<(), Trouble> {
        let mut state = self.0.borrow_mut();
        state.writes += 1;
        if state.is_away {
            return Err(Trouble::Away("no route".into()));
        }
        let mut entries = state.entries.clone();
        for edit in patch["ietf-yang-patch:yang-patch"]["edit"].as_array().unwrap() {
            let target = edit["target"].as_str().unwrap().to_owned();
            if let Some(pool) = edit["value"].get("coeus-service:service-pool") {
                if state.is_range_refused {
                    return Err(Trouble::Refused("it holds 10.97.0.1".into()));
                }
                state.states.insert(POOL.into(), json!({"coeus-service:service-pool": pool}));
                continue;
            }
            if target.matches('/').count() > 2 {
                let (entry, below) = target.rsplit_once('/').unwrap();
                remove(entries.get_mut(entry).unwrap(), below);
                continue;
            }
            if let Some(value) = edit.get("value").filter(|_| edit["operation"] == "merge") {
                merge(entries.entry(target).or_insert(json!({})), value["pod:pods"][0].clone());
                continue;
            }
            match edit["value"].as_object().and_then(|value| value.values().next()) {
                Some(value) => drop(entries.insert(target, value[0].clone())),
                None => drop(entries.remove(&target)),
            }
        }
        let addresses: Vec<_> =
            entries.values().filter_map(|entry| entry["interface"][0]["ip-address"].as_str()).collect();
        let mut known = BTreeSet::new();
        if let Some(twice) = addresses.into_iter().find(|address| !known.insert(*address)) {
            return Err(Trouble::Taken(format!("address {twice} is in use")));
        }
        let asks = |entry: &&Value| entry["interface"][0]["coeus-pod:host-port"].is_array();
        if entries.values().filter(asks).count() > 1 {
            return Err(Trouble::Taken("host port TCP 80 is in use".into()));
        }
        state.entries = entries;
        Ok(())
    }
}

/// Lists by their uid or key.
fn merge(entry: &mut Value, value: Value) {
    match (entry, value) {
        (Value::Object(fields), Value::Object(values)) => {
            for (name, value) in values {
                merge(fields.entry(name).or_insert(Value::Null), value);
            }
        }
        (Value::Array(items), Value::Array(values)) => {
            for value in values {
                let is_same = |item: &&mut Value| item["uid"] == value["uid"] && item["key"] == value["key"];
                match items.iter_mut().find(is_same) {
                    Some(item) => merge(item, value),
                    None => items.push(value),
                }
            }
        }
        (entry, value) => *entry = value,
    }
}

fn remove(entry: &mut Value, below: &str) {
    let (list, key) = below.split_once('=').unwrap();
    entry[list].as_array_mut().unwrap().retain(|item| item["key"] != key);
}

fn pod(number: u32, address: u32) -> Object {
    let read = json!({
        "metadata": {"name": format!("p{number}"), "namespace": "blue", "uid": uid(number)},
        "spec": {"nodeName": "n1", "containers": []}, "status": {"podIP": format!("10.0.0.{address}")}
    });
    serde_json::from_value::<Pod>(read).unwrap().into()
}

fn listed(fake: &Fake, pods: Vec<Object>) -> Writer<Fake> {
    listed_with(Writer::new("c1", fake.clone(), Tenure::always()), pods)
}

fn listed_with(mut writer: Writer<Fake>, pods: Vec<Object>) -> Writer<Fake> {
    let writes = writer.datastore.0.borrow().writes;
    for kind in Kind::ALL {
        assert_eq!(writer.catch_up(), Ok(()));
        let now = writer.datastore.0.borrow().writes;
        assert_eq!(now, writes, "nothing is written before all is known");
        writer.hear(Told::All(kind, if kind == Kind::Pod { pods.clone() } else { Vec::new() }));
    }
    writer
}

fn paths(fake: &Fake) -> Vec<String> {
    fake.0.borrow().entries.keys().cloned().collect()
}

#[test]
fn what_went_meanwhile_goes_and_what_others_wrote_stays() {
    let fake = Fake::default();
    let path = |number| Place::new(List::Pods, uid(number)).to_string();
    for (number, cluster) in [(1, "c1"), (2, "c2"), (3, "c1")] {
        fake.0.borrow_mut().entries.insert(path(number), json!({"uid": uid(number), "cluster-id": cluster}));
    }
    let mut writer = listed(&fake, vec![pod(3, 3), pod(4, 4)]);
    assert_eq!(writer.catch_up(), Ok(()));
    assert_eq!(paths(&fake), [path(2), path(3), path(4)]);
    let writes = fake.0.borrow().writes;
    assert_eq!(writer.catch_up(), Ok(()));
    assert_eq!(fake.0.borrow().writes, writes, "what is written already is not written again");
}

#[test]
fn one_that_is_refused_keeps_nobody_waiting() {
    let fake = Fake::default();
    let mut writer = listed(&fake, (1..40).map(|number| pod(number, number % 39)).collect());
    assert_eq!(writer.catch_up(), Ok(()));
    assert_eq!(paths(&fake).len(), 39);
    writer.hear(Told::Is(pod(50, 7)));
    assert_eq!(writer.catch_up(), Ok(()));
    assert_eq!(
        writer.refused().map(|(place, reason)| (place.key.clone(), reason.to_owned())).collect::<Vec<_>>(),
        [(uid(50), "address 10.0.0.7 is in use".to_owned())]
    );
    writer.hear(Told::Gone(Kind::Pod, ("blue".into(), "p7".into()), None));
    assert_eq!(writer.catch_up(), Ok(()));
    assert_eq!(writer.refused().count(), 0);
    assert_eq!(paths(&fake).len(), 39);
}

#[test]
fn what_happened_while_it_was_away_is_made_up_for() {
    let fake = Fake::default();
    let mut writer = listed(&fake, vec![pod(1, 1)]);
    assert_eq!(writer.catch_up(), Ok(()));
    fake.0.borrow_mut().is_away = true;
    writer.hear(Told::Is(pod(2, 2)));
    assert!(writer.catch_up().is_err());
    writer.hear(Told::Gone(Kind::Pod, ("blue".into(), "p1".into()), None));
    assert!(writer.catch_up().is_err());
    fake.0.borrow_mut().is_away = false;
    assert_eq!(writer.catch_up(), Ok(()));
    assert_eq!(paths(&fake), [Place::new(List::Pods, uid(2)).to_string()]);
}

#[test]
fn an_address_that_came_behind_its_back_is_kept() {
    let waiting = |label: &str| {
        let read = json!({
            "metadata": {"name": "p1", "namespace": "blue", "uid": uid(1), "labels": {label: ""}},
            "spec": {"nodeName": "n1", "containers": []}
        });
        Object::from(serde_json::from_value::<Pod>(read).unwrap())
    };
    let fake = Fake::default();
    let mut writer = listed(&fake, vec![waiting("a")]);
    assert_eq!(writer.catch_up(), Ok(()));
    let path = Place::new(List::Pods, uid(1)).to_string();
    let of = |leaf: fn(&Value) -> &Value| leaf(&fake.0.borrow().entries[&path]).clone();
    fake.0.borrow_mut().entries.get_mut(&path).unwrap()["interface"][0]["ip-address"] = json!("10.0.0.9");
    writer.hear(Told::Is(waiting("b")));
    assert_eq!(writer.catch_up(), Ok(()));
    assert_eq!(of(|pod| &pod["interface"][0]["ip-address"]), "10.0.0.9");
    assert_eq!(of(|pod| &pod["coeus-policy:label"]), json!([{"key": "b", "value": ""}]));
    let mut again = listed_with(Writer::new("c1", fake.clone(), Tenure::always()), vec![waiting("b")]);
    let writes = fake.0.borrow().writes;
    assert_eq!(again.catch_up(), Ok(()));
    assert_eq!(fake.0.borrow().writes, writes, "it is as it should be");
    again.hear(Told::Is(pod(1, 5)));
    assert_eq!(again.catch_up(), Ok(()));
    assert_eq!(of(|pod| &pod["interface"][0]["ip-address"]), "10.0.0.5");
}

#[test]
fn nothing_is_written_unless_it_leads_and_all_is_asked_again_then() {
    let (fake, tenure) = (Fake::default(), Tenure::of_election());
    let lead = || tenure.granted(Instant::now() + Duration::from_secs(1000), Instant::now());
    let mut writer = Writer::new("c1", fake.clone(), tenure.clone());
    for kind in Kind::ALL {
        writer.hear(Told::All(kind, if kind == Kind::Pod { vec![pod(1, 1)] } else { Vec::new() }));
    }
    assert_eq!(writer.catch_up(), Err(Trouble::Deposed));
    assert_eq!(fake.0.borrow().writes, 0);
    assert!(lead());
    assert_eq!(writer.catch_up(), Ok(()));
    let of = |number| Place::new(List::Pods, uid(number)).to_string();
    assert_eq!(paths(&fake), [of(1)]);
    tenure.ended();
    writer.hear(Told::Is(pod(2, 2)));
    assert_eq!(writer.catch_up(), Err(Trouble::Deposed));
    assert_eq!(paths(&fake), [of(1)]);
    // The other leader wrote what the cluster was to it.
    fake.0.borrow_mut().entries.clear();
    fake.0.borrow_mut().entries.insert(of(3), json!({"uid": uid(3), "cluster-id": "c1"}));
    assert!(lead());
    assert_eq!(writer.catch_up(), Ok(()));
    assert_eq!(paths(&fake), [of(1), of(2)]);
    // A term that ended and began again unseen is another.
    tenure.ended();
    fake.0.borrow_mut().entries.clear();
    assert!(lead());
    assert_eq!(writer.catch_up(), Ok(()));
    assert_eq!(paths(&fake), [of(1), of(2)]);
}

fn bare(number: u32, change: impl Fn(&mut Value)) -> Object {
    let mut read = json!({
        "metadata": {"name": format!("p{number}"), "namespace": "blue", "uid": uid(number), "resourceVersion": "1"},
        "spec": {"nodeName": "n1", "containers": []}
    });
    change(&mut read);
    serde_json::from_value::<Pod>(read).unwrap().into()
}

fn node(cidrs: &[&str]) -> Object {
    let read = json!({"metadata": {"name": "n1", "uid": uid(99)}, "spec": {"podCIDRs": cidrs}});
    serde_json::from_value::<k8s_openapi::api::core::v1::Node>(read).unwrap().into()
}

fn address_of(fake: &Fake, number: u32) -> Value {
    let path = Place::new(List::Pods, uid(number)).to_string();
    fake.0.borrow().entries[&path]["interface"][0]["ip-address"].clone()
}

#[test]
fn who_has_no_address_gets_one_that_nobody_has() {
    let fake = Fake::default();
    let foreign = |number: u32, address: &str| json!({"uid": uid(number), "interface": [{"uid": uid(number), "ip-address": address}]});
    let path = |number| Place::new(List::Pods, uid(number)).to_string();
    fake.0.borrow_mut().entries.insert(path(50), foreign(50, "10.1.0.2"));
    let mut writer = listed_with(
        Writer::new("c1", fake.clone(), Tenure::always()).giving(true),
        vec![bare(1, |_| ()), pod(2, 7), bare(3, |_| ())],
    );
    assert_eq!(writer.catch_up(), Ok(()));
    assert_eq!((address_of(&fake, 1), writer.given.lacking.len()), (Value::Null, 2), "its node is not known");
    writer.hear(Told::Is(node(&["10.1.0.0/28"])));
    assert_eq!(writer.catch_up(), Ok(()));
    assert_eq!((address_of(&fake, 1), address_of(&fake, 3)), (json!("10.1.0.3"), json!("10.1.0.4")));
    assert_eq!(address_of(&fake, 2), "10.0.0.7", "who has one keeps it");
    // Behind its back somebody took the next one.
    fake.0.borrow_mut().entries.insert(path(51), foreign(51, "10.1.0.5"));
    writer.hear(Told::Is(bare(4, |_| ())));
    assert_eq!(writer.catch_up(), Ok(()));
    assert_eq!(address_of(&fake, 4), "10.1.0.6");
    // An address is free again with its pod; and a change of a pod changes nothing of its address.
    writer.hear(Told::Gone(Kind::Pod, ("blue".into(), "p1".into()), None));
    writer.hear(Told::Is(bare(4, |pod| pod["metadata"]["labels"] = json!({"a": "b"}))));
    assert_eq!(writer.catch_up(), Ok(()));
    writer.hear(Told::Is(bare(5, |_| ())));
    assert_eq!(writer.catch_up(), Ok(()));
    assert_eq!((address_of(&fake, 4), address_of(&fake, 5)), (json!("10.1.0.6"), json!("10.1.0.3")));
}

/// Another address would not help, so none is tried.
#[test]
fn who_wants_a_port_that_another_has_uses_up_no_addresses() {
    let fake = Fake::default();
    let ports = json!([{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]);
    let asks = |number| bare(number, |pod| pod["spec"]["containers"] = ports.clone());
    let writer = Writer::new("c1", fake.clone(), Tenure::always()).giving(true);
    let mut writer = listed_with(writer, vec![asks(1), asks(2)]);
    writer.hear(Told::Is(node(&["10.1.0.0/28"])));
    assert_eq!(writer.catch_up(), Ok(()));
    let refused: Vec<_> =
        writer.refused().map(|(place, reason)| (place.key.clone(), reason.to_owned())).collect();
    assert_eq!(refused, [(uid(2), "host port TCP 80 is in use".to_owned())]);
    assert!(writer.given.avoided.is_empty());
    writer.hear(Told::Gone(Kind::Pod, ("blue".into(), "p1".into()), None));
    assert_eq!(writer.catch_up(), Ok(()));
    assert_eq!((writer.refused().count(), address_of(&fake, 2)), (0, json!("10.1.0.3")));
}

fn named(number: u32, cidr: Option<&str>) -> Object {
    let read = json!({"metadata": {"name": format!("n{number}"), "uid": uid(90 + number)}, "spec": {"podCIDR": cidr}});
    serde_json::from_value::<k8s_openapi::api::core::v1::Node>(read).unwrap().into()
}

#[test]
fn nodes_without_a_subnet_get_one_and_keep_it() {
    let fake = Fake::default();
    let path = |number| Place::new(List::Nodes, uid(number)).to_string();
    let foreign = json!({"uid": uid(50), "host-name": "by hand", "pod-cidr": "10.244.0.0/24"});
    fake.0.borrow_mut().entries.insert(path(50), foreign);
    let subnet = |number: u32| fake.0.borrow().entries[&path(90 + number)]["pod-cidr"].clone();
    let writer = || {
        let subnets = crate::subnets::Subnets::new("10.244.0.0/21", Some(24)).unwrap();
        Writer::new("c1", fake.clone(), Tenure::always()).giving(true).subnetting(Some(subnets))
    };
    let mut first = listed_with(writer(), vec![bare(1, |_| ())]);
    first.hear(Told::All(Kind::Node, vec![named(1, None), named(2, Some("10.244.1.0/24"))]));
    assert_eq!(first.catch_up(), Ok(()));
    assert_eq!((subnet(1), subnet(2)), (json!("10.244.2.0/24"), json!("10.244.1.0/24")));
    assert_eq!(address_of(&fake, 1), "10.244.2.2");
    first.hear(Told::Is(named(3, None)));
    assert_eq!(first.catch_up(), Ok(()));
    assert_eq!(subnet(3), "10.244.3.0/24");
    // Another watcher leads, and a node that comes first in all order is new.
    let mut second = listed_with(writer(), vec![bare(1, |_| ())]);
    let writes = fake.0.borrow().writes;
    second.hear(Told::All(Kind::Node, vec![named(1, None), named(2, Some("10.244.1.0/24")), named(3, None)]));
    assert_eq!(second.catch_up(), Ok(()));
    assert_eq!(fake.0.borrow().writes, writes, "nothing differs");
    second.hear(Told::Is(named(0, None)));
    assert_eq!(second.catch_up(), Ok(()));
    assert_eq!(
        (subnet(0), subnet(1), subnet(3)),
        (json!("10.244.4.0/24"), json!("10.244.2.0/24"), json!("10.244.3.0/24"))
    );
    // A subnet is free again with its node; who finds none is told of.
    second.hear(Told::Gone(Kind::Node, (String::new(), "n3".into()), None));
    (4..=8).for_each(|number| second.hear(Told::Is(named(number, None))));
    assert_eq!(second.catch_up(), Ok(()));
    assert_eq!(subnet(4), "10.244.3.0/24");
    let lacking: Vec<_> = second.given.lacking.keys().map(|place| place.key.clone()).collect();
    assert_eq!((subnet(7), lacking), (json!("10.244.7.0/24"), vec![uid(98)]));
}

#[test]
fn what_an_annotation_says_is_given_again() {
    let fake = Fake::default();
    let said = |number: u32, of: u32| {
        let text = json!({"port-id": uid(of), "addresses": ["10.1.0.2/28"]}).to_string();
        bare(number, |pod| pod["metadata"]["annotations"] = json!({"coeus.io/network": text}))
    };
    let mut writer = listed_with(
        Writer::new("c1", fake.clone(), Tenure::always()).giving(true),
        vec![bare(1, |_| ()), said(2, 1), said(3, 3)],
    );
    writer.hear(Told::Is(node(&["10.1.0.0/28"])));
    assert_eq!(writer.catch_up(), Ok(()));
    assert_eq!(address_of(&fake, 3), "10.1.0.2", "though others come first");
    assert_eq!(
        (address_of(&fake, 1), address_of(&fake, 2)),
        (json!("10.1.0.3"), json!("10.1.0.4")),
        "a copy says nothing"
    );
}

#[test]
fn the_cluster_is_told_of_its_pods() {
    let fake = Fake::default();
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let taking = told.clone();
    let tell = move |say| {
        let mut told = taking.lock().unwrap();
        told.push(say);
        told.len() != 3
    };
    let writer = Writer::new("c1", fake.clone(), Tenure::always()).giving(true).telling(Some(Box::new(tell)));
    let mut writer = listed_with(writer, vec![bare(1, |_| ()), bare(2, |_| ())]);
    writer.hear(Told::Is(node(&["10.1.0.0/28", "fd00:1::/64"])));
    assert_eq!(writer.catch_up(), Ok(()));
    let object = |number: u32, state: &str| json!({"name": number, "pod-uid": uid(number), "state": state, "gateway": "10.1.0.1", "switch": "s", "desired-revision": "4"});
    let states = |first: &str| {
        [
            (
                "coeus-status:objects".to_owned(),
                json!({"coeus-status:objects": {"object": [object(1, first), object(2, "desired")]}}),
            ),
            (
                "coeus-status:switches".to_owned(),
                json!({"coeus-status:switches": {"switch": [{"dpid": "s", "programmed-revision": "4"}]}}),
            ),
            (
                "coeus-tunnel:underlay".to_owned(),
                json!({"coeus-tunnel:underlay": {"mtu": 1500, "pod-mtu": 1450}}),
            ),
        ]
    };
    fake.0.borrow_mut().states = states("pending").into();
    let clock = k8s_openapi::jiff::Timestamp::UNIX_EPOCH;
    let start = Instant::now();
    let look = |writer: &mut Writer<Fake>, seconds: u64| {
        let is_awaited = writer.look(start + Duration::from_secs(seconds), clock).unwrap();
        (is_awaited, std::mem::take(&mut *told.lock().unwrap()))
    };
    let (is_awaited, said) = look(&mut writer, 0);
    let given = json!({"port-id": uid(1), "addresses": ["10.1.0.2/28", "fd00:1::2/64"], "mac-address": "0a:aa:aa:aa:aa:00", "gateway": "10.1.0.1", "mtu": 1450});
    let Some(Say::Annotation(about, Some(_), text)) = said.first() else { panic!("{said:?}") };
    assert_eq!((about.name.as_str(), serde_json::from_str::<Value>(text).unwrap()), ("p1", given));
    assert!(matches!(&said[1], Say::Condition(_, condition) if condition["status"] == "False"));
    assert!(matches!(&said[2], Say::Annotation(about, ..) if about.name == "p2"));
    assert!(is_awaited && said.len() == 3, "the third was not taken: {said:?}");
    let (_, said) = look(&mut writer, 1);
    assert_eq!(said.len(), 2, "what was not taken is said again, and what was is not: {said:?}");
    let (_, said) = look(&mut writer, 6);
    assert!(matches!(&said[..], [Say::Event(_, "NetworkPending", _)]), "{said:?}");
    // Nothing comes of it while the pods say what is the case.
    let shows = |number: u32| {
        bare(number, |pod| {
            let text = json!({"port-id": uid(number), "addresses": [format!("10.1.0.{}/28", number + 1), format!("fd00:1::{}/64", number + 1)],
                              "mac-address": "0a:aa:aa:aa:aa:00", "gateway": "10.1.0.1", "mtu": 1450}).to_string();
            pod["metadata"]["annotations"] = json!({"coeus.io/network": text});
            pod["status"] = json!({"conditions": [{"type": "coeus.io/NetworkReady", "status": "True", "reason": "NetworkProgrammed"}]});
        })
    };
    fake.0.borrow_mut().states = states("desired").into();
    writer.hear(Told::Is(shows(1)));
    writer.hear(Told::Is(shows(2)));
    assert_eq!(look(&mut writer, 60), (false, Vec::new()));
}

/// A datastore that takes everything at once: what is left is the watcher's own work.
struct Nothing;

impl Datastore for Nothing {
    fn read(&self, _: List) -> Result<Value, Trouble> {
        Ok(json!({}))
    }

    fn write(&self, _: &Value) -> Result<(), Trouble> {
        Ok(())
    }

    fn state(&self, _: &str) -> Result<Value, Trouble> {
        Ok(Value::Null)
    }
}

/// Resident memory in KiB (proc(5), statm; pages of 4 KiB).
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4
}

/// Prints what a cluster of 10,000 pods costs: `cargo test --release -p coeus-watch -- --ignored --nocapture ten_thousand`.
#[test]
#[ignore = "it measures, and judges nothing"]
fn ten_thousand_pods() {
    const PODS: u32 = 10_000;
    let at = |number: u32, label: &str| {
        let mut pod = pod(number, 0);
        if let Object::Pod(pod) = &mut pod {
            pod.metadata.labels = Some([("app".to_owned(), label.to_owned())].into());
            let address = format!("10.{}.{}.{}", number >> 16, number >> 8 & 255, number & 255);
            pod.status.as_mut().unwrap().pod_ip = Some(address);
        }
        pod
    };
    let before = resident();
    let mut writer = Writer::new("c1", Nothing, Tenure::always());
    for kind in Kind::ALL {
        let pods =
            if kind == Kind::Pod { (0..PODS).map(|number| at(number, "a")).collect() } else { Vec::new() };
        writer.hear(Told::All(kind, pods));
    }
    let start = Instant::now();
    writer.catch_up().unwrap();
    println!("first difference of {PODS} pods: {:?}", start.elapsed());
    println!(
        "memory: {} KiB, {} octets a pod",
        resident() - before,
        (resident() - before) * 1024 / u64::from(PODS)
    );
    for (together, what) in [(1, "one at a time"), (100, "by the hundred")] {
        let start = Instant::now();
        for number in 0..PODS {
            writer.hear(Told::Is(at(number, what)));
            if number % together == together - 1 {
                writer.catch_up().unwrap();
            }
        }
        println!("events a second, {what}: {:.0}", f64::from(PODS) / start.elapsed().as_secs_f64());
    }
    assert!(writer.due.is_empty());
}

#[test]
fn the_range_of_services_is_written_where_none_is_and_no_other_is_touched() {
    let range = || ServiceRange { v4: Some("10.97.0.0/16".into()), v6: Some("fd00:97::/112".into()) };
    let ranged = |fake: &Fake| {
        let mut writer =
            listed_with(Writer::new("c1", fake.clone(), Tenure::always()).ranging(range()), vec![pod(1, 5)]);
        writer.catch_up().unwrap();
        fake.0.borrow().states.get(POOL).cloned()
    };
    let whole = json!({"coeus-service:service-pool": {"ipv4-prefix": "10.97.0.0/16", "ipv6-prefix": "fd00:97::/112"}});
    let fake = Fake::default();
    assert_eq!(ranged(&fake), Some(whole));
    let writes = fake.0.borrow().writes;
    ranged(&fake);
    assert_eq!(fake.0.borrow().writes, writes, "it is there already");

    let other = json!({"coeus-service:service-pool": {"ipv4-prefix": "10.98.0.0/16"}});
    fake.0.borrow_mut().states.insert(POOL.into(), other.clone());
    assert_eq!(ranged(&fake), Some(other));

    let fake = Fake::default();
    fake.0.borrow_mut().is_range_refused = true;
    assert_eq!(ranged(&fake), None);
    assert_eq!(fake.0.borrow().entries.len(), 1, "the pods are written all the same");

    let fake = Fake::default();
    listed(&fake, Vec::new()).catch_up().unwrap();
    assert_eq!(fake.0.borrow().states.get(POOL), None, "nobody asked for one");
}
