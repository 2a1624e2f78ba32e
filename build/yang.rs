//! `yang/**.yang` to one table of names and texts, so that the binary carries its models.

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn modules(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            modules(&path, found)?;
        } else if path.extension().is_some_and(|ending| ending == "yang") {
            found.push(path);
        }
    }
    Ok(())
}

/// Writes `yang.rs` into `out`: `MODULES`, pairs of module name and text, sorted by name.
pub fn generate(out: &Path) -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=yang");
    let mut found = Vec::new();
    modules(Path::new("yang"), &mut found)?;
    found.sort_by_key(|path| path.file_name().map(ToOwned::to_owned));
    let mut code = String::from("pub static MODULES: &[(&str, &str)] = &[\n");
    for path in found {
        let stem = path.file_stem().ok_or("a module without a name")?.to_string_lossy();
        let name = stem.split('@').next().ok_or("a module without a name")?;
        writeln!(code, "({name:?}, include_str!({:?})),", path.canonicalize()?)?;
    }
    code.push_str("];\n");
    std::fs::write(out.join("yang.rs"), code)?;
    Ok(())
}
