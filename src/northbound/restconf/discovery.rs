//! What a client can find out before it knows anything: host-meta, the roots, the modules.

use serde_json::{Value, json};

use crate::schema::Schema;

/// RFC 8040 section 3.1.
pub const HOST_META: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
    <XRD xmlns=\"http://docs.oasis-open.org/ns/xri/xrd-1.0\">\n  <Link rel=\"restconf\" href=\"/rests\"/>\n</XRD>\n";

/// The same as JSON (RFC 6415 appendix A).
pub fn host_meta_json() -> Value {
    json!({"links": [{"rel": "restconf", "href": "/rests"}]})
}

/// Revision of ietf-yang-library that is served.
pub const LIBRARY: &str = "2019-01-04";

/// RFC 8040 section 3.3.
pub fn root() -> Value {
    json!({"ietf-restconf:restconf": {"data": {}, "operations": {}, "yang-library-version": LIBRARY}})
}

/// All modules, in the shape of OpenDaylight's `/restconf/modules`.
pub fn modules(schema: &Schema) -> Value {
    let module = |module: &crate::schema::Module| json!({"name": &*module.name, "revision": module.revision.as_deref().unwrap_or(""), "namespace": &*module.namespace});
    json!({"modules": {"module": schema.modules.iter().filter(|module| module.implemented).map(module).collect::<Vec<_>>()}})
}
