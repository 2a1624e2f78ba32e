//! What carries an ELAN between switches: a tunnel, or a physical network.

use super::apply::Model;
use super::interface::{Interface, InterfaceId};
use super::rows::{NetworkType, PodInterface};
use super::spans::Elan;
use super::status::Reason;
use super::view::Remote;
use crate::net::{Dpid, LportTag, OfPort};
use crate::schema::Text;

/// What a pod interface asks for: its `network-type`, and for FLAT and VLAN where that is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    pub kind: NetworkType,
    /// `segmentation-id`, of VLAN.
    pub id: Option<u32>,
    /// `network-id`, of FLAT and VLAN: names the physical network where a switch has one of that name.
    pub network: Option<Text>,
}

/// The way from a switch into an ELAN's physical network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uplink {
    /// Logical port tag of the port, the same on all switches.
    pub lport: LportTag,
    pub ofport: OfPort,
    /// The tag its frames carry outside (IEEE 802.1Q); `None`: they carry none.
    pub vlan: Option<u16>,
}

/// Where a segment is on a switch: the physical network and the VLAN.
type Place = (Text, Option<u16>);

/// Key of the logical port tag that all ports to a physical network share. No interface name is without a colon.
pub fn uplink_lport_key(network: &str) -> Text {
    format!("provider {}", network.replace(':', "_")).into()
}

/// Key of the logical port tag that the GRE ports of all switches share.
pub const GRE_LPORT_KEY: &str = "tunnel gre";

impl Segment {
    pub(super) fn of(row: &PodInterface) -> Segment {
        let physical = matches!(row.network_type, NetworkType::Flat | NetworkType::Vlan);
        Segment {
            kind: row.network_type,
            id: row.segmentation_id.filter(|_| row.network_type == NetworkType::Vlan),
            network: row.network_id.clone().filter(|_| physical),
        }
    }

    /// Whether it is a part of a physical network, not carried by tunnels.
    pub fn is_physical(&self) -> bool {
        matches!(self.kind, NetworkType::Flat | NetworkType::Vlan)
    }
}

impl Elan {
    /// What carries it: as it was written, else its first interface decides. One that was written by hand asks for nothing.
    pub fn segment(&self) -> Segment {
        if let Some(written) = &self.written {
            return written.clone();
        }
        let first = match self.interfaces.iter().next() {
            Some((id, _)) if id.is_hand_made() => {
                self.interfaces.range(InterfaceId::first_of_pods()..).next()
            }
            first => first,
        };
        first.map(|(_, segment)| segment.clone()).unwrap_or_default()
    }
}

impl Model {
    /// How an ELAN leaves a switch for its physical network; why it cannot. `None`: tunnels carry it.
    pub fn uplink(&self, name: &Text, dpid: Dpid) -> Option<Result<Uplink, Reason>> {
        let elan = self.elan(name)?;
        elan.segment().is_physical().then(|| {
            let place = self.place(elan, dpid)?;
            let before = self.elans_on(dpid).take_while(|other| *other < name);
            let mut before = before.filter(|other| {
                let other = self.elan(other).filter(|other| other.segment().is_physical());
                other.is_some_and(|other| self.place(other, dpid).as_ref() == Ok(&place))
            });
            if let Some(owner) = before.next() {
                let (network, vlan) = place;
                return Err(Reason::SegmentTaken {
                    network,
                    vlan: vlan.unwrap_or_default(),
                    owner: owner.clone(),
                });
            }
            let (network, vlan) = place;
            let lport = self.uplink_lports.get(&uplink_lport_key(&network));
            let ofport = self.switch(dpid).and_then(|switch| switch.uplinks.get(&network));
            match (lport, ofport) {
                (Some(lport), Some(ofport)) => Ok(Uplink { lport: *lport, ofport: *ofport, vlan }),
                _ => Err(Reason::PoolExhausted("logical port tags")),
            }
        })
    }

    fn place(&self, elan: &Elan, dpid: Dpid) -> Result<Place, Reason> {
        let segment = elan.segment();
        let vlan = match (segment.kind, segment.id) {
            (NetworkType::Vlan, Some(id @ 1..=4094)) => u16::try_from(id).ok(),
            (NetworkType::Vlan, id) => return Err(Reason::BadVlan(id.unwrap_or_default())),
            _ => None,
        };
        let network = self.physical_network(segment.network.as_ref(), dpid);
        // A pod's network-id may be a name of its client's; a physical-network-name is that of one network and no other.
        let written = segment.network.filter(|_| elan.written.is_some());
        match (written, network) {
            (Some(named), Ok(network)) if named != network => Err(Reason::NotThatNetwork(dpid, named)),
            (Some(named), Err(Reason::SeveralPhysicalNetworks(..))) => {
                Err(Reason::NotThatNetwork(dpid, named))
            }
            (_, network) => Ok((network?, vlan)),
        }
    }

    /// The physical network of a switch that is named so, or the only one that it leads to.
    pub(super) fn physical_network(&self, named: Option<&Text>, dpid: Dpid) -> Result<Text, Reason> {
        let uplinks = self.switch(dpid).map(|switch| &switch.uplinks);
        let names = || uplinks.into_iter().flat_map(|uplinks| uplinks.keys());
        if let Some(named) = named.filter(|named| names().any(|name| name == *named)) {
            return Ok(named.clone());
        }
        match names().collect::<Vec<_>>()[..] {
            [only] => Ok(only.clone()),
            [] => Err(Reason::NoPhysicalNetwork(dpid)),
            _ => {
                let names = names().map(|name| &**name).collect::<Vec<_>>().join(", ");
                Err(Reason::SeveralPhysicalNetworks(dpid, names.into()))
            }
        }
    }

    /// How `from` sends frames of this kind of network to `to` through a tunnel, if both ends are known.
    pub fn remote_by(&self, kind: NetworkType, from: Dpid, to: Dpid) -> Option<Remote> {
        match kind {
            NetworkType::Vxlan => self.remote(from, to),
            NetworkType::Gre => {
                self.switch(from)?.gre.as_ref()?;
                let there = self.switch(to).filter(|switch| switch.gre.is_some())?;
                let tunnel = *self.uplink_lports.get(GRE_LPORT_KEY)?;
                Some(Remote { tunnel, address: there.local_ip? })
            }
            NetworkType::Flat | NetworkType::Vlan => None,
        }
    }

    /// Whether ELANs of this kind stand differently as soon as others of their switch do.
    pub fn is_overlay(&self, name: &str) -> bool {
        self.elan(name).is_none_or(|elan| elan.segment().kind == NetworkType::Vxlan)
    }

    /// What keeps an attached interface from the rest of its network, and what should be known of it.
    pub fn underlay_reasons(&self, interface: &Interface) -> (Option<Reason>, Option<Reason>) {
        let Some((identity, _, attachment)) = interface.plugged() else { return (None, None) };
        let Some(elan) = self.elan(&identity.elan) else { return (None, None) };
        let segment = elan.segment();
        // What was written by hand asks for nothing of its own.
        let asks = !interface.id.is_hand_made();
        let other = || elan.interfaces.get(&interface.id).filter(|own| asks && **own != segment);
        let differs =
            other().map(|_| Reason::OtherNetworkType { elan: identity.elan.clone(), kind: segment.kind });
        let missing = match segment.kind {
            NetworkType::Flat | NetworkType::Vlan => {
                self.uplink(&identity.elan, attachment.dpid).and_then(Result::err)
            }
            NetworkType::Gre => {
                let switch = self.switch(attachment.dpid).filter(|switch| switch.gre.is_none());
                switch.map(|_| Reason::NoGrePort(attachment.dpid))
            }
            NetworkType::Vxlan => None,
        };
        (missing, differs)
    }
}
