//! Entity-tags, dates and conditional requests: RFC 8040 sections 3.4.1 and 3.5, RFC 9110 section 13.
//!
//! The tag of a resource is the revision of its last change, that of what was written and that of what follows from it.
//! Only configuration moves it (RFC 8040 section 3.5.2). Dates have whole seconds, so a tag is the safer of the two.

use std::time::SystemTime;

use axum::http::{HeaderMap, HeaderName, header};

use super::face::Face;
use super::{Problem, Problems, gzip};
use crate::datastore::{Handle, Precondition, Revision, Stamp, Store, Wanted};
use crate::schema::DataPath;

/// An entity-tag: `"input"` or `"input.derived"` in hexadecimal, with a mark for other encodings than JSON.
pub fn etag(stamp: Stamp, suffix: &str) -> String {
    match stamp.derived.0 {
        0 => format!("\"{:x}{suffix}\"", stamp.input.0),
        derived => format!("\"{:x}.{derived:x}{suffix}\"", stamp.input.0),
    }
}

/// The stamp behind an opaque tag; whatever we did not give out stands for no state.
fn stamp(opaque: &str) -> Option<Stamp> {
    let opaque = opaque.split('-').next()?;
    let (input, derived) = opaque.split_once('.').unwrap_or((opaque, "0"));
    let number = |text| u64::from_str_radix(text, 16).ok().map(Revision);
    Some(Stamp { input: number(input)?, derived: number(derived)? })
}

/// A tag that stands for whatever has not changed after a revision: controllers that share a store ask each other so.
pub fn since(revision: Revision) -> String {
    format!("\"@{:x}\"", revision.0)
}

fn not_since(opaque: &str) -> Option<Revision> {
    u64::from_str_radix(opaque.strip_prefix('@')?, 16).ok().map(Revision)
}

/// The value of `If-Match` or `If-None-Match`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Tags {
    Any,
    /// Opaque texts; the flag says that a tag is weak.
    These(Vec<(String, bool)>),
}

/// All values of a header as one text.
fn joined(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, Problems> {
    let mut text: Option<String> = None;
    for value in headers.get_all(name) {
        let value = value.to_str().map_err(|_| malformed(name, "it is not ASCII text"))?;
        match &mut text {
            Some(text) => {
                text.push(',');
                text.push_str(value);
            }
            None => text = Some(value.to_owned()),
        }
    }
    Ok(text)
}

fn malformed(name: &HeaderName, reason: &str) -> Problems {
    Problem::new("invalid-value", format!("the header {name} cannot be read: {reason}")).into()
}

fn tags(headers: &HeaderMap, name: &HeaderName) -> Result<Option<Tags>, Problems> {
    let Some(text) = joined(headers, name)? else { return Ok(None) };
    let mut rest = text.trim();
    if rest == "*" {
        return Ok(Some(Tags::Any));
    }
    let mut found = Vec::new();
    while !rest.is_empty() {
        let weak = rest.starts_with("W/");
        let quoted = rest.strip_prefix("W/").unwrap_or(rest).strip_prefix('"');
        let Some((opaque, after)) = quoted.and_then(|text| text.split_once('"')) else {
            return Err(malformed(name, "write * or tags in double quotes, with commas between them"));
        };
        found.push((opaque.to_owned(), weak));
        rest = after.trim_start();
        match rest.strip_prefix(',') {
            Some(after) => rest = after.trim_start(),
            None if rest.is_empty() => {}
            None => return Err(malformed(name, "there is no comma between two tags")),
        }
    }
    Ok(Some(Tags::These(found)))
}

/// A date that cannot be read is no condition (RFC 9110 section 13.1.3).
fn date(headers: &HeaderMap, name: &HeaderName) -> Option<SystemTime> {
    httpdate::parse_http_date(headers.get(name)?.to_str().ok()?).ok()
}

/// No conditional header at all: the usual case.
fn unconditional(headers: &HeaderMap) -> bool {
    let names =
        [header::IF_MATCH, header::IF_NONE_MATCH, header::IF_UNMODIFIED_SINCE, header::IF_MODIFIED_SINCE];
    !names.iter().any(|name| headers.contains_key(name))
}

/// What the headers of a write ask of the resource at `path`. The datastore checks it when it carries the write out.
///
/// # Errors
/// When a header cannot be read.
pub fn of_write(
    headers: &HeaderMap,
    datastore: &Handle,
    face: Face,
    path: &DataPath,
) -> Result<Vec<Precondition>, Problems> {
    if unconditional(headers) {
        return Ok(Vec::new());
    }
    let stamps = |tags: Vec<(String, bool)>, weak_too: bool| {
        tags.iter().filter(|(_, weak)| weak_too || !weak).filter_map(|(opaque, _)| stamp(opaque)).collect()
    };
    let mut wanted = Vec::new();
    match tags(headers, &header::IF_MATCH)? {
        Some(Tags::Any) => wanted.push(Wanted::Present),
        Some(Tags::These(tags)) => match tags.first().and_then(|(opaque, _)| not_since(opaque)) {
            Some(revision) => wanted.extend([Wanted::Present, Wanted::Unchanged(revision)]),
            None => wanted.push(Wanted::One(stamps(tags, false))),
        },
        None => {
            let since = date(headers, &header::IF_UNMODIFIED_SINCE);
            wanted.extend(since.map(|since| Wanted::Unchanged(datastore.revision_at(since))));
        }
    }
    match tags(headers, &header::IF_NONE_MATCH)? {
        Some(Tags::Any) => wanted.push(Wanted::Absent),
        Some(Tags::These(tags)) => wanted.push(Wanted::None(stamps(tags, true))),
        None => {}
    }
    let written_only = face.shows_written();
    let precondition =
        |wanted| Precondition { store: Store::Config, path: path.clone(), written_only, wanted };
    Ok(wanted.into_iter().map(precondition).collect())
}

/// What the conditions of a GET or HEAD come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// 200 with the data.
    Send,
    /// 304: the client has them.
    NotModified,
    /// 412.
    Failed,
}

/// Judges a GET or HEAD on something that is there. `tag` is the entity-tag it would have; `modified` the second of its last
/// change; `fresh` says that tag and date cover all of the answer (they do not cover operational data).
///
/// # Errors
/// When a header cannot be read.
pub fn of_read(
    headers: &HeaderMap,
    tag: Option<&str>,
    modified: SystemTime,
    fresh: bool,
) -> Result<Verdict, Problems> {
    if unconditional(headers) {
        return Ok(Verdict::Send);
    }
    let own = tag.map(|tag| tag.trim_matches('"'));
    match tags(headers, &header::IF_MATCH)? {
        Some(Tags::These(tags)) if !tags.iter().any(|(tag, weak)| !weak && Some(gzip::plain(tag)) == own) => {
            return Ok(Verdict::Failed);
        }
        Some(_) => {}
        None => {
            if date(headers, &header::IF_UNMODIFIED_SINCE).is_some_and(|since| modified > since) {
                return Ok(Verdict::Failed);
            }
        }
    }
    let known = match tags(headers, &header::IF_NONE_MATCH)? {
        Some(Tags::Any) => true,
        Some(Tags::These(tags)) => tags.iter().any(|(tag, _)| Some(gzip::plain(tag)) == own),
        None => date(headers, &header::IF_MODIFIED_SINCE).is_some_and(|since| modified <= since),
    };
    Ok(if known && fresh { Verdict::NotModified } else { Verdict::Send })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_come_back_as_the_stamps_they_were_made_of() {
        for (input, derived) in [(1, 0), (0, 7), (u64::MAX, 3), (0xabc, 0xdef)] {
            let of = Stamp { input: Revision(input), derived: Revision(derived) };
            for suffix in ["", "-xml"] {
                assert_eq!(stamp(etag(of, suffix).trim_matches('"')), Some(of));
            }
        }
        for text in ["", "x", "1.", ".1", "1.2.3", "-1"] {
            assert_eq!(stamp(text), None, "{text}");
        }
    }

    #[test]
    fn tag_lists_are_read_as_rfc_9110_writes_them() {
        let read = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::IF_MATCH, text.parse().unwrap());
            tags(&headers, &header::IF_MATCH)
        };
        let these = |tags: &[(&str, bool)]| {
            Some(Tags::These(tags.iter().map(|(tag, weak)| ((*tag).to_owned(), *weak)).collect()))
        };
        assert_eq!(read("*").unwrap(), Some(Tags::Any));
        assert_eq!(read("\"a\"").unwrap(), these(&[("a", false)]));
        assert_eq!(read(" \"a,b\" , W/\"c\"").unwrap(), these(&[("a,b", false), ("c", true)]));
        for wrong in ["a", "\"a", "\"a\" \"b\"", "W/a", "*, \"a\""] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
