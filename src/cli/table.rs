//! Tables for people: columns as wide as what is in them, two spaces between.

use serde_json::Value;

/// Rows under a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new<const N: usize>(header: [&str; N]) -> Table {
        Table { header: header.map(str::to_owned).into(), rows: Vec::new() }
    }

    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    /// The table as text; an empty cell shows as `-`.
    pub fn render(&self) -> String {
        let shown = |cell: &str| if cell.is_empty() { "-".to_owned() } else { cell.replace('\n', " ") };
        let rows: Vec<Vec<String>> = std::iter::once(&self.header)
            .chain(&self.rows)
            .map(|row| row.iter().map(|cell| shown(cell)).collect())
            .collect();
        let width = |column: usize| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.header.len()).map(width).collect();
        let mut text = String::new();
        for row in &rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(cell);
                line.extend(std::iter::repeat_n(' ', width - cell.chars().count() + 2));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// A table of any data: the outermost list with its leafs as columns; without a list, one row a leaf.
    pub fn of(data: &Value) -> Table {
        match outermost_list(data) {
            Some(entries) => {
                let mut header: Vec<String> = Vec::new();
                for name in entries.iter().filter_map(Value::as_object).flat_map(|entry| entry.keys()) {
                    if !header.contains(name) && !name.starts_with('@') {
                        header.push(name.clone());
                    }
                }
                let cell = |entry: &Value, name: &String| entry.get(name).map(plain).unwrap_or_default();
                let rows = entries
                    .iter()
                    .map(|entry| header.iter().map(|name| cell(entry, name)).collect())
                    .collect();
                Table { header: header.iter().map(|name| title(name)).collect(), rows }
            }
            None => {
                let mut table = Table::new(["NODE", "VALUE"]);
                leafs("", data, &mut table);
                table
            }
        }
    }
}

/// A name as the head of a column: without its module, in capitals.
fn title(name: &str) -> String {
    name.rsplit(':').next().unwrap_or(name).to_uppercase()
}

fn outermost_list(data: &Value) -> Option<&Vec<Value>> {
    match data {
        Value::Array(entries) if entries.iter().any(Value::is_object) => Some(entries),
        Value::Object(members) if members.len() == 1 => members.values().find_map(outermost_list),
        _ => None,
    }
}

fn leafs(at: &str, data: &Value, table: &mut Table) {
    match data {
        Value::Object(members) => {
            for (name, value) in members {
                let below = if at.is_empty() { name.clone() } else { format!("{at}/{name}") };
                leafs(&below, value, table);
            }
        }
        other => table.row([at.to_owned(), plain(other)]),
    }
}

/// A value in a cell: strings bare, lists joined, whatever has more structure as JSON.
pub fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) if values.iter().all(|value| !value.is_object() && !value.is_array()) => {
            values.iter().map(plain).collect::<Vec<_>>().join(",")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_cells() {
        let mut table = Table::new(["NAME", "STATE"]);
        table.row(["web".into(), "pending".into()]);
        table.row(["a-long-name".into(), String::new()]);
        assert_eq!(table.render(), "NAME         STATE\nweb          pending\na-long-name  -\n");
    }

    #[test]
    fn any_data_become_a_table() {
        let data = json!({"elan:elan-instances": {"elan-instance": [
            {"elan-instance-name": "a", "elan-tag": 5000},
            {"elan-instance-name": "b", "more": [1, 2]}]}});
        assert_eq!(
            Table::of(&data).render(),
            "ELAN-INSTANCE-NAME  ELAN-TAG  MORE\na                   5000      -\nb                   -         1,2\n"
        );
        let data = json!({"x:c": {"leaf": true, "inner": {"other": "é"}}});
        assert_eq!(Table::of(&data).rows.len(), 2);
    }
}
