//! Writing.

use super::anydata;
use super::names;
use super::pull::RESTCONF;
use super::values;
use crate::schema::json::{CHUNK, Sink};
use crate::schema::lexical::{key_leafs, type_of};
use crate::schema::select::{Beyond, Extent, Marks, View, Whole};
use crate::schema::{DataPath, Fields, ModuleId, Node, Schema, SchemaId, Value};

/// The namespace of the attribute `default` (RFC 6243 section 6).
pub(super) const WITH_DEFAULTS: &str = "urn:ietf:params:xml:ns:netconf:default:1.0";

/// The namespace of the attribute `origin` (RFC 8342 section 7).
pub(super) const ORIGIN: &str = "urn:ietf:params:xml:ns:yang:ietf-origin";

/// The namespace of `remaining`, `next` and `previous` (draft-ietf-netconf-list-pagination section 4).
const PAGINATION: &str = "urn:ietf:params:xml:ns:yang:ietf-list-pagination";

/// An XML document has one root element, but a list or leaf-list was asked for that has more entries, or none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name} has {count} entries, and an XML document has one root element; ask for JSON, or for one entry"
)]
pub struct NotOneElement {
    pub name: String,
    pub count: usize,
}

/// The children of `parent` (`None`: of the datastore) as elements side by side, appended to `out`. The namespace of the
/// parent is taken to be the default one.
pub fn write(schema: &Schema, parent: Option<SchemaId>, fields: &Fields, out: &mut Vec<u8>) {
    Writer::new(schema, out).children(parent.map(|id| schema.node(id).module), None, fields, &Whole);
}

/// The same of a datastore, handed to the sink in pieces as [`write_view`] does; false: the sink has seen enough.
pub fn write_pieces(schema: &Schema, root: &Fields, out: &mut Vec<u8>, sink: &mut Sink<'_>) -> bool {
    let sink = Some(sink as &mut Sink<'_>);
    let mut writer = Writer { schema, out, sink, stopped: false };
    writer.children(None, None, root, &Whole);
    !writer.stopped
}

/// A resource as RFC 8040 frames it: its element; the empty path is `data`.
///
/// # Errors
/// A whole list or leaf-list that has more or fewer than one entry.
pub fn write_resource(
    schema: &Schema,
    path: &DataPath,
    node: &Node,
    out: &mut Vec<u8>,
) -> Result<(), NotOneElement> {
    write_view(schema, path, node, &Whole, out, None).map(|_| ())
}

/// The part of a resource that a view shows, framed in the same way; metadata are attributes (RFC 6243 section 6, RFC 7952
/// section 5.1). With a sink the buffer is handed over whenever it is full and once more at the end; false: the sink has
/// seen enough.
///
/// # Errors
/// As [`write_resource`], before anything is written.
pub fn write_view<V: View>(
    schema: &Schema,
    path: &DataPath,
    node: &Node,
    view: &V,
    out: &mut Vec<u8>,
    sink: Option<&mut Sink<'_>>,
) -> Result<bool, NotOneElement> {
    let sink = sink.map(|sink| sink as &mut Sink<'_>);
    let mut writer = Writer { schema, out, sink, stopped: false };
    writer.framed(path, node, view)?;
    writer.hand_over();
    Ok(!writer.stopped)
}

/// All shown entries of a list or leaf-list in one element, `xml-list` (draft-ietf-netconf-list-pagination-rc section 2.2);
/// false: the sink has seen enough.
pub fn write_list<V: View>(
    schema: &Schema,
    path: &DataPath,
    node: &Node,
    view: &V,
    out: &mut Vec<u8>,
    sink: &mut Sink<'_>,
) -> bool {
    let sink = Some(sink as &mut Sink<'_>);
    let mut writer = Writer { schema, out, sink, stopped: false };
    writer.open_in(Some(PAGINATION), "xml-list", &[]);
    if let Some(id) = path.last_node() {
        writer.node(None, id, node, view);
    }
    writer.close("xml-list");
    writer.hand_over();
    !writer.stopped
}

/// The reply of an RPC or action: `<output xmlns="…">…</output>`. For a notification, [`write`] the children of `None`
/// with it among them.
pub fn write_output(schema: &Schema, operation: SchemaId, output: &Fields, out: &mut Vec<u8>) {
    write_part(schema, operation, "output", output, out);
}

/// The body with which an RPC or action is called: `<input xmlns="…">…</input>`.
pub fn write_input(schema: &Schema, operation: SchemaId, input: &Fields, out: &mut Vec<u8>) {
    write_part(schema, operation, "input", input, out);
}

fn write_part(schema: &Schema, operation: SchemaId, part: &str, fields: &Fields, out: &mut Vec<u8>) {
    let module = schema.node(operation).module;
    let mut writer = Writer::new(schema, out);
    writer.open(None, Some(module), part, &[]);
    writer.children(Some(module), None, fields, &Whole);
    writer.close(part);
}

/// Writes elements one after the other: nodes, and documents that no module describes, such as `errors`.
pub struct Writer<'a> {
    pub(super) schema: &'a Schema,
    out: &'a mut Vec<u8>,
    sink: Option<&'a mut Sink<'a>>,
    stopped: bool,
}

impl<'a> Writer<'a> {
    pub fn new(schema: &'a Schema, out: &'a mut Vec<u8>) -> Writer<'a> {
        Writer { schema, out, sink: None, stopped: false }
    }

    /// Starts an element, of the default namespace unless another is given.
    pub fn start(&mut self, namespace: Option<&str>, name: &str) {
        self.open_in(namespace, name, &[]);
    }

    /// Ends the element.
    pub fn end(&mut self, name: &str) {
        self.close(name);
    }

    /// Text inside of the element that was started.
    pub fn characters(&mut self, text: &str) {
        self.text(text);
    }

    /// A whole element with text in it.
    pub fn leaf(&mut self, name: &str, text: &str) {
        self.open_in(None, name, &[]);
        self.text(text);
        self.close(name);
    }

    /// A whole element that holds an instance path (in the form of [`DataPath::display`]), with its prefixes declared.
    pub fn path(&mut self, name: &str, path: &str) {
        let (text, used) = names::path_to_xml(self.schema, path);
        self.open_in(None, name, &used);
        self.text(&text);
        self.close(name);
    }

    /// The elements of a node; several for a list or leaf-list. The default namespace is that of no module.
    pub fn resource(&mut self, id: SchemaId, node: &Node) {
        self.node(None, id, node, &Whole);
    }

    fn framed<V: View>(&mut self, path: &DataPath, node: &Node, view: &V) -> Result<(), NotOneElement> {
        let Some(last) = path.steps.last() else {
            self.open_with(Some(RESTCONF), "data", &[], view.marks(), Beyond::default());
            if let Node::Container(fields) = node {
                self.children(None, None, fields, view);
            }
            self.close("data");
            return Ok(());
        };
        let count = match node {
            Node::List(list) => list.len(),
            Node::LeafList(values) => values.len(),
            Node::Container(_) | Node::Leaf(_) => 1,
        };
        if count != 1 {
            return Err(NotOneElement { name: self.schema.node(last.node).name.to_string(), count });
        }
        self.node(None, last.node, node, view);
        Ok(())
    }

    /// `above` is the module whose namespace is the default one; the keys of `list` come first.
    fn children<V: View>(
        &mut self,
        above: Option<ModuleId>,
        list: Option<SchemaId>,
        fields: &Fields,
        view: &V,
    ) {
        let schema = self.schema;
        let keys = list.map_or(&[][..], |list| key_leafs(schema, list));
        let apart = list.is_some_and(|list| !schema.node(list).children.starts_with(keys));
        if apart {
            for key in keys {
                view.members(schema, fields, |id, node, inner| {
                    if id == *key {
                        self.node(above, id, node, inner);
                    }
                });
            }
        }
        view.members(schema, fields, |id, node, inner| {
            if !(apart && keys.contains(&id)) {
                self.node(above, id, node, inner);
            }
        });
    }

    fn node<V: View>(&mut self, above: Option<ModuleId>, id: SchemaId, node: &Node, view: &V) {
        match node {
            Node::Container(fields) => self.fields(above, id, fields, view, Beyond::default()),
            Node::List(list) => {
                let Extent { shown, mut beyond } = view.extent(list.len());
                for (key, entry) in list.iter().take(shown) {
                    if self.stopped {
                        return;
                    }
                    let said = std::mem::take(&mut beyond);
                    view.entry(self.schema, key, |view| self.fields(above, id, entry, view, said));
                    if self.out.len() >= CHUNK {
                        self.hand_over();
                    }
                }
            }
            Node::Leaf(value) => self.value(above, id, value, view.marks(), Beyond::default()),
            Node::LeafList(values) => {
                let Extent { shown, mut beyond } = view.extent(values.len());
                for value in values.iter().take(shown) {
                    self.value(above, id, value, view.marks(), std::mem::take(&mut beyond));
                }
            }
        }
    }

    fn fields<V: View>(
        &mut self,
        above: Option<ModuleId>,
        id: SchemaId,
        fields: &Fields,
        view: &V,
        beyond: Beyond<'_>,
    ) {
        let node = self.schema.node(id);
        let namespace = self.namespace(above, Some(node.module));
        self.open_with(namespace, &node.name, &[], view.marks(), beyond);
        self.children(Some(node.module), Some(id), fields, view);
        self.close(&node.name);
    }

    fn value(
        &mut self,
        above: Option<ModuleId>,
        id: SchemaId,
        value: &Value,
        marks: Marks,
        beyond: Beyond<'_>,
    ) {
        let schema = self.schema;
        let node = schema.node(id);
        let namespace = self.namespace(above, Some(node.module));
        match type_of(schema, id) {
            Some(type_) => {
                let (text, used) = values::text(schema, node.module, type_, value);
                self.open_with(namespace, &node.name, &used, marks, beyond);
                self.text(&text);
            }
            None => {
                self.open_with(namespace, &node.name, &[], marks, beyond);
                let json = value.as_text().and_then(|text| serde_json::from_str(text).ok());
                anydata::write(self, Some(node.module), &json.unwrap_or_default());
            }
        }
        self.close(&node.name);
    }

    fn hand_over(&mut self) {
        if let Some(sink) = &mut self.sink
            && !sink(self.out)
        {
            self.stopped = true;
        }
    }

    /// Starts an element of a module's namespace (`None`: of none), where that of `above` is the default one, with
    /// prefixes for the modules in `used`.
    pub(super) fn open(
        &mut self,
        above: Option<ModuleId>,
        module: Option<ModuleId>,
        name: &str,
        used: &[ModuleId],
    ) {
        let namespace = self.namespace(above, module);
        self.open_with(namespace, name, used, Marks::default(), Beyond::default());
    }

    /// What to declare as the default namespace; nothing where it is that already.
    fn namespace(&self, above: Option<ModuleId>, module: Option<ModuleId>) -> Option<&'a str> {
        match module {
            module if module == above => None,
            Some(module) => Some(&self.schema.module(module).namespace),
            None => Some(""),
        }
    }

    fn open_in(&mut self, namespace: Option<&str>, name: &str, used: &[ModuleId]) {
        self.open_with(namespace, name, used, Marks::default(), Beyond::default());
    }

    fn open_with(
        &mut self,
        namespace: Option<&str>,
        name: &str,
        used: &[ModuleId],
        marks: Marks,
        beyond: Beyond<'_>,
    ) {
        self.out.push(b'<');
        self.out.extend_from_slice(name.as_bytes());
        if let Some(namespace) = namespace {
            self.out.extend_from_slice(b" xmlns=\"");
            self.text(namespace);
            self.out.push(b'"');
        }
        for module in used {
            self.out.extend_from_slice(b" xmlns:");
            self.out.extend_from_slice(names::prefix(self.schema, *module).as_bytes());
            self.out.extend_from_slice(b"=\"");
            self.text(&self.schema.module(*module).namespace);
            self.out.push(b'"');
        }
        if marks.default {
            self.out
                .extend_from_slice(format!(" xmlns:wd=\"{WITH_DEFAULTS}\" wd:default=\"true\"").as_bytes());
        }
        if let Some(origin) = marks.origin {
            let name = origin.name().replace("ietf-origin:", "or:");
            self.out.extend_from_slice(format!(" xmlns:or=\"{ORIGIN}\" or:origin=\"{name}\"").as_bytes());
        }
        if !beyond.is_empty() {
            self.out.extend_from_slice(format!(" xmlns:lpg=\"{PAGINATION}\"").as_bytes());
            beyond.each(|name, value, _| {
                self.out.extend_from_slice(format!(" lpg:{name}=\"").as_bytes());
                self.text(value);
                self.out.push(b'"');
            });
        }
        self.out.push(b'>');
    }

    pub(super) fn close(&mut self, name: &str) {
        self.out.extend_from_slice(b"</");
        self.out.extend_from_slice(name.as_bytes());
        self.out.push(b'>');
    }

    /// Text, or the value of an attribute. What XML cannot hold at all (only anydata may) becomes U+FFFD.
    pub(super) fn text(&mut self, text: &str) {
        let mut rest = text;
        let special = |c: char| matches!(c, '&' | '<' | '>' | '"' | '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}');
        while let Some(at) = rest.find(special) {
            let (plain, after) = rest.split_at(at);
            self.out.extend_from_slice(plain.as_bytes());
            let first = after.chars().next().unwrap_or_default();
            let written = match first {
                '&' => "&amp;",
                '<' => "&lt;",
                '>' => "&gt;",
                '"' => "&quot;",
                // A reader makes a bare one a line feed.
                '\r' => "&#xD;",
                _ => "\u{fffd}",
            };
            self.out.extend_from_slice(written.as_bytes());
            rest = &after[first.len_utf8()..];
        }
        self.out.extend_from_slice(rest.as_bytes());
    }
}
