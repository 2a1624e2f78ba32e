//! `odl-nat:floating-ip-port-info`: the MAC addresses that floating addresses have.
//!
//! As in netvirt, an entry is found by the `external-id` of a mapping in `floating-ip-info`: the id of the floating address.

use std::net::IpAddr;

use super::super::apply::{Model, Work, remove_from, replace};
use super::super::read::unicast;
use super::{External, Wish, floating_mac};
use crate::net::MacAddr;
use crate::schema::Text;

/// `/odl-nat:floating-ip-port-info/floating-ip-id-to-port-mapping`, as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PortMac {
    /// `floating-ip-port-mac-address`.
    pub written: Option<Text>,
    /// `floating-ip-deleted`: the port is gone, and its MAC address with it.
    pub deleted: bool,
}

impl PortMac {
    /// What a switch may answer with.
    pub fn mac(&self) -> Option<MacAddr> {
        self.written.as_ref().filter(|_| !self.deleted).and_then(|text| unicast(text))
    }
}

/// Whether a MAC address is one of those that follow from IP addresses.
pub(super) fn is_made(MacAddr([first, second, ..]): MacAddr) -> bool {
    first == 0x02 && [0xc0, 0xc6].contains(&second)
}

impl External {
    /// Somebody asks for an address by an id, or does so no more.
    pub(super) fn note_id(
        &mut self,
        wish: &Wish,
        external: IpAddr,
        comes: bool,
        changed: &mut std::collections::BTreeSet<IpAddr>,
    ) {
        let Some(id) = &wish.id else { return };
        // Who else has the id may have its MAC address now.
        changed.extend(self.with_id.get(id).into_iter().flatten());
        if comes {
            self.with_id.entry(id.clone()).or_default().insert(external);
        } else {
            remove_from(&mut self.with_id, id, &external);
        }
    }
}

impl Model {
    pub(in super::super) fn put_port_mac(&mut self, id: &Text, row: Option<&PortMac>, work: &mut Work) {
        let mac = row.and_then(PortMac::mac);
        if replace(&mut self.external.macs, id, mac) != mac {
            work.dirty_floating.extend(self.external.with_id.get(id).into_iter().flatten());
        }
    }

    /// What a switch answers with for an address outside: of several with one id the first one has what is said of that.
    pub(super) fn mac_outside(&self, address: IpAddr) -> MacAddr {
        let wish = self.external.wishes.get(&address).and_then(|wishes| wishes.first());
        let id = wish.and_then(|wish| wish.id.as_ref());
        let is_first = |id: &&Text| {
            self.external.with_id.get(*id).and_then(|all| all.first()).is_some_and(|first| *first == address)
        };
        let said = id.filter(is_first).and_then(|id| self.external.macs.get(id));
        said.copied().unwrap_or_else(|| floating_mac(address))
    }
}
