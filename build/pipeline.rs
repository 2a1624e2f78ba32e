//! `pipelines/netvirt.toml` to constants: tables with their owner as a type, and the rows for checks and documentation.

use std::fmt::Write;

use serde::Deserialize;

#[derive(Deserialize)]
struct Pipeline {
    table: Vec<Table>,
    register: Vec<Register>,
}

#[derive(Deserialize)]
struct Table {
    id: u8,
    name: String,
    title: String,
    owner: String,
    purpose: String,
    #[serde(rename = "match")]
    matches: Vec<String>,
    set: Vec<String>,
    next: Vec<String>,
    miss: String,
    cookie: u32,
}

#[derive(Deserialize)]
struct Register {
    name: String,
    low: u8,
    width: u8,
    purpose: String,
}

/// Writes `tables.rs` into `out`.
pub fn generate(out: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
    let source = "pipelines/netvirt.toml";
    println!("cargo:rerun-if-changed={source}");
    let pipeline: Pipeline = toml::from_str(&std::fs::read_to_string(source)?)?;
    let mut code = String::new();
    for table in &pipeline.table {
        let known = |name: &String| pipeline.table.iter().any(|other| other.name == *name);
        for name in table.next.iter().chain(std::iter::once(&table.miss).filter(|miss| *miss != "drop")) {
            if !known(name) {
                return Err(
                    format!("{source}: table {} leads to {name}, which is no table", table.name).into()
                );
            }
        }
        let constant = table.name.to_uppercase().replace('-', "_");
        let owner = table.owner[..1].to_uppercase() + &table.owner[1..];
        writeln!(code, "/// {}: {}", table.title, table.purpose)?;
        writeln!(code, "pub const {constant}: Table<owners::{owner}> = Table::new({});", table.id)?;
    }
    writeln!(code, "/// All tables, by number.\npub static ROWS: &[Row] = &[")?;
    for table in &pipeline.table {
        writeln!(
            code,
            "Row {{ id: {}, name: {:?}, title: {:?}, owner: {:?}, purpose: {:?}, matches: &{:?}, set: &{:?}, next: &{:?}, miss: {:?}, cookie: {} }},",
            table.id,
            table.name,
            table.title,
            table.owner,
            table.purpose,
            table.matches,
            table.set,
            table.next,
            table.miss,
            table.cookie
        )?;
    }
    writeln!(code, "];\n/// All registers.\npub static REGISTERS: &[Register] = &[")?;
    for register in &pipeline.register {
        writeln!(
            code,
            "Register {{ name: {:?}, low: {}, width: {}, purpose: {:?} }},",
            register.name, register.low, register.width, register.purpose
        )?;
    }
    writeln!(code, "];")?;
    std::fs::write(out.join("tables.rs"), code)?;
    Ok(())
}
