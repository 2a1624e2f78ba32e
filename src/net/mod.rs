//! Addresses, identifiers and times: values that cannot be wrong once built.

mod host;
mod ids;
mod mac;
mod mtu;
mod time;
mod transport;

pub use self::time::{parse_timestamp, timestamp};
pub use host::host_name;
pub use ids::{Dpid, ElanTag, LportTag, OfPort, ParseDpidError, Vni, VpnId};
pub use mac::{MacAddr, ParseMacError};
pub use mtu::UnderlayMtu;
pub use transport::Transport;
