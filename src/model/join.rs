//! Membership: an interface enters and leaves ELANs, VPNs, switches and gateways.

use std::collections::BTreeSet;
use std::net::IpAddr;

use smallvec::SmallVec;

use super::apply::{Model, Work, remove_from};
use super::ids::Allocator;
use super::interface::Interface;
use super::spans::{Chunk, share_of};
use crate::net::Dpid;
use crate::schema::Text;

impl Model {
    /// Moves an interface from the memberships it had to those it has now.
    pub(super) fn join(
        &mut self,
        before: Option<&Interface>,
        after: &Interface,
        allocator: &mut dyn Allocator,
        work: &mut Work,
    ) {
        let identity = |interface: &Interface| {
            let identity = interface.identity.as_ref()?;
            let vpns: SmallVec<[Text; 2]> = identity.vpns().cloned().collect();
            Some((identity.elan.clone(), vpns, identity.segment.clone()))
        };
        let place = |interface: &Interface| {
            let (identity, lport, attachment) = interface.plugged()?;
            let vpns: SmallVec<[Text; 2]> = identity.vpns().cloned().collect();
            Some((identity.elan.clone(), vpns, lport, attachment.dpid))
        };
        let gateways = |interface: &Interface| -> BTreeSet<((Text, IpAddr), Dpid)> {
            let Some((identity, _, attachment)) = interface.plugged() else { return BTreeSet::new() };
            let Some(vpn) = &identity.vpn else { return BTreeSet::new() };
            let used = interface.gateways().into_iter();
            used.map(|gateway| ((vpn.clone(), gateway), attachment.dpid)).collect()
        };
        // New memberships come first, so that a thing with one member does not vanish and return.
        if before.and_then(identity) != identity(after) {
            self.enter(after, allocator, work);
        }
        self.count_ipv6(before, after, work);
        let (was, is) = (before.and_then(place), place(after));
        if was != is {
            if let Some(interface) = before {
                self.unplug(interface, work);
            }
            self.plug(after, work);
        }
        let (was, is) = (before.map(gateways).unwrap_or_default(), gateways(after));
        for (gateway, dpid) in is.difference(&was) {
            self.use_gateway(gateway, *dpid, work);
        }
        for (gateway, dpid) in was.difference(&is) {
            self.leave_gateway(gateway, *dpid, work);
        }
        self.note_outside(before, after);
        self.note_on_node(before, after, work);
        self.note_doors(before, after, work);
        self.mark_services(before, after, work);
        if let Some(interface) = before {
            self.quit(interface, after, work);
        }
    }

    fn use_gateway(&mut self, gateway: &(Text, IpAddr), dpid: Dpid, work: &mut Work) {
        let users = self.gateways.entry(gateway.clone()).or_default().entry(dpid).or_default();
        *users += 1;
        if *users == 1 {
            work.touched.gateways.insert(gateway.clone());
        }
    }

    fn leave_gateway(&mut self, gateway: &(Text, IpAddr), dpid: Dpid, work: &mut Work) {
        let Some(switches) = self.gateways.get_mut(gateway) else { return };
        let Some(users) = switches.get_mut(&dpid) else { return };
        *users -= 1;
        if *users > 0 {
            return;
        }
        switches.remove(&dpid);
        if switches.is_empty() {
            self.gateways.remove(gateway);
        }
        work.touched.gateways.insert(gateway.clone());
    }

    /// Whether an interface has an address that needs a route of its own.
    fn note_outside(&mut self, before: Option<&Interface>, after: &Interface) {
        let old = before.and_then(|before| before.identity.as_ref());
        for name in old.into_iter().flat_map(|identity| identity.vpns()) {
            if let Some(vpn) = self.vpns.get_mut(name) {
                vpn.outside.remove(&after.id);
            }
        }
        let Some((identity, _, attachment)) = after.plugged() else { return };
        let mut own = after.addresses.iter().map(|own| own.ip.into());
        let is_outside =
            !after.routes.is_empty() || own.any(|own| !self.is_all_covered(attachment.dpid, own));
        for name in identity.vpns().filter(|_| is_outside) {
            if let Some(vpn) = self.vpns.get_mut(name) {
                vpn.outside.insert(after.id.clone());
            }
        }
    }

    fn enter(&mut self, interface: &Interface, allocator: &mut dyn Allocator, work: &mut Work) {
        let Some(identity) = &interface.identity else { return };
        self.enter_elan(&identity.elan, allocator, work);
        if let Some(elan) = self.elans.get_mut(&identity.elan) {
            let (shown, new) = (elan.segment(), elan.interfaces.is_empty());
            elan.interfaces.insert(interface.id.clone(), identity.segment.clone());
            if new || elan.segment() != shown {
                work.touched.elans.insert(identity.elan.clone());
            }
        }
        for name in identity.vpns() {
            self.enter_vpn(name, allocator, work);
            if let Some(vpn) = self.vpns.get_mut(name) {
                vpn.interfaces.insert(interface.id.clone());
            }
        }
    }

    /// Whether a VPN has IPv6 at all is shown with it.
    fn count_ipv6(&mut self, before: Option<&Interface>, after: &Interface, work: &mut Work) {
        let vpn = |interface: &Interface| {
            let identity = interface.identity.as_ref().filter(|_| interface.has_ipv6())?;
            identity.vpn.clone()
        };
        let (was, is) = (before.and_then(vpn), vpn(after));
        for (name, comes) in [(&was, false), (&is, true)] {
            let Some(name) = name.as_ref().filter(|_| was != is) else { continue };
            let Some(vpn) = self.vpns.get_mut(name) else { continue };
            let had = !vpn.ipv6.is_empty();
            if comes {
                vpn.ipv6.insert(after.id.clone());
            } else {
                vpn.ipv6.remove(&after.id);
            }
            if had == vpn.ipv6.is_empty() {
                work.touched.vpns.insert(name.clone());
            }
        }
    }

    fn quit(&mut self, before: &Interface, after: &Interface, work: &mut Work) {
        let Some(old) = &before.identity else { return };
        let new = after.identity.as_ref();
        if new.is_none_or(|new| new.elan != old.elan)
            && let Some(elan) = self.elans.get_mut(&old.elan)
        {
            let shown = elan.segment();
            elan.interfaces.remove(&before.id);
            if elan.interfaces.is_empty() || elan.segment() != shown {
                work.touched.elans.insert(old.elan.clone());
            }
            self.quit_elan(&old.elan, work);
        }
        let stays = |name: &Text| new.is_some_and(|new| new.vpns().any(|vpn| vpn == name));
        for name in old.vpns().filter(|name| !stays(name)) {
            if let Some(vpn) = self.vpns.get_mut(name) {
                vpn.interfaces.remove(&before.id);
                self.quit_vpn(name, work);
            }
        }
    }

    fn plug(&mut self, interface: &Interface, work: &mut Work) {
        let Some((identity, lport, attachment)) = interface.plugged() else { return };
        let dpid = attachment.dpid;
        self.interfaces_on.entry(dpid).or_default().insert(interface.id.clone());
        if let Some(elan) = self.elans.get_mut(&identity.elan) {
            let members = elan.members.entry(dpid).or_default();
            if members.is_empty() {
                work.touched.elan_spans.insert((identity.elan.clone(), dpid));
                self.elans_on.entry(dpid).or_default().insert(identity.elan.clone());
            }
            members.insert(lport, interface.id.clone());
            let chunk = Chunk { elan: identity.elan.clone(), dpid, number: Chunk::number_of(lport) };
            if elan.chunk(dpid, chunk.number).nth(1).is_none() {
                work.touched.floods.insert((identity.elan.clone(), dpid));
            }
            work.touched.chunks.insert(chunk);
        }
        for name in identity.vpns() {
            let Some(vpn) = self.vpns.get_mut(name) else { continue };
            let members = vpn.members.entry(dpid).or_default();
            *members += 1;
            if *members == 1 {
                vpn.shares.insert((share_of(dpid), dpid));
                work.touched.vpn_spans.insert((name.clone(), dpid));
                self.vpns_on.entry(dpid).or_default().insert(name.clone());
            }
        }
    }

    fn unplug(&mut self, interface: &Interface, work: &mut Work) {
        let Some((identity, lport, attachment)) = interface.plugged() else { return };
        let dpid = attachment.dpid;
        remove_from(&mut self.interfaces_on, &dpid, &interface.id);
        if let Some(elan) = self.elans.get_mut(&identity.elan) {
            let chunk = Chunk { elan: identity.elan.clone(), dpid, number: Chunk::number_of(lport) };
            // A name that went to another interface took the tag along.
            let members = elan.members.entry(dpid).or_default();
            if members.get(&lport) == Some(&interface.id) {
                members.remove(&lport);
            }
            if members.is_empty() {
                elan.members.remove(&dpid);
            }
            if elan.chunk(dpid, chunk.number).next().is_none() {
                work.touched.floods.insert((identity.elan.clone(), dpid));
            }
            work.touched.chunks.insert(chunk);
            if !elan.members.contains_key(&dpid) {
                work.touched.elan_spans.insert((identity.elan.clone(), dpid));
                remove_from(&mut self.elans_on, &dpid, &identity.elan);
            }
        }
        for name in identity.vpns() {
            let Some(vpn) = self.vpns.get_mut(name) else { continue };
            let Some(members) = vpn.members.get_mut(&dpid) else { continue };
            *members -= 1;
            if *members == 0 {
                vpn.members.remove(&dpid);
                vpn.shares.remove(&(share_of(dpid), dpid));
                work.touched.vpn_spans.insert((name.clone(), dpid));
                remove_from(&mut self.vpns_on, &dpid, name);
            }
        }
    }
}
