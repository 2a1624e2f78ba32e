//! Values as XML text: as in JSON, save that names of modules are prefixes (RFC 7950 sections 9.10.3 and 9.13.2).

use std::borrow::Cow;
use std::rc::Rc;

use super::names;
use crate::schema::lexical::{Raw, Rigour, parse_raw, text_of, type_holding};
use crate::schema::{IdentityId, ModuleId, Schema, Type, Value};

/// Text as a value; `namespace` gives the namespaces of prefixes, and of no prefix.
///
/// # Errors
/// What is wrong with the text.
pub fn value(
    schema: &Schema,
    home: ModuleId,
    type_: &Type,
    text: &str,
    namespace: &dyn Fn(Option<&str>) -> Option<Rc<str>>,
) -> Result<Value, String> {
    let plain = |text: &str| parse_raw(schema, home, type_, Raw::Text(text), Rigour::Text);
    match type_ {
        Type::IdentityRef(_) => {
            let (prefix, name) = match text.split_once(':') {
                Some((prefix, name)) => (Some(prefix), name),
                None => (None, text),
            };
            let module = namespace(prefix).and_then(|namespace| names::module(schema, &namespace));
            let module = module.ok_or_else(|| match prefix {
                Some(prefix) => format!("prefix {prefix:?} of {text:?} stands for no module here"),
                None => format!("{text:?} needs a prefix"),
            })?;
            let qualified = format!("{}:{name}", schema.module(module).name);
            parse_raw(schema, home, type_, Raw::Text(&qualified), Rigour::Strict)
        }
        Type::InstanceIdentifier { .. } => plain(&names::path_from_xml(schema, text, namespace)?),
        Type::LeafRef { real, .. } => value(schema, home, real, text, namespace),
        Type::Union(members) => {
            let mut reasons: Vec<String> = Vec::new();
            for member in members {
                match value(schema, home, member, text, namespace) {
                    Ok(value) => return Ok(value),
                    Err(reason) if !reasons.contains(&reason) => reasons.push(reason),
                    Err(_) => {}
                }
            }
            Err(reasons.join("; nor: "))
        }
        _ => plain(text),
    }
}

/// The text of a value, and the modules whose prefixes it uses.
pub fn text<'a>(
    schema: &'a Schema,
    home: ModuleId,
    type_: &'a Type,
    value: &'a Value,
) -> (Cow<'a, str>, Vec<ModuleId>) {
    match value {
        Value::Identity(id) => {
            let identity = identity(schema, *id);
            match identity {
                Some((module, name)) if module != home => {
                    (Cow::Owned(format!("{}:{name}", names::prefix(schema, module))), vec![module])
                }
                Some((_, name)) => (Cow::Borrowed(name), Vec::new()),
                None => (Cow::Borrowed(""), Vec::new()),
            }
        }
        Value::Text(text)
            if matches!(type_holding(schema, type_, value), Some(Type::InstanceIdentifier { .. })) =>
        {
            let (text, used) = names::path_to_xml(schema, text);
            (Cow::Owned(text), used)
        }
        value => (text_of(schema, home, type_, value), Vec::new()),
    }
}

fn identity(schema: &Schema, id: IdentityId) -> Option<(ModuleId, &str)> {
    schema.identities.get(usize::from(id.0)).map(|identity| (identity.module, &*identity.name))
}
