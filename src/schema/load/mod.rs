//! From `yang/` to [`Schema`]: libyang compiles the modules, one walk copies what we need, libyang is let go.

mod conditions;
mod modules;
mod raw;
mod references;
mod types;
mod walk;

use std::sync::OnceLock;

use yang5::context::{Context, ContextFlags, EmbeddedModuleKey};

use super::ir::Schema;
use walk::Walk;

include!(concat!(env!("OUT_DIR"), "/yang.rs"));

/// The models do not compile, or hold something that we cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("module {module} does not compile: {reason}")]
    Compile { module: String, reason: String },
    #[error("{node}: {reason}")]
    Unserved { node: String, reason: String },
    #[error(transparent)]
    Rule(#[from] super::RuleError),
}

/// Names of modules and their texts.
pub type Texts = [(&'static str, &'static str)];

/// The models that are built into the program, compiled on first use.
///
/// # Panics
/// When our own models do not compile; `tests/yang_models.rs` keeps that from happening.
pub fn builtin() -> &'static Schema {
    static SCHEMA: OnceLock<&'static Schema> = OnceLock::new();
    SCHEMA.get_or_init(|| load().unwrap_or_else(|error| panic!("the built-in models are broken: {error}")))
}

/// Names of the built-in modules and their texts.
pub fn modules() -> &'static Texts {
    MODULES
}

/// A libyang context with all built-in modules: the compiler, and the oracle of tests.
///
/// # Errors
/// Names the module that does not compile.
pub fn context() -> Result<Context, LoadError> {
    context_of(MODULES)
}

/// A libyang context with these modules, all implemented with all their features.
///
/// # Errors
/// Names the module that does not compile.
pub fn context_of(texts: &Texts) -> Result<Context, LoadError> {
    let failed = |module: &str, error: yang5::Error| LoadError::Compile {
        module: module.to_owned(),
        reason: error.to_string(),
    };
    let mut context = Context::new(ContextFlags::NO_YANGLIBRARY | ContextFlags::ALL_IMPLEMENTED)
        .map_err(|error| failed("(none)", error))?;
    let embedded =
        texts.iter().map(|(name, text)| (EmbeddedModuleKey::new(name, None, None, None), *text)).collect();
    context.set_embedded_modules(Box::leak(Box::new(embedded)));
    let all: Vec<_> = texts.iter().map(|(name, _)| (*name, None, &["*"][..])).collect();
    context.load_modules(&all).map_err(|error| {
        let named = texts.iter().find(|(name, _)| error.to_string().contains(name));
        failed(named.map_or("(all)", |(name, _)| name), error)
    })?;
    Ok(context)
}

/// Compiles the built-in modules.
///
/// # Errors
/// Names the module or the node that cannot be served.
pub fn load() -> Result<&'static Schema, LoadError> {
    load_from(MODULES)
}

/// Compiles the built-in modules and more of them, by name and text.
///
/// # Errors
/// As [`load`].
pub fn load_with(more: &Texts) -> Result<&'static Schema, LoadError> {
    load_from(&[MODULES, more].concat())
}

/// Compiles these modules.
///
/// # Errors
/// Names the module or the node that cannot be served.
pub fn load_from(texts: &Texts) -> Result<&'static Schema, LoadError> {
    let context = context_of(texts)?;
    let mut walk = Walk::default();
    walk.take_modules(&context, texts);
    walk.take_identities(&context);
    for module in context.modules(true) {
        if !module.is_implemented() {
            continue;
        }
        let top: Vec<_> = module.data().chain(module.rpcs()).chain(module.notifications()).collect();
        for node in top {
            walk.take(&node, None, &[], 0)?;
        }
    }
    walk.resolve_references();
    let schema: &'static Schema = Box::leak(Box::new(walk.schema));
    schema.rules()?;
    Ok(schema)
}
