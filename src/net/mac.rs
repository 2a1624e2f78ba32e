use std::fmt;
use std::str::FromStr;

/// Ethernet address, six bytes in transmission order. Prints in lower case with colons.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MacAddr(pub [u8; 6]);

/// Not an Ethernet address: six two-digit hexadecimal groups separated by `:` or `-` are expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a MAC address, write it as 02:00:00:00:00:01")]
pub struct ParseMacError(pub String);

impl MacAddr {
    pub const BROADCAST: MacAddr = MacAddr([0xff; 6]);

    /// The 48 bits as a number, first byte highest.
    pub fn to_u64(self) -> u64 {
        self.0.iter().fold(0, |n, byte| n << 8 | u64::from(*byte))
    }

    /// Group bit set (IEEE 802): broadcast and multicast. Never a valid source address.
    pub fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }

    pub fn is_zero(self) -> bool {
        self.0 == [0; 6]
    }
}

impl FromStr for MacAddr {
    type Err = ParseMacError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseMacError(text.chars().take(64).collect());
        let separator = if text.contains('-') { '-' } else { ':' };
        let mut bytes = [0; 6];
        let mut groups = text.split(separator);
        for byte in &mut bytes {
            let group = groups.next().ok_or_else(wrong)?;
            let two_digits = group.len() == 2 && group.bytes().all(|digit| digit.is_ascii_hexdigit());
            *byte = if two_digits {
                u8::from_str_radix(group, 16).map_err(|_| wrong())?
            } else {
                return Err(wrong());
            };
        }
        if groups.next().is_some() { Err(wrong()) } else { Ok(MacAddr(bytes)) }
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_separators_and_both_cases_are_read() {
        let mac = MacAddr([0x02, 0xab, 0, 0, 0, 1]);
        assert_eq!("02:AB:00:00:00:01".parse(), Ok(mac));
        assert_eq!("02-ab-00-00-00-01".parse(), Ok(mac));
        assert_eq!(mac.to_string(), "02:ab:00:00:00:01");
        assert_eq!(mac.to_u64(), 0x02ab_0000_0001);
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "02:00:00:00:00",
            "02:00:00:00:00:00:01",
            "2:0:0:0:0:1",
            "+2:00:00:00:00:01",
            "zz:00:00:00:00:01",
        ] {
            assert!(text.parse::<MacAddr>().is_err(), "{text}");
        }
    }
}
