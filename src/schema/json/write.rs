//! Writing.

use crate::schema::lexical::{JsonForm, text_of};
use crate::schema::select::{Beyond, Extent, Marks, View, Whole};
use crate::schema::{DataPath, Fields, Kind, ModuleId, Node, Schema, SchemaId, Type, Value};

/// Takes what has been written so far; false ends the writing.
pub type Sink<'a> = dyn FnMut(&mut Vec<u8>) -> bool + 'a;

/// The buffer is handed to the sink when it has grown to so many bytes.
pub const CHUNK: usize = 64 * 1024;

/// The children of `parent` (`None`: of the datastore) as one JSON object, appended to `out`.
pub fn write(schema: &Schema, parent: Option<SchemaId>, fields: &Fields, out: &mut Vec<u8>) {
    Writer::new(schema, out).object(parent.map(|id| schema.node(id).module), fields, &Whole);
}

/// The same of a datastore, handed to the sink in pieces as [`write_view`] does; false: the sink has seen enough.
pub fn write_pieces(schema: &Schema, root: &Fields, out: &mut Vec<u8>, sink: &mut Sink<'_>) -> bool {
    let mut writer = Writer { schema, out, sink: Some(sink), stopped: false };
    writer.object(None, root, &Whole);
    !writer.stopped
}

/// A resource with the framing of RFC 8040: one qualified member; a list entry is an array of one. The empty path
/// is `{"ietf-restconf:data": {…}}`.
pub fn write_resource(schema: &Schema, path: &DataPath, node: &Node, out: &mut Vec<u8>) {
    Writer::new(schema, out).resource(path, node, &Whole);
}

/// The part of a resource that a view shows, framed in the same way. With a sink the buffer is handed over whenever
/// it is full and once more at the end, so that its size has a bound; false: the sink has seen enough.
pub fn write_view<V: View>(
    schema: &Schema,
    path: &DataPath,
    node: &Node,
    view: &V,
    out: &mut Vec<u8>,
    sink: Option<&mut Sink<'_>>,
) -> bool {
    let mut writer = Writer { schema, out, sink, stopped: false };
    writer.resource(path, node, view);
    writer.hand_over();
    !writer.stopped
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
    Writer::new(schema, out).object(Some(module), fields, &Whole);
    out.push(b'}');
}

struct Writer<'a, 's> {
    schema: &'a Schema,
    out: &'a mut Vec<u8>,
    sink: Option<&'a mut Sink<'s>>,
    stopped: bool,
}

impl<'a> Writer<'a, '_> {
    fn new(schema: &'a Schema, out: &'a mut Vec<u8>) -> Self {
        Writer { schema, out, sink: None, stopped: false }
    }
}

impl Writer<'_, '_> {
    fn resource<V: View>(&mut self, path: &DataPath, node: &Node, view: &V) {
        let Some(last) = path.steps.last() else {
            self.out.extend_from_slice(br#"{"ietf-restconf:data":"#);
            if let Node::Container(fields) = node {
                self.object(None, fields, view);
            } else {
                self.out.extend_from_slice(b"{}");
            }
            self.out.push(b'}');
            return;
        };
        self.out.push(b'{');
        self.name(None, last.node);
        let in_array = last.key.is_some();
        if in_array {
            self.out.push(b'[');
        }
        self.node(last.node, node, view);
        if in_array {
            self.out.push(b']');
        }
        if !matches!(node, Node::Container(_)) {
            self.marks(None, last.node, node, view);
        }
        self.out.push(b'}');
    }

    /// `above` is the module of the parent: names of other modules are qualified.
    fn object<V: View>(&mut self, above: Option<ModuleId>, fields: &Fields, view: &V) {
        self.first_object(above, fields, view, Beyond::default());
    }

    /// The object of an entry, with what is said about its list.
    fn first_object<V: View>(
        &mut self,
        above: Option<ModuleId>,
        fields: &Fields,
        view: &V,
        beyond: Beyond<'_>,
    ) {
        self.out.push(b'{');
        let mut first = true;
        let own = view.marks();
        if !(own.is_empty() && beyond.is_empty()) {
            self.out.extend_from_slice(b"\"@\":");
            self.mark(own, beyond);
            first = false;
        }
        view.members(self.schema, fields, |id, node, inner| {
            if !first {
                self.out.push(b',');
            }
            first = false;
            self.name(above, id);
            self.node(id, node, inner);
            if !matches!(node, Node::Container(_)) {
                self.marks(above, id, node, inner);
            }
        });
        self.out.push(b'}');
    }

    /// The metadata of a leaf or leaf-list, as a member beside it (RFC 7952 section 5.2).
    fn marks<V: View>(&mut self, above: Option<ModuleId>, id: SchemaId, node: &Node, view: &V) {
        let marks = view.marks();
        let extent = match node {
            Node::LeafList(values) => view.extent(values.len()),
            _ => Extent::all(),
        };
        if marks.is_empty() && extent.beyond.is_empty() {
            return;
        }
        self.out.extend_from_slice(b",\"@");
        self.bare_name(above, id);
        self.out.extend_from_slice(b"\":");
        match node {
            Node::LeafList(values) => {
                // Where nothing is said about values behind the first one, the array ends (RFC 7952 section 5.2.4).
                let count = if marks.is_empty() { 1 } else { extent.shown };
                let mut beyond = extent.beyond;
                self.array(values.iter().take(count), |writer, _| {
                    writer.mark(marks, std::mem::take(&mut beyond));
                });
            }
            _ => self.mark(marks, extent.beyond),
        }
    }

    fn mark(&mut self, marks: Marks, beyond: Beyond<'_>) {
        let mut start: &[u8] = b"{\"";
        marks.each(|module, name, value| {
            self.out.extend_from_slice(std::mem::replace(&mut start, b",\""));
            let quote = if value == "true" { "" } else { "\"" };
            self.out.extend_from_slice(format!("{module}:{name}\":{quote}{value}{quote}").as_bytes());
        });
        beyond.each(|name, value, bare| {
            self.out.extend_from_slice(std::mem::replace(&mut start, b",\""));
            self.out.extend_from_slice(format!("ietf-list-pagination:{name}\":").as_bytes());
            if bare {
                self.out.extend_from_slice(value.as_bytes());
            } else {
                self.string(value);
            }
        });
        self.out.push(b'}');
    }

    fn name(&mut self, above: Option<ModuleId>, id: SchemaId) {
        self.out.push(b'"');
        self.bare_name(above, id);
        self.out.extend_from_slice(b"\":");
    }

    fn bare_name(&mut self, above: Option<ModuleId>, id: SchemaId) {
        let node = self.schema.node(id);
        if above != Some(node.module) {
            self.out.extend_from_slice(self.schema.module(node.module).name.as_bytes());
            self.out.push(b':');
        }
        self.out.extend_from_slice(node.name.as_bytes());
    }

    fn node<V: View>(&mut self, id: SchemaId, node: &Node, view: &V) {
        let module = self.schema.node(id).module;
        match node {
            Node::Container(fields) => self.object(Some(module), fields, view),
            Node::List(list) => {
                let Extent { shown, mut beyond } = view.extent(list.len());
                self.array(list.iter().take(shown), |writer, (key, entry)| {
                    let said = std::mem::take(&mut beyond);
                    view.entry(writer.schema, key, |view| {
                        writer.first_object(Some(module), entry, view, said);
                    });
                    if writer.out.len() >= CHUNK {
                        writer.hand_over();
                    }
                });
            }
            Node::Leaf(value) => self.value(id, value),
            Node::LeafList(values) => {
                let shown = view.extent(values.len()).shown;
                self.array(values.iter().take(shown), |writer, value| writer.value(id, value));
            }
        }
    }

    fn hand_over(&mut self) {
        if let Some(sink) = &mut self.sink
            && !sink(self.out)
        {
            self.stopped = true;
        }
    }

    fn array<T>(&mut self, items: impl Iterator<Item = T>, mut each: impl FnMut(&mut Self, T)) {
        self.out.push(b'[');
        for (at, item) in items.enumerate() {
            if self.stopped {
                return;
            }
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
