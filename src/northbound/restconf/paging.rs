//! Pages of lists: the query parameters of draft-ietf-netconf-list-pagination-rc section 2.3, and what is wrong with them.

use axum::http::StatusCode;

use super::face::Face;
use super::query::shortened;
use super::{Problem, Problems};
use crate::schema::select::{Condition, Direction, Page, PageError, SortBy};
use crate::schema::{DataPath, Key, Kind, Schema, SchemaId, Value};

/// The order of this server: by code point, whatever the language.
const LOCALES: [&str; 2] = ["C", "POSIX"];

/// Gathers the parameters of one request.
pub struct Pages<'a> {
    schema: &'a Schema,
    face: Face,
    target: &'a DataPath,
    page: Page,
    locale: Option<String>,
}

impl<'a> Pages<'a> {
    pub fn new(schema: &'a Schema, face: Face, target: &'a DataPath) -> Pages<'a> {
        Pages { schema, face, target, page: Page::default(), locale: None }
    }

    /// A parameter with its value, and that as it stands in the URI; false: it is not about pages.
    ///
    /// # Errors
    /// A wrong value; a resource that is no list.
    pub fn take(&mut self, name: &str, value: &str, raw: &str) -> Result<bool, Problems> {
        match name {
            "limit" => {
                self.list(name)?;
                self.page.limit = limit(value).map_err(|message| self.wrong(format!("limit: {message}")))?;
            }
            "offset" => {
                self.list(name)?;
                let offset = number(value).map_err(|message| self.wrong(format!("offset: {message}")))?;
                self.page.offset = offset;
            }
            "direction" => {
                self.list(name)?;
                self.page.direction = match value {
                    "forwards" => Direction::Forwards,
                    "backwards" => Direction::Backwards,
                    _ => return Err(self.wrong("direction: say forwards or backwards".into())),
                };
            }
            "cursor" => self.page.cursor = self.cursor(value, raw)?,
            "sort-by" => self.page.sort_by = Some(self.sort_by(value)?),
            "where" => {
                let list = self.list(name)?;
                let condition = Condition::parse(self.schema, list, value);
                let condition = condition.map_err(|message| self.wrong(format!("where: {message}")))?;
                self.page.condition = Some(condition);
            }
            "locale" => {
                self.list(name)?;
                self.locale = Some(value.to_owned());
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What all of them ask for.
    ///
    /// # Errors
    /// Parameters that do not go together.
    pub fn done(self) -> Result<Page, Problems> {
        if let Some(locale) = &self.locale {
            if self.page.sort_by.is_none() {
                return Err(self.wrong("locale goes with sort-by".into()));
            }
            if !LOCALES.contains(&locale.strip_suffix(".UTF-8").unwrap_or(locale)) {
                let message = "locale: entries are sorted by code point here; say C or leave it out";
                let mut problem = Problem::new("invalid-value", message).at(self.at());
                problem.app_tag = Some("ietf-list-pagination:locale-unavailable".into());
                return Err(problem.with_status(StatusCode::NOT_IMPLEMENTED).into());
            }
        }
        Ok(self.page)
    }

    fn at(&self) -> String {
        self.target.display(self.schema)
    }

    fn wrong(&self, message: String) -> Problems {
        Problem::new("invalid-value", message).at(self.at()).into()
    }

    /// The list or leaf-list that the request is for.
    fn list(&self, name: &str) -> Result<SchemaId, Problems> {
        is_list(self.schema, self.target).ok_or_else(|| {
            let message = format!("{name} is for lists; name a list, without the key of an entry");
            let problem = Problem::new("operation-not-supported", message).at(self.at());
            problem.with_status(StatusCode::BAD_REQUEST).into()
        })
    }

    /// The entry that a cursor names: its keys, as a path has them, and encoded once more or not. Nothing at all is the
    /// beginning.
    fn cursor(&self, value: &str, raw: &str) -> Result<Option<Key>, Problems> {
        let list = self.list("cursor")?;
        let node = self.schema.node(list);
        let Some(keys) = (match &node.kind {
            Kind::List { keys, .. } if !keys.is_empty() => Some(keys.len()),
            _ => None,
        }) else {
            let message = "cursor: these entries have no names; use offset";
            let problem = Problem::new("operation-not-supported", message).at(self.at());
            return Err(problem.with_status(StatusCode::NOT_IMPLEMENTED).into());
        };
        if raw.is_empty() {
            return Ok(Some(Key::one(Value::text(""))).filter(|_| keys == 1));
        }
        let mut list = self.target.parent().unwrap_or_default().to_rfc8040(self.schema);
        list.push_str(if list.is_empty() { "" } else { "/" });
        list.push_str(&format!("{}:{}", self.schema.module(node.module).name, node.name));
        let key = |text: &str| {
            let path = DataPath::parse_rfc8040(self.schema, &format!("{list}={text}")).ok()?;
            path.steps.last().filter(|_| path.steps.len() == self.target.steps.len())?.key.clone()
        };
        key(value)
            .or_else(|| key(raw))
            .map(Some)
            .ok_or_else(|| refused(&PageError::CursorNotFound, self.at()))
    }

    fn sort_by(&self, value: &str) -> Result<SortBy, Problems> {
        let list = self.list("sort-by")?;
        if matches!(self.schema.node(list).kind, Kind::LeafList { .. }) {
            return match value {
                "." => Ok(SortBy::Itself),
                _ => Err(self.wrong("sort-by: values of a leaf-list are sorted by \".\"".into())),
            };
        }
        let (mut at, mut way) = (list, Vec::new());
        for name in value.split('/') {
            if at != list && !matches!(self.schema.node(at).kind, Kind::Container { .. }) {
                let above = &self.schema.node(at).name;
                return Err(self.wrong(format!("sort-by: {above} is no container on the way to a leaf")));
            }
            let child = self.schema.child_named(Some(at), name, self.face.is_legacy());
            at = child.map_err(|message| self.wrong(format!("sort-by: {message}")))?;
            way.push(at);
        }
        match self.schema.node(at).kind {
            Kind::Leaf { .. } => Ok(SortBy::Leaf(way)),
            _ => Err(self.wrong(format!("sort-by: {} is not a leaf", self.schema.node(at).name))),
        }
    }
}

/// The list or leaf-list that a path names as a whole.
pub fn is_list(schema: &Schema, target: &DataPath) -> Option<SchemaId> {
    let id = target.steps.last().filter(|step| step.key.is_none())?.node;
    matches!(schema.node(id).kind, Kind::List { .. } | Kind::LeafList { .. }).then_some(id)
}

/// A number from 1, or `unbounded`.
///
/// # Errors
/// Says what to write.
pub fn limit(value: &str) -> Result<Option<usize>, String> {
    match value {
        "unbounded" => Ok(None),
        _ => number(value)
            .ok()
            .filter(|limit| *limit > 0)
            .map(Some)
            .ok_or_else(|| format!("{:?} is neither unbounded nor a number from 1", shortened(value))),
    }
}

fn number(value: &str) -> Result<usize, String> {
    let number = value.parse::<u32>().ok().filter(|_| !value.starts_with('+'));
    number.map(|number| number as usize).ok_or_else(|| format!("{:?} is no number", shortened(value)))
}

/// A page that leads nowhere, as the draft wants it told.
pub fn refused(error: &PageError, at: String) -> Problems {
    let (tag, app_tag, status) = match error {
        PageError::OffsetOutOfRange { .. } => {
            ("invalid-value", Some("offset-out-of-range"), StatusCode::RANGE_NOT_SATISFIABLE)
        }
        PageError::CursorNotFound => ("invalid-value", Some("cursor-not-found"), StatusCode::NOT_FOUND),
        PageError::TooMuch { .. } => ("too-big", None, StatusCode::BAD_REQUEST),
    };
    let mut problem = Problem::new(tag, error.to_string()).at(at).with_status(status);
    problem.app_tag = app_tag.map(|tag| format!("ietf-list-pagination:{tag}"));
    problem.into()
}
