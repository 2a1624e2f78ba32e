//! Configuration that claims what another pod has: found before it is committed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use super::apply::Model;
use super::claims::Claim;
use super::read::{self, Row, RowKey, usable};
use super::resolve::full_name;
use super::rows::Pod;
use crate::datastore::{Change, Refusal, Snapshot};

impl Model {
    /// Looks for a name, address or MAC address that a changed pod newly claims and another pod has.
    /// Costs in proportion to the changed pods.
    ///
    /// # Errors
    /// The first such claim, as an `in-use` refusal that names both pods.
    pub fn check(&self, changes: &[Change], after: &Snapshot) -> Result<(), Refusal> {
        let keys = changes.iter().flat_map(|change| read::rows_of(&self.names, change));
        let changed: BTreeSet<Arc<str>> =
            keys.filter_map(|key| if let RowKey::Pod(uid) = key { Some(uid) } else { None }).collect();
        let mut claimed: BTreeMap<Claim, (Arc<str>, bool)> = BTreeMap::new();
        let mut fresh = Vec::new();
        for uid in &changed {
            let Row::Pod(Some(pod)) = read::read(&self.names, after, &RowKey::Pod(uid.clone())) else {
                continue;
            };
            let before: BTreeSet<Claim> =
                self.pods.get(uid).map(pod_claims).unwrap_or_default().into_iter().collect();
            for claim in pod_claims(&pod) {
                let old = before.contains(&claim);
                match claimed.insert(claim.clone(), (uid.clone(), old)) {
                    Some((owner, _)) if !old => return Err(self.refusal(uid, &claim, &owner, after)),
                    Some((other, false)) => return Err(self.refusal(&other, &claim, uid, after)),
                    _ => {}
                }
                if !old {
                    fresh.push((claim, uid));
                }
            }
        }
        for (claim, uid) in fresh {
            if let Some(owner) = self.claims.owner(&claim).filter(|owner| !changed.contains(&owner.pod)) {
                return Err(self.refusal(uid, &claim, &owner.pod, after));
            }
        }
        Ok(())
    }

    fn refusal(&self, uid: &Arc<str>, claim: &Claim, owner: &Arc<str>, after: &Snapshot) -> Refusal {
        let name = |uid: &Arc<str>| match read::read(&self.names, after, &RowKey::Pod(uid.clone())) {
            Row::Pod(Some(Pod { name: Some(name), namespace: Some(namespace), .. })) => {
                format!("{namespace}:{name}")
            }
            _ => "unnamed".to_owned(),
        };
        let (thing, place) = match claim {
            Claim::Name(name) => (format!("interface name {name}"), String::new()),
            Claim::Address(vpn, address) => (format!("address {address}"), format!(" in namespace {vpn}")),
            Claim::Mac(elan, mac) => (format!("port-mac-address {mac}"), format!(" in ELAN {elan}")),
            Claim::Port(switch, port) => (format!("port {port}"), format!(" of switch {switch}")),
        };
        let (pod, other) = (name(uid), name(owner));
        Refusal {
            path: read::pod_path(&self.names, uid),
            tag: "in-use",
            message: format!(
                "pod {uid} ({pod}): {thing} is in use{place} by pod {owner} ({other}); \
                 give this pod another one, or change or delete the other pod first"
            ),
        }
    }
}

/// What a pod's own configuration claims, once it has name, namespace and host.
fn pod_claims(pod: &Pod) -> Vec<Claim> {
    let mut claims = Vec::new();
    for row in &pod.interfaces {
        let (Ok(name), Some(vpn), Some(host)) = (full_name(pod, row), &pod.namespace, pod.host) else {
            continue;
        };
        claims.push(Claim::Name(name));
        if let Some(IpAddr::V4(address)) = row.address.filter(|address| is_usable(*address)) {
            claims.push(Claim::Address(vpn.clone(), address));
        }
        let primary = pod.primary().is_some_and(|primary| primary.uid == row.uid);
        if let Some(mac) = pod.mac.filter(|_| primary) {
            claims.push(Claim::Mac(format!("{host}:{vpn}").into(), mac));
        }
    }
    claims
}

fn is_usable(address: IpAddr) -> bool {
    matches!(address, IpAddr::V4(address) if usable(address))
}
