//! The rules of ietf-netconf-acm (RFC 8341), read from the configuration.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::grants::Grants;
use super::{Identity, Operation};
use crate::schema::{Fields, Key, Kind, Node, Schema, SchemaId, Step, Value, lexical};

/// Users whose grants are kept compiled.
const KEPT: usize = 1024;

/// All rules, compiled.
#[derive(Debug)]
pub struct Policy {
    pub(super) enabled: bool,
    pub(super) read: bool,
    pub(super) write: bool,
    pub(super) exec: bool,
    external: bool,
    groups: Vec<(Arc<str>, Vec<Arc<str>>)>,
    lists: Vec<RuleList>,
    grants: Mutex<HashMap<Identity, Arc<Grants>>>,
}

/// The groups it is for, and its rules.
type RuleList = (Vec<Arc<str>>, Vec<Arc<Rule>>);

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rule {
    /// `rule-list/rule`, for messages.
    pub name: Arc<str>,
    /// `None`: any.
    pub module: Option<Arc<str>>,
    pub about: About,
    /// One bit for each [`Operation`].
    pub operations: u8,
    pub permit: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum About {
    Everything,
    /// A name, or any.
    Rpc(Option<Arc<str>>),
    Notification(Option<Arc<str>>),
    Data(Vec<RuleStep>),
}

/// One step of a rule's path; keys that are left out match every value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RuleStep {
    pub node: SchemaId,
    pub keys: Vec<(usize, Value)>,
}

impl RuleStep {
    pub fn fits(&self, step: &Step) -> bool {
        let has = |key: &Key| self.keys.iter().all(|(at, value)| key.values().get(*at) == Some(value));
        self.node == step.node && (self.keys.is_empty() || step.key.as_ref().is_some_and(has))
    }
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            enabled: true,
            read: true,
            write: false,
            exec: true,
            external: true,
            groups: Vec::new(),
            lists: Vec::new(),
            grants: Mutex::default(),
        }
    }
}

/// The children of a node by name.
struct Reader<'a> {
    schema: &'a Schema,
    fields: &'a Fields,
}

impl<'a> Reader<'a> {
    fn get(&self, name: &str) -> Option<(SchemaId, &'a Node)> {
        let named = |(id, _): &(&SchemaId, &Node)| &*self.schema.node(**id).name == name;
        self.fields.iter().find(named).map(|(id, node)| (*id, node))
    }

    fn text(&self, name: &str) -> Option<String> {
        let (id, node) = self.get(name)?;
        Some(lexical::value_text(self.schema, id, node.as_leaf()?))
    }

    fn is(&self, name: &str, wanted: &str, default: bool) -> bool {
        self.text(name).map_or(default, |text| text == wanted)
    }

    fn values(&self, name: &str) -> Vec<Arc<str>> {
        let Some((id, Node::LeafList(values))) = self.get(name) else { return Vec::new() };
        values.iter().map(|value| lexical::value_text(self.schema, id, value).into()).collect()
    }

    fn entries(&self, name: &str) -> Vec<Reader<'a>> {
        let list = self.get(name).and_then(|(_, node)| node.as_list());
        let entry = |(_, fields): (_, &'a Fields)| Reader { schema: self.schema, fields };
        list.into_iter().flatten().map(entry).collect()
    }
}

impl Policy {
    /// Permits nothing.
    pub fn closed() -> Policy {
        Policy { read: false, exec: false, ..Policy::default() }
    }

    /// Compiles the container `nacm`.
    ///
    /// # Errors
    /// Names the rule whose path leads nowhere: a rule that denies nothing by mistake would be worse.
    pub fn of(schema: &Schema, nacm: &Fields) -> Result<Policy, String> {
        let top = Reader { schema, fields: nacm };
        let groups = match top.get("groups") {
            Some((_, Node::Container(fields))) => Reader { schema, fields }.entries("group"),
            _ => Vec::new(),
        };
        let name = |reader: &Reader<'_>| reader.text("name").unwrap_or_default();
        let mut lists = Vec::new();
        for list in top.entries("rule-list") {
            let mut rules = Vec::new();
            for rule in list.entries("rule") {
                let name = format!("{}/{}", name(&list), name(&rule));
                let rule = Rule::of(schema, &rule, name.as_str().into());
                rules.push(Arc::new(rule.map_err(|reason| format!("rule {name}: {reason}"))?));
            }
            lists.push((list.values("group"), rules));
        }
        Ok(Policy {
            enabled: top.is("enable-nacm", "true", true),
            read: top.is("read-default", "permit", true),
            write: top.is("write-default", "permit", false),
            exec: top.is("exec-default", "permit", true),
            external: top.is("enable-external-groups", "true", true),
            groups: groups.iter().map(|group| (name(group).into(), group.values("user-name"))).collect(),
            lists,
            grants: Mutex::default(),
        })
    }

    /// What a user may do; `None`: everything.
    pub fn grants(&self, schema: &Schema, user: &Identity) -> Option<Arc<Grants>> {
        if !self.enabled || user.is_admin() {
            return None;
        }
        let mut kept = self.grants.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(grants) = kept.get(user) {
            return Some(grants.clone());
        }
        let grants = Arc::new(Grants::new(schema, self, self.rules_of(user)));
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(user.clone(), grants.clone());
        Some(grants)
    }

    /// RFC 8341 section 3.4.5, steps 3 to 7: the rules for a user, in order. Who is in no group has none.
    fn rules_of(&self, user: &Identity) -> Vec<Arc<Rule>> {
        let external = user.groups.iter().filter(|_| self.external).cloned();
        let own = self.groups.iter().filter(|(_, members)| members.contains(&user.name));
        let groups: Vec<Arc<str>> = external.chain(own.map(|(name, _)| name.clone())).collect();
        if groups.is_empty() {
            return Vec::new();
        }
        let fits = |wanted: &[Arc<str>]| wanted.iter().any(|group| &**group == "*" || groups.contains(group));
        self.lists.iter().filter(|(wanted, _)| fits(wanted)).flat_map(|(_, rules)| rules.clone()).collect()
    }
}

impl Rule {
    fn of(schema: &Schema, rule: &Reader<'_>, name: Arc<str>) -> Result<Rule, String> {
        let named = |leaf: &str| rule.text(leaf).map(|text| (text != "*").then(|| Arc::from(text)));
        let about = match (named("rpc-name"), named("notification-name"), rule.text("path")) {
            (Some(name), ..) => About::Rpc(name),
            (_, Some(name), _) => About::Notification(name),
            (.., Some(path)) => About::Data(steps(schema, &path)?),
            _ => About::Everything,
        };
        let operations = match rule.text("access-operations").as_deref() {
            None | Some("*") => u8::MAX,
            Some(text) => text.split(' ').filter_map(Operation::named).map(Operation::bit).sum(),
        };
        let module = named("module-name").flatten();
        Ok(Rule { name, module, about, operations, permit: rule.is("action", "permit", false) })
    }
}

/// A node-instance-identifier: `/module:node[key='value']/node`.
pub(super) fn steps(schema: &Schema, path: &str) -> Result<Vec<RuleStep>, String> {
    let wrong = |what: &str| format!("path {path:?}: {what}; write it as in /module:node/list[key='value']");
    let mut steps: Vec<RuleStep> = Vec::new();
    let mut module = String::new();
    let mut rest = path.trim();
    if !rest.starts_with('/') || rest.len() < 2 {
        return Err(wrong("it does not begin with a slash and a name"));
    }
    while let Some(after) = rest.strip_prefix('/') {
        let end = after.find(['/', '[']).unwrap_or(after.len());
        let name = match after[..end].split_once(':') {
            Some((prefix, name)) => {
                module = prefix.to_owned();
                name
            }
            None => &after[..end],
        };
        let parent = steps.last().map(|step| step.node);
        let node = schema.child(parent, Some(&module), name);
        let node = node.ok_or_else(|| wrong(&format!("there is no {module}:{name}")))?;
        let mut step = RuleStep { node, keys: Vec::new() };
        rest = &after[end..];
        while let Some(predicate) = rest.strip_prefix('[') {
            let (key, value) = predicate.split_once('=').ok_or_else(|| wrong("a predicate without ="))?;
            let value = value.trim_start();
            let quote = value.chars().next().filter(|c| matches!(c, '\'' | '"'));
            let quote = quote.ok_or_else(|| wrong("a value without quotes"))?;
            let (value, after) =
                value[1..].split_once(quote).ok_or_else(|| wrong("a quote is not closed"))?;
            rest = after.trim_start().strip_prefix(']').ok_or_else(|| wrong("a predicate is not closed"))?;
            let key = key.trim().rsplit(':').next().unwrap_or_default();
            let leafs = lexical::key_leafs(schema, node);
            let (at, leaf) = match (&schema.node(node).kind, key) {
                (Kind::LeafList { .. }, ".") => (0, node),
                _ => {
                    let at = leafs.iter().position(|leaf| &*schema.node(*leaf).name == key);
                    at.map(|at| (at, leafs[at]))
                        .ok_or_else(|| wrong(&format!("{key} is no key of {name}")))?
                }
            };
            let value = lexical::parse_value(schema, leaf, value).map_err(|reason| wrong(&reason))?;
            step.keys.push((at, value));
        }
        steps.push(step);
    }
    if rest.is_empty() { Ok(steps) } else { Err(wrong("something follows that is no step")) }
}
