//! XML encoding of YANG data: RFC 7950, with the framing of RFC 8040. The entry points are those of [`super::json`], with the
//! same faults and paths; XML is always read to the letter.
//!
//! An element's namespace is its module's; lists and leaf-lists are elements of one name, which may stand apart. Refused are
//! document type definitions, entities, processing instructions, other encodings than UTF-8, more than 128 levels, and
//! attributes that ask for something (NETCONF's `operation`, `insert` …). The tags of with-defaults and origin are ignored.
//! How many bytes a body may have is for the one who takes it in.
//!
//! Documents that no module describes are written with [`Writer`] and read with [`Pull`]:
//!
//! ```
//! # use coeus::schema::{builtin, xml};
//! let mut out = Vec::new();
//! let mut writer = xml::Writer::new(builtin(), &mut out);
//! writer.start(Some(xml::RESTCONF), "errors");
//! writer.start(None, "error");
//! writer.leaf("error-tag", "invalid-value");
//! writer.path("error-path", "/pod:coe/pods[uid='x']/name");
//! writer.end("error");
//! writer.end("errors");
//! ```

mod anydata;
mod elements;
mod names;
mod pull;
mod read;
mod values;
mod write;

pub use pull::{Attribute, Fragment, Pull, RESTCONF, Step, Stop, Tag};
pub use read::{parse, parse_child, parse_input, parse_output, parse_resource, parse_resource_in};
pub use write::{
    NotOneElement, Writer, write, write_input, write_list, write_output, write_pieces, write_resource,
    write_view,
};
