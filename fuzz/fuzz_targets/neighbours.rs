//! ARP, neighbour and router discovery, and other packets that switches hand over.
#![no_main]

#[path = "../../tests/hostile/mod.rs"]
mod hostile;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hostile::frames::neighbours(bytes));
