//! Configuration that claims what somebody else has: found before it is committed.

use std::collections::{BTreeMap, BTreeSet};

use super::apply::Model;
use super::claims::{Claim, Strength};
use super::ids::{POOL_VNIS, l3_vni_key};
use super::interface::InterfaceId;
use super::pools::PoolFault;
use super::rows::{HandMade, Pod, Row};
use super::spans::Vpn;
use super::wanted::Wanted;
use crate::net::Vni;
use crate::schema::Text;

/// What configures interfaces and networks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claimer {
    /// By uid.
    Pod(Text),
    /// Interfaces and instances that were written by hand, by name.
    Interface(Text),
    Elan(Text),
    Vpn(Text),
}

/// Somebody claims what another has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Who is refused.
    pub claimer: Claimer,
    /// Names object, thing, owner and what to do.
    pub message: String,
}

/// Pods and interfaces as a commit has them; `None`: it removes them.
type Changed<'a> = BTreeMap<Claimer, Option<Source<'a>>>;

#[derive(Clone, Copy)]
enum Source<'a> {
    Pod(&'a Pod),
    HandMade(&'a HandMade),
}

impl Model {
    /// Looks for pools that cannot be served, among the changed ones.
    ///
    /// # Errors
    /// The first fault.
    pub fn check_pools(&self, rows: &[Row]) -> Result<(), PoolFault> {
        rows.iter().try_for_each(|row| match row {
            Row::Network(id, Some(network)) => super::pools::check(self.networks.get(id), network),
            _ => Ok(()),
        })
    }

    /// Looks for interfaces in more VPNs than one and an Internet VPN, among the changed ones.
    ///
    /// # Errors
    /// The first.
    pub fn check_vpns(&self, rows: &[Row]) -> Result<(), Conflict> {
        let vpns = |row: &HandMade| row.vpns.iter().chain(&row.internet).cloned().collect::<Vec<Text>>();
        rows.iter().try_for_each(|row| match row {
            Row::HandMade(name, Some(row))
                if (row.vpns.len() > 1 || row.internet.len() > 1)
                    && self.hand_made.get(name).is_none_or(|known| vpns(known) != vpns(row)) =>
            {
                let all = vpns(row).join(", ");
                let message = format!(
                    "vpn-interface {name} is in more VPNs than it can be ({all}): it has one, and beside it at most one whose \
                     associated-subnet-type is V6InternetVPN; take the others away, and have VPNs exchange routes by route targets"
                );
                Err(Conflict { claimer: Claimer::Interface(name.clone()), message })
            }
            _ => Ok(()),
        })
    }

    /// Looks for a name, address or MAC address that a changed object newly claims and another one has, and for instances
    /// that claim what pods make. Costs in proportion to what changes.
    ///
    /// # Errors
    /// The first such claim.
    pub fn check(&self, rows: &[Row]) -> Result<(), Conflict> {
        let changed: Changed<'_> = rows
            .iter()
            .filter_map(|row| match row {
                Row::Pod(uid, pod) => Some((Claimer::Pod(uid.clone()), pod.as_ref().map(Source::Pod))),
                Row::HandMade(name, row) => {
                    Some((Claimer::Interface(name.clone()), row.as_ref().map(Source::HandMade)))
                }
                _ => None,
            })
            .collect();
        self.check_claims(&changed)?;
        self.check_host_ports(rows)?;
        rows.iter().try_for_each(|row| self.check_instance(row, rows, &changed))
    }

    fn check_claims(&self, changed: &Changed<'_>) -> Result<(), Conflict> {
        let mut claimed: BTreeMap<Claim, (&Claimer, bool, Strength)> = BTreeMap::new();
        for (claimer, source) in changed {
            let before: BTreeSet<(Claim, Strength)> = match claimer {
                Claimer::Pod(uid) => self.pods.get(uid).map(|pod| Source::Pod(pod).claims()),
                Claimer::Interface(name) => {
                    self.hand_made.get(name).map(|row| Source::HandMade(row).claims())
                }
                Claimer::Elan(_) | Claimer::Vpn(_) => None,
            }
            .unwrap_or_default()
            .into_iter()
            .collect();
            for (claim, strength) in source.map(|source| source.claims()).unwrap_or_default() {
                // What several ask to be routed to them they share.
                let shares = |other: Strength| strength == Strength::Route && other == Strength::Route;
                let old = before.contains(&(claim.clone(), strength));
                let conflict = |refused: &Claimer, owner: &Claimer| {
                    let describe = |claimer: &Claimer| match changed.get(claimer).copied().flatten() {
                        Some(source) => source.said(),
                        None => self.said(claimer),
                    };
                    Conflict::new(refused.clone(), &describe(refused), &describe(owner), &claim)
                };
                match claimed.get(&claim) {
                    Some((.., other)) if shares(*other) => continue,
                    Some((owner, ..)) if !old => return Err(conflict(claimer, owner)),
                    Some((other, false, _)) => return Err(conflict(other, claimer)),
                    _ => {}
                }
                if !old
                    && let Some(first) = self.claims.first(&claim).filter(|first| !shares(first.strength))
                    && let owner = Claimer::of(&first.interface)
                    && owner != *claimer
                    && !changed.contains_key(&owner)
                {
                    return Err(conflict(claimer, &owner));
                }
                claimed.insert(claim, (claimer, old, strength));
            }
        }
        Ok(())
    }

    /// An instance that pods make is not written by hand, and of two written by hand each has its own numbers.
    fn check_instance(&self, row: &Row, rows: &[Row], changed: &Changed<'_>) -> Result<(), Conflict> {
        let made_by_pods = |interfaces: &mut dyn Iterator<Item = &InterfaceId>| {
            interfaces.map(Claimer::of).find(|owner| {
                matches!(owner, Claimer::Pod(_)) && changed.get(owner).is_none_or(Option::is_some)
            })
        };
        let derived = |claimer: &Claimer, interfaces: &mut dyn Iterator<Item = &InterfaceId>| {
            let owner = made_by_pods(interfaces).map(|owner| self.said(&owner));
            owner.map_or(Ok(()), |owner| Err(Conflict::derived(claimer.clone(), &self.said(claimer), &owner)))
        };
        match row {
            Row::ElanInstance(name, Some(row)) => {
                let claimer = Claimer::Elan(name.clone());
                let known = self.elans.get(name).filter(|_| !self.elan_instances.contains_key(name));
                derived(&claimer, &mut known.into_iter().flat_map(|elan| elan.interfaces.keys()))?;
                self.check_vni(name, row.vni, claimer, rows)
            }
            Row::VpnInstance(name, Some(row)) => {
                let claimer = Claimer::Vpn(name.clone());
                let known = self.vpns.get(name).filter(|_| !self.vpn_instances.contains_key(name));
                derived(&claimer, &mut known.into_iter().flat_map(|vpn| vpn.interfaces.iter()))?;
                if let Some(rd) = row.rd.as_ref().filter(|rd| Vpn::is_of_pool(rd)) {
                    let message = format!(
                        "vpn-instance {name}: route-distinguisher {rd} is one of those that Coeus gives out itself; choose another number before the colon"
                    );
                    return Err(Conflict { claimer, message });
                }
                if let Some(rd) = &row.rd {
                    // Also of one that gives it up in the same commit: its routes have to go first.
                    let known = self.rds.get(rd).into_iter().flatten();
                    if let Some(other) = known.chain(asking(rows, rd)).find(|other| *other != name) {
                        let message = format!(
                            "vpn-instance {name}: route-distinguisher {rd} is that of vpn-instance {other}; choose another one"
                        );
                        return Err(Conflict { claimer, message });
                    }
                }
                self.check_vni(&l3_vni_key(name), row.l3_vni, claimer, rows)
            }
            // It may lack something yet; but a pod's interface it will never be.
            Row::HandMade(name, Some(row)) if !self.hand_made.contains_key(name) => {
                let claim = Claim::Name(name.clone());
                let owner = made_by_pods(&mut self.claims.owner(&claim).into_iter());
                owner.map_or(Ok(()), |owner| {
                    let claimer = Claimer::Interface(name.clone());
                    Err(Conflict::new(claimer, &Source::HandMade(row).said(), &self.said(&owner), &claim))
                })
            }
            _ => Ok(()),
        }
    }

    /// Nobody else asks for this VNI.
    fn check_vni(
        &self,
        key: &Text,
        vni: Option<Vni>,
        claimer: Claimer,
        rows: &[Row],
    ) -> Result<(), Conflict> {
        let Some(vni) = vni else { return Ok(()) };
        if POOL_VNIS.contains(&vni.0) {
            let (first, last) = (POOL_VNIS.start(), POOL_VNIS.end());
            let message = format!(
                "VXLAN network identifier {} is one of those that Coeus gives out itself ({first} to {last}); choose another one",
                vni.0
            );
            return Err(Conflict { claimer, message });
        }
        if super::services::is_of_services(vni) {
            let message = format!(
                "VXLAN network identifier {} carries services between nodes; choose another one",
                vni.0
            );
            return Err(Conflict { claimer, message });
        }
        let in_rows: BTreeMap<Text, Option<Vni>> = rows
            .iter()
            .filter_map(|row| match row {
                Row::ElanInstance(name, row) => Some((name.clone(), row.as_ref().and_then(|row| row.vni))),
                Row::VpnInstance(name, row) => {
                    Some((l3_vni_key(name), row.as_ref().and_then(|row| row.l3_vni)))
                }
                _ => None,
            })
            .collect();
        let known = self.vnis.range((vni, Text::new())..).take_while(|(other, _)| *other == vni);
        let known = known.map(|(_, other)| other).filter(|other| !in_rows.contains_key(*other));
        let coming = in_rows.iter().filter(|(_, other)| **other == Some(vni)).map(|(other, _)| other);
        match known.chain(coming).find(|other| *other != key) {
            None => Ok(()),
            Some(other) => {
                let whose = match other.strip_prefix("l3 ") {
                    Some(vpn) => format!("vpn-instance {vpn}"),
                    None => format!("elan-instance {other}"),
                };
                let message =
                    format!("VXLAN network identifier {} is that of {whose}; choose another one", vni.0);
                Err(Conflict { claimer, message })
            }
        }
    }

    /// How the owner of an interface is spoken of, by its name where it has one.
    pub fn said_of(&self, id: &InterfaceId) -> String {
        self.said(&Claimer::of(id))
    }

    /// How a pod is spoken of.
    pub(super) fn said_of_pod(&self, pod: &Pod) -> String {
        Source::Pod(pod).said()
    }

    /// How somebody is spoken of.
    fn said(&self, claimer: &Claimer) -> String {
        match claimer {
            Claimer::Pod(uid) => self.pods.get(uid).map(|pod| Source::Pod(pod).said()),
            _ => None,
        }
        .unwrap_or_else(|| match claimer {
            Claimer::Pod(uid) => format!("pod {uid}"),
            Claimer::Interface(name) => InterfaceId::hand_made(name).said().to_string(),
            Claimer::Elan(name) => format!("elan-instance {name}"),
            Claimer::Vpn(name) => format!("vpn-instance {name}"),
        })
    }
}

/// VPNs that ask for a route distinguisher in a commit.
fn asking<'a>(rows: &'a [Row], rd: &'a Text) -> impl Iterator<Item = &'a Text> {
    rows.iter().filter_map(move |row| match row {
        Row::VpnInstance(name, Some(row)) if row.rd.as_ref() == Some(rd) => Some(name),
        _ => None,
    })
}

impl Claimer {
    fn of(id: &InterfaceId) -> Claimer {
        if id.is_hand_made() { Claimer::Interface(id.uid.clone()) } else { Claimer::Pod(id.pod.clone()) }
    }
}

impl Source<'_> {
    /// What its own configuration claims.
    fn claims(self) -> Vec<(Claim, Strength)> {
        match self {
            Source::Pod(pod) => {
                pod.interfaces.iter().flat_map(|row| Wanted::of_pod(pod, row).claims()).collect()
            }
            Source::HandMade(row) => Wanted::of_hand(row).claims(),
        }
    }

    fn said(self) -> String {
        match self {
            Source::Pod(Pod { uid, name: Some(name), namespace: Some(namespace), .. }) => {
                format!("pod {uid} ({namespace}:{name})")
            }
            Source::Pod(pod) => format!("pod {}", pod.uid),
            Source::HandMade(row) => InterfaceId::hand_made(&row.name).said().to_string(),
        }
    }
}

impl Conflict {
    fn new(claimer: Claimer, refused: &str, owner: &str, claim: &Claim) -> Conflict {
        let what = match claim {
            Claim::Name(name) => format!("interface name {name} is in use"),
            Claim::Address(vpn, address) => format!("address {address} is in use in namespace {vpn}"),
            Claim::Route(vpn, prefix) => format!("prefix {prefix} is in use in VPN {vpn}"),
            Claim::Mac(elan, mac) => format!("port-mac-address {mac} is in use in ELAN {elan}"),
            Claim::Port(switch, port, None) => format!("port {port} of switch {switch} is in use"),
            Claim::Port(switch, port, Some(vlan)) => {
                format!("VLAN {vlan} on port {port} of switch {switch} is in use")
            }
            Claim::Tag(trunk, vlan) => format!("vlan-id {vlan} of trunk {trunk} is in use"),
            Claim::HostPort(_, transport, port) => format!("host port {transport} {port} is in use"),
        };
        let (this, other) = match claimer {
            Claimer::Pod(_) => ("this pod", "the other pod"),
            _ => ("this interface", "its owner"),
        };
        let message = format!(
            "{refused}: {what} by {owner}; give {this} another one, or change or delete {other} first"
        );
        Conflict { claimer, message }
    }

    /// What pods make of themselves was written by hand.
    fn derived(claimer: Claimer, what: &str, owner: &str) -> Conflict {
        let message = format!("{what} is made by Coeus for {owner}; change the pod, or choose another name");
        Conflict { claimer, message }
    }
}
