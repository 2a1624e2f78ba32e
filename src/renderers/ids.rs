//! The pools that numbers come from.

use crate::model::{FIRST_VPN_ID, POOL_VNIS, Pool};

/// Name and range of a pool. Names as in genius and netvirt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolRange {
    pub pool: Pool,
    pub name: &'static str,
    pub first: u32,
    pub last: u32,
}

/// All pools. Elan tags stop at 65000 to fit 16 bits. Lport tags, with netvirt up to 65535, fit 17 of their 20 bits: they
/// are meter ids, too, of which the kernel takes 200,000, and are cut into 2048 chunks; meters of limited interfaces are what is left of
/// those. VPN ids and VNIs share no number.
/// Source: netvirt `elan.ids.pool`, `vpnservices`, `opendaylight-vni-ranges`; genius `interfaces`.
pub const POOLS: [PoolRange; 9] = [
    PoolRange { pool: Pool::Interfaces, name: "interfaces", first: 1, last: 114_687 },
    PoolRange { pool: Pool::Elan, name: "elan.ids.pool", first: 5_000, last: 65_000 },
    PoolRange { pool: Pool::Vpn, name: "vpnservices", first: FIRST_VPN_ID, last: 130_000 },
    PoolRange {
        pool: Pool::Vni,
        name: "opendaylight-vni-ranges",
        first: *POOL_VNIS.start(),
        last: *POOL_VNIS.end(),
    },
    PoolRange { pool: Pool::Policies, name: "coeus-policies", first: 1, last: 16_777_215 },
    PoolRange { pool: Pool::Services, name: "coeus-services", first: 1, last: 1_000_000 },
    PoolRange { pool: Pool::ServiceAddresses, name: "coeus-service-addresses", first: 1, last: 1_000_000 },
    PoolRange { pool: Pool::Routes, name: "coeus-routes", first: 1, last: 1_000_000 },
    PoolRange { pool: Pool::Meters, name: "coeus-meters", first: 114_688, last: 131_071 },
];

impl Pool {
    /// The pool's range and name.
    pub fn range(self) -> &'static PoolRange {
        match self {
            Pool::Interfaces => &POOLS[0],
            Pool::Elan => &POOLS[1],
            Pool::Vpn => &POOLS[2],
            Pool::Vni => &POOLS[3],
            Pool::Policies => &POOLS[4],
            Pool::Services => &POOLS[5],
            Pool::ServiceAddresses => &POOLS[6],
            Pool::Routes => &POOLS[7],
            Pool::Meters => &POOLS[8],
        }
    }
}
