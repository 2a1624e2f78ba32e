//! What became of a patch: `yang-patch-status` of RFC 8072 section 2.3.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::super::Problems;
use super::super::media::Encoding;
use super::super::wait::Report;
use super::body::NAMESPACE;
use crate::schema::{DataPath, Schema, xml};

/// What is told to the client.
pub struct Patched {
    pub status: StatusCode,
    /// The target, if the patch was carried out.
    pub changed: Option<DataPath>,
    pub id: String,
    pub outcome: Outcome,
    /// How far the switches are, if that was waited for.
    pub report: Option<Report>,
}

pub enum Outcome {
    Done,
    /// What concerns no edit alone.
    Refused(Problems),
    /// For each edit that was looked at: its id, and what is wrong with it.
    Edits(Vec<(String, Option<Problems>)>),
}

impl Patched {
    pub fn body(&self, schema: &Schema, encoding: Encoding) -> Vec<u8> {
        match encoding {
            Encoding::Json => self.json().to_string().into_bytes(),
            Encoding::Xml => {
                let mut out = Vec::new();
                self.xml(&mut xml::Writer::new(schema, &mut out));
                out
            }
        }
    }

    fn json(&self) -> Value {
        let edit = |(id, fault): &(String, Option<Problems>)| match fault {
            Some(problems) => json!({"edit-id": id, "errors": problems.errors()}),
            None => json!({"edit-id": id, "ok": [null]}),
        };
        let mut status = match &self.outcome {
            Outcome::Done => json!({"ok": [null]}),
            Outcome::Refused(problems) => json!({"errors": problems.errors()}),
            Outcome::Edits(edits) => {
                json!({"edit-status": {"edit": edits.iter().map(edit).collect::<Vec<_>>()}})
            }
        };
        status["patch-id"] = json!(self.id);
        json!({ "ietf-yang-patch:yang-patch-status": status })
    }

    fn xml(&self, writer: &mut xml::Writer<'_>) {
        writer.start(Some(NAMESPACE), "yang-patch-status");
        writer.leaf("patch-id", &self.id);
        match &self.outcome {
            Outcome::Done => writer.leaf("ok", ""),
            Outcome::Refused(problems) => problems.errors_xml(None, writer),
            Outcome::Edits(edits) => {
                writer.start(None, "edit-status");
                for (id, fault) in edits {
                    writer.start(None, "edit");
                    writer.leaf("edit-id", id);
                    match fault {
                        Some(problems) => problems.errors_xml(None, writer),
                        None => writer.leaf("ok", ""),
                    }
                    writer.end("edit");
                }
                writer.end("edit-status");
            }
        }
        writer.end("yang-patch-status");
    }
}
