//! `Content-Encoding: gzip` for those who ask for it (RFC 9110 section 8.4.1.3).

use std::io::Write;

use axum::http::{HeaderMap, HeaderValue, header};
use flate2::Compression;
use flate2::write::GzEncoder;

/// Shorter answers are not worth it.
pub const LEAST: usize = 1024;

/// Does the client take gzip?
pub fn wanted(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter();
    let mut best: Option<bool> = None;
    for part in values.filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(',')) {
        let mut words = part.split(';').map(str::trim);
        let name = words.next().unwrap_or_default();
        let refused = words.any(|word| {
            word.strip_prefix("q=")
                .and_then(|weight| weight.parse::<f32>().ok())
                .is_some_and(|weight| weight <= 0.0)
        });
        if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") {
            return !refused;
        }
        if name == "*" {
            best = Some(!refused);
        }
    }
    best.unwrap_or(false)
}

/// Says that the answer is compressed; a strong tag is that of one encoding (RFC 9110 section 8.8.3).
pub fn mark(headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    let tag =
        headers.get(header::ETAG).and_then(|tag| tag.to_str().ok()?.strip_suffix('"').map(str::to_owned));
    if let Some(tag) = tag.and_then(|tag| HeaderValue::from_str(&format!("{tag}-gzip\"")).ok()) {
        headers.insert(header::ETAG, tag);
    }
}

/// An opaque tag as it would be without compression.
pub fn plain(tag: &str) -> &str {
    tag.strip_suffix("-gzip").unwrap_or(tag)
}

/// The whole text compressed.
pub fn whole(text: &[u8]) -> Vec<u8> {
    let mut pieces = Pieces::default();
    pieces.add(text);
    pieces.end()
}

/// Text compressed piece by piece. Writing to memory cannot fail.
pub struct Pieces(GzEncoder<Vec<u8>>);

impl Default for Pieces {
    fn default() -> Pieces {
        Pieces(GzEncoder::new(Vec::new(), Compression::fast()))
    }
}

impl Pieces {
    pub fn add(&mut self, text: &[u8]) {
        let _ = self.0.write_all(text);
    }

    /// What is ready, if it is worth sending.
    pub fn ready(&mut self) -> Option<Vec<u8>> {
        (self.0.get_ref().len() >= 16 * 1024).then(|| std::mem::take(self.0.get_mut()))
    }

    /// The rest.
    pub fn end(self) -> Vec<u8> {
        self.0.finish().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_for_those_who_name_it() {
        for (accept, taken) in [
            ("gzip", true),
            ("GZIP", true),
            ("deflate, gzip;q=0.5", true),
            ("*", true),
            ("gzip;q=0", false),
            ("gzip;q=0, *", false),
            ("*;q=0", false),
            ("identity", false),
            ("br", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, accept.parse().unwrap());
            assert_eq!(wanted(&headers), taken, "{accept}");
        }
        assert!(!wanted(&HeaderMap::new()));
    }
}
