//! Notifications as they go out: the envelope of RFC 8040 section 6.4, and what stands in it.

use std::time::SystemTime;

use super::changes::{Action, Change};
use crate::datastore::Revision;
use crate::northbound::restconf::Encoding;
use crate::schema::json::Sink;
use crate::schema::{DataPath, Fields, Schema, json, xml};

const ENVELOPE: &str = "urn:ietf:params:xml:ns:netconf:notification:1.0";
const PUSH: &str = "urn:ietf:params:xml:ns:yang:ietf-yang-push";
const EVENTS: &str = "urn:coeus:events";

/// A time as RFC 3339 has it, in UTC.
pub fn time(at: SystemTime) -> String {
    jiff::Timestamp::try_from(at).map_or_else(|_| "1970-01-01T00:00:00Z".into(), |at| format!("{at:.3}"))
}

/// When and in what form something is told.
#[derive(Clone, Copy)]
pub struct Form<'a> {
    pub schema: &'a Schema,
    pub encoding: Encoding,
    /// The subscription that it is told to, if it has a number.
    pub subscription: Option<u32>,
}

/// When something was so.
#[derive(Clone, Copy)]
pub struct Moment {
    pub revision: Revision,
    pub time: SystemTime,
}

impl Form<'_> {
    /// A notification of some module: the fields hold it alone.
    pub fn notification(self, moment: Moment, fields: &Fields) -> Vec<u8> {
        let mut out = self.opened(moment);
        match self.encoding {
            Encoding::Json => {
                // The members of the object that would be the whole document.
                let start = out.len();
                json::write(self.schema, None, fields, &mut out);
                out.remove(start);
                out.pop();
            }
            Encoding::Xml => xml::write(self.schema, None, fields, &mut out),
        }
        self.closed(&mut out);
        out
    }

    /// `push-update`: what there is, written piece by piece; false: the sink has seen enough.
    pub fn update(self, moment: Moment, root: &Fields, out: &mut Vec<u8>, sink: &mut Sink<'_>) -> bool {
        out.append(&mut self.opened(moment));
        self.push(out, "push-update", moment);
        let complete = match self.encoding {
            Encoding::Json => {
                out.extend_from_slice(b"\"datastore-contents\":");
                let complete = json::write_pieces(self.schema, root, out, sink);
                out.push(b'}');
                complete
            }
            Encoding::Xml => {
                out.extend_from_slice(b"<datastore-contents>");
                let complete = xml::write_pieces(self.schema, root, out, sink);
                out.extend_from_slice(b"</datastore-contents></push-update>");
                complete
            }
        };
        self.closed(out);
        complete && sink(out)
    }

    /// `push-change-update`: a YANG Patch of what changed.
    pub fn change(self, moment: Moment, changes: &[Change]) -> Vec<u8> {
        let mut out = self.opened(moment);
        self.push(&mut out, "push-change-update", moment);
        match self.encoding {
            Encoding::Json => {
                let id = moment.revision.0;
                text(
                    &mut out,
                    &format!("\"datastore-changes\":{{\"yang-patch\":{{\"patch-id\":\"{id}\",\"edit\":["),
                );
                for (number, change) in changes.iter().enumerate() {
                    text(&mut out, if number == 0 { "" } else { "," });
                    self.edit_json(&mut out, number + 1, change);
                }
                text(&mut out, "]}}}");
            }
            Encoding::Xml => {
                let id = moment.revision.0;
                text(&mut out, &format!("<datastore-changes><yang-patch><patch-id>{id}</patch-id>"));
                for (number, change) in changes.iter().enumerate() {
                    self.edit_xml(&mut out, number + 1, change);
                }
                text(&mut out, "</yang-patch></datastore-changes></push-change-update>");
            }
        }
        self.closed(&mut out);
        out
    }

    fn edit_json(self, out: &mut Vec<u8>, number: usize, change: &Change) {
        let (operation, place) = operation(change.action);
        let target = target(self.schema, &change.path);
        text(out, &format!("{{\"edit-id\":\"{number}\",\"operation\":\"{operation}\",\"target\":"));
        text(out, &serde_json::Value::from(target).to_string());
        if let Some(place) = place {
            text(out, &format!(",\"where\":\"{place}\""));
        }
        if let Some(node) = &change.node {
            text(out, ",\"value\":");
            json::write_resource(self.schema, &change.path, node, out);
        }
        out.push(b'}');
    }

    fn edit_xml(self, out: &mut Vec<u8>, number: usize, change: &Change) {
        let (operation, place) = operation(change.action);
        let target = target(self.schema, &change.path);
        let mut writer = xml::Writer::new(self.schema, out);
        writer.start(None, "edit");
        writer.leaf("edit-id", &number.to_string());
        writer.leaf("operation", operation);
        writer.leaf("target", &target);
        if let Some(place) = place {
            writer.leaf("where", place);
        }
        if let Some(node) = &change.node {
            text(out, "<value>");
            // One entry or leaf is one element; a whole datastore or leaf-list has a frame of its own.
            if xml::write_resource(self.schema, &change.path, node, out).is_err()
                && let Some(id) = change.path.last_node()
            {
                xml::Writer::new(self.schema, out).resource(id, node);
            }
            text(out, "</value>");
        }
        text(out, "</edit>");
    }

    fn push(self, out: &mut Vec<u8>, name: &str, moment: Moment) {
        let revision = moment.revision.0;
        match self.encoding {
            Encoding::Json => {
                text(out, &format!("\"ietf-yang-push:{name}\":{{"));
                if let Some(id) = self.subscription {
                    text(out, &format!("\"id\":{id},"));
                }
                text(out, &format!("\"coeus-events:revision\":\"{revision}\","));
            }
            Encoding::Xml => {
                text(out, &format!("<{name} xmlns=\"{PUSH}\">"));
                if let Some(id) = self.subscription {
                    text(out, &format!("<id>{id}</id>"));
                }
                text(out, &format!("<revision xmlns=\"{EVENTS}\">{revision}</revision>"));
            }
        }
    }

    fn opened(self, moment: Moment) -> Vec<u8> {
        let at = time(moment.time);
        match self.encoding {
            Encoding::Json => {
                format!("{{\"ietf-restconf:notification\":{{\"eventTime\":\"{at}\",").into_bytes()
            }
            Encoding::Xml => {
                format!("<notification xmlns=\"{ENVELOPE}\"><eventTime>{at}</eventTime>").into_bytes()
            }
        }
    }

    fn closed(self, out: &mut Vec<u8>) {
        match self.encoding {
            Encoding::Json => text(out, "}}"),
            Encoding::Xml => text(out, "</notification>"),
        }
    }
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

/// The operation of RFC 8072, and where the entry goes.
fn operation(action: Action) -> (&'static str, Option<&'static str>) {
    match action {
        Action::Create => ("create", None),
        Action::Replace => ("replace", None),
        Action::Delete => ("delete", None),
        Action::MoveLast => ("move", Some("last")),
    }
}

fn target(schema: &Schema, path: &DataPath) -> String {
    format!("/{}", path.to_rfc8040(schema))
}
