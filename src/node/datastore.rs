//! What the agent reads and writes of the datastore: entries of pods, ranges of addresses, and whether a pod is programmed.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::panic::resume_unwind;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use coeus_cni::{Code, Error};
use coeus_watch::allocate::{self, Range};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

use super::addresses::{Plan, Pool};
use super::entry::{Entry, list, text};

/// Where pods are.
const PODS: &str = "pod:coe/pods";
/// What pods are told where the controller does not say yet: VXLAN's part of 1500 octets taken off.
pub const USUAL_MTU: u32 = 1450;
/// One request waits no longer; a request of the client ends at 60 s.
const SLICE: Duration = Duration::from_secs(50);

/// Why the controller did not do it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// It cannot be reached, or cannot just now.
    Away(String),
    /// There is no such resource.
    Missing(String),
    /// Something else has what is asked for.
    Conflict(String),
    /// Anything else.
    Refused(String),
}

impl From<Trouble> for Error {
    fn from(trouble: Trouble) -> Error {
        match trouble {
            Trouble::Away(why) => Error::new(Code::Again, format!("the controller: {why}")),
            Trouble::Missing(why) => Error::new(Code::Unknown, format!("the pod's entry is gone: {why}")),
            Trouble::Conflict(why) => Error::new(Code::Config, why),
            Trouble::Refused(why) => Error::new(Code::Config, format!("the controller refuses: {why}")),
        }
    }
}

/// RESTCONF as the agent needs it.
pub trait Controller: Send + Sync {
    /// The data at a path; nothing where nothing is.
    ///
    /// # Errors
    /// Never [`Trouble::Missing`].
    fn read(&self, path: &str, query: &[(&str, String)]) -> Result<Value, Trouble>;

    /// A write; what it is answered.
    ///
    /// # Errors
    /// When it was not carried out.
    fn write(
        &self,
        method: &str,
        path: &str,
        query: &[(&str, String)],
        body: Option<&Value>,
    ) -> Result<Value, Trouble>;
}

/// Text as a key in a path, or as a value in a query.
fn key(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

fn pod_path(uid: &str) -> String {
    format!("{PODS}={}", key(uid))
}

fn interface_path(pod: &str, interface: &str) -> String {
    format!("{PODS}={}/interface={}", key(pod), key(interface))
}

/// The datastore as the agent sees it.
pub struct Datastore {
    pub controller: Box<dyn Controller>,
}

impl Datastore {
    fn configured(&self, path: &str) -> Result<Value, Trouble> {
        self.controller.read(path, &[("content", "config".into())])
    }

    /// # Errors
    /// When the controller is away or refuses.
    pub fn pod(&self, uid: &str) -> Result<Option<Entry>, Trouble> {
        let found = self.configured(&pod_path(uid))?;
        Ok(list(&found, "pod:pods").find_map(Entry::parse))
    }

    /// The pod whose first interface has a name.
    ///
    /// # Errors
    /// As [`Datastore::pod`].
    pub fn pod_named(&self, namespace: &str, pod: &str) -> Result<Option<Entry>, Trouble> {
        let path = format!("coeus-status:objects/object={}", key(&format!("{namespace}:{pod}")));
        let found = self.controller.read(&path, &[])?;
        let uid = list(&found, "coeus-status:object").find_map(|object| text(object, "pod-uid"));
        uid.map_or(Ok(None), |uid| self.pod(&uid))
    }

    /// The pod that has an interface.
    ///
    /// # Errors
    /// As [`Datastore::pod`].
    pub fn pod_with(&self, interface: &str) -> Result<Option<Entry>, Trouble> {
        let query = [("content", "config".to_owned()), ("where", format!("interface[uid='{interface}']"))];
        let found = self.controller.read(PODS, &query)?;
        Ok(list(&found, "pod:pods").find_map(Entry::parse))
    }

    /// # Errors
    /// [`Trouble::Conflict`] when somebody has the name or an address.
    pub fn make(
        &self,
        uid: &str,
        names: (&str, &str),
        host: IpAddr,
        addresses: &[IpAddr],
    ) -> Result<(), Trouble> {
        let (namespace, name) = names;
        let pod = json!({
            "uid": uid, "name": name, "network-NS": namespace, "host-ip-address": host, "interface": [interface(uid, true, addresses)],
        });
        self.controller.write("PUT", &pod_path(uid), &[], Some(&json!({ "pod:pods": [pod] }))).map(drop)
    }

    /// Gives an interface of a pod its addresses, or makes it with them.
    ///
    /// # Errors
    /// As [`Datastore::make`].
    pub fn address(&self, pod: &str, uid: &str, is_new: bool, addresses: &[IpAddr]) -> Result<(), Trouble> {
        let body = json!({"pod:pods": [{"uid": pod, "interface": [interface(uid, is_new, addresses)]}]});
        self.controller.write("PATCH", &pod_path(pod), &[], Some(&body)).map(drop)
    }

    /// Adds members to an interface of a pod.
    ///
    /// # Errors
    /// [`Trouble::Conflict`] when somebody has a port of the node.
    pub fn ask(&self, pod: &str, uid: &str, mut members: Map<String, Value>) -> Result<(), Trouble> {
        members.insert("uid".into(), json!(uid));
        let body = json!({"pod:pods": [{"uid": pod, "interface": [members]}]});
        self.controller.write("PATCH", &pod_path(pod), &[], Some(&body)).map(drop)
    }

    /// Takes such members away again.
    ///
    /// # Errors
    /// When the controller is away or refuses.
    pub fn unask(&self, pod: &str, uid: &str, paths: &[String]) -> Result<(), Trouble> {
        paths.iter().try_for_each(|path| self.delete(&format!("{}/{path}", interface_path(pod, uid))))
    }

    /// Takes addresses away again, if they still are the interface's.
    ///
    /// # Errors
    /// When the controller is away or refuses.
    pub fn unaddress(&self, pod: &str, uid: &str, addresses: &[IpAddr]) -> Result<(), Trouble> {
        let entry = self.pod(pod)?;
        let found = entry.iter().flat_map(|entry| &entry.interfaces).find(|one| one.uid == uid);
        if found.is_none_or(|one| one.addresses != addresses) {
            return Ok(());
        }
        let path = interface_path(pod, uid);
        for address in addresses.iter().skip(1) {
            self.delete(&format!("{path}/coeus-pod:secondary-ip-address={}", key(&address.to_string())))?;
        }
        self.delete(&format!("{path}/ip-address"))
    }

    /// Makes an interface the sub-port of a trunk with a VLAN.
    ///
    /// # Errors
    /// As [`Datastore::make`]; the VLAN may be another's.
    pub fn put_trunk(
        &self,
        pod: &str,
        uid: &str,
        (trunk, vlan): (&str, u16),
        mac: &str,
    ) -> Result<(), Trouble> {
        let trunk = json!({"parent-interface": trunk, "vlan-id": vlan, "mac-address": mac});
        let body = json!({"pod:pods": [{"uid": pod, "interface": [{"uid": uid, "coeus-pod:trunk": trunk}]}]});
        self.controller.write("PATCH", &pod_path(pod), &[], Some(&body)).map(drop)
    }

    /// # Errors
    /// When the controller is away or refuses; not when it is none.
    pub fn delete_trunk(&self, pod: &str, uid: &str) -> Result<(), Trouble> {
        self.delete(&format!("{}/coeus-pod:trunk", interface_path(pod, uid)))
    }

    /// # Errors
    /// When the controller is away or refuses; not when there is none.
    pub fn delete_pod(&self, uid: &str) -> Result<(), Trouble> {
        self.delete(&pod_path(uid))
    }

    /// # Errors
    /// As [`Datastore::delete_pod`].
    pub fn delete_interface(&self, pod: &str, uid: &str) -> Result<(), Trouble> {
        self.delete(&interface_path(pod, uid))
    }

    fn delete(&self, path: &str) -> Result<(), Trouble> {
        match self.controller.write("DELETE", path, &[], None) {
            Err(Trouble::Missing(_)) => Ok(()),
            done => done.map(drop),
        }
    }

    /// Ranges and gateways that bear on an interface of a pod.
    ///
    /// # Errors
    /// When the controller is away or refuses.
    pub fn plan(&self, namespace: &str, network: Option<&str>, host: IpAddr) -> Result<Plan, Trouble> {
        const NOBODY: &str = "00000000-0000-0000-0000-000000000000";
        let elan = format!("{host}:{namespace}");
        let networks = network.filter(|id| *id != NOBODY).into_iter().chain([elan.as_str(), namespace]);
        // ADD waits for all of them, and none is about another.
        let (nodes, pools, mtu) = thread::scope(|scope| {
            let pools: Vec<_> = networks.map(|network| scope.spawn(move || self.pools(network))).collect();
            let mtu = scope.spawn(|| self.mtu());
            let nodes = self.nodes_at(host);
            (nodes, pools.into_iter().map(joined).collect::<Result<Vec<_>, _>>(), joined(mtu))
        });
        let nodes = nodes?;
        let cidr = list(&nodes, "k8s-node:k8s-nodes").find_map(|node| text(node, "pod-cidr"));
        let mut plan = Plan {
            cidr: cidr.as_ref().and_then(|cidr| cidr.parse().ok()),
            pools: Vec::new(),
            ranges: Vec::new(),
            mtu: mtu?,
        };
        plan.extend(cidr.as_deref().and_then(allocate::of_cidr).into_iter().collect());
        for (found, ranges) in pools? {
            plan.pools.extend(found);
            plan.extend(ranges);
        }
        Ok(plan)
    }

    /// The nodes that have this address.
    fn nodes_at(&self, host: IpAddr) -> Result<Value, Trouble> {
        let is_ours = format!("internal-ip-address='{host}' or external-ip-address='{host}'");
        let query = [("content", "config".to_owned()), ("where", is_ours)];
        self.controller.read("k8s-node:k8s-nodes-info/k8s-nodes", &query)
    }

    /// The pools of a network, and what of them is for pods.
    fn pools(&self, network: &str) -> Result<(Vec<Pool>, Vec<Range>), Trouble> {
        let path = format!("dhcp_allocation_pool:dhcp_allocation_pool/network={}", key(network));
        let found = self.configured(&path)?;
        let pools = list(&found, "dhcp_allocation_pool:network")
            .flat_map(|network| list(network, "allocation-pool"))
            .filter_map(pool);
        Ok((pools.collect(), allocate::of_pools(&found, network)))
    }

    /// Pods that have ports of their nodes, with no more than those.
    ///
    /// # Errors
    /// When the controller is away or refuses.
    pub fn pods_with_host_ports(&self) -> Result<Vec<Entry>, Trouble> {
        let query = [
            ("content", "config".to_owned()),
            ("where", "interface/coeus-pod:host-port".to_owned()),
            ("fields", "uid;host-ip-address;interface(uid;coeus-pod:host-port)".to_owned()),
        ];
        let found = self.controller.read(PODS, &query)?;
        Ok(list(&found, "pod:pods").filter_map(Entry::parse).collect())
    }

    /// Addresses that pods and DHCP clients of a network have.
    ///
    /// # Errors
    /// When the controller is away or refuses.
    pub fn taken(&self, namespace: &str) -> Result<BTreeSet<IpAddr>, Trouble> {
        let query = [("content", "config".to_owned()), ("where", format!("network-NS='{namespace}'"))];
        let (pods, leases) = thread::scope(|scope| {
            let leases = scope.spawn(|| self.controller.read("coeus-dhcp:leases", &[]));
            (self.controller.read(PODS, &query), joined(leases))
        });
        let (pods, leases) = (pods?, leases?);
        let pods = list(&pods, "pod:pods").filter_map(Entry::parse).flat_map(|entry| entry.interfaces);
        let leases = leases.get("coeus-dhcp:leases").unwrap_or(&Value::Null);
        let leased = ["lease", "ipv6-lease", "relayed-lease"].into_iter().flat_map(|kind| list(leases, kind));
        let leased = leased.filter_map(|lease| text(lease, "address")?.parse().ok());
        Ok(pods.flat_map(|interface| interface.addresses).chain(leased).collect())
    }

    /// The largest packet of pods (decision 0048).
    ///
    /// # Errors
    /// When the controller is away or refuses.
    pub fn mtu(&self) -> Result<u32, Trouble> {
        let found = self.controller.read("coeus-tunnel:underlay/pod-mtu", &[])?;
        let told =
            found.get("coeus-tunnel:pod-mtu").and_then(Value::as_u64).and_then(|mtu| mtu.try_into().ok());
        Ok(told.unwrap_or(USUAL_MTU))
    }

    /// Waits until the switches have what an interface needs.
    ///
    /// # Errors
    /// Code 11 with what is missing and why, when the patience ends or a switch refuses.
    pub fn programmed(&self, entry: &Entry, name: &str, patience: Duration) -> Result<(), Error> {
        let end = Instant::now() + patience;
        let body = json!({"pod:pods": [{"uid": entry.uid}]});
        // What the entry has beside is waited for as well, and may not be plugged in for long.
        let slice = if entry.interfaces.len() > 1 { Duration::from_secs(1) } else { SLICE };
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let asked = slice.min(left).max(Duration::from_secs(1)).as_secs();
            let query = [("wait", "programmed".to_owned()), ("timeout", format!("{asked}s"))];
            let answer = self.controller.write("PATCH", &pod_path(&entry.uid), &query, Some(&body))?;
            let Some(missing) = missing(&answer, name) else { return Ok(()) };
            if left <= slice {
                let message = format!("{name} is not programmed after {} s: {missing}", patience.as_secs());
                return Err(Error::new(Code::Again, message).with("`coeus doctor` says more"));
            }
        }
    }

    /// Whether the controller answers.
    ///
    /// # Errors
    /// When it does not.
    pub fn answers(&self) -> Result<(), Trouble> {
        self.controller.read("coeus-tunnel:underlay", &[]).map(drop)
    }
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// One that is there keeps its kind of network.
fn interface(uid: &str, is_new: bool, addresses: &[IpAddr]) -> Value {
    let mut interface = json!({"uid": uid});
    if is_new {
        interface["network-type"] = json!("VXLAN");
    }
    if let Some((first, further)) = addresses.split_first() {
        interface["ip-address"] = json!(first);
        if !further.is_empty() {
            interface["coeus-pod:secondary-ip-address"] = json!(further);
        }
    }
    interface
}

fn pool(value: &Value) -> Option<Pool> {
    let address = |leaf: &str| text(value, leaf)?.parse().ok();
    let options = value.get("coeus-dhcp:options").unwrap_or(&Value::Null);
    let texts =
        |value: &Value, leaf: &str| list(value, leaf).filter_map(Value::as_str).map(str::to_owned).collect();
    Some(Pool {
        subnet: text(value, "subnet")?.parse().ok()?,
        gateway: address("gateway"),
        mtu: options.get("mtu").and_then(Value::as_u64).and_then(|mtu| mtu.try_into().ok()),
        dns: texts(value, "dns-servers"),
        domain: text(options, "domain-name"),
    })
}

/// What the answer to `wait=programmed` says is missing for one object; nothing when it and its switches are done.
fn missing(answer: &Value, name: &str) -> Option<String> {
    let report = answer.get("coeus-status:programmed")?;
    if report.get("state").and_then(Value::as_str) == Some("programmed") {
        return None;
    }
    let is_open = |one: &&Value| one.get("state").and_then(Value::as_str) != Some("programmed");
    let reasons = |one: &Value| {
        let reasons: Vec<String> = list(one, "reason").filter_map(Value::as_str).map(str::to_owned).collect();
        if reasons.is_empty() { "it has not confirmed yet".to_owned() } else { reasons.join("; ") }
    };
    let switches = list(report, "switch").filter(is_open);
    let switches =
        switches.map(|one| format!("switch {}: {}", text(one, "dpid").unwrap_or_default(), reasons(one)));
    let objects =
        list(report, "object").filter(is_open).filter(|one| text(one, "name").as_deref() == Some(name));
    let all: Vec<String> = objects.map(reasons).chain(switches).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_what_concerns_the_pod() {
        let report = |state: &str, switch: &str, objects: Value| json!({"coeus-status:programmed": {"state": state, "object": objects, "switch": [{"dpid": "1", "state": switch}]}});
        let other = json!([{"name": "blue:p1:00000001", "state": "pending", "reason": ["no port"]}]);
        let own = json!([{"name": "blue:p1", "state": "pending", "reason": ["no port", "no address"]}]);
        assert_eq!(missing(&report("programmed", "programmed", json!([])), "blue:p1"), None);
        assert_eq!(missing(&report("pending", "programmed", other.clone()), "blue:p1"), None);
        assert_eq!(
            missing(&report("pending", "programmed", own), "blue:p1").as_deref(),
            Some("no port; no address")
        );
        let switch = missing(&report("pending", "pending", other), "blue:p1").unwrap();
        assert!(switch.starts_with("switch 1: "), "{switch}");
    }

    #[test]
    fn a_pool_is_read() {
        let read = pool(&json!({"subnet": "10.0.0.0/24", "allocate-from": "10.0.0.5", "allocate-to": "10.0.0.9", "gateway": "10.0.0.1",
            "dns-servers": ["10.0.0.53"], "coeus-dhcp:options": {"mtu": 1400, "domain-name": "example"}}))
        .unwrap();
        assert_eq!((read.mtu, read.domain.as_deref()), (Some(1400), Some("example")));
        assert_eq!(read.dns, ["10.0.0.53"]);
        assert_eq!(pool(&json!({})), None);
    }
}
