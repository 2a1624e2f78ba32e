//! A call as the plugin hands it to the agent: the environment and standard input, untouched, so that the agent alone decides.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Where the agent listens if the configuration does not say (key `socket`).
pub const DEFAULT_SOCKET: &str = "/run/coeus/node.sock";

/// One JSON document on the socket, ended by the end of the sender's direction.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Call {
    /// Every variable whose name begins with `CNI_`.
    pub environment: BTreeMap<String, String>,
    /// Standard input as it was.
    pub input: String,
}

impl Call {
    /// From all variables of a process.
    pub fn new(variables: impl Iterator<Item = (String, String)>, input: String) -> Call {
        Call { environment: variables.filter(|(name, _)| name.starts_with("CNI_")).collect(), input }
    }

    pub fn variable(&self, name: &str) -> Option<&str> {
        self.environment.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A string of the configuration, as far as it can be read: for what has to be known before it is checked.
    pub fn peek(&self, key: &str) -> Option<String> {
        let config: serde_json::Value = serde_json::from_str(&self.input).ok()?;
        Some(config.get(key)?.as_str()?.to_owned())
    }
}
