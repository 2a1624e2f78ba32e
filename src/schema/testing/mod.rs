//! For tests: schemas made by hand, and random data drawn from any schema.

mod arbitrary;
mod builder;
mod sample;

pub use arbitrary::{
    arbitrary_config_node, arbitrary_entry, arbitrary_fields, arbitrary_node, arbitrary_root, arbitrary_value,
};
pub use builder::Builder;
pub use sample::sample;
