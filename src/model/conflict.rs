//! Configuration that claims what another pod has: found before it is committed.

use std::collections::{BTreeMap, BTreeSet};

use super::apply::Model;
use super::claims::Claim;
use super::resolve::full_name;
use super::rows::{Pod, Row, usable};
use crate::schema::Text;

impl Model {
    /// Looks for a name, address or MAC address that a changed pod newly claims and another pod has.
    /// Costs in proportion to the changed pods.
    ///
    /// # Errors
    /// The first such claim.
    pub fn check(&self, rows: &[Row]) -> Result<(), Conflict> {
        let changed: BTreeMap<&Text, Option<&Pod>> = rows
            .iter()
            .filter_map(|row| if let Row::Pod(uid, pod) = row { Some((uid, pod.as_ref())) } else { None })
            .collect();
        let mut claimed: BTreeMap<Claim, (&Text, bool)> = BTreeMap::new();
        for (uid, pod) in &changed {
            let before: BTreeSet<Claim> =
                self.pods.get(*uid).map(pod_claims).unwrap_or_default().into_iter().collect();
            for claim in pod.map(pod_claims).unwrap_or_default() {
                let old = before.contains(&claim);
                let conflict = |pod: &Text, owner: &Text, claim: &Claim| {
                    let pod = changed.get(pod).copied().flatten();
                    Conflict::new(pod, changed.get(owner).copied().flatten(), claim)
                };
                match claimed.get(&claim) {
                    Some((owner, _)) if !old => return Err(conflict(uid, owner, &claim)),
                    Some((other, false)) => return Err(conflict(other, uid, &claim)),
                    _ => {}
                }
                if !old
                    && let Some(owner) =
                        self.claims.owner(&claim).filter(|owner| !changed.contains_key(&owner.pod))
                {
                    return Err(Conflict::new(*pod, self.pods.get(&owner.pod), &claim));
                }
                claimed.insert(claim, (uid, old));
            }
        }
        Ok(())
    }
}

/// A pod claims what another pod has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Uid of the pod that is refused.
    pub pod: Text,
    /// Names pod, thing, owner and what to do.
    pub message: String,
}

impl Conflict {
    fn new(pod: Option<&Pod>, owner: Option<&Pod>, claim: &Claim) -> Conflict {
        let describe = |pod: Option<&Pod>| match pod {
            Some(Pod { uid, name: Some(name), namespace: Some(namespace), .. }) => {
                format!("pod {uid} ({namespace}:{name})")
            }
            Some(pod) => format!("pod {}", pod.uid),
            None => "another pod".to_owned(),
        };
        let what = match claim {
            Claim::Name(name) => format!("interface name {name} is in use"),
            Claim::Address(vpn, address) => format!("address {address} is in use in namespace {vpn}"),
            Claim::Mac(elan, mac) => format!("port-mac-address {mac} is in use in ELAN {elan}"),
            Claim::Port(switch, port) => format!("port {port} of switch {switch} is in use"),
        };
        let message = format!(
            "{}: {what} by {}; give this pod another one, or change or delete the other pod first",
            describe(pod),
            describe(owner)
        );
        Conflict { pod: pod.map(|pod| pod.uid.clone()).unwrap_or_default(), message }
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
        let addresses = row.addresses.iter().filter(|address| usable(**address));
        claims.extend(addresses.map(|address| Claim::Address(vpn.clone(), *address)));
        let primary = pod.primary().is_some_and(|primary| primary.uid == row.uid);
        if let Some(mac) = pod.mac.filter(|_| primary) {
            claims.push(Claim::Mac(format!("{host}:{vpn}").into(), mac));
        }
    }
    claims
}
