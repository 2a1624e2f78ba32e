//! What a client can find out before it knows anything: host-meta, the root resource, its operations, the modules.

use serde_json::{Value, json};

use super::media::Encoding;
use super::operations::Operations;
use crate::schema::{Module, Schema, SchemaId, xml};

/// RFC 8040 section 3.1.
pub const HOST_META: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
    <XRD xmlns=\"http://docs.oasis-open.org/ns/xri/xrd-1.0\">\n  <Link rel=\"restconf\" href=\"/rests\"/>\n</XRD>\n";

/// The same as JSON (RFC 6415 appendix A).
pub fn host_meta_json() -> Value {
    json!({"links": [{"rel": "restconf", "href": "/rests"}]})
}

/// Revision of ietf-yang-library that is served.
pub const LIBRARY: &str = "2019-01-04";

/// Resources that say what there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Document {
    /// RFC 8040 section 3.3.
    Root,
    /// RFC 8040 section 3.3.2.
    Operations,
    /// RFC 8040 section 3.3.3.
    LibraryVersion,
}

impl Document {
    pub fn write(self, schema: &Schema, operations: &Operations, encoding: Encoding) -> Vec<u8> {
        match encoding {
            Encoding::Json => self.json(schema, operations).to_string().into_bytes(),
            Encoding::Xml => {
                let mut out = Vec::new();
                self.xml(schema, operations, &mut xml::Writer::new(schema, &mut out));
                out
            }
        }
    }

    fn json(self, schema: &Schema, operations: &Operations) -> Value {
        let known = || -> Value {
            let member = |id: SchemaId| {
                let (module, name) = names(schema, id);
                (format!("{module}:{name}"), json!([null]))
            };
            Value::Object(operations.rpcs(schema).map(member).collect())
        };
        match self {
            Document::Root => {
                json!({"ietf-restconf:restconf": {"data": {}, "operations": known(), "yang-library-version": LIBRARY}})
            }
            Document::Operations => json!({ "ietf-restconf:operations": known() }),
            Document::LibraryVersion => json!({ "ietf-restconf:yang-library-version": LIBRARY }),
        }
    }

    fn xml(self, schema: &Schema, operations: &Operations, writer: &mut xml::Writer<'_>) {
        let known = |writer: &mut xml::Writer<'_>, namespace: Option<&str>| {
            writer.start(namespace, "operations");
            for id in operations.rpcs(schema) {
                let node = schema.node(id);
                writer.start(Some(&schema.module(node.module).namespace), &node.name);
                writer.end(&node.name);
            }
            writer.end("operations");
        };
        match self {
            Document::Root => {
                writer.start(Some(xml::RESTCONF), "restconf");
                writer.start(None, "data");
                writer.end("data");
                known(writer, None);
                writer.leaf("yang-library-version", LIBRARY);
                writer.end("restconf");
            }
            Document::Operations => known(writer, Some(xml::RESTCONF)),
            Document::LibraryVersion => {
                writer.start(Some(xml::RESTCONF), "yang-library-version");
                writer.characters(LIBRARY);
                writer.end("yang-library-version");
            }
        }
    }
}

fn names(schema: &Schema, id: SchemaId) -> (&str, &str) {
    let node = schema.node(id);
    (&schema.module(node.module).name, &node.name)
}

/// All modules, in the shape of OpenDaylight's `/restconf/modules`.
pub fn modules(schema: &Schema) -> Value {
    json!({"modules": {"module": implemented(schema).map(shown).collect::<Vec<_>>()}})
}

/// One of them, as `/restconf/modules/module/NAME/REVISION`.
pub fn module(schema: &Schema, name: &str, revision: &str) -> Option<Value> {
    let is = |module: &&Module| {
        *module.name == *name && (revision.is_empty() || module.revision.as_deref() == Some(revision))
    };
    implemented(schema).find(is).map(|found| json!({ "module": [shown(found)] }))
}

fn implemented(schema: &Schema) -> impl Iterator<Item = &Module> {
    schema.modules.iter().filter(|module| module.implemented)
}

fn shown(module: &Module) -> Value {
    json!({"name": &*module.name, "revision": module.revision.as_deref().unwrap_or(""), "namespace": &*module.namespace})
}
