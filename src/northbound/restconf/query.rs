//! Query parameters: RFC 8040 section 4.8, RFC 8527 section 3.2, draft-ietf-netconf-list-pagination.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use super::face::{Datastore, Face};
use super::paging::{self, Pages};
use super::{Problem, Problems};
use crate::schema::select::{FieldTree, Page, Selection, WithDefaults};
use crate::schema::{DataPath, PathError, Schema};

/// Which data a GET wants (RFC 8040 section 4.8.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Content {
    Config,
    NonConfig,
    #[default]
    All,
}

/// What a GET asks for besides its path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadQuery {
    pub content: Content,
    pub selection: Selection,
    pub page: Page,
    pub with_origin: bool,
    /// JSON for people: lines and indentation, where the answer is short. OpenDaylight's parameter.
    pub pretty: bool,
    /// `with-defaults` asks for defaults to be left out.
    pub no_defaults: bool,
}

/// Where a new entry of a list that the user orders goes (RFC 8040 sections 4.8.5 and 4.8.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Insert {
    First,
    Last,
    Before(DataPath),
    After(DataPath),
}

/// One parameter, percent-decoded.
struct Parameter<'a> {
    name: Cow<'a, str>,
    value: Cow<'a, str>,
    raw: &'a str,
}

/// All parameters, each at most once.
fn parameters(query: Option<&str>) -> Result<Vec<Parameter<'_>>, Problems> {
    let mut found: Vec<Parameter<'_>> = Vec::new();
    for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (name, raw) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (decoded(name)?, decoded(raw)?);
        if found.iter().any(|other| other.name == name) {
            return Err(wrong(format!("the query parameter {} is given twice", shortened(&name))));
        }
        found.push(Parameter { name, value, raw });
    }
    Ok(found)
}

/// All parameters with their values, for resources that others serve.
///
/// # Errors
/// A parameter that is given twice, or is not UTF-8.
pub fn pairs(query: Option<&str>) -> Result<Vec<(String, String)>, Problems> {
    let owned = |one: Parameter<'_>| (one.name.into_owned(), one.value.into_owned());
    Ok(parameters(query)?.into_iter().map(owned).collect())
}

fn decoded(text: &str) -> Result<Cow<'_, str>, Problems> {
    let whole = text.match_indices('%').all(|(at, _)| {
        text.as_bytes().get(at + 1..at + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    });
    let decoded = percent_decode_str(text).decode_utf8().ok().filter(|_| whole);
    decoded.ok_or_else(|| wrong(format!("{:?} in the query is not percent-encoded UTF-8", shortened(text))))
}

fn wrong(message: String) -> Problems {
    Problem::new("invalid-value", message).into()
}

pub(super) fn shortened(text: &str) -> String {
    text.chars().take(64).collect()
}

fn unknown(name: &str, place: &str) -> Problems {
    wrong(format!("query parameter {:?} is not known {place}", shortened(name)))
}

/// The query of a GET or HEAD on a data resource.
///
/// # Errors
/// Names an unknown, repeated, misplaced or wrong parameter.
pub fn read(
    schema: &Schema,
    face: Face,
    target: &DataPath,
    query: Option<&str>,
) -> Result<ReadQuery, Problems> {
    let mut asked = ReadQuery::default();
    let mut pages = Pages::new(schema, face, target);
    for Parameter { name, value, raw } in parameters(query)? {
        match (&*name, face) {
            ("content", Face::Rests) => asked.content = content(&value)?,
            ("depth", _) => asked.selection.depth = depth(&value)?,
            ("fields", _) => {
                let tree = FieldTree::parse(schema, target.last_node(), &value, face.is_legacy());
                asked.selection.fields = Some(tree.map_err(wrong)?);
            }
            ("with-defaults", _) => {
                let mode = with_defaults(&value)?;
                asked.no_defaults = matches!(mode, WithDefaults::Trim | WithDefaults::Explicit);
                asked.selection.defaults = mode;
            }
            ("odl-pretty-print", _) | ("prettyPrint", Face::Legacy(_)) => {
                asked.pretty = value.parse().map_err(|_| wrong(format!("{name}: say true or false")))?;
            }
            ("with-origin", Face::Ds(Datastore::Operational)) => {
                if !value.is_empty() {
                    return Err(wrong("with-origin takes no value".into()));
                }
                asked.with_origin = true;
            }
            ("sublist-limit", _) => {
                let limit = paging::limit(&value);
                let limit = limit.map_err(|message| wrong(format!("sublist-limit: {message}")))?;
                asked.selection.sublist_limit = limit;
            }
            _ if pages.take(&name, &value, raw)? => {}
            ("content", _) => return Err(unknown(&name, "here: the URL names the datastore")),
            ("with-origin", _) => {
                return Err(unknown(&name, "here; it is for /rests/ds/ietf-datastores:operational"));
            }
            ("insert" | "point", _) => return Err(unknown(&name, "with GET; it is for POST and PUT")),
            _ => return Err(unknown(&name, "with GET")),
        }
    }
    asked.page = pages.done()?;
    Ok(asked)
}

fn content(value: &str) -> Result<Content, Problems> {
    match value {
        "config" => Ok(Content::Config),
        "nonconfig" => Ok(Content::NonConfig),
        "all" => Ok(Content::All),
        _ => Err(wrong(format!("content={}: say config, nonconfig or all", shortened(value)))),
    }
}

fn depth(value: &str) -> Result<Option<u16>, Problems> {
    match value.parse::<u16>() {
        _ if value == "unbounded" => Ok(None),
        Ok(depth) if depth > 0 && !value.starts_with('+') => Ok(Some(depth)),
        _ => Err(wrong(format!("depth={}: say unbounded or a number from 1 to 65535", shortened(value)))),
    }
}

fn with_defaults(value: &str) -> Result<WithDefaults, Problems> {
    match value {
        "report-all" => Ok(WithDefaults::ReportAll),
        "trim" => Ok(WithDefaults::Trim),
        "explicit" => Ok(WithDefaults::Explicit),
        "report-all-tagged" => Ok(WithDefaults::ReportAllTagged),
        _ => {
            let message = "say report-all, trim, explicit or report-all-tagged";
            Err(wrong(format!("with-defaults={}: {message}", shortened(value))))
        }
    }
}

/// The query of a POST or PUT on a data resource.
///
/// # Errors
/// As [`read`]; also when the two parameters do not go together.
pub fn insert(schema: &Schema, face: Face, query: Option<&str>) -> Result<Option<Insert>, Problems> {
    let (mut insert, mut point) = (None, None);
    for Parameter { name, value, .. } in parameters(query)? {
        match &*name {
            "insert" => insert = Some(value),
            "point" => point = Some(value),
            _ => return Err(unknown(&name, "with POST or PUT")),
        }
    }
    let path = |point: &str| -> Result<DataPath, Problems> {
        let below = [
            "/rests/data/",
            "/rests/ds/ietf-datastores:running/",
            "/rests/ds/ietf-datastores:candidate/",
            "/restconf/config/",
        ]
        .iter()
        .find_map(|root| point.strip_prefix(root))
        .or(point.strip_prefix('/'))
        .ok_or_else(|| wrong(format!("point={}: give an absolute path", shortened(point))))?;
        let parsed = if face.is_legacy() {
            DataPath::parse_legacy(schema, below)
        } else {
            DataPath::parse_rfc8040(schema, below)
        };
        parsed.map_err(|error: PathError| {
            Problem::new(error.kind.error_tag(), format!("point: {error}")).at(error.at).into()
        })
    };
    match (insert.as_deref(), point.as_deref()) {
        (None, None) => Ok(None),
        (Some("first"), None) => Ok(Some(Insert::First)),
        (Some("last"), None) => Ok(Some(Insert::Last)),
        (Some("before"), Some(point)) => Ok(Some(Insert::Before(path(point)?))),
        (Some("after"), Some(point)) => Ok(Some(Insert::After(path(point)?))),
        (Some("before" | "after"), None) => {
            Err(Problem::new("missing-attribute", "insert=before and insert=after need a point").into())
        }
        (Some("first" | "last") | None, Some(_)) => {
            Err(wrong("point goes with insert=before or insert=after only".into()))
        }
        (Some(other), _) => {
            Err(wrong(format!("insert={}: say first, last, before or after", shortened(other))))
        }
    }
}

/// The query of everything that takes no parameters.
///
/// # Errors
/// Names the first parameter.
pub fn none(query: Option<&str>) -> Result<(), Problems> {
    match parameters(query)?.first() {
        None => Ok(()),
        Some(parameter) => Err(unknown(&parameter.name, "with this method")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::builtin;

    #[test]
    fn what_is_asked_for_twice_wrongly_or_in_the_wrong_place_is_refused() {
        let schema = builtin();
        let pods = DataPath::parse_rfc8040(schema, "pod:coe/pods").unwrap();
        let coe = DataPath::parse_rfc8040(schema, "pod:coe").unwrap();
        for (face, path, query) in [
            (Face::Rests, &coe, "depth=0"),
            (Face::Rests, &coe, "depth=65536"),
            (Face::Rests, &coe, "depth=-1"),
            (Face::Rests, &coe, "depth=+1"),
            (Face::Rests, &coe, "depth="),
            (Face::Rests, &coe, "depth"),
            (Face::Rests, &coe, "depth=1&depth=2"),
            (Face::Rests, &coe, "depth=1&%64epth=2"),
            (Face::Rests, &coe, "Depth=1"),
            (Face::Rests, &coe, "content=Config"),
            (Face::Rests, &coe, "content"),
            (Face::Rests, &coe, "fields="),
            (Face::Rests, &coe, "fields=nothing"),
            (Face::Rests, &coe, "fields=pods("),
            (Face::Rests, &coe, "fields=pods(uid"),
            (Face::Rests, &coe, "fields=pods)"),
            (Face::Rests, &coe, "fields=pods/"),
            (Face::Rests, &coe, "fields=pods;"),
            (Face::Rests, &coe, "fields=pods/uid/x"),
            (Face::Rests, &coe, "with-defaults=all"),
            (Face::Rests, &coe, "with-origin"),
            (Face::Rests, &coe, "limit=1"),
            (Face::Rests, &pods, "limit=0"),
            (Face::Rests, &pods, "limit=x"),
            (Face::Rests, &pods, "sort-by=interface"),
            (Face::Rests, &pods, "sort-by=nothing"),
            (Face::Rests, &pods, "direction=up"),
            (Face::Rests, &pods, "cursor=x"),
            (Face::Rests, &pods, "where=nothing"),
            (Face::Rests, &pods, "where="),
            (Face::Rests, &pods, "where=name="),
            (Face::Rests, &pods, "where=1"),
            (Face::Rests, &pods, "where=interface[1"),
            (Face::Rests, &pods, "where=//nobody"),
            (Face::Rests, &coe, "where=pods"),
            (Face::Rests, &coe, "sublist-limit=0"),
            (Face::Rests, &pods, "sort-by=interface/uid"),
            (Face::Rests, &pods, "sort-by=."),
            (Face::Rests, &pods, "locale=C"),
            (Face::Rests, &pods, "locale=sv_SE&sort-by=name"),
            (Face::Rests, &coe, "insert=first"),
            (Face::Rests, &coe, "fields=%ff"),
            (Face::Rests, &coe, "fields=%f"),
            (Face::Ds(Datastore::Running), &coe, "content=config"),
            (Face::Ds(Datastore::Running), &coe, "with-origin"),
            (Face::Legacy(crate::datastore::Store::Config), &coe, "content=config"),
        ] {
            assert!(read(schema, face, path, Some(query)).is_err(), "{query}");
        }
        for query in
            ["", "&", "depth=1", "depth=65535&content=config", "depth=unbounded", "fields=pods(uid;name)"]
        {
            assert!(read(schema, Face::Rests, &coe, Some(query)).is_ok(), "{query}");
        }
    }

    #[test]
    fn insert_and_point_go_together() {
        let schema = builtin();
        let point = "/pod:coe/pods=ac092d9b-e9eb-bae2-eed8-74aca2b7fa9c";
        for query in [
            "insert=before".to_owned(),
            "insert=between".to_owned(),
            "insert".to_owned(),
            "point=/pod:coe".to_owned(),
            format!("insert=first&point={point}"),
            "insert=after&point=pod:coe".to_owned(),
            "insert=after&point=/pod:nothing".to_owned(),
            format!("insert=after&point={point}&depth=1"),
        ] {
            assert!(insert(schema, Face::Rests, Some(&query)).is_err(), "{query}");
        }
        for prefix in ["", "/rests/data"] {
            let query = format!("insert=after&point={prefix}{point}");
            assert!(
                matches!(insert(schema, Face::Rests, Some(&query)), Ok(Some(Insert::After(_)))),
                "{query}"
            );
        }
        assert_eq!(insert(schema, Face::Rests, None).unwrap(), None);
    }
}
