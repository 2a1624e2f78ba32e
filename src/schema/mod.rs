//! YANG: the compiled schema, instance data, paths, RFC 7951 JSON and validation.
//!
//! `yang/` is compiled once at start by libyang (`load`) into the small tree of [`Schema`]. After that no request
//! touches libyang. Instance data are immutable trees ([`Node`]) with structural sharing.

mod data;
mod ir;
mod path;
mod value;

pub use data::{Entries, Fields, Key, List, Node};
pub use ir::{
    CaseId, Identity, IdentityId, Kind, Module, ModuleId, Must, Schema, SchemaId, SchemaNode, Type, When,
};
pub use path::{DataPath, Step};
pub use value::Value;
