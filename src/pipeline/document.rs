//! `docs/pipeline.md`, printed from the pipeline file.

use std::fmt::Write;

use super::{REGISTERS, ROWS, row};

/// The page, as Markdown.
pub fn document() -> String {
    let mut page = String::from(
        "# The pipeline\n\nPrinted from `pipelines/netvirt.toml` by `BLESS=1 cargo test --test pipeline_doc`; do not edit.\n\n\
         A packet starts in table 0. `metadata` and `reg6` carry what is known of it from table to table.\n\n\
         ## Registers\n\n| register | bits | meaning |\n|---|---|---|\n",
    );
    for register in REGISTERS {
        let high = register.low + register.width - 1;
        let bits = if high == register.low { high.to_string() } else { format!("{high}–{}", register.low) };
        let _ = writeln!(page, "| `{}` | {bits} | {} |", register.name, register.purpose);
    }
    page.push_str("\n## Tables\n\n| no | table | owner | next | miss |\n|---|---|---|---|---|\n");
    for row in ROWS {
        let next: Vec<&str> = row.next.to_vec();
        let _ = writeln!(
            page,
            "| {} | [{}](#{}) | {} | {} | {} |",
            row.id,
            row.name,
            row.name,
            row.owner,
            next.join(", "),
            row.miss
        );
    }
    for table in ROWS.iter().filter_map(|table| row(table.id)) {
        let list = |names: &[&str]| {
            if names.is_empty() { "nothing".to_owned() } else { format!("`{}`", names.join("`, `")) }
        };
        let _ = write!(
            page,
            "\n### {}\n\nTable {}, {}. {}\n\n- matches {}\n- sets {}\n- cookie number 0x{:x}\n",
            table.name,
            table.id,
            table.title,
            table.purpose,
            list(table.matches),
            list(table.set),
            table.cookie
        );
    }
    page
}
