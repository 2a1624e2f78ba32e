use std::fmt;

/// A transport protocol that has ports, by its number (IANA).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transport {
    #[default]
    Tcp,
    Udp,
    Sctp,
}

impl Transport {
    /// Source: IANA, Assigned Internet Protocol Numbers.
    pub fn number(self) -> u8 {
        match self {
            Transport::Tcp => 6,
            Transport::Udp => 17,
            Transport::Sctp => 132,
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Transport::Tcp => "TCP",
            Transport::Udp => "UDP",
            Transport::Sctp => "SCTP",
        })
    }
}
