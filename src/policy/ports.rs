//! Ports of rules, and ranges as what a switch can match: a value and a mask.

use std::fmt;

use crate::schema::Text;

/// A transport protocol that policies know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    Tcp,
    Udp,
    Sctp,
    /// One without ports, by its assigned number.
    Other(u8),
}

/// One entry of a rule's ports.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ports {
    /// All of a protocol.
    All(Protocol),
    /// First and last.
    Range(Protocol, u16, u16),
    /// The port that the destination pod has under this name.
    Named(Protocol, Text),
}

/// A port of a pod that has a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedPort {
    pub name: Text,
    pub protocol: Protocol,
    pub port: u16,
}

/// Destination ports of a protocol that agree with a value in the bits of a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PortMatch {
    pub protocol: Protocol,
    pub value: u16,
    pub mask: u16,
}

impl Protocol {
    /// Those with ports.
    pub const ALL: [Protocol; 3] = [Protocol::Tcp, Protocol::Udp, Protocol::Sctp];

    /// Assigned number (IANA, protocol numbers).
    pub fn number(self) -> u8 {
        match self {
            Protocol::Tcp => 6,
            Protocol::Udp => 17,
            Protocol::Sctp => 132,
            Protocol::Other(number) => number,
        }
    }
}

impl Ports {
    pub fn protocol(&self) -> Protocol {
        match self {
            Ports::All(protocol) | Ports::Range(protocol, ..) | Ports::Named(protocol, _) => *protocol,
        }
    }

    /// Whether it holds for this port of a pod with these names.
    pub fn holds(&self, protocol: Protocol, port: u16, names: &[NamedPort]) -> bool {
        self.protocol() == protocol
            && match self {
                Ports::All(_) => true,
                Ports::Range(_, first, last) => (*first..=*last).contains(&port),
                Ports::Named(_, name) => names
                    .iter()
                    .any(|known| known.name == *name && known.protocol == protocol && known.port == port),
            }
    }

    /// The matches that hold for exactly these ports; none for a name, whose number is a pod's.
    pub fn matches(&self) -> Vec<PortMatch> {
        let protocol = self.protocol();
        match self {
            Ports::All(_) => vec![PortMatch { protocol, value: 0, mask: 0 }],
            Ports::Range(_, first, last) => range(protocol, *first, *last),
            Ports::Named(..) => Vec::new(),
        }
    }
}

impl PortMatch {
    /// One port.
    pub fn one(protocol: Protocol, port: u16) -> PortMatch {
        PortMatch { protocol, value: port, mask: u16::MAX }
    }
}

/// The fewest aligned blocks that make up a range: at most 30.
fn range(protocol: Protocol, first: u16, last: u16) -> Vec<PortMatch> {
    let (mut next, end) = (u32::from(first), u32::from(last));
    let mut found = Vec::new();
    while next <= end {
        let aligned = if next == 0 { 16 } else { next.trailing_zeros().min(16) };
        let fitting = (end - next + 1).ilog2();
        let size = 1_u32 << aligned.min(fitting);
        found.push(PortMatch { protocol, value: next as u16, mask: !(size - 1) as u16 });
        next += size;
    }
    found
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Protocol::Tcp => f.write_str("TCP"),
            Protocol::Udp => f.write_str("UDP"),
            Protocol::Sctp => f.write_str("SCTP"),
            Protocol::Other(number) => write!(f, "protocol {number}"),
        }
    }
}
