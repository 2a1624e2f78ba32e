//! What is refused before it is read: requests that are too long or nested too deeply.

use axum::http::StatusCode;
use axum::http::request::Parts;

use super::{Problem, Problems};
use crate::northbound::http::Limits;

/// # Errors
/// 414 for the path and query, 431 for the header section (RFC 9110 section 15.5.15, RFC 6585 section 5).
pub fn head(parts: &Parts, limits: &Limits) -> Result<(), Problems> {
    let uri = parts.uri.path_and_query().map_or(0, |uri| uri.as_str().len());
    if uri > limits.uri {
        let message = format!(
            "path and query are longer than {} bytes; ask for less, or raise the limit uri",
            limits.uri
        );
        return Err(Problem::new("too-big", message).with_status(StatusCode::URI_TOO_LONG).into());
    }
    let header: usize = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if header > limits.header {
        let message = format!(
            "the header section is longer than {} bytes; send less, or raise the limit header",
            limits.header
        );
        let problem = Problem::new("too-big", message);
        return Err(problem.with_status(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE).into());
    }
    Ok(())
}

/// # Errors
/// 413 when JSON or XML is nested too deeply.
pub fn nesting(body: &[u8], limits: &Limits) -> Result<(), Problems> {
    let depth = match body.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'<') => xml_depth(body),
        _ => json_depth(body),
    };
    if depth <= limits.depth {
        return Ok(());
    }
    let message = format!(
        "the body is nested deeper than {} levels; flatten it, or raise the limit depth",
        limits.depth
    );
    Err(Problem::new("too-big", message).into())
}

/// Most braces and brackets that are open at a time, outside of strings.
fn json_depth(text: &[u8]) -> usize {
    let (mut depth, mut most) = (0_usize, 0);
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                most = most.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'\\' => drop(bytes.next()),
                        b'"' => break,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    most
}

/// Most elements that are open at a time; comments, CDATA and instructions do not count.
fn xml_depth(text: &[u8]) -> usize {
    let (mut depth, mut most) = (0_usize, 0);
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| *byte == b'<') {
        rest = &rest[at + 1..];
        let end: &[u8] = match rest {
            [b'!', b'-', b'-', ..] => b"-->",
            [b'!', b'[', ..] => b"]]>",
            _ => b">",
        };
        let Some(length) = rest.windows(end.len()).position(|part| part == end) else { break };
        match (rest.first(), rest[..length].last()) {
            (Some(b'!' | b'?'), _) => {}
            (Some(b'/'), _) => depth = depth.saturating_sub(1),
            (_, Some(b'/')) => most = most.max(depth + 1),
            _ => {
                depth += 1;
                most = most.max(depth);
            }
        }
        rest = &rest[length + end.len()..];
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nesting_is_counted_outside_of_texts() {
        for (text, depth) in [
            ("", 0),
            ("1", 0),
            ("{}", 1),
            (r#"{"a":[{"b":1}]}"#, 3),
            (r#"{"a":"[[[["}"#, 1),
            (r#"{"a":"\"[["}"#, 1),
            (r#"{"a":"\\","b":[]}"#, 2),
            ("[[[[", 4),
            ("]]]]", 0),
        ] {
            assert_eq!(json_depth(text.as_bytes()), depth, "{text}");
        }
        for (text, depth) in [
            ("<a/>", 1),
            ("<a><b/></a>", 2),
            ("<a><b>x</b><c>y</c></a>", 2),
            ("<?xml version='1.0'?><a/>", 1),
            ("<a><!-- <b><c><d> --></a>", 1),
            ("<a><![CDATA[<b><c><d>]]></a>", 1),
            ("<a><b><c>", 3),
            ("<a", 0),
        ] {
            assert_eq!(xml_depth(text.as_bytes()), depth, "{text}");
        }
    }
}
