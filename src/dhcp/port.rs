use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use crate::model::AllocationPool;
use crate::net::MacAddr;
use crate::schema::Text;

/// What is known of the port that a request came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    pub interface: Text,
    pub mac: MacAddr,
    /// The address that the pod's own configuration gives it.
    pub fixed: Option<Ipv4Addr>,
    /// The same of IPv6.
    pub fixed_v6: Option<Ipv6Addr>,
    /// Octets of the largest packet that reaches other nodes.
    pub mtu: u16,
    /// Pools of its networks, those of the interface's own network first.
    pub pools: Vec<Arc<AllocationPool>>,
}
