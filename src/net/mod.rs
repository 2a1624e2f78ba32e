//! Addresses and identifiers: values that cannot be wrong once built.

mod ids;
mod mac;

pub use ids::{Dpid, ElanTag, LportTag, OfPort, ParseDpidError, Vni, VpnId};
pub use mac::{MacAddr, ParseMacError};
