//! YANG: the compiled schema, instance data, paths, JSON (RFC 7951), XML and validation.
//!
//! `yang/` is compiled once at start by libyang (`load`) into the small tree of [`Schema`]. After that no request
//! touches libyang. Instance data are immutable trees ([`Node`]) with structural sharing.
//!
//! | wish | call |
//! |---|---|
//! | read | [`tree::get`], [`tree::get_ref`], [`get_merged`], [`merge_layers`] |
//! | edit | [`tree::put`], [`tree::merge`], [`tree::remove`] with [`Parents`]`::{Require, Create}`; [`List`]`::{get, insert, remove, iter}` |
//! | compare | [`diff`], then [`stamp`] or [`stamp_since`] |
//! | check | [`validate`] what [`diff`] found |
//! | JSON in | [`json::parse_resource`] (PUT, PATCH), [`json::parse_child`] (POST), [`json::parse_input`], [`json::parse`] |
//! | JSON out | [`json::write_resource`], [`json::write_output`], [`json::write`] |
//! | XML in and out | the same in [`xml`]; `errors` and other documents with [`xml::Writer`] and [`xml::Pull`] |
//! | operations | `schema.{rpcs, actions_of, notifications, input, output}`, [`DataPath`]`::{parse_rpc, parse_action}`, [`validate_input`] |
//! | paths | [`DataPath`]`::{parse_rfc8040, parse_legacy, parse_instance_identifier, display, to_rfc8040}` |
//! | values | [`lexical::parse_value`], [`lexical::value_text`] |
//! | modules | `schema.{library, content_id, source}` |
//! | models | [`builtin`], `schema.resolve("/pod:coe/pods")` |
//! | memory | [`heap_size`] |
//! | tests | `testing::{arbitrary_node, arbitrary_config_node, arbitrary_entry, arbitrary_root, Builder, sample}` |
//!
//! Conventions: a list entry that stands alone is a `Node::Container`, a leaf-list entry a `Node::Leaf`; the empty path
//! is the root, whose node is a `Node::Container`. Key leafs are stored in the entry too. Empty lists and empty
//! non-presence containers do not exist. Validation differs from libyang in three things on purpose: entries of
//! positional lists may come without their key; a mandatory leaf below a top-level non-presence container is asked for
//! once something of that container is there; the operational store is not constrained (RFC 8342 section 5.3).

mod body;
mod data;
mod diff;
mod expression;
mod fields;
mod ir;
pub mod json;
pub mod lexical;
mod library;
mod list;
pub mod load;
mod map;
mod merge;
mod names;
mod operations;
mod order;
mod path;
mod row;
mod rules;
pub mod select;
mod size;
mod stamp;
#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;
pub mod tree;
mod uri;
mod validate;
mod value;
mod values;
pub mod xml;
mod xpath;

pub use body::{BodyError, BodyErrorKind, BodyErrors};
pub use data::{Entries, Key, List, Node};
pub use diff::{Difference, diff, diff_entry};
pub use expression::Expression;
pub use fields::Fields;
pub use ir::{
    CaseId, Choice, DefaultDeny, Identity, IdentityId, Kind, Module, ModuleId, Must, Pattern, Says, Schema,
    SchemaId, SchemaNode, StringKind, Type, When,
};
pub use load::{LoadError, builtin, load, load_with};
pub use map::{DiffItem, Map};
pub use merge::{get_merged, merge_layers};
pub use order::{Position, reposition, user_ordered};
pub use path::{DataPath, Step};
pub use rules::{RuleError, Rules};
pub use size::heap_size;
pub use stamp::{stamp, stamp_fresh, stamp_since};
pub use tree::{NodeRef, Parents, TreeError};
pub use uri::{PathError, PathErrorKind};
pub use validate::{
    Index, ValidationError, ValidationErrorKind, validate, validate_input, validate_notification,
    validate_output, validate_with,
};
pub use value::{Text, Value, shared_text};
pub use values::Values;
