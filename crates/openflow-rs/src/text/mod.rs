//! The text form of `ovs-ofctl`: what its `dump-flows` prints, for logs and golden files.

mod actions;
mod flows;
mod matching;

use std::fmt;

/// Prints a number as Open vSwitch does: decimal below ten, hexadecimal above.
fn hex(f: &mut fmt::Formatter<'_>, value: u128) -> fmt::Result {
    write!(f, "0x{value:x}")
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
