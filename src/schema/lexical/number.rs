//! Integers and decimal64.

use std::fmt::{Display, Write as _};
use std::ops::RangeInclusive;

use super::super::ir::Says;
use super::scalar::{Raw, Rigour};
use super::strings::said;

/// int8 to int64.
pub fn int(
    bits: u8,
    ranges: &[RangeInclusive<i64>],
    says: &Says,
    raw: Raw<'_>,
    rigour: Rigour,
) -> Result<i64, String> {
    let number = match raw {
        Raw::Text(text) if quoted(bits, rigour) => text.parse().ok(),
        Raw::Uint(number) if bare(bits, rigour) => i64::try_from(number).ok(),
        Raw::Int(number) if bare(bits, rigour) => Some(number),
        _ => return Err(form(bits, "int", raw, rigour)),
    };
    match number {
        Some(number) if ranges.iter().any(|range| range.contains(&number)) => Ok(number),
        number => Err(refused(
            number.is_some(),
            says,
            format!("{} is not an int{bits} in {}", raw.shown(), shown(ranges)),
        )),
    }
}

/// uint8 to uint64.
pub fn uint(
    bits: u8,
    ranges: &[RangeInclusive<u64>],
    says: &Says,
    raw: Raw<'_>,
    rigour: Rigour,
) -> Result<u64, String> {
    let number = match raw {
        Raw::Text("-0") if quoted(bits, rigour) => Some(0),
        Raw::Text(text) if quoted(bits, rigour) => text.parse().ok(),
        Raw::Uint(number) if bare(bits, rigour) => Some(number),
        Raw::Int(_) if bare(bits, rigour) => None,
        _ => return Err(form(bits, "uint", raw, rigour)),
    };
    match number {
        Some(number) if ranges.iter().any(|range| range.contains(&number)) => Ok(number),
        number => Err(refused(
            number.is_some(),
            says,
            format!("{} is not a uint{bits} in {}", raw.shown(), shown(ranges)),
        )),
    }
}

/// decimal64, scaled by 10^digits.
pub fn decimal(
    digits: u8,
    ranges: &[RangeInclusive<i64>],
    says: &Says,
    raw: Raw<'_>,
    rigour: Rigour,
) -> Result<i64, String> {
    let number = match (raw, rigour) {
        (Raw::Text(text), _) => scaled(text, digits),
        (Raw::Uint(number), Rigour::Lenient) => scaled(&number.to_string(), digits),
        (Raw::Int(number), Rigour::Lenient) => scaled(&number.to_string(), digits),
        (Raw::Float(number), Rigour::Lenient) => scaled(&number.to_string(), digits),
        _ => return Err(format!("{} is a decimal64 and must be a JSON string", raw.shown())),
    };
    match number {
        Some(number) if ranges.iter().any(|range| range.contains(&number)) => Ok(number),
        number => {
            let ends = ranges
                .iter()
                .map(|range| decimal_text(*range.start(), digits)..=decimal_text(*range.end(), digits));
            let ends: Vec<_> = ends.collect();
            let reason =
                format!("{} is not a decimal64 of {digits} fraction digits in {}", raw.shown(), shown(&ends));
            Err(refused(number.is_some(), says, reason))
        }
    }
}

/// The model's words are about numbers out of range, not about what is no number.
fn refused(is_number: bool, says: &Says, reason: String) -> String {
    if is_number { said(says, reason) } else { reason }
}

/// Sign, digits, and a point with more digits: nothing else, and no fraction digit that would be lost.
fn scaled(text: &str, digits: u8) -> Option<i64> {
    let (negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (whole, fraction) = match unsigned.split_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
        Some(_) => return None,
        None => (unsigned, ""),
    };
    let fraction =
        if fraction.len() > usize::from(digits) { fraction.trim_end_matches('0') } else { fraction };
    let plain = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    if whole.is_empty() || !plain(whole) || !plain(fraction) || fraction.len() > usize::from(digits) {
        return None;
    }
    let mut number: i128 = 0;
    let zeros = usize::from(digits) - fraction.len();
    for digit in whole.bytes().chain(fraction.bytes()).chain(std::iter::repeat_n(b'0', zeros)) {
        number = number.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
    }
    i64::try_from(if negative { -number } else { number }).ok()
}

/// The canonical form: at least one digit on either side of the point, no others that say nothing.
pub fn decimal_text(number: i64, digits: u8) -> String {
    let digits = usize::from(digits);
    let all = format!("{:0width$}", number.unsigned_abs(), width = digits + 1);
    let (whole, fraction) = all.split_at(all.len() - digits);
    let fraction = fraction.trim_end_matches('0');
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{whole}.{}", if fraction.is_empty() { "0" } else { fraction })
}

/// May a number of so many bits stand in quotes?
fn quoted(bits: u8, rigour: Rigour) -> bool {
    bits == 64 || rigour != Rigour::Strict
}

/// May it stand without?
fn bare(bits: u8, rigour: Rigour) -> bool {
    bits < 64 || rigour != Rigour::Strict
}

fn form(bits: u8, name: &str, raw: Raw<'_>, rigour: Rigour) -> String {
    let form = match rigour {
        Rigour::Strict if bits == 64 => "a JSON string holding a whole number",
        Rigour::Strict => "a JSON number without fraction or quotes",
        _ => "a whole number",
    };
    format!("{} is not a {name}{bits}: send {form}", raw.shown())
}

fn shown<T: Display>(ranges: &[RangeInclusive<T>]) -> String {
    let mut text = String::new();
    for (at, range) in ranges.iter().enumerate() {
        let separator = if at == 0 { "" } else { " | " };
        let _ = write!(text, "{separator}{}..{}", range.start(), range.end());
    }
    text
}
