//! What the agent answers to a call: what the plugin prints, and how it ends.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Error;

/// One JSON document on the socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The exit code of the plugin.
    pub exit: u8,
    /// What it prints on standard output; may be empty.
    pub output: String,
}

impl Answer {
    /// Done; `null` prints nothing.
    pub fn done(output: &Value) -> Answer {
        let output = if output.is_null() { String::new() } else { output.to_string() };
        Answer { exit: 0, output }
    }

    /// Failed; said in the version that was asked in.
    pub fn failed(error: &Error, version: &str) -> Answer {
        Answer { exit: 1, output: error.json(version).to_string() }
    }
}
