//! Bodies in JSON and XML: what is accepted is written in a form that is accepted again and means the same.

use coeus::schema::{DataPath, builtin, json as text, xml as markup};

pub fn json(body: &[u8]) {
    let schema = builtin();
    for mode in [text::Mode::Strict, text::Mode::Lenient] {
        let Ok(root) = text::parse(schema, None, body, mode) else { continue };
        let mut written = Vec::new();
        text::write(schema, None, &root, &mut written);
        assert_eq!(text::parse(schema, None, &written, text::Mode::Strict).as_ref(), Ok(&root));
    }
    let pod = DataPath::root().child(schema.resolve("/pod:coe"));
    let _ = text::parse_resource(schema, &pod, body, text::Mode::Lenient);
    let _ = text::parse_child(schema, &pod, body, text::Mode::Lenient);
}

pub fn xml(body: &[u8]) {
    let schema = builtin();
    if let Ok(root) = markup::parse(schema, None, body) {
        let mut written = Vec::new();
        markup::write(schema, None, &root, &mut written);
        assert_eq!(markup::parse(schema, None, &written).as_ref(), Ok(&root));
    }
    let pod = DataPath::root().child(schema.resolve("/pod:coe"));
    let _ = markup::parse_resource(schema, &pod, body);
}
