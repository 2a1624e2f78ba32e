//! What the system knows of this process, under the names that all Prometheus clients use.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

/// Reads `/proc/self` when it is asked; a number that is not there is left out.
#[derive(Debug)]
pub struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let Some(found) = read() else { return Ok(()) };
        let memory = ConstGauge::new(found.resident as i64);
        let metric = encoder.encode_descriptor(
            "process_resident_memory",
            "Resident memory size in bytes",
            Some(&Unit::Bytes),
            memory.metric_type(),
        )?;
        memory.encode(metric)?;
        let cpu = ConstCounter::new(found.cpu);
        let metric = encoder.encode_descriptor(
            "process_cpu",
            "User and system CPU time spent in seconds",
            Some(&Unit::Seconds),
            cpu.metric_type(),
        )?;
        cpu.encode(metric)?;
        let threads = ConstGauge::new(found.threads);
        let metric = encoder.encode_descriptor("process_threads", "Threads", None, threads.metric_type())?;
        threads.encode(metric)
    }
}

struct Found {
    /// Bytes.
    resident: u64,
    /// Seconds.
    cpu: f64,
    threads: i64,
}

/// Fields of `/proc/self/stat` behind the name, which may hold anything. Source: proc(5); the first of them is number 3.
fn read() -> Option<Found> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let ticks = rustix::param::clock_ticks_per_second() as f64;
    Some(Found {
        resident: field(24)? * rustix::param::page_size() as u64,
        cpu: (field(14)? + field(15)?) as f64 / ticks,
        threads: field(20)? as i64,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_process_has_memory_and_threads() {
        let found = super::read().unwrap();
        assert!(found.resident > 1 << 20 && found.threads >= 1, "{} {}", found.resident, found.threads);
    }
}
