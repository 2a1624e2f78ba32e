//! Zones of connection tracking of services, and the addresses that go with them: known to all features that see such packets.
//!
//! Source NAT has a zone of its own (`nat`); policy uses the tags of ELANs, which start at 5,000.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Which endpoint a client's connection has.
pub(super) const CLIENTS: u16 = 10;
/// Which tunnel an endpoint's client is behind.
pub(super) const ENDPOINTS: u16 = 11;
/// What an endpoint asked of itself.
pub(super) const HAIRPINS: u16 = 12;
/// Where a node hands over what it gets for node ports: nobody's address, beside the others.
pub(super) const NODE_PORTS_V4: Ipv4Addr = Ipv4Addr::new(169, 254, 77, 3);
pub(super) const NODE_PORTS_V6: Ipv6Addr = Ipv6Addr::new(0xfd77, 0xc0e5, 0, 0, 0, 0, 0, 3);
/// Where a pod that asks itself is asked from: nobody's address, beside that of source NAT.
pub(super) const HAIRPIN_V4: Ipv4Addr = Ipv4Addr::new(169, 254, 77, 2);
pub(super) const HAIRPIN_V6: Ipv6Addr = Ipv6Addr::new(0xfd77, 0xc0e5, 0, 0, 0, 0, 0, 2);
