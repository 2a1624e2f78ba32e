//! Addresses and identifiers: values that cannot be wrong once built.

mod ids;
mod mac;
mod mtu;

pub use ids::{Dpid, ElanTag, LportTag, OfPort, ParseDpidError, Vni, VpnId};
pub use mac::{MacAddr, ParseMacError};
pub use mtu::POD_MTU;
