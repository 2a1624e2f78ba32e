//! anydata: kept as JSON, so elements become members, elements of one name an array, and all text strings. What JSON tells
//! apart and XML does not (numbers, null, an array of one) is lost on the way out.

use serde_json::{Map, Value as Json};

use super::names;
use super::pull::{Pull, Step, Stop};
use super::write::Writer;
use crate::schema::body::{At, BodyErrorKind, Reader};
use crate::schema::{ModuleId, Node, Schema, Value};

/// anydata may be nested so deep, as in JSON.
const MOST_DEPTH: usize = 64;

/// The anydata node just entered.
pub fn read(reader: &Reader<'_>, pull: &mut Pull<'_>, at: &At<'_>) -> Result<Option<Node>, Stop> {
    let home = reader.schema.node(at.node).module;
    match inside(reader.schema, pull, Some(home), 1)? {
        Some(json) => Ok(Some(Node::Leaf(Value::text(json.to_string())))),
        None => {
            let message = format!("nested deeper than {MOST_DEPTH} levels; flatten it");
            reader.fault(Some(at), BodyErrorKind::TooBig, message)?;
            Ok(None)
        }
    }
}

/// The element just entered; `None`: too deep.
fn inside(
    schema: &Schema,
    pull: &mut Pull<'_>,
    home: Option<ModuleId>,
    depth: usize,
) -> Result<Option<Json>, Stop> {
    let mut text = String::new();
    let mut members: Map<String, Json> = Map::new();
    let mut too_deep = depth > MOST_DEPTH;
    loop {
        match pull.step()? {
            Step::Text(part) => text.push_str(&part),
            Step::Start(_) if too_deep => pull.skip()?,
            Step::Start(tag) => {
                let module = tag.namespace.as_deref().and_then(|namespace| names::module(schema, namespace));
                let name = match module.filter(|module| Some(*module) != home) {
                    Some(module) => format!("{}:{}", schema.module(module).name, tag.local()),
                    None => tag.local().to_owned(),
                };
                match inside(schema, pull, module, depth + 1)? {
                    Some(json) => add(&mut members, name, json),
                    None => too_deep = true,
                }
            }
            Step::End | Step::Finish => break,
        }
    }
    if too_deep {
        return Ok(None);
    }
    Ok(Some(if members.is_empty() { Json::String(text) } else { Json::Object(members) }))
}

fn add(members: &mut Map<String, Json>, name: String, json: Json) {
    match members.get_mut(&name) {
        None => {
            members.insert(name, json);
        }
        Some(Json::Array(all)) => all.push(json),
        Some(first) => *first = Json::Array(vec![first.take(), json]),
    }
}

/// What is inside of an anydata element.
pub fn write(writer: &mut Writer<'_>, home: Option<ModuleId>, json: &Json) {
    match json {
        Json::Null => {}
        Json::Bool(value) => writer.text(&value.to_string()),
        Json::Number(number) => writer.text(&number.to_string()),
        Json::String(text) => writer.text(text),
        Json::Array(items) => items.iter().for_each(|item| member(writer, home, "item", item)),
        Json::Object(members) => {
            for (name, value) in members {
                match value {
                    Json::Array(items) => items.iter().for_each(|item| member(writer, home, name, item)),
                    value => member(writer, home, name, value),
                }
            }
        }
    }
}

fn member(writer: &mut Writer<'_>, home: Option<ModuleId>, name: &str, json: &Json) {
    let schema = writer.schema;
    let (module, local) = match name.split_once(':') {
        Some((module, local)) => (
            schema.modules.iter().position(|known| *known.name == *module).map(|at| ModuleId(at as u16)),
            local,
        ),
        None => (home, name),
    };
    let local = as_name(local);
    writer.open(home, module, &local, &[]);
    write(writer, module, json);
    writer.close(&local);
}

/// A member name as the name of an element, which may hold less.
fn as_name(name: &str) -> String {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut all: String = name.chars().map(|c| if part(c) { c } else { '_' }).collect();
    if !all.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        all.insert(0, '_');
    }
    all
}
