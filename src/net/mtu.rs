//! How large packets may be: on the links between nodes, and what of that is left for pods.

/// Outer IPv4, UDP and VXLAN headers and the inner Ethernet header (RFC 7348 section 5). Geneve without options takes as much
/// (RFC 8926 section 3.4), GRE with a key 8 octets less (RFC 2890 section 2); what a namespace asks for on layer 2 is not what
/// carries it on layer 3, so all are told what is left by the largest.
const TUNNEL: u16 = 20 + 8 + 8 + 14;
/// The least that a pod can be given: no link of IPv6 carries less (RFC 8200 section 5).
const LEAST: u16 = 1280;

/// Octets of the largest packet on the links between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnderlayMtu(u16);

impl UnderlayMtu {
    /// `None`: less than IPv6 needs within a tunnel.
    pub fn new(octets: u16) -> Option<UnderlayMtu> {
        (octets >= LEAST + TUNNEL).then_some(UnderlayMtu(octets))
    }

    pub fn octets(self) -> u16 {
        self.0
    }

    /// Octets of the largest IP packet that a pod can send to another node.
    pub fn within_tunnels(self) -> u16 {
        self.0 - TUNNEL
    }
}

impl Default for UnderlayMtu {
    /// That of Ethernet (RFC 894).
    fn default() -> UnderlayMtu {
        UnderlayMtu(1500)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_has_what_tunnels_leave_and_never_less_than_ipv6_needs() {
        assert_eq!(UnderlayMtu::default().within_tunnels(), 1450);
        let told = |octets| UnderlayMtu::new(octets).map(UnderlayMtu::within_tunnels);
        assert_eq!((told(9000), told(1330), told(1329)), (Some(8950), Some(1280), None));
    }
}
