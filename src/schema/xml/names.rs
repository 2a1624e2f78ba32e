//! Namespaces and prefixes of modules, and names inside of values (RFC 7950 sections 9.10.3 and 9.13.2).

use std::rc::Rc;

use crate::schema::{ModuleId, Schema};

/// The prefix that stands for a module in what we write: its own, unless another module has the same.
pub fn prefix(schema: &Schema, module: ModuleId) -> &str {
    let own = schema.module(module);
    let taken = schema.modules.iter().filter(|other| other.prefix == own.prefix).count() > 1;
    if taken || own.prefix.len() >= 3 && own.prefix[..3].eq_ignore_ascii_case("xml") {
        &own.name
    } else {
        &own.prefix
    }
}

/// The module of a namespace.
pub fn module(schema: &Schema, namespace: &str) -> Option<ModuleId> {
    let at = schema.modules.iter().position(|module| *module.namespace == *namespace)?;
    Some(ModuleId(at as u16))
}

/// An instance path in the form of RFC 7951 (`/pod:coe/pods[uid='…']`: a module where it changes) in the form of XML
/// (every name with its prefix), and the modules whose prefixes it uses. Names of no module stay as they are.
pub fn path_to_xml(schema: &Schema, path: &str) -> (String, Vec<ModuleId>) {
    let mut used = Vec::new();
    let mut current: Option<ModuleId> = None;
    let text = each_name(path, |name| {
        let local = match name.split_once(':') {
            Some((module, local)) => {
                current = schema
                    .modules
                    .iter()
                    .position(|known| *known.name == *module)
                    .map(|at| ModuleId(at as u16));
                local
            }
            None => name,
        };
        let Some(module) = current else { return Some(name.to_owned()) };
        if !used.contains(&module) {
            used.push(module);
        }
        Some(format!("{}:{local}", prefix(schema, module)))
    });
    (text.unwrap_or_default(), used)
}

/// The other way round; `namespace` knows the prefixes.
///
/// # Errors
/// A name without prefix, or with one that is no module's.
pub fn path_from_xml(
    schema: &Schema,
    path: &str,
    namespace: &dyn Fn(Option<&str>) -> Option<Rc<str>>,
) -> Result<String, String> {
    let mut fault = None;
    let text = each_name(path, |name| {
        let Some((prefix, local)) = name.split_once(':') else {
            fault =
                Some(format!("name {name:?} has no prefix; every name of an instance-identifier has one"));
            return None;
        };
        let found = namespace(Some(prefix)).and_then(|namespace| module(schema, &namespace));
        let Some(module) = found else {
            fault = Some(format!("prefix {prefix:?} stands for no module here"));
            return None;
        };
        Some(format!("{}:{local}", schema.module(module).name))
    });
    text.ok_or_else(|| fault.unwrap_or_default())
}

/// Replaces the names of nodes in a path, those in predicates included, but nothing in quotes and no numbers.
fn each_name(path: &str, mut change: impl FnMut(&str) -> Option<String>) -> Option<String> {
    let of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    let mut out = String::with_capacity(path.len() + 16);
    let mut rest = path;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' => rest[1..].find(first).map_or(rest.len(), |end| end + 2),
            c if c.is_alphabetic() || c == '_' => {
                let end = rest.find(|c| !of_name(c)).unwrap_or(rest.len());
                out.push_str(&change(&rest[..end])?);
                rest = &rest[end..];
                continue;
            }
            c if c.is_ascii_digit() => rest.find(|c: char| !of_name(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    Some(out)
}
