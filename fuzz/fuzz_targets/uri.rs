//! Resource identifiers of both roots, instance-identifiers, and conditions of pages.
#![no_main]

#[path = "../../tests/hostile/mod.rs"]
mod hostile;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hostile::requests::uri(bytes));
