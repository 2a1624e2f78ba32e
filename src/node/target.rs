//! Which interface of the datastore a call is about.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use coeus_cni::{Code, Error, Pods, Request};

use super::Agent;
use super::add::PATIENCE;
use super::entry::Entry;
use super::record::{Wrote, uuid_of};

/// An entry that somebody else writes is looked for so often: nothing tells the agent of it.
const LOOK: Duration = Duration::from_millis(50);

/// The interface of the datastore that is to be plugged in.
pub(super) struct Target {
    pub entry: Entry,
    pub namespace: String,
    pub pod: String,
    pub interface: String,
    pub network: Option<String>,
    pub addresses: Vec<IpAddr>,
    /// What there is to be written.
    pub writes: Wrote,
    pub name: String,
}

impl Target {
    /// What the entry says of a port that it shares: its parent and its VLAN.
    pub fn trunk(&self) -> Option<&(String, u16)> {
        self.entry.interfaces.iter().find(|one| one.uid == self.interface)?.trunk.as_ref()
    }

    /// The default route and the MAC address of the entry are the pod's first interface's.
    pub fn is_first(&self) -> bool {
        self.entry.first().is_none_or(|first| first.uid == self.interface)
    }
}

impl Agent {
    /// An interface is one container's: an older one, such as the sandbox that kubelet replaces, loses it. Whether there was one.
    pub(super) fn takes_over(&self, request: &Request, target: &Target) -> Result<bool, Error> {
        let mut was = false;
        for older in self.records.all() {
            if older.interface == target.interface && older.container != request.container {
                tracing::info!(
                    "{} is container {}'s now, and no more {}'s",
                    target.name,
                    request.container,
                    older.container
                );
                self.end(&older).map_err(|why| Error::new(Code::Again, why))?;
                was = true;
            }
        }
        Ok(was)
    }

    /// The interface to plug in: that of `PORT_UUID`, else the first of the pod that this container has not plugged in yet.
    pub(super) fn target(&self, request: &Request) -> Result<Target, Error> {
        for (key, value) in
            [("K8S_POD_NAMESPACE", request.pod_namespace()), ("K8S_POD_NAME", request.pod_name())]
        {
            if value.is_empty() || value.contains(|c: char| c.is_control() || "'\":/".contains(c)) {
                return Err(Error::new(
                    Code::Environment,
                    format!("{key}={value} is no name of a namespace or pod"),
                ));
            }
        }
        let said = request.args.value("K8S_POD_NAMESPACE").is_some();
        let pods = request.config.pods.unwrap_or(if said { Pods::Cluster } else { Pods::Own });
        let end = Instant::now() + request.config.timeout.map_or(PATIENCE, Duration::from_secs);
        loop {
            match self.find(request)? {
                Some(entry) => return self.target_of(request, entry, pods),
                None if pods == Pods::Own => return self.new_target(request),
                None if Instant::now() >= end => {
                    let (namespace, pod) = (request.pod_namespace(), request.pod_name());
                    return Err(Error::new(
                        Code::Again,
                        format!("pod {namespace}/{pod} is not in pod:coe/pods"),
                    )
                    .with("is `coeus watch --kube` running? Without Kubernetes set \"pods\": \"own\""));
                }
                None => std::thread::sleep(LOOK),
            }
        }
    }

    fn find(&self, request: &Request) -> Result<Option<Entry>, Error> {
        let found = match (request.args.value("PORT_UUID"), request.pod_uid()) {
            (Some(port), _) => {
                let wrong =
                    || Error::new(Code::Environment, format!("CNI_ARGS: PORT_UUID={port} is no UUID"));
                self.datastore.pod_with(&coeus_cni::uuid(port).ok_or_else(wrong)?)
            }
            (None, Some(uid)) => self.datastore.pod(&uid),
            (None, None) => self.datastore.pod_named(request.pod_namespace(), request.pod_name()),
        };
        Ok(found?)
    }

    fn target_of(&self, request: &Request, entry: Entry, pods: Pods) -> Result<Target, Error> {
        let namespace = entry.namespace.clone().unwrap_or_else(|| request.pod_namespace().to_owned());
        let pod = entry.name.clone().unwrap_or_else(|| request.pod_name().to_owned());
        let port = request.args.value("PORT_UUID").and_then(coeus_cni::uuid);
        let said =
            |key: &str, has: &str| request.args.value(key).filter(|said| *said != has).map(str::to_owned);
        for (key, has) in [("K8S_POD_NAMESPACE", &namespace), ("K8S_POD_NAME", &pod)] {
            if let Some(said) = said(key, has) {
                let message = format!("CNI_ARGS: {key}={said}, but the entry is of pod {namespace}/{pod}");
                return Err(Error::new(Code::Config, message));
            }
        }
        let plugged: BTreeSet<String> = self
            .records
            .all()
            .into_iter()
            .filter(|other| other.container == request.container && other.ifname != request.ifname)
            .map(|other| other.interface)
            .collect();
        let is_free = |uid: &String| !plugged.contains(uid);
        let uids = entry.first().into_iter().chain(&entry.interfaces).map(|one| one.uid.clone());
        let chosen = port.clone().or_else(|| uids.clone().find(is_free));
        let found = chosen.as_ref().and_then(|uid| entry.interfaces.iter().find(|one| one.uid == *uid));
        let (interface, writes) = match (found, pods) {
            (Some(found), _) if !found.addresses.is_empty() => (found.uid.clone(), Wrote::Nothing),
            (Some(found), _) => (found.uid.clone(), Wrote::Addresses),
            (None, Pods::Own) if entry.interfaces.is_empty() => (entry.uid.clone(), Wrote::Interface),
            (None, Pods::Own) => {
                (uuid_of(&format!("{}/{}", request.container, request.ifname)), Wrote::Interface)
            }
            (None, Pods::Cluster) => {
                let message = format!(
                    "CNI_IFNAME={}: pod {namespace}/{pod} has no further interface in pod:coe/pods",
                    request.ifname
                );
                return Err(Error::new(Code::Config, message));
            }
        };
        Ok(Target {
            name: entry.name_of(&namespace, &pod, &interface),
            network: found.and_then(|found| found.network.clone()),
            addresses: found.map(|found| found.addresses.clone()).unwrap_or_default(),
            entry,
            namespace,
            pod,
            interface,
            writes,
        })
    }

    fn new_target(&self, request: &Request) -> Result<Target, Error> {
        if let Some(port) = request.args.value("PORT_UUID") {
            return Err(Error::new(
                Code::Config,
                format!("CNI_ARGS: PORT_UUID={port}: no pod in pod:coe/pods has such an interface"),
            ));
        }
        let uid = request.pod_uid().unwrap_or_else(|| uuid_of(&request.container));
        let (namespace, pod) = (request.pod_namespace().to_owned(), request.pod_name().to_owned());
        let entry = Entry {
            uid: uid.clone(),
            name: None,
            namespace: None,
            mac: None,
            host: None,
            interfaces: Vec::new(),
        };
        let name = format!("{namespace}:{pod}");
        let (addresses, network, interface) = (Vec::new(), None, uid);
        Ok(Target { entry, namespace, pod, interface, network, addresses, writes: Wrote::Entry, name })
    }
}
