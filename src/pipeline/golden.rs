//! Golden files: what a feature puts on a switch, one flow a line. `BLESS=1 cargo test` rewrites them.

use std::path::Path;

use super::SwitchTables;

/// All flows, groups and meters as text: flows by table, falling priority and match, then groups, then meters.
pub fn print(tables: &SwitchTables) -> String {
    let mut flows: Vec<_> = tables.flows.iter().collect();
    flows.sort_by_cached_key(|flow| {
        (flow.table, std::cmp::Reverse(flow.priority), flow.parts().0.to_string())
    });
    let lines = flows.iter().map(|flow| format!("{flow}\n"));
    let groups = tables.groups.values().map(|group| format!("{group}\n"));
    let meters = tables.meters.values().map(|meter| format!("{meter}\n"));
    lines.chain(groups).chain(meters).collect()
}

/// Compares with the golden file at `path` (from the root of the repository).
///
/// # Panics
/// When they differ; the message holds both and the command that accepts the change.
pub fn assert(path: &str, tables: &SwitchTables) {
    assert_text(path, &print(tables));
}

/// The same for any text.
///
/// # Panics
/// When they differ.
pub fn assert_text(path: &str, found: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("BLESS").is_some() {
        if let Some(folder) = file.parent() {
            let _ = std::fs::create_dir_all(folder);
        }
        assert!(std::fs::write(&file, found).is_ok(), "{path} cannot be written");
        return;
    }
    let wanted = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        wanted == found,
        "{path} differs; BLESS=1 cargo test accepts it\n--- wanted\n{wanted}\n--- found\n{found}"
    );
}
