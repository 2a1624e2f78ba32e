//! What Linux says of a process in `/proc/PID/status` (proc(5)).

/// The number of a field, in the unit of the file: kilobytes of memory. Zero where it is not there.
pub fn field(status: &str, name: &str) -> u64 {
    let rest = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    rest.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let status = "Name:\tcoeus\nVmHWM:\t  5124 kB\nVmRSS:\t  4096 kB\nThreads:\t7\n";
        for (name, number) in [("VmRSS", 4096), ("VmHWM", 5124), ("Threads", 7), ("Vm", 0), ("Name", 0)] {
            assert_eq!(field(status, name), number, "{name}");
        }
    }
}
