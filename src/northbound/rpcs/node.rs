//! Nodes leave and join, each in one step (`coeus-node`).

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::SystemTime;

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::Asked;
use crate::datastore::{DatastoreError, Edit, Snapshot, Store, Transaction};
use crate::model::{K8sNode, Pod, Reader, Row, System, Systems};
use crate::net::timestamp;
use crate::northbound::restconf::{Problem, Problems};
use crate::schema::{DataPath, Key, Text, Value as Leaf};

/// So often a step starts anew when what it concerns changes meanwhile.
const ATTEMPTS: usize = 5;

/// `coeus-node:leave`.
pub async fn leave(asked: Asked) -> Result<Value, Problems> {
    let datastore = asked.call.datastore.clone();
    let name = asked.text("node").unwrap_or_default().to_owned();
    let (keep_pods, dry_run) = (asked.is("keep-pods"), asked.is("dry-run"));
    let mut attempt = 0;
    loop {
        let snapshot = datastore.snapshot();
        let systems = Systems::new(snapshot.schema);
        let Some(leaving) = Leaving::of(&snapshot, &systems, &name, keep_pods) else {
            return Err(unknown(&name));
        };
        let mut said = leaving.json();
        if dry_run {
            return Ok(said);
        }
        let edits = leaving.edits(&snapshot, &systems, SystemTime::now());
        let transaction =
            Transaction { base: Some(snapshot.revision), ..Transaction::new(&asked.call.user, edits) };
        attempt += 1;
        match datastore.commit(transaction).await {
            Ok(committed) => {
                let reports = leaving.systems.iter().filter_map(|system| system.dpid);
                let reports = reports.map(|dpid| systems.forget_report(dpid)).collect();
                // What the switches report of themselves was not part of the step: they may report again.
                if let Err(error) = datastore.commit(Transaction::passing("node", reports)).await {
                    tracing::debug!(%error, "the reports of a node that left stay for a while");
                }
                said["committed"] = json!(committed.revision.0.to_string());
                return Ok(said);
            }
            Err(DatastoreError::Conflict { .. }) if attempt < ATTEMPTS => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// `coeus-node:join`.
pub async fn join(asked: Asked) -> Result<Value, Problems> {
    let datastore = &asked.call.datastore;
    let name = asked.text("node").unwrap_or_default();
    let snapshot = datastore.snapshot();
    let systems = Systems::new(snapshot.schema);
    let called = systems.departed(&snapshot).into_iter().filter(|system| system.is_called(name));
    let edits: Vec<Edit> = called.map(|system| systems.readmit(&system.node_id)).collect();
    if edits.is_empty() {
        let message = format!(
            "no node called {name:?} has left; a new switch joins by itself once it dials in \
             (ovs-vsctl set-manager tcp:CONTROLLER:6640)"
        );
        return Err(Problem::new("data-missing", message).with_status(StatusCode::NOT_FOUND).into());
    }
    let committed = datastore.commit(Transaction::new(&asked.call.user, edits)).await?;
    Ok(json!({ "committed": committed.revision.0.to_string() }))
}

fn unknown(name: &str) -> Problems {
    let message = format!(
        "no switch and no Kubernetes node is called {name:?}; `coeus nodes` lists the switches, \
         k8s-node:k8s-nodes-info the Kubernetes nodes"
    );
    Problem::new("data-missing", message).with_status(StatusCode::NOT_FOUND).into()
}

/// What goes with a node.
#[derive(Debug, PartialEq, Eq)]
struct Leaving {
    systems: Vec<System>,
    /// uids of Kubernetes nodes.
    nodes: Vec<Text>,
    /// uids.
    pods: Vec<Text>,
    /// Interface names.
    leases: Vec<Text>,
}

impl Leaving {
    /// `None`: nobody is called so.
    fn of(snapshot: &Snapshot, systems: &Systems, name: &str, keep_pods: bool) -> Option<Leaving> {
        let (mut nodes, mut pods, mut leases) = (Vec::new(), Vec::new(), Vec::new());
        for row in Reader::new(snapshot.schema).all(snapshot) {
            match row {
                Row::K8sNode(_, Some(node)) => nodes.push(node),
                Row::Pod(_, Some(pod)) => pods.push(pod),
                _ => {}
            }
        }
        leases.extend(leased(snapshot));
        let named = |node: &&K8sNode| {
            *node.uid == *name
                || host_name(snapshot, &node.uid).as_deref() == Some(name)
                || name.parse().is_ok_and(|address| node.has_address(address))
        };
        let all = systems.all(snapshot);
        let mut addresses: BTreeSet<IpAddr> =
            nodes.iter().filter(named).flat_map(|node| [node.internal, node.external]).flatten().collect();
        let mut chosen: BTreeSet<Text> = nodes.iter().filter(named).map(|node| node.uid.clone()).collect();
        let has = |addresses: &BTreeSet<IpAddr>, system: &System| {
            system.local_ip.is_some_and(|address| addresses.contains(&address))
        };
        let systems: Vec<System> =
            all.into_iter().filter(|system| system.is_called(name) || has(&addresses, system)).collect();
        addresses.extend(systems.iter().filter_map(|system| system.local_ip));
        let ours = |node: &&K8sNode| addresses.iter().any(|address| node.has_address(*address));
        let ours: Vec<&K8sNode> = nodes.iter().filter(ours).collect();
        addresses.extend(ours.iter().flat_map(|node| [node.internal, node.external]).flatten());
        chosen.extend(ours.iter().map(|node| node.uid.clone()));
        if systems.is_empty() && chosen.is_empty() {
            return None;
        }
        pods.retain(|pod| pod.host.is_some_and(|host| addresses.contains(&host)));
        let names: BTreeSet<String> = pods.iter().filter_map(full_name).collect();
        leases.retain(|interface| names.contains(pod_of(interface)));
        let pods = pods.into_iter().map(|pod| pod.uid).filter(|_| !keep_pods).collect();
        Some(Leaving { systems, nodes: chosen.into_iter().collect(), pods, leases })
    }

    fn edits(&self, snapshot: &Snapshot, systems: &Systems, now: SystemTime) -> Vec<Edit> {
        let schema = snapshot.schema;
        let entry = |top: &str, list: &str, key: &Text| {
            let list = schema.resolve(&format!("{top}/{list}"));
            DataPath::root().child(schema.resolve(top)).entry(list, Key::one(Leaf::Text(key.clone())))
        };
        let mut edits = Vec::new();
        for system in &self.systems {
            edits.extend(systems.forget(system));
            edits.push(systems.depart(system, &timestamp(now)));
            // Who comes with its datapath id later may be another.
            edits.extend(system.dpid.map(|dpid| {
                let dpid = Text::from(dpid.to_string());
                Edit::remove(Store::Operational, entry("/coeus-switch:learned-identities", "switch", &dpid))
            }));
        }
        for uid in &self.nodes {
            edits.push(Edit::remove(Store::Config, entry("/k8s-node:k8s-nodes-info", "k8s-nodes", uid)));
        }
        for uid in &self.pods {
            edits.push(Edit::remove(Store::Config, entry("/pod:coe", "pods", uid)));
        }
        for interface in &self.leases {
            for list in ["lease", "ipv6-lease"] {
                edits.push(Edit::remove(Store::Operational, entry("/coeus-dhcp:leases", list, interface)));
            }
        }
        edits
    }

    fn json(&self) -> Value {
        let texts = |texts: &[Text]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        let switches: BTreeSet<String> =
            self.systems.iter().filter_map(|system| system.dpid).map(|dpid| dpid.to_string()).collect();
        let mut said = json!({});
        for (name, list) in [
            ("switch", switches.into_iter().collect()),
            ("kubernetes-node", texts(&self.nodes)),
            ("pod", texts(&self.pods)),
            ("lease", texts(&self.leases)),
        ] {
            if !list.is_empty() {
                said[name] = json!(list);
            }
        }
        said
    }
}

/// Names of the interfaces that have leases, or offers of one.
fn leased(snapshot: &Snapshot) -> Vec<Text> {
    let schema = snapshot.schema;
    let leases = snapshot.operational.input.container(schema.resolve("/coeus-dhcp:leases"));
    let name = |key: &Key| match key.values() {
        [Leaf::Text(name)] => Some(name.clone()),
        _ => None,
    };
    let lists = ["lease", "ipv6-lease"].map(|list| schema.resolve(&format!("/coeus-dhcp:leases/{list}")));
    let entries = lists.into_iter().filter_map(|list| leases?.list(list)).flatten();
    let names: BTreeSet<Text> = entries.filter_map(|(key, _)| name(key)).collect();
    names.into_iter().collect()
}

fn host_name(snapshot: &Snapshot, uid: &Text) -> Option<String> {
    let schema = snapshot.schema;
    let id = |path: &str| schema.resolve(path);
    let nodes = snapshot.config.input.container(id("/k8s-node:k8s-nodes-info"))?;
    let node =
        nodes.list(id("/k8s-node:k8s-nodes-info/k8s-nodes"))?.get(&Key::one(Leaf::Text(uid.clone())))?;
    node.text(id("/k8s-node:k8s-nodes-info/k8s-nodes/host-name")).map(str::to_owned)
}

/// `<namespace>:<pod>`, with which the names of all its interfaces begin.
fn full_name(pod: &Pod) -> Option<String> {
    Some(format!("{}:{}", pod.namespace.as_ref()?, pod.name.as_ref()?))
}

/// The pod's part of an interface's name.
fn pod_of(interface: &str) -> &str {
    let mut colons = interface.match_indices(':').map(|(at, _)| at);
    colons.nth(1).map_or(interface, |at| &interface[..at])
}
