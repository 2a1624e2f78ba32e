//! Our own RPCs: time machine, plan, explain and trace; nodes that leave and join; datapaths that are released.

mod behind;
mod candidate;
mod explain;
mod history;
mod node;
pub mod plan;
mod pool;
mod reach;
mod switch;
mod trace;

use std::future::Future;

use axum::http::StatusCode;
use serde_json::Value;

use super::restconf::{Call, Operations, Outcome, Problem, Problems};
use crate::datastore::HistoryError;
use crate::schema::{DataPath, Schema, json};

/// Has the RPCs answered.
pub fn register(schema: &Schema, operations: &mut Operations) {
    on(schema, operations, "coeus-history", "list-revisions", history::list);
    on(schema, operations, "coeus-history", "diff", history::difference);
    on(schema, operations, "coeus-history", "rollback", history::rollback);
    on(schema, operations, "coeus-history", "confirm-commit", history::confirm);
    on(schema, operations, "coeus-history", "cancel-commit", history::cancel);
    on(schema, operations, "coeus-history", "commit-candidate", candidate::commit);
    on(schema, operations, "coeus-history", "discard-candidate", candidate::discard);
    on(schema, operations, "coeus-history", "validate-candidate", candidate::validate);
    on(schema, operations, "coeus-history", "diff-candidate", candidate::difference);
    on(schema, operations, "coeus-history", "update-candidate", candidate::update);
    on(schema, operations, "coeus-explain", "flow", explain::flow);
    on(schema, operations, "coeus-explain", "list-flows", explain::list);
    on(schema, operations, "coeus-explain", "object", explain::object);
    on(schema, operations, "coeus-explain", "impact", explain::impact);
    on(schema, operations, "coeus-node", "leave", node::leave);
    on(schema, operations, "coeus-node", "join", node::join);
    on(schema, operations, "coeus-switch", "release", switch::release);
    on(schema, operations, "coeus-trace", "packet", trace::packet);
    on(schema, operations, "coeus-trace", "reachability", reach::reachability);
}

/// What is asked, as JSON: the input's members.
struct Asked {
    call: Call,
    input: Value,
}

fn on<F, Fut>(schema: &Schema, operations: &mut Operations, module: &'static str, name: &str, answer: F)
where
    F: Fn(Asked) -> Fut + Send + Sync + Clone + 'static,
    Fut: Future<Output = Result<Value, Problems>> + Send + 'static,
{
    let Some(id) = schema.rpc(module, name) else { return };
    operations.on(id, move |call: Call| {
        let answer = answer.clone();
        async move {
            let schema = call.datastore.schema();
            let path = call.path.clone();
            let mut text = Vec::new();
            json::write_input(schema, id, &call.input, &mut text);
            let mut whole: Value = serde_json::from_slice(&text).unwrap_or_default();
            let input = whole.get_mut(format!("{module}:input")).map(Value::take).unwrap_or_default();
            let output = answer(Asked { call, input }).await?;
            parsed(schema, &path, module, output)
        }
    });
}

fn parsed(schema: &Schema, path: &DataPath, module: &str, output: Value) -> Outcome {
    let text = serde_json::json!({ format!("{module}:output"): output }).to_string();
    json::parse_output(schema, path, text.as_bytes(), json::Mode::Strict).map_err(|errors| {
        tracing::error!(%errors, "an output does not fit its model");
        let problem = Problem::new("operation-failed", "the output does not fit its model; please report it");
        problem.with_status(StatusCode::INTERNAL_SERVER_ERROR).into()
    })
}

impl Asked {
    fn text(&self, name: &str) -> Option<&str> {
        self.input.get(name)?.as_str()
    }

    /// 64-bit numbers are strings (RFC 7951 section 6.1), shorter ones are not.
    fn number(&self, name: &str) -> Option<u64> {
        let value = self.input.get(name)?;
        value.as_u64().or_else(|| value.as_str()?.parse().ok())
    }

    fn is(&self, name: &str) -> bool {
        self.input.get(name).and_then(Value::as_bool).unwrap_or_default()
    }
}

fn no_revision(error: HistoryError) -> Problems {
    Problem::new("invalid-value", error.to_string()).into()
}
