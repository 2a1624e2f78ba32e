//! The rows that a monitor reports.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Map, Value};

use super::value::{Atom, Datum, ValueError};

/// A table that is monitored.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    pub name: &'static str,
    pub columns: &'static [&'static str],
    /// Those of the columns whose sets may hold more than one element: their changes come as differences.
    pub sets: &'static [&'static str],
}

/// The monitored columns of a row. A column at its default value may be missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row(BTreeMap<&'static str, Datum>);

/// Rows by table and id.
#[derive(Debug, Clone)]
pub struct Cache {
    tables: Vec<Rows>,
}

#[derive(Debug, Clone)]
struct Rows {
    table: Table,
    rows: BTreeMap<String, Row>,
    by_name: HashMap<String, String>,
}

/// What an update has touched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    rows: BTreeMap<&'static str, BTreeSet<String>>,
    /// Ids that came into or went out of a column of references.
    pub references: BTreeSet<String>,
}

/// An update that does not fit what was reported before.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpdateError {
    #[error(transparent)]
    Value(#[from] ValueError),
    #[error("an update of table {table} that is no object")]
    Shape { table: String },
    #[error("a change of row {id} of table {table}, which was never reported")]
    UnknownRow { table: &'static str, id: String },
}

impl Row {
    fn set(&self, column: &str) -> impl Iterator<Item = &Atom> {
        let set = match self.0.get(column) {
            Some(Datum::Set(set)) => Some(set),
            _ => None,
        };
        set.into_iter().flatten()
    }

    pub fn text(&self, column: &str) -> Option<&str> {
        self.set(column).next()?.text()
    }

    pub fn number(&self, column: &str) -> Option<i64> {
        if let Some(Atom::Integer(number)) = self.set(column).next() { Some(*number) } else { None }
    }

    pub fn strings(&self, column: &str) -> impl Iterator<Item = &str> {
        self.set(column).filter_map(Atom::text)
    }

    /// The pairs of a map of strings.
    pub fn map(&self, column: &str) -> BTreeMap<&str, &str> {
        let Some(Datum::Map(pairs)) = self.0.get(column) else { return BTreeMap::new() };
        pairs.iter().filter_map(|(key, value)| Some((key.text()?, value.text()?))).collect()
    }

    pub fn references(&self, column: &str) -> impl Iterator<Item = &str> {
        self.set(column).filter_map(Atom::uuid)
    }

    pub fn refers(&self, column: &str, id: &str) -> bool {
        matches!(self.0.get(column), Some(Datum::Set(set)) if set.contains(&Atom::Uuid(id.into())))
    }
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Ids of the rows of a table that came, changed or went.
    pub fn rows(&self, table: &str) -> impl Iterator<Item = &str> {
        self.rows.get(table).into_iter().flatten().map(String::as_str)
    }

    pub fn extend(&mut self, other: Changes) {
        for (table, rows) in other.rows {
            self.rows.entry(table).or_default().extend(rows);
        }
        self.references.extend(other.references);
    }
}

/// One row's part of an update.
enum Step<'a> {
    /// The whole row.
    Whole(&'a Map<String, Value>),
    /// What differs.
    Difference(&'a Map<String, Value>),
    Gone,
}

impl Cache {
    pub fn new(tables: &[Table]) -> Cache {
        let rows = |table: &Table| Rows { table: *table, rows: BTreeMap::new(), by_name: HashMap::new() };
        Cache { tables: tables.iter().map(rows).collect() }
    }

    pub fn rows(&self, table: &str) -> impl Iterator<Item = (&str, &Row)> {
        self.table(table).into_iter().flat_map(|rows| &rows.rows).map(|(id, row)| (id.as_str(), row))
    }

    pub fn row(&self, table: &str, id: &str) -> Option<&Row> {
        self.table(table)?.rows.get(id)
    }

    /// The row whose column `name` is this; names are unique in all tables that have one.
    pub fn named(&self, table: &str, name: &str) -> Option<(&str, &Row)> {
        let rows = self.table(table)?;
        let (id, row) = rows.rows.get_key_value(rows.by_name.get(name)?)?;
        Some((id, row))
    }

    fn table(&self, name: &str) -> Option<&Rows> {
        self.tables.iter().find(|rows| rows.table.name == name)
    }

    /// Takes `<table-updates>` of RFC 7047 section 4.1.6: whole rows, old and new.
    ///
    /// # Errors
    /// When the update is not understood; the cache cannot be trusted any more.
    pub fn update(&mut self, updates: &Value) -> Result<Changes, UpdateError> {
        self.take(updates, |row| match row.get("new") {
            Some(Value::Object(new)) => Some(Step::Whole(new)),
            Some(Value::Null) | None => Some(Step::Gone),
            Some(_) => None,
        })
    }

    /// Takes `<table-updates2>` of ovsdb-server(7) section 4.1.14: what differs, columns at their default left out.
    ///
    /// # Errors
    /// As [`Cache::update`].
    pub fn update2(&mut self, updates: &Value) -> Result<Changes, UpdateError> {
        self.take(updates, |row| {
            let (kind, content) = row.iter().next()?;
            match (kind.as_str(), content) {
                ("initial" | "insert", Value::Object(new)) => Some(Step::Whole(new)),
                ("modify", Value::Object(difference)) => Some(Step::Difference(difference)),
                ("delete", _) => Some(Step::Gone),
                _ => None,
            }
        })
    }

    fn take<'a>(
        &mut self,
        updates: &'a Value,
        step: impl Fn(&'a Map<String, Value>) -> Option<Step<'a>>,
    ) -> Result<Changes, UpdateError> {
        let shape = |table: &str| UpdateError::Shape { table: table.to_owned() };
        let mut changes = Changes::default();
        for (table, rows) in updates.as_object().ok_or_else(|| shape("all"))? {
            // What nobody asked for is not kept.
            let Some(held) = self.tables.iter_mut().find(|rows| rows.table.name == table) else { continue };
            for (id, row) in rows.as_object().ok_or_else(|| shape(table))? {
                let step = row.as_object().and_then(&step).ok_or_else(|| shape(table))?;
                held.step(id, step, &mut changes)?;
                changes.rows.entry(held.table.name).or_default().insert(id.clone());
            }
        }
        Ok(changes)
    }
}

impl Rows {
    fn step(&mut self, id: &str, step: Step<'_>, changes: &mut Changes) -> Result<(), UpdateError> {
        match step {
            Step::Gone => self.replace(id, None, changes),
            Step::Whole(columns) => {
                let mut row = Row::default();
                for (column, value) in self.table.known(columns) {
                    row.0.insert(column, Datum::parse(value)?);
                }
                self.replace(id, Some(row), changes);
            }
            Step::Difference(columns) => self.modify(id, columns, changes)?,
        }
        Ok(())
    }

    fn replace(&mut self, id: &str, row: Option<Row>, changes: &mut Changes) {
        let name = row.as_ref().and_then(|row| row.text("name")).map(str::to_owned);
        let references = |row: Option<&Row>| -> BTreeSet<String> {
            row.into_iter().flat_map(|row| row.0.values()).flat_map(uuids).collect()
        };
        let after = references(row.as_ref());
        let old = match row {
            Some(row) => self.rows.insert(id.to_owned(), row),
            None => self.rows.remove(id),
        };
        let before = references(old.as_ref());
        changes.references.extend(before.symmetric_difference(&after).cloned());
        self.rename(id, old.as_ref().and_then(|row| row.text("name")), name);
    }

    fn modify(
        &mut self,
        id: &str,
        columns: &Map<String, Value>,
        changes: &mut Changes,
    ) -> Result<(), UpdateError> {
        let table = self.table;
        let unknown = || UpdateError::UnknownRow { table: table.name, id: id.to_owned() };
        let row = self.rows.get_mut(id).ok_or_else(unknown)?;
        let before = row.text("name").map(str::to_owned);
        for (column, value) in table.known(columns) {
            let datum = Datum::parse(value)?;
            changes.references.extend(uuids(&datum));
            let differs = matches!(datum, Datum::Map(_)) || table.sets.contains(&column);
            match row.0.get_mut(column) {
                Some(held) if differs => held.apply(datum),
                held => {
                    changes.references.extend(held.into_iter().flat_map(|held| uuids(held)));
                    row.0.insert(column, datum);
                }
            }
        }
        let after = row.text("name").map(str::to_owned);
        self.rename(id, before.as_deref(), after);
        Ok(())
    }

    fn rename(&mut self, id: &str, before: Option<&str>, after: Option<String>) {
        if before == after.as_deref() {
            return;
        }
        if let Some(before) = before
            && self.by_name.get(before).is_some_and(|holder| holder == id)
        {
            self.by_name.remove(before);
        }
        if let Some(after) = after {
            self.by_name.insert(after, id.to_owned());
        }
    }
}

impl Table {
    /// The monitored ones of some columns.
    fn known<'a>(
        self,
        columns: &'a Map<String, Value>,
    ) -> impl Iterator<Item = (&'static str, &'a Value)> + use<'a> {
        columns.iter().filter_map(move |(name, value)| {
            Some((*self.columns.iter().find(|column| *column == name)?, value))
        })
    }
}

fn uuids(datum: &Datum) -> Vec<String> {
    match datum {
        Datum::Set(set) => set.iter().filter_map(Atom::uuid).map(str::to_owned).collect(),
        Datum::Map(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ovsdb::{map, set, uuid};
    use serde_json::json;

    const TABLES: &[Table] =
        &[Table { name: "Bridge", columns: &["name", "ports", "external_ids", "ofport"], sets: &["ports"] }];

    fn reported() -> Cache {
        let mut cache = Cache::new(TABLES);
        let row = json!({"name": "br", "ports": set([uuid("p1"), uuid("p2")]), "external_ids": map([("a", "1")]), "secret": 7});
        let changes = cache
            .update2(&json!({"Bridge": {"b": {"initial": row}}, "Other": {"x": {"initial": {}}}}))
            .unwrap();
        assert_eq!(changes.rows("Bridge").collect::<Vec<_>>(), ["b"]);
        cache
    }

    #[test]
    fn differences_change_sets_and_maps_and_replace_scalars() {
        let mut cache = reported();
        let difference = json!({"ports": set([uuid("p2"), uuid("p3")]), "external_ids": map([("a", "1"), ("b", "2")]), "ofport": 7});
        let changes = cache.update2(&json!({"Bridge": {"b": {"modify": difference}}})).unwrap();
        assert_eq!(changes.references, BTreeSet::from(["p2".to_owned(), "p3".to_owned()]));
        let row = cache.row("Bridge", "b").unwrap();
        assert_eq!(row.references("ports").collect::<Vec<_>>(), ["p1", "p3"]);
        assert!(row.refers("ports", "p3") && !row.refers("ports", "p2"));
        assert_eq!((row.map("external_ids"), row.number("ofport")), (BTreeMap::from([("b", "2")]), Some(7)));
        cache.update2(&json!({"Bridge": {"b": {"modify": {"ofport": set([])}}}})).unwrap();
        assert_eq!(cache.row("Bridge", "b").and_then(|row| row.number("ofport")), None);
    }

    #[test]
    fn rows_are_found_by_name_and_gone_when_deleted() {
        let mut cache = reported();
        assert_eq!(cache.named("Bridge", "br").map(|(id, _)| id), Some("b"));
        // The same name in another row, in either order of the two.
        let swap = json!({"Bridge": {"a": {"insert": {"name": "br"}}, "b": {"delete": null}}});
        let changes = cache.update2(&swap).unwrap();
        assert_eq!(changes.references.len(), 2, "what the row referred to");
        assert_eq!(cache.named("Bridge", "br").map(|(id, _)| id), Some("a"));
        cache.update(&json!({"Bridge": {"a": {"old": {"name": "br"}, "new": {"name": "br2"}}}})).unwrap();
        assert!(cache.named("Bridge", "br").is_none() && cache.named("Bridge", "br2").is_some());
        cache.update(&json!({"Bridge": {"a": {"old": {"name": "br2"}}}})).unwrap();
        assert!(cache.named("Bridge", "br2").is_none() && cache.rows("Bridge").next().is_none());
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        for wrong in [
            json!(7),
            json!({"Bridge": 7}),
            json!({"Bridge": {"b": 7}}),
            json!({"Bridge": {"b": {}}}),
            json!({"Bridge": {"b": {"insert": {"ports": ["set", 1]}}}}),
            json!({"Bridge": {"unknown": {"modify": {}}}}),
        ] {
            assert!(reported().update2(&wrong).is_err(), "{wrong}");
        }
    }
}
