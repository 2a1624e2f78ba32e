//! Media types: RFC 8040 section 5.2, with plain JSON as a courtesy; `Accept` as in RFC 9110 section 12.5.1.

use axum::http::{HeaderMap, StatusCode, header};

use super::face::Face;
use super::{Problem, Problems};

/// How data are written down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    Json,
    Xml,
}

/// A media type that is served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Media {
    pub name: &'static str,
    pub encoding: Encoding,
}

impl Media {
    /// What tells the entity-tags of this encoding from those of JSON.
    pub fn suffix(self) -> &'static str {
        match self.encoding {
            Encoding::Json => "",
            Encoding::Xml if self.is_list() => "-xml-list",
            Encoding::Xml => "-xml",
        }
    }

    /// Entries of lists stand side by side in one element.
    pub fn is_list(self) -> bool {
        self == YANG_XML_LIST
    }
}

pub const YANG_JSON: Media = Media { name: "application/yang-data+json", encoding: Encoding::Json };
const YANG_XML: Media = Media { name: "application/yang-data+xml", encoding: Encoding::Xml };
/// draft-ietf-netconf-list-pagination-rc section 2.2.
const YANG_XML_LIST: Media = Media { name: "application/yang-data+xml-list", encoding: Encoding::Xml };
const JSON: Media = Media { name: "application/json", encoding: Encoding::Json };

/// In the order of our preference on the root of RFC 8040.
const SERVED: [Media; 8] = [
    YANG_JSON,
    YANG_XML,
    JSON,
    Media { name: "application/xml", encoding: Encoding::Xml },
    Media { name: "application/yang.data+json", encoding: Encoding::Json },
    Media { name: "application/yang.data+xml", encoding: Encoding::Xml },
    Media { name: "text/json", encoding: Encoding::Json },
    Media { name: "text/xml", encoding: Encoding::Xml },
];

/// What a body is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BodyKind {
    Data(Encoding),
    /// RFC 8072.
    YangPatch(Encoding),
}

/// For `Accept-Patch`.
pub const ACCEPT_PATCH: &str = "application/yang-data+json, application/yang-data+xml, \
    application/yang-patch+json, application/yang-patch+xml, application/json, application/xml";

/// The media type that a face answers with when nobody minds.
pub fn usual(face: Face) -> Media {
    if face.is_legacy() { JSON } else { YANG_JSON }
}

/// The media type of the answer.
///
/// # Errors
/// 406 when nothing that is served will do.
pub fn of_answer(headers: &HeaderMap, face: Face) -> Result<Media, Problems> {
    of_read(headers, face, false)
}

/// The media type of errors: what nothing else is served in comes as the face usually answers, and as XML to those who ask for
/// lists in XML.
pub fn of_errors(headers: &HeaderMap, face: Face) -> Media {
    match (of_answer(headers, face), of_read(headers, face, true)) {
        (Ok(media), _) => media,
        (Err(_), Ok(_)) => YANG_XML,
        _ => usual(face),
    }
}

/// The media type of data; those of a whole list have one more.
///
/// # Errors
/// As [`of_answer`].
pub fn of_read(headers: &HeaderMap, face: Face, list: bool) -> Result<Media, Problems> {
    let mut values = headers.get_all(header::ACCEPT).iter().peekable();
    if values.peek().is_none() {
        return Ok(usual(face));
    }
    let accept: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
    let accept = accept.join(",");
    if accept.trim().is_empty() || accept.trim() == "*/*" {
        return Ok(usual(face));
    }
    let ranges: Vec<Range<'_>> = accept.split(',').filter_map(Range::read).collect();
    let mut best: Option<(u16, Media)> = None;
    for media in std::iter::once(usual(face)).chain(SERVED).chain(list.then_some(YANG_XML_LIST)) {
        let quality = quality(&ranges, media.name);
        if quality > best.map_or(0, |(quality, _)| quality) {
            best = Some((quality, media));
        }
    }
    best.map(|(_, media)| media).ok_or_else(|| {
        let shown: String = accept.chars().take(120).collect();
        let names: Vec<&str> = SERVED.iter().map(|media| media.name).take(2).collect();
        let message = format!("{} are served, not {shown}", names.join(" and "));
        Problem::new("invalid-value", message).with_status(StatusCode::NOT_ACCEPTABLE).into()
    })
}

/// One part of `Accept`: a media range and its quality in thousandths.
struct Range<'a> {
    name: &'a str,
    quality: u16,
}

impl<'a> Range<'a> {
    fn read(text: &'a str) -> Option<Range<'a>> {
        let mut parts = text.split(';').map(str::trim);
        let name = parts.next().filter(|name| name.contains('/'))?;
        let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
        let quality = match weight {
            None => 1000,
            Some(text) => {
                let weight: f32 = text.parse().ok().filter(|weight| (0.0..=1.0).contains(weight))?;
                (weight * 1000.0) as u16
            }
        };
        Some(Range { name, quality })
    }

    /// How closely the range names a type: 0 not at all.
    fn closeness(&self, media: &str) -> u8 {
        let (kind, _) = media.split_once('/').unwrap_or((media, ""));
        match self.name.split_once('/') {
            _ if self.name.eq_ignore_ascii_case(media) => 3,
            Some((range, "*")) if range.eq_ignore_ascii_case(kind) => 2,
            Some(("*", "*")) => 1,
            _ => 0,
        }
    }
}

/// The quality that the closest range gives a type.
fn quality(ranges: &[Range<'_>], media: &str) -> u16 {
    let fitting = ranges.iter().map(|range| (range.closeness(media), range.quality));
    fitting.filter(|(closeness, _)| *closeness > 0).max().map_or(0, |(_, quality)| quality)
}

/// What the body is; without a `Content-Type` it is taken for JSON data.
///
/// # Errors
/// 415 for what is not understood.
pub fn of_body(headers: &HeaderMap) -> Result<BodyKind, Problems> {
    let Some(value) = headers.get(header::CONTENT_TYPE) else { return Ok(BodyKind::Data(Encoding::Json)) };
    let text = value.to_str().unwrap_or_default();
    let name = text.split(';').next().unwrap_or_default().trim();
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    if let Some(media) = SERVED.iter().find(|media| is(media.name)) {
        return Ok(BodyKind::Data(media.encoding));
    }
    if is("application/yang-patch+json") || is("application/yang.patch+json") {
        return Ok(BodyKind::YangPatch(Encoding::Json));
    }
    if is("application/yang-patch+xml") || is("application/yang.patch+xml") {
        return Ok(BodyKind::YangPatch(Encoding::Xml));
    }
    let shown: String = name.chars().take(80).collect();
    let message = format!("{shown:?} is not understood here; send {} or {}", YANG_JSON.name, YANG_XML.name);
    Err(Problem::new("invalid-value", message).with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(face: Face, accept: &str) -> Option<&'static str> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, accept.parse().unwrap());
        of_answer(&headers, face).ok().map(|media| media.name)
    }

    #[test]
    fn the_best_quality_wins_and_the_closest_range_gives_it() {
        let legacy = Face::Legacy(crate::datastore::Store::Config);
        for (face, accept, wanted) in [
            (Face::Rests, "*/*", Some(YANG_JSON.name)),
            (legacy, "*/*", Some(JSON.name)),
            (Face::Rests, "application/*", Some(YANG_JSON.name)),
            (Face::Rests, "application/json", Some(JSON.name)),
            (Face::Rests, "APPLICATION/JSON", Some(JSON.name)),
            (Face::Rests, "application/json;q=0.5, application/yang-data+json;q=0.4", Some(JSON.name)),
            (Face::Rests, "application/yang-data+json;q=0, */*;q=0.1", Some(YANG_XML.name)),
            (Face::Rests, "text/html, */*;q=0.1", Some(YANG_JSON.name)),
            (Face::Rests, "application/yang-data+xml, application/yang-data+json;q=0.9", Some(YANG_XML.name)),
            (legacy, "application/xml", Some("application/xml")),
            (Face::Rests, "text/html", None),
            (Face::Rests, "application/yang-data+json;q=0", None),
            (Face::Rests, "*/*;q=0.000", None),
            (Face::Rests, "nonsense", None),
            (Face::Rests, "application/json;q=2", None),
        ] {
            assert_eq!(chosen(face, accept), wanted, "{accept}");
        }
    }
}
