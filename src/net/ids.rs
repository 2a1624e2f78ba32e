use std::fmt;
use std::str::FromStr;

use xxhash_rust::xxh3::xxh3_64;

/// Datapath id of a switch: 64 bits, printed as 16 hexadecimal digits. Its node is `openflow:<decimal>`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Dpid(pub u64);

/// Not a datapath id: 16 hexadecimal digits, with or without colons, are expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a datapath id, write it as 00:00:00:00:00:00:00:01")]
pub struct ParseDpidError(pub String);

impl Dpid {
    /// The node id that OpenDaylight uses in inventory and topology: `openflow:` and the id in decimal.
    pub fn node_id(self) -> String {
        format!("openflow:{}", self.0)
    }

    /// How much the switch and somebody or something else, by its name or address, belong together: of several the one with the highest weight
    /// has it. So they are spread evenly, and when one goes only what it had moves. The same in every build.
    /// Source: Thaler, Ravishankar, "Using name-based mappings to increase hit rates", 1998 (rendezvous hashing).
    pub fn weight(self, other: &[u8]) -> u64 {
        xxh3_64(&[other, &self.0.to_be_bytes()].concat())
    }
}

impl FromStr for Dpid {
    type Err = ParseDpidError;

    /// Reads `0000000000000001`, `00:00:00:00:00:00:00:01` and `openflow:1`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseDpidError(text.chars().take(64).collect());
        if let Some(decimal) = text.strip_prefix("openflow:") {
            return decimal.parse().map(Dpid).map_err(|_| wrong());
        }
        let digits: String = text.chars().filter(|c| *c != ':').collect();
        let hexadecimal = digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        if !hexadecimal {
            return Err(wrong());
        }
        u64::from_str_radix(&digits, 16).map(Dpid).map_err(|_| wrong())
    }
}

impl fmt::Display for Dpid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Dpid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub struct $name(pub u32);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

number! {
    /// OpenFlow port number of one switch. Real ports are 1 to 0xfffffeff.
    OfPort
}
number! {
    /// Logical port tag, 20 bits: `metadata[40..60]` on the way in, `reg6[8..28]` on the way out. Never zero.
    LportTag
}
number! {
    /// ELAN tag, 16 bits: `metadata[24..40]`.
    ElanTag
}
number! {
    /// VPN id, 23 bits: `metadata[1..24]`.
    VpnId
}
number! {
    /// VXLAN network identifier, 24 bits: `tun_id`.
    Vni
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings_of_a_datapath_id_are_read() {
        for text in ["000000000000000a", "00:00:00:00:00:00:00:0A", "openflow:10"] {
            assert_eq!(text.parse(), Ok(Dpid(10)), "{text}");
        }
        assert!("openflow:x".parse::<Dpid>().is_err());
        assert!("a".parse::<Dpid>().is_err());
        assert_eq!(Dpid(10).node_id(), "openflow:10");
    }
}
