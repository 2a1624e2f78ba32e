//! How labels and names of ports are spelled.
//!
//! Source: Kubernetes, `apimachinery/pkg/util/validation` (qualified names, label values, IANA service names of RFC 6335
//! section 5.1).

/// Longest name of a label, and longest value.
const LONGEST: usize = 63;
/// Longest prefix of a label's key (a DNS name, RFC 1123).
const LONGEST_PREFIX: usize = 253;
const LONGEST_PORT_NAME: usize = 15;

/// Letters and digits at both ends, between them also `-`, `_` and `.`.
fn is_name(text: &str) -> bool {
    let ends = |at: Option<u8>| at.is_some_and(|byte| byte.is_ascii_alphanumeric());
    let bytes = text.as_bytes();
    bytes.len() <= LONGEST
        && ends(bytes.first().copied())
        && ends(bytes.last().copied())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

/// Labels of lower-case letters, digits and `-`, joined by dots.
fn is_dns_name(text: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('-')
            && !part.ends_with('-')
            && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    text.len() <= LONGEST_PREFIX && text.split('.').all(part)
}

/// Whether a label may have this key: a name, with a DNS name and `/` before it or not.
pub fn label_key(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_dns_name(prefix) && is_name(name),
        None => is_name(text),
    }
}

/// Whether a label may have this value.
pub fn label_value(text: &str) -> bool {
    text.is_empty() || is_name(text)
}

/// Whether a port may be called so: lower-case letters, digits and `-`, at least one letter.
pub fn port_name(text: &str) -> bool {
    text.len() <= LONGEST_PORT_NAME
        && is_dns_name(text)
        && !text.contains('.')
        && !text.contains("--")
        && text.bytes().any(|byte| byte.is_ascii_lowercase())
}
