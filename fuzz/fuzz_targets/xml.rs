//! Bodies in XML: no panic, and what is accepted is written in a form that is accepted again and means the same.
#![no_main]

use coeus::schema::{DataPath, builtin, xml};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let schema = builtin();
    if let Ok(root) = xml::parse(schema, None, body) {
        let mut text = Vec::new();
        xml::write(schema, None, &root, &mut text);
        assert_eq!(xml::parse(schema, None, &text).as_ref(), Ok(&root));
    }
    let pod = DataPath::root().child(schema.resolve("/pod:coe"));
    let _ = xml::parse_resource(schema, &pod, body);
});
