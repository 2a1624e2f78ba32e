//! Writing.

use crate::schema::lexical::{JsonForm, text_of};
use crate::schema::{DataPath, Fields, Kind, ModuleId, Node, Schema, SchemaId, Type, Value};

/// The children of `parent` (`None`: of the datastore) as one JSON object, appended to `out`.
pub fn write(schema: &Schema, parent: Option<SchemaId>, fields: &Fields, out: &mut Vec<u8>) {
    Writer { schema, out }.object(parent.map(|id| schema.node(id).module), fields);
}

/// A resource with the framing of RFC 8040: one qualified member; a list entry is an array of one. The empty path
/// is `{"ietf-restconf:data": {…}}`.
pub fn write_resource(schema: &Schema, path: &DataPath, node: &Node, out: &mut Vec<u8>) {
    let mut writer = Writer { schema, out };
    let Some(last) = path.steps.last() else {
        writer.out.extend_from_slice(br#"{"ietf-restconf:data":"#);
        if let Node::Container(fields) = node {
            writer.object(None, fields);
        } else {
            writer.out.extend_from_slice(b"{}");
        }
        writer.out.push(b'}');
        return;
    };
    writer.out.push(b'{');
    writer.name(None, last.node);
    let in_array = last.key.is_some();
    if in_array {
        writer.out.push(b'[');
    }
    writer.node(last.node, node);
    if in_array {
        writer.out.push(b']');
    }
    writer.out.push(b'}');
}

/// The reply of an RPC or action: `{"module:output": {…}}`. For a notification, [`write`] the children of `None` with
/// it among them: `{"module:name": {…}}`.
pub fn write_output(schema: &Schema, operation: SchemaId, output: &Fields, out: &mut Vec<u8>) {
    write_part(schema, operation, "output", output, out);
}

/// The body with which an RPC or action is called: `{"module:input": {…}}`.
pub fn write_input(schema: &Schema, operation: SchemaId, input: &Fields, out: &mut Vec<u8>) {
    write_part(schema, operation, "input", input, out);
}

fn write_part(schema: &Schema, operation: SchemaId, part: &str, fields: &Fields, out: &mut Vec<u8>) {
    let module = schema.node(operation).module;
    out.extend_from_slice(format!("{{\"{}:{part}\":", schema.module(module).name).as_bytes());
    Writer { schema, out }.object(Some(module), fields);
    out.push(b'}');
}

struct Writer<'a> {
    schema: &'a Schema,
    out: &'a mut Vec<u8>,
}

impl Writer<'_> {
    /// `above` is the module of the parent: names of other modules are qualified.
    fn object(&mut self, above: Option<ModuleId>, fields: &Fields) {
        self.out.push(b'{');
        for (at, (id, node)) in fields.children.iter().enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            self.name(above, *id);
            self.node(*id, node);
        }
        self.out.push(b'}');
    }

    fn name(&mut self, above: Option<ModuleId>, id: SchemaId) {
        let node = self.schema.node(id);
        self.out.push(b'"');
        if above != Some(node.module) {
            self.out.extend_from_slice(self.schema.module(node.module).name.as_bytes());
            self.out.push(b':');
        }
        self.out.extend_from_slice(node.name.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    fn node(&mut self, id: SchemaId, node: &Node) {
        let module = self.schema.node(id).module;
        match node {
            Node::Container(fields) => self.object(Some(module), fields),
            Node::List(list) => {
                self.array(list.iter(), |writer, (_, entry)| writer.object(Some(module), entry));
            }
            Node::Leaf(value) => self.value(id, value),
            Node::LeafList(values) => self.array(values.iter(), |writer, value| writer.value(id, value)),
        }
    }

    fn array<T>(&mut self, items: impl Iterator<Item = T>, mut each: impl FnMut(&mut Self, T)) {
        self.out.push(b'[');
        for (at, item) in items.enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            each(self, item);
        }
        self.out.push(b']');
    }

    fn value(&mut self, id: SchemaId, value: &Value) {
        let node = self.schema.node(id);
        match (&node.kind, value) {
            // The common case needs no look at the type: all text is a JSON string, save anydata, which is JSON.
            (Kind::Leaf { .. } | Kind::LeafList { .. }, Value::Text(text)) => self.string(text),
            (Kind::Leaf { type_, .. } | Kind::LeafList { type_, .. }, value) => {
                self.typed(node.module, type_, value);
            }
            (_, Value::Text(text)) => self.out.extend_from_slice(text.as_bytes()),
            (_, _) => self.out.extend_from_slice(b"null"),
        }
    }

    fn typed(&mut self, module: ModuleId, type_: &Type, value: &Value) {
        let schema = self.schema;
        match JsonForm::of(schema, type_, value) {
            JsonForm::Bare => self.out.extend_from_slice(text_of(schema, module, type_, value).as_bytes()),
            JsonForm::Empty => self.out.extend_from_slice(b"[null]"),
            JsonForm::String => self.string(&text_of(schema, module, type_, value)),
        }
    }

    fn string(&mut self, text: &str) {
        self.out.push(b'"');
        let mut rest = text.as_bytes();
        while let Some(at) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)) {
            self.out.extend_from_slice(&rest[..at]);
            match rest[at] {
                b'"' => self.out.extend_from_slice(b"\\\""),
                b'\\' => self.out.extend_from_slice(b"\\\\"),
                b'\n' => self.out.extend_from_slice(b"\\n"),
                b'\r' => self.out.extend_from_slice(b"\\r"),
                b'\t' => self.out.extend_from_slice(b"\\t"),
                other => self.out.extend_from_slice(format!("\\u{other:04x}").as_bytes()),
            }
            rest = &rest[at + 1..];
        }
        self.out.extend_from_slice(rest);
        self.out.push(b'"');
    }
}
