//! Cases and laws of instance data, on the sample schema of `testing`.

mod bodies;
mod builtin;
mod laws;
mod library;
mod operations;
mod oracle;
mod paths;
mod rules;
mod timings;
mod trees;
mod validation;
mod values;
mod xml;
