//! The ids in force: each is held as long as something in the model needs it.

use crate::schema::Text;
use std::collections::BTreeSet;

/// The named pools that give out numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pool {
    /// Logical port tags, by interface name.
    Interfaces,
    /// ELAN tags, by ELAN name.
    Elan,
    /// VPN ids, by VPN name.
    Vpn,
    /// VXLAN network identifiers, by ELAN name and by [`l3_vni_key`].
    Vni,
    /// Conjunctions of policies, by policy, direction and rule.
    Policies,
    /// Numbers of groups, by service and port.
    Services,
    /// Numbers within the pool of services' addresses, by service.
    ServiceAddresses,
    /// Numbers of groups, by VPN and prefix.
    Routes,
    /// Meters of limited interfaces, by [`super::bandwidth::meter_key`].
    Meters,
}

/// Key of the logical port tag that the tunnel ports of all switches share. No interface name is without a colon.
pub const TUNNEL_LPORT_KEY: &str = "tunnel";

/// Where VPN ids start. Source: netvirt, `vpnservices`.
pub const FIRST_VPN_ID: u32 = 100_000;

/// VXLAN network identifiers that the pool gives out: nobody else chooses one of them. Source: netvirt,
/// `opendaylight-vni-ranges`.
pub const POOL_VNIS: std::ops::RangeInclusive<u32> = 70_000..=99_999;

/// Pool and key together.
pub type IdKey = (Pool, Text);

/// Gives out numbers. Asked again with the same key, it answers the same number.
pub trait Allocator {
    /// `None`: the pool is used up.
    fn allocate(&mut self, pool: Pool, key: &str) -> Option<u32>;

    fn release(&mut self, pool: Pool, key: &str);
}

/// Ids whose state is not settled: asked for in vain, or perhaps no longer needed.
#[derive(Debug, Default)]
pub struct Ids {
    pub(super) missing: BTreeSet<IdKey>,
    pub(super) doubtful: BTreeSet<IdKey>,
}

impl Ids {
    pub(super) fn acquire(&mut self, allocator: &mut dyn Allocator, pool: Pool, key: &Text) -> Option<u32> {
        let id = allocator.allocate(pool, key);
        if id.is_none() {
            self.missing.insert((pool, key.clone()));
        }
        id
    }

    /// Something ceased to use the id. It is given back at the end of the commit, unless something else needs it.
    pub(super) fn leave(&mut self, pool: Pool, key: &Text) {
        self.doubtful.insert((pool, key.clone()));
    }
}

/// Key of a VPN's L3 VNI. An ELAN name starts with an address, so the two never meet.
pub fn l3_vni_key(vpn: &str) -> Text {
    format!("l3 {vpn}").into()
}
