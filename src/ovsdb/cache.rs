//! The rows that a monitor reports.

use std::collections::BTreeMap;

use serde_json::Value;

use super::value::{map_of, optional, strings, uuids};

/// The monitored columns of a row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row(pub BTreeMap<String, Value>);

/// Rows by table and id.
#[derive(Debug, Clone, Default)]
pub struct Cache {
    tables: BTreeMap<String, BTreeMap<String, Row>>,
}

impl Row {
    pub fn text(&self, column: &str) -> Option<&str> {
        optional(self.0.get(column)?)?.as_str()
    }

    pub fn number(&self, column: &str) -> Option<i64> {
        optional(self.0.get(column)?)?.as_i64()
    }

    pub fn strings(&self, column: &str) -> Vec<String> {
        self.0.get(column).map(strings).unwrap_or_default()
    }

    pub fn map(&self, column: &str) -> BTreeMap<String, String> {
        self.0.get(column).map(map_of).unwrap_or_default()
    }

    pub fn references(&self, column: &str) -> Vec<String> {
        self.0.get(column).map(uuids).unwrap_or_default()
    }
}

impl Cache {
    /// Takes `<table-updates>` (RFC 7047 section 4.1.6): the first answer of a monitor, or an update.
    pub fn update(&mut self, updates: &Value) {
        let Some(tables) = updates.as_object() else { return };
        for (table, rows) in tables {
            let Some(rows) = rows.as_object() else { continue };
            let held = self.tables.entry(table.clone()).or_default();
            for (id, change) in rows {
                match change.get("new").and_then(Value::as_object) {
                    Some(new) => {
                        let row = held.entry(id.clone()).or_default();
                        row.0.extend(new.iter().map(|(column, value)| (column.clone(), value.clone())));
                    }
                    None => drop(held.remove(id)),
                }
            }
        }
    }

    pub fn rows(&self, table: &str) -> impl Iterator<Item = (&str, &Row)> {
        self.tables.get(table).into_iter().flatten().map(|(id, row)| (id.as_str(), row))
    }

    pub fn row(&self, table: &str, id: &str) -> Option<&Row> {
        self.tables.get(table)?.get(id)
    }
}
