//! Makes code out of `pipelines/netvirt.toml` and `yang/`, and nothing else.

#[path = "build/pipeline.rs"]
mod pipeline;
#[path = "build/yang.rs"]
mod yang;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = std::path::PathBuf::from(std::env::var("OUT_DIR")?);
    println!("cargo:rerun-if-changed=build");
    pipeline::generate(&out)?;
    yang::generate(&out)
}
