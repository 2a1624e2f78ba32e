use std::net::IpAddr;

/// What a packet is to a service, in the low bits of reg7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ServiceWay {
    /// Nothing.
    None = 0,
    /// On its way to an endpoint.
    Request = 1,
    /// On its way back to the client.
    Answer = 2,
    /// From an endpoint to itself.
    Hairpin = 3,
}

impl ServiceWay {
    pub(super) const MASK: u32 = 3;
}

/// Where a service is asked: at an address of its own, or at any node, by one IP version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServicePlace {
    Address(IpAddr),
    Node { is_v6: bool },
}

impl ServicePlace {
    pub fn is_v6(self) -> bool {
        match self {
            ServicePlace::Address(address) => address.is_ipv6(),
            ServicePlace::Node { is_v6 } => is_v6,
        }
    }
}
