//! Bodies in JSON: no panic, and what is accepted is written in a form that is accepted again and means the same.
#![no_main]

use coeus::schema::{DataPath, builtin, json};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let schema = builtin();
    for mode in [json::Mode::Strict, json::Mode::Lenient] {
        let Ok(root) = json::parse(schema, None, body, mode) else { continue };
        let mut text = Vec::new();
        json::write(schema, None, &root, &mut text);
        assert_eq!(json::parse(schema, None, &text, json::Mode::Strict).as_ref(), Ok(&root));
    }
    let pod = DataPath::root().child(schema.resolve("/pod:coe"));
    let _ = json::parse_resource(schema, &pod, body, json::Mode::Lenient);
    let _ = json::parse_child(schema, &pod, body, json::Mode::Lenient);
});
