//! What the database of a switch sends, decoded and in a session.
#![no_main]

#[path = "../../tests/hostile/mod.rs"]
mod hostile;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hostile::ovsdb::take(bytes));
