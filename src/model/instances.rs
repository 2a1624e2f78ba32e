//! ELANs and VPNs come and go: with their interfaces, or as they are written by hand.
//!
//! What is written by hand may ask for numbers of its own. Of two that ask for the same the first by name has it; the other
//! gets one from the pool, as if it had not asked (such a configuration is refused before it gets here).

use std::collections::BTreeSet;

use ipnetwork::IpNetwork;

use super::apply::{Model, Work, remove_from, replace};
use super::claims::Claim;
use super::ids::{Allocator, POOL_VNIS, Pool, l3_vni_key};
use super::rows::{ElanInstance, VpnInstance};
use super::spans::{Elan, Vpn};
use crate::net::{ElanTag, Vni, VpnId};
use crate::schema::Text;

/// A VNI that was asked for by hand, and for what.
pub(super) type VniClaim = (Vni, Text);

impl Model {
    /// The instance written by hand, or that there is none any more.
    pub(super) fn put_elan_instance(
        &mut self,
        name: &Text,
        row: Option<ElanInstance>,
        allocator: &mut dyn Allocator,
        work: &mut Work,
    ) {
        let before = replace(&mut self.elan_instances, name, row);
        let after = self.elan_instances.get(name).cloned();
        if before == after {
            return;
        }
        let vni = |row: &Option<ElanInstance>| row.as_ref().and_then(|row| row.vni);
        self.exchange_vni(name, vni(&before), vni(&after), allocator, work);
        if after.is_some() {
            self.enter_elan(name, allocator, work);
        } else {
            self.quit_elan(name, work);
        }
        self.number_elan(name, allocator, work);
        if let Some(elan) = self.elans.get_mut(name) {
            elan.written = after.map(|row| row.segment);
        }
        work.touched.elans.insert(name.clone());
    }

    /// As [`Model::put_elan_instance`].
    pub(super) fn put_vpn_instance(
        &mut self,
        name: &Text,
        row: Option<VpnInstance>,
        allocator: &mut dyn Allocator,
        work: &mut Work,
    ) {
        if self.vpn_instances.get(name) == row.as_ref() {
            return;
        }
        // Both who saw its routes, or whose routes it saw, and who does from now on.
        self.touch_leaks_of(name, work);
        let before = replace(&mut self.vpn_instances, name, row);
        let after = self.vpn_instances.get(name).cloned();
        let (was, is) = (before.unwrap_or_default(), after.clone().unwrap_or_default());
        for target in &was.imports {
            remove_from(&mut self.importers, target, name);
        }
        for target in &was.exports {
            remove_from(&mut self.exporters, target, name);
        }
        for target in &is.imports {
            self.importers.entry(target.clone()).or_default().insert(name.clone());
        }
        for target in &is.exports {
            self.exporters.entry(target.clone()).or_default().insert(name.clone());
        }
        self.touch_leaks_of(name, work);
        if was.rd != is.rd {
            self.exchange_rd(name, was.rd, is.rd, work);
        }
        self.exchange_vni(&l3_vni_key(name), was.l3_vni, is.l3_vni, allocator, work);
        if after.is_some() {
            self.enter_vpn(name, allocator, work);
        } else {
            self.quit_vpn(name, work);
        }
        self.number_vpn(name, allocator, work);
        work.touched.vpns.insert(name.clone());
    }

    /// An ELAN is needed: it is there afterwards.
    pub(super) fn enter_elan(&mut self, name: &Text, allocator: &mut dyn Allocator, work: &mut Work) {
        if self.elans.contains_key(name) {
            return;
        }
        let tag = self.ids.acquire(allocator, Pool::Elan, name).map(ElanTag);
        self.elans.insert(name.clone(), Elan { tag, ..Elan::default() });
        self.number_elan(name, allocator, work);
        work.touched.elans.insert(name.clone());
    }

    /// Something less needs an ELAN; it goes with the last.
    pub(super) fn quit_elan(&mut self, name: &Text, work: &mut Work) {
        let is_needed = self.elan_instances.contains_key(name)
            || self.elans.get(name).is_some_and(|elan| !elan.interfaces.is_empty());
        if !is_needed && self.elans.remove(name).is_some() {
            self.ids.leave(Pool::Elan, name);
            self.ids.leave(Pool::Vni, name);
            work.touched.elans.insert(name.clone());
        }
    }

    /// As [`Model::enter_elan`].
    pub(super) fn enter_vpn(&mut self, name: &Text, allocator: &mut dyn Allocator, work: &mut Work) {
        if self.vpns.contains_key(name) {
            return;
        }
        let mut vpn = Vpn::default();
        if let Some(id) = self.ids.acquire(allocator, Pool::Vpn, name).map(VpnId) {
            vpn.set_id(id, self.rd_of(name, id));
        }
        self.vpns.insert(name.clone(), vpn);
        self.number_vpn(name, allocator, work);
        work.touched.vpns.insert(name.clone());
    }

    /// As [`Model::quit_elan`].
    pub(super) fn quit_vpn(&mut self, name: &Text, work: &mut Work) {
        let is_needed = self.vpn_instances.contains_key(name)
            || self.vpns.get(name).is_some_and(|vpn| !vpn.interfaces.is_empty());
        if !is_needed && self.vpns.remove(name).is_some() {
            self.ids.leave(Pool::Vpn, name);
            self.ids.leave(Pool::Vni, &l3_vni_key(name));
            work.touched.vpns.insert(name.clone());
        }
    }

    /// Gives an ELAN the VNI it should have now.
    fn number_elan(&mut self, name: &Text, allocator: &mut dyn Allocator, work: &mut Work) {
        if !self.elans.contains_key(name) {
            return;
        }
        let vni = self.vni(name, self.elan_instances.get(name).and_then(|row| row.vni), allocator);
        if let Some(elan) = self.elans.get_mut(name)
            && elan.vni != vni
        {
            elan.vni = vni;
            work.touched.elans.insert(name.clone());
            work.touched.elan_spans.extend(elan.members.keys().map(|dpid| (name.clone(), *dpid)));
        }
    }

    /// Gives a VPN the VNI it should have now.
    fn number_vpn(&mut self, name: &Text, allocator: &mut dyn Allocator, work: &mut Work) {
        if !self.vpns.contains_key(name) {
            return;
        }
        let asked = self.vpn_instances.get(name).and_then(|row| row.l3_vni);
        let vni = self.vni(&l3_vni_key(name), asked, allocator);
        if let Some(vpn) = self.vpns.get_mut(name)
            && vpn.l3_vni != vni
        {
            vpn.l3_vni = vni;
            work.touched.vpns.insert(name.clone());
            work.touched.vpn_spans.extend(vpn.members.keys().map(|dpid| (name.clone(), *dpid)));
        }
    }

    /// The VNI that was asked for, where it can be had, else one of the pool.
    fn vni(&mut self, key: &Text, asked: Option<Vni>, allocator: &mut dyn Allocator) -> Option<Vni> {
        if let Some(vni) = asked.filter(|vni| self.has_vni(key, *vni)) {
            self.ids.leave(Pool::Vni, key);
            return Some(vni);
        }
        self.ids.acquire(allocator, Pool::Vni, key).map(Vni)
    }

    /// Whether it was asked for by this one first, and the pool will not give it to somebody else.
    pub(super) fn has_vni(&self, key: &Text, vni: Vni) -> bool {
        let first = (vni, Text::new());
        !POOL_VNIS.contains(&vni.0)
            && !super::services::is_of_services(vni)
            && self.vnis.range(first..).next() == Some(&(vni, key.clone()))
    }

    fn exchange_vni(
        &mut self,
        key: &Text,
        was: Option<Vni>,
        is: Option<Vni>,
        allocator: &mut dyn Allocator,
        work: &mut Work,
    ) {
        if was == is {
            return;
        }
        let mut others: BTreeSet<Text> = BTreeSet::new();
        for (vni, comes) in [(was, false), (is, true)] {
            let Some(vni) = vni else { continue };
            let claim: VniClaim = (vni, key.clone());
            if comes {
                self.vnis.insert(claim);
            } else {
                self.vnis.remove(&claim);
            }
            let all = self.vnis.range((vni, Text::new())..).take_while(|(other, _)| *other == vni);
            others.extend(all.map(|(_, other)| other.clone()).filter(|other| other != key));
        }
        for other in others {
            match other.strip_prefix("l3 ").map(Text::from) {
                Some(vpn) if self.vpns.contains_key(&vpn) => self.number_vpn(&vpn, allocator, work),
                _ => self.number_elan(&other, allocator, work),
            }
        }
    }

    /// The route distinguisher of a VPN: what it asks for, if it asked first, else the one that goes with its id.
    pub(super) fn rd_of(&self, name: &Text, id: VpnId) -> Text {
        let has =
            |rd: &Text| !Vpn::is_of_pool(rd) && self.rds.get(rd).and_then(|all| all.first()) == Some(name);
        let asked = self.vpn_instances.get(name).and_then(|row| row.rd.clone()).filter(has);
        asked.unwrap_or_else(|| Vpn::route_distinguisher(id))
    }

    /// Somebody asks for a route distinguisher, or does no more: everybody who asks gets what he should.
    fn exchange_rd(&mut self, name: &Text, was: Option<Text>, is: Option<Text>, work: &mut Work) {
        let mut concerned = BTreeSet::from([name.clone()]);
        for (rd, comes) in [(was, false), (is, true)] {
            let Some(rd) = rd else { continue };
            if comes {
                self.rds.entry(rd.clone()).or_default().insert(name.clone());
            } else {
                remove_from(&mut self.rds, &rd, name);
            }
            concerned.extend(self.rds.get(&rd).into_iter().flatten().cloned());
        }
        for name in concerned {
            let Some(id) = self.vpns.get(&name).and_then(|vpn| vpn.id) else { continue };
            let rd = Some(self.rd_of(&name, id));
            if let Some(vpn) = self.vpns.get_mut(&name)
                && vpn.rd != rd
            {
                vpn.rd = rd;
                work.touched.vpns.insert(name);
            }
        }
    }

    /// VPNs that see the routes of this one beside its own.
    pub fn importers(&self, vpn: &str) -> BTreeSet<&Text> {
        let Some(row) = self.vpn_instances.get(vpn) else { return BTreeSet::new() };
        let all = row.exports.iter().filter_map(|target| self.importers.get(target)).flatten();
        all.filter(|name| &***name != vpn).collect()
    }

    /// VPNs whose routes this one sees beside its own.
    pub fn exporters(&self, vpn: &str) -> BTreeSet<&Text> {
        let Some(row) = self.vpn_instances.get(vpn) else { return BTreeSet::new() };
        let all = row.imports.iter().filter_map(|target| self.exporters.get(target)).flatten();
        all.filter(|name| &***name != vpn).collect()
    }

    /// Whether a VPN that imports the routes of `from` sees this destination there: not where it has the same itself, or
    /// imports it from a VPN that comes before.
    pub fn sees(&self, importer: &str, from: &str, destination: IpNetwork) -> bool {
        let owner = |vpn: &str| self.claims.owner(&Claim::destination(&vpn.into(), destination));
        if owner(importer).is_some() {
            return false;
        }
        self.exporters(importer)
            .into_iter()
            .find(|vpn| owner(vpn).is_some())
            .is_some_and(|vpn| &**vpn == from)
    }

    /// The routes that this VPN and those that exchange routes with it see of each other may have changed.
    fn touch_leaks_of(&self, name: &Text, work: &mut Work) {
        let mut around: BTreeSet<Text> = self.importers(name).into_iter().cloned().collect();
        around.extend(self.exporters(name).into_iter().cloned());
        if !around.is_empty() {
            around.insert(name.clone());
        }
        let more: Vec<_> = around.iter().flat_map(|vpn| self.exporters(vpn)).cloned().collect();
        work.touched.vpns.extend(around);
        work.touched.vpns.extend(more);
    }

    /// A destination has another owner in a VPN: who exchanges routes with it may see another interface there.
    pub(super) fn touch_leaks(&self, vpn: &Text, destination: IpNetwork, work: &mut Work) {
        let importers = self.importers(vpn);
        let seen = importers.iter().flat_map(|importer| self.exporters(importer));
        for other in seen.chain(self.exporters(vpn)) {
            let claim = Claim::destination(other, destination);
            work.touched.interfaces.extend(self.claims.owner(&claim).cloned());
            work.touched.interfaces.extend(self.claims.sharing(&claim).cloned());
        }
    }
}
