//! What a run is told by: a line for each checkpoint, and whether the process grew.

use std::time::Duration;

use crate::cli::Table;

/// What a process uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Used {
    /// Resident memory in KiB.
    pub memory: u64,
    pub descriptors: u64,
    pub threads: u64,
}

/// A checkpoint, at which the switches were right.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Since the run began.
    pub at: Duration,
    /// Since the controller was started.
    pub life: Duration,
    pub writes: u64,
    /// Flows, groups and meters of all switches.
    pub flows: usize,
    pub used: Used,
}

#[derive(Debug, Default)]
pub struct Figures {
    samples: Vec<Sample>,
    pub restarts: u32,
}

/// Something that may grow: its name, how much there is, and what is no growth besides a quarter.
type Kind = (&'static str, fn(&Used) -> u64, u64);

const KINDS: [Kind; 3] = [
    ("memory in KiB", |used| used.memory, 16 << 10),
    ("descriptors", |used| used.descriptors, 8),
    ("threads", |used| used.threads, 8),
];

impl Figures {
    pub fn add(&mut self, sample: Sample) {
        self.samples.push(sample);
    }

    pub fn table(&self) -> String {
        let mut table =
            Table::new(["SECONDS", "LIFE", "WRITES", "FLOWS", "MEMORY-KIB", "DESCRIPTORS", "THREADS"]);
        for sample in &self.samples {
            let used = sample.used;
            table.row([
                sample.at.as_secs().to_string(),
                sample.life.as_secs().to_string(),
                sample.writes.to_string(),
                sample.flows.to_string(),
                used.memory.to_string(),
                used.descriptors.to_string(),
                used.threads.to_string(),
            ]);
        }
        let verdict = self.growth().unwrap_or_else(|| "flat".into());
        let count = self.samples.len();
        format!("{}{count} checkpoints, {} restarts, {verdict}\n", table.render(), self.restarts)
    }

    /// What grew from the first third of the checkpoints to the last by more than a quarter and what is allowed besides.
    pub fn growth(&self) -> Option<String> {
        let third = self.samples.len() / 3;
        if third == 0 {
            return None;
        }
        let (first, last) = (&self.samples[..third], &self.samples[self.samples.len() - third..]);
        let grown = KINDS.iter().filter_map(|(name, read, allowed)| {
            let (before, after) = (middle(first, *read), middle(last, *read));
            (after > before + before / 4 + allowed).then(|| format!("{name} from {before} to {after}"))
        });
        let grown: Vec<_> = grown.collect();
        (!grown.is_empty()).then(|| grown.join(", "))
    }
}

fn middle(samples: &[Sample], read: fn(&Used) -> u64) -> u64 {
    let mut values: Vec<u64> = samples.iter().map(|sample| read(&sample.used)).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(memory: impl Fn(u64) -> u64) -> Figures {
        let sample = |at| Sample {
            at: Duration::from_secs(at),
            life: Duration::from_secs(at),
            writes: at,
            flows: 10,
            used: Used { memory: memory(at), descriptors: 30, threads: 9 },
        };
        Figures { samples: (0..30).map(sample).collect(), restarts: 0 }
    }

    #[test]
    fn growth_is_what_stays_not_what_comes_and_goes() {
        assert_eq!(of(|_| 50_000).growth(), None);
        assert_eq!(of(|at| if at % 7 == 0 { 200_000 } else { 50_000 }).growth(), None, "a peak now and then");
        let grown = of(|at| 50_000 + at * 3_000).growth();
        assert_eq!(grown.as_deref(), Some("memory in KiB from 65000 to 125000"));
        assert!(
            of(|at| 50_000 + at * 3_000).table().contains("30 checkpoints, 0 restarts, memory in KiB from")
        );
    }

    #[test]
    fn too_few_checkpoints_say_nothing() {
        assert_eq!(
            Figures { samples: of(|at| at * 1_000_000).samples[..2].to_vec(), restarts: 0 }.growth(),
            None
        );
    }
}
