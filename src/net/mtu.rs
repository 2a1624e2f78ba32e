/// Octets of the largest packet on the links between nodes.
const UNDERLAY: u16 = 1500;
/// Outer IPv4, UDP and VXLAN headers and the inner Ethernet header (RFC 7348 section 5).
const VXLAN: u16 = 20 + 8 + 8 + 14;
/// Octets of the largest IP packet that a pod can send to another node.
pub const POD_MTU: u16 = UNDERLAY - VXLAN;
