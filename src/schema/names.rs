//! Finding children by the names that JSON and URLs use, and saying what would have been right.

use super::ir::{Kind, ModuleId, Schema, SchemaId};

/// Why a name is no child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameError {
    /// The prefix is not a module's.
    Namespace(String),
    /// No child of this name; the text ends in what there is.
    Unknown(String),
}

impl NameError {
    pub fn message(&self) -> &str {
        match self {
            NameError::Namespace(message) | NameError::Unknown(message) => message,
        }
    }
}

/// Children of `parent`; at the top level operations do not count.
fn children(schema: &Schema, parent: Option<SchemaId>) -> &[SchemaId] {
    match parent {
        Some(parent) => &schema.node(parent).children,
        None => &schema.roots,
    }
}

/// The child that a member or segment name means. Strict: a name without a module stands in that of the parent.
/// Lenient: prefixes will do for modules, and a name without one may be that of any child if only one has it.
pub fn find_child(
    schema: &Schema,
    parent: Option<SchemaId>,
    name: &str,
    lenient: bool,
) -> Result<SchemaId, NameError> {
    find_among(schema, parent, children(schema, parent), "node", name, lenient)
}

/// The one of `all` that a name means below `parent`; `what` says what they are.
pub fn find_among(
    schema: &Schema,
    parent: Option<SchemaId>,
    all: &[SchemaId],
    what: &str,
    name: &str,
    lenient: bool,
) -> Result<SchemaId, NameError> {
    let (prefix, local) = match name.split_once(':') {
        Some((prefix, local)) => (Some(prefix), local),
        None => (None, name),
    };
    let mut named = all.iter().copied().filter(|id| *schema.node(*id).name == *local);
    let found = match (prefix, parent) {
        (Some(prefix), _) => {
            let of = |test: &dyn Fn(ModuleId) -> bool| named.clone().find(|id| test(schema.node(*id).module));
            of(&|module| *schema.module(module).name == *prefix).or_else(|| {
                if lenient { of(&|module| *schema.module(module).prefix == *prefix) } else { None }
            })
        }
        (None, Some(parent)) => {
            let home = schema.node(parent).module;
            let mut foreign = None;
            let mut others = 0;
            let own = named.find(|id| {
                let own = schema.node(*id).module == home;
                if !own {
                    foreign = Some(*id);
                    others += 1;
                }
                own
            });
            own.or(if lenient && others == 1 { foreign } else { None })
        }
        (None, None) => {
            let first = named.next();
            first.filter(|_| lenient && named.next().is_none())
        }
    };
    found.ok_or_else(|| explain(schema, parent, all, what, prefix, local))
}

fn explain(
    schema: &Schema,
    parent: Option<SchemaId>,
    all: &[SchemaId],
    what: &str,
    prefix: Option<&str>,
    local: &str,
) -> NameError {
    if let Some(prefix) = prefix
        && !schema.modules.iter().any(|module| *module.name == *prefix)
    {
        let near = nearest(prefix, schema.modules.iter().map(|module| module.name.to_string()));
        let hint = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
        return NameError::Namespace(format!("no module is named {prefix:?}{hint}"));
    }
    let shown = |id: &SchemaId| {
        let node = schema.node(*id);
        match parent {
            Some(parent) if schema.node(parent).module == node.module => node.name.to_string(),
            _ => format!("{}:{}", schema.module(node.module).name, node.name),
        }
    };
    let place = match (parent, what) {
        (Some(parent), "node") => format!("{} has no child", schema.node(parent).name),
        (Some(parent), what) => format!("{} has no {what}", schema.node(parent).name),
        (None, what) => format!("there is no top-level {what}"),
    };
    let asked = prefix.map_or(local.to_owned(), |prefix| format!("{prefix}:{local}"));
    let near = all
        .iter()
        .find(|id| *schema.node(**id).name == *local)
        .map(&shown)
        .or_else(|| nearest(&asked, all.iter().map(&shown)))
        .or_else(|| nearest(local, all.iter().map(&shown)));
    let hint = match near {
        Some(near) => format!("; did you mean {near}?"),
        None if all.is_empty() => "; there are none at all".to_owned(),
        None => {
            let mut known: Vec<String> = all.iter().take(16).map(&shown).collect();
            if all.len() > 16 {
                known.push(format!("and {} more", all.len() - 16));
            }
            format!("; it has {}", known.join(", "))
        }
    };
    NameError::Unknown(format!("{place} {asked:?}{hint}"))
}

/// The closest of the names, if one is close.
fn nearest(asked: &str, names: impl Iterator<Item = String>) -> Option<String> {
    let limit = asked.chars().count().div_ceil(3).clamp(1, 3);
    names
        .map(|name| (distance(asked, &name), name))
        .filter(|(far, _)| *far <= limit)
        .min()
        .map(|(_, name)| name)
}

/// Levenshtein's distance.
fn distance(a: &str, b: &str) -> usize {
    if a.len().abs_diff(b.len()) > 12 || a.len() > 128 {
        return usize::MAX;
    }
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

impl Schema {
    /// The data child that a name of a URL or query means, with or without its module.
    ///
    /// # Errors
    /// Says what would have been right.
    pub fn child_named(
        &self,
        parent: Option<SchemaId>,
        name: &str,
        lenient: bool,
    ) -> Result<SchemaId, String> {
        find_child(self, parent, name, lenient).map_err(|error| error.message().to_owned())
    }
}

/// What kind of node this is, for messages.
pub fn kind_name(kind: &Kind) -> &'static str {
    match kind {
        Kind::Container { .. } => "a container",
        Kind::List { .. } => "a list",
        Kind::Leaf { .. } => "a leaf",
        Kind::LeafList { .. } => "a leaf-list",
        Kind::Any { .. } => "anydata",
        Kind::Rpc => "an operation",
        Kind::Input => "the input of an operation",
        Kind::Output => "the output of an operation",
        Kind::Notification => "a notification",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("interface", "interfaces"), 1);
        assert_eq!(distance("pods", "pods"), 0);
        assert_eq!(distance("", "abc"), 3);
    }
}
