//! The tables and registers of `pipelines/netvirt.toml`.

use std::marker::PhantomData;

use super::owner::owners;

/// A table; `O` is the feature that may write into it.
pub struct Table<O> {
    id: u8,
    owner: PhantomData<O>,
}

impl<O> Clone for Table<O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<O> Copy for Table<O> {}

impl<O> Table<O> {
    const fn new(id: u8) -> Self {
        Table { id, owner: PhantomData }
    }

    pub const fn id(self) -> u8 {
        self.id
    }

    pub fn row(self) -> &'static Row {
        row(self.id).expect("every table constant comes from a row")
    }
}

impl Table<owners::Pipeline> {
    /// Any table, as the pipeline itself writes into it: the miss only.
    pub(super) const fn of_pipeline(id: u8) -> Self {
        Table::new(id)
    }
}

/// One `[[table]]` of the pipeline file.
#[derive(Debug)]
pub struct Row {
    pub id: u8,
    pub name: &'static str,
    pub title: &'static str,
    pub owner: &'static str,
    pub purpose: &'static str,
    pub matches: &'static [&'static str],
    pub set: &'static [&'static str],
    pub next: &'static [&'static str],
    pub miss: &'static str,
    pub cookie: u32,
}

/// One `[[register]]`: some bits of metadata or of a register.
#[derive(Debug)]
pub struct Register {
    pub name: &'static str,
    pub low: u8,
    pub width: u8,
    pub purpose: &'static str,
}

impl Register {
    /// The register's bits in place.
    pub fn mask(&self) -> u64 {
        ((1 << self.width) - 1) << self.low
    }
}

/// The row of a table number.
pub fn row(id: u8) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.id == id)
}

pub(super) fn row_named(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

include!(concat!(env!("OUT_DIR"), "/tables.rs"));
