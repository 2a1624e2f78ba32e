//! A YANG Patch as it is sent (RFC 8072 section 2.1), in either encoding.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::media::Encoding;
use super::super::{Problem, Problems};
use crate::schema::json::{self, Mode};
use crate::schema::xml::{self, Fragment, Pull, Stop};
use crate::schema::{DataPath, Node, Schema};

/// The namespace of ietf-yang-patch.
pub const NAMESPACE: &str = "urn:ietf:params:xml:ns:yang:ietf-yang-patch";

pub struct Patch<'a> {
    pub id: String,
    pub edits: Vec<EditBody<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EditBody<'a> {
    #[serde(rename = "edit-id")]
    pub id: String,
    pub operation: String,
    pub target: String,
    pub point: Option<String>,
    #[serde(rename = "where")]
    pub place: Option<String>,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
    #[serde(skip)]
    element: Option<Fragment<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document<'a> {
    #[serde(rename = "ietf-yang-patch:yang-patch", borrow)]
    patch: Members<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Members<'a> {
    patch_id: String,
    #[serde(rename = "comment", default)]
    _comment: Option<String>,
    #[serde(borrow, default)]
    edit: Vec<EditBody<'a>>,
}

impl<'a> Patch<'a> {
    /// # Errors
    /// When the body is no YANG Patch.
    pub fn read(encoding: Encoding, body: &'a [u8]) -> Result<Patch<'a>, Problems> {
        let wrong = |reason: String| {
            let message = format!("the body is no YANG Patch: {reason}; see RFC 8072 section 2.1");
            Problems::from(Problem::new("malformed-message", message))
        };
        match encoding {
            Encoding::Json => {
                let Document { patch } =
                    serde_json::from_slice(body).map_err(|error| wrong(error.to_string()))?;
                Ok(Patch { id: patch.patch_id, edits: patch.edit })
            }
            Encoding::Xml => element(body).map_err(wrong),
        }
    }
}

impl EditBody<'_> {
    pub fn has_value(&self) -> bool {
        self.value.is_some() || self.element.is_some()
    }

    /// The value, as the resource at `path`; `None`: there is none.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn node(&self, schema: &Schema, path: &DataPath, mode: Mode) -> Result<Option<Node>, Problems> {
        Ok(match (self.value, &self.element) {
            (Some(value), _) => Some(json::parse_resource(schema, path, value.get().as_bytes(), mode)?),
            (None, Some(element)) => Some(xml::parse_resource_in(schema, path, element.clone())?),
            (None, None) => None,
        })
    }
}

/// A patch in XML.
fn element(body: &[u8]) -> Result<Patch<'_>, String> {
    let broken = |stop: Stop| stop.to_string();
    let mut pull = Pull::new(Fragment::document(body).map_err(broken)?);
    match pull.child().map_err(broken)? {
        Some(tag) if tag.is(NAMESPACE, "yang-patch") => {}
        Some(tag) => return Err(format!("<{}> is not <yang-patch xmlns=\"{NAMESPACE}\">", tag.local())),
        None => return Err("it is empty".into()),
    }
    let (mut id, mut edits) = (None, Vec::new());
    while let Some(tag) = pull.child().map_err(broken)? {
        match tag.local() {
            "patch-id" if tag.is(NAMESPACE, "patch-id") => once(&mut id, "patch-id", &mut pull)?,
            "comment" if tag.is(NAMESPACE, "comment") => pull.skip().map_err(broken)?,
            "edit" if tag.is(NAMESPACE, "edit") => edits.push(edit(&mut pull)?),
            other => return Err(format!("<{other}> does not belong there")),
        }
    }
    if pull.child().map_err(broken)?.is_some() {
        return Err("there is a second element".into());
    }
    Ok(Patch { id: id.ok_or("there is no <patch-id>")?, edits })
}

fn edit<'a>(pull: &mut Pull<'a>) -> Result<EditBody<'a>, String> {
    let broken = |stop: Stop| stop.to_string();
    let (mut id, mut operation, mut target, mut point, mut place, mut element) =
        (None, None, None, None, None, None);
    while let Some(tag) = pull.child().map_err(broken)? {
        let name = tag.local().to_owned();
        if !tag.is(NAMESPACE, &name) {
            return Err(format!("<{name}> does not belong there"));
        }
        match &*name {
            "edit-id" => once(&mut id, "edit-id", pull)?,
            "operation" => once(&mut operation, "operation", pull)?,
            "target" => once(&mut target, "target", pull)?,
            "point" => once(&mut point, "point", pull)?,
            "where" => once(&mut place, "where", pull)?,
            "value" if element.is_none() => element = Some(pull.inside().map_err(broken)?),
            other => return Err(format!("<{other}> does not belong there, or not twice")),
        }
    }
    Ok(EditBody {
        id: id.ok_or("an <edit> has no <edit-id>")?,
        operation: operation.ok_or("an <edit> has no <operation>")?,
        target: target.ok_or("an <edit> has no <target>")?,
        point,
        place,
        value: None,
        element,
    })
}

/// The text of the element just entered, which may stand once.
fn once(slot: &mut Option<String>, name: &str, pull: &mut Pull<'_>) -> Result<(), String> {
    let text = pull.text().map_err(|stop| stop.to_string())?;
    let text = text.ok_or_else(|| format!("<{name}> holds text only"))?.trim().to_owned();
    match slot.replace(text) {
        None => Ok(()),
        Some(_) => Err(format!("<{name}> stands twice")),
    }
}
