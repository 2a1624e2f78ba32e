//! `cargo run --release --example simulate -- --switches 1000 --pods 100000`: how the controller bears a large network.
//!
//! One process holds the whole controller and its switches. They speak real OpenFlow over the loopback interface, through the same
//! sessions and programmers as any switch, and keep a digest of what they are told; the first few are real Open vSwitch. What a
//! switch's database would tell (its address, its ports) is committed as the OVSDB session commits it. At the end every
//! switch is compared with what is desired of it.
#![allow(clippy::unwrap_used, reason = "the switches of tests panic where they cannot start")]

mod simulation;

use std::process::ExitCode;

use clap::Parser;

/// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    match simulation::run(&simulation::Options::parse()) {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("simulate: {reason}");
            ExitCode::FAILURE
        }
    }
}
