//! The text form of `ovs-ofctl`: what its `dump-flows` prints, for logs and golden files.

mod actions;
mod flows;
mod matching;

use std::fmt;

/// A number as C's `%#x` prints it: zero has no prefix.
struct Hex(u128);

impl fmt::Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 { f.write_str("0") } else { write!(f, "0x{:x}", self.0) }
    }
}

fn mac(value: u128) -> String {
    let b = value.to_be_bytes();
    format!("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", b[10], b[11], b[12], b[13], b[14], b[15])
}

fn port(number: u32) -> String {
    match number {
        crate::ports::IN_PORT => "IN_PORT".into(),
        crate::ports::NORMAL => "NORMAL".into(),
        crate::ports::FLOOD => "FLOOD".into(),
        crate::ports::ALL => "ALL".into(),
        crate::ports::CONTROLLER => "CONTROLLER".into(),
        crate::ports::LOCAL => "LOCAL".into(),
        crate::ports::ANY => "ANY".into(),
        number => number.to_string(),
    }
}
