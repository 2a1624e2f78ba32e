//! Strings: legal characters, lengths, patterns, and the canonical forms of the common address types.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;

use super::super::ir::{Pattern, Says, StringKind};

/// Checks a string against its type and gives its canonical form.
pub fn string<'a>(
    lengths: &[RangeInclusive<u64>],
    says: &Says,
    patterns: &[Pattern],
    kind: StringKind,
    text: &'a str,
) -> Result<Cow<'a, str>, String> {
    if let Some(bad) = text.chars().find(|c| !is_yang_char(*c)) {
        return Err(format!("character U+{:04X} may not stand in a string", bad as u32));
    }
    if !lengths.is_empty() {
        length(lengths, says, text.chars().count() as u64, "characters")?;
    }
    for Pattern { expression, inverted, says } in patterns {
        let is_match = expression
            .is_match(text)
            .map_err(|error| format!("the model's pattern cannot be used: {error}; report this"))?;
        if is_match == *inverted {
            let verb = if *inverted { "matches the excluded" } else { "does not match the" };
            let shown: String = text.chars().take(64).collect();
            return Err(said(says, format!("{shown:?} {verb} pattern {}", expression.text())));
        }
    }
    canonical(kind, text).ok_or_else(|| format!("{text:?} is not {}", kind_name(kind)))
}

/// yang-char of RFC 7950 section 14.
fn is_yang_char(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => true,
        '\0'..='\u{1f}' => false,
        '\u{fdd0}'..='\u{fdef}' => false,
        _ => (c as u32) & 0xfffe != 0xfffe,
    }
}

/// Checks a length, in the unit named.
pub fn length(lengths: &[RangeInclusive<u64>], says: &Says, length: u64, unit: &str) -> Result<(), String> {
    if lengths.is_empty() || lengths.iter().any(|range| range.contains(&length)) {
        return Ok(());
    }
    let allowed: Vec<String> =
        lengths.iter().map(|range| format!("{}..{}", range.start(), range.end())).collect();
    Err(said(says, format!("{length} {unit} long, but {} are allowed", allowed.join(" | "))))
}

/// A reason, with the words that the model has for it before it.
pub fn said(says: &Says, reason: String) -> String {
    match says {
        Some(says) => format!("{says} ({reason})"),
        None => reason,
    }
}

/// `None`: not of this kind after all.
fn canonical(kind: StringKind, text: &str) -> Option<Cow<'_, str>> {
    match kind {
        StringKind::Plain => Some(Cow::Borrowed(text)),
        StringKind::LowerCase => Some(if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            Cow::Owned(text.to_ascii_lowercase())
        } else {
            Cow::Borrowed(text)
        }),
        StringKind::Ipv4Address => {
            address_of(text).parse::<Ipv4Addr>().ok()?;
            Some(Cow::Borrowed(text))
        }
        StringKind::Ipv6Address => {
            let address = address_of(text);
            let canonical = address.parse::<Ipv6Addr>().ok()?.to_string();
            Some(Cow::Owned(canonical + &text[address.len()..]))
        }
        StringKind::Ipv4Prefix => {
            let (address, length) = prefix_of(text, 32)?;
            let bits = u32::from(address.parse::<Ipv4Addr>().ok()?);
            let kept = bits & u32::MAX.checked_shl(32 - length).unwrap_or(0);
            Some(Cow::Owned(format!("{}/{length}", Ipv4Addr::from(kept))))
        }
        StringKind::Ipv6Prefix => {
            let (address, length) = prefix_of(text, 128)?;
            let bits = u128::from(address.parse::<Ipv6Addr>().ok()?);
            let kept = bits & u128::MAX.checked_shl(128 - length).unwrap_or(0);
            Some(Cow::Owned(format!("{}/{length}", Ipv6Addr::from(kept))))
        }
    }
}

/// An address without its zone.
fn address_of(text: &str) -> &str {
    text.split_once('%').map_or(text, |(address, _)| address)
}

fn prefix_of(text: &str, most: u32) -> Option<(&str, u32)> {
    let (address, length) = text.split_once('/')?;
    let length = length.parse().ok().filter(|length| *length <= most)?;
    Some((address, length))
}

fn kind_name(kind: StringKind) -> &'static str {
    match kind {
        StringKind::Plain | StringKind::LowerCase => "a string",
        StringKind::Ipv4Address => "an IPv4 address",
        StringKind::Ipv6Address => "an IPv6 address",
        StringKind::Ipv4Prefix => "an IPv4 prefix",
        StringKind::Ipv6Prefix => "an IPv6 prefix",
    }
}
