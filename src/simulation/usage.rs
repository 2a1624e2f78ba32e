//! What this process has used so far, from /proc.

use std::time::Duration;

use crate::soak::status_field;

/// Threads of the simulated switches have this name.
pub const PEERS: &str = "peers";

/// CPU time of the threads of the switches, and of all others.
pub fn cpu() -> (Duration, Duration) {
    let (mut peers, mut others) = (0, 0);
    for thread in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let text = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        let Some((head, rest)) = text.rsplit_once(')') else { continue };
        // utime and stime are fields 14 and 15 of proc(5); the state is field 3.
        let ticks: u64 =
            rest.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
        if head.ends_with(PEERS) { peers += ticks } else { others += ticks }
    }
    (Duration::from_millis(peers * 10), Duration::from_millis(others * 10))
}

/// A line of /proc/self/status in bytes: `VmRSS`, `VmHWM`.
pub fn memory(line: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status_field(&text, line) * 1024
}
