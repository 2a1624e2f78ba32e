//! What a simulation cost.

use std::fmt;
use std::time::Duration;

/// What a run cost.
#[derive(Debug, Default)]
pub struct Report {
    pub switches: u32,
    pub pods: u32,
    pub namespaces: u32,
    pub spread: u32,
    /// Facts of all switches and ports to the last confirmation.
    pub joined: Duration,
    /// First transaction of pods to the last confirmation.
    pub converged: Duration,
    pub flow_mods: u64,
    pub group_mods: u64,
    pub bytes: u64,
    /// Things that all switches hold at the end.
    pub held: usize,
    pub cpu: Duration,
    pub cpu_of_switches: Duration,
    /// Share of a core that the controller takes while nothing happens.
    pub idle: Option<f64>,
    pub memory: u64,
    pub memory_at_most: u64,
    pub memory_before_pods: u64,
    /// Of each pod that was added by itself: time, switches that were sent something, flow-mods, group-mods.
    pub single: Vec<(Duration, usize, u64, u64)>,
    pub compared_lines: usize,
}

impl Report {
    /// The `share`th part of the times of pods that were added one by one.
    fn time(&self, share: f64) -> Duration {
        let mut times: Vec<Duration> = self.single.iter().map(|one| one.0).collect();
        times.sort();
        let at = (times.len() as f64 * share) as usize;
        times.get(at.min(times.len().saturating_sub(1))).copied().unwrap_or_default()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pods = f64::from(self.pods.max(1));
        let per_pod = |count: u64| count as f64 / pods;
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        writeln!(f, "| what | {} switches, {} pods |\n|---|---|", self.switches, self.pods)?;
        writeln!(f, "| namespaces, nodes of each | {}, {} |", self.namespaces, self.spread)?;
        writeln!(
            f,
            "| switches and ports known, base flows confirmed | {:.1} s |",
            self.joined.as_secs_f64()
        )?;
        writeln!(
            f,
            "| all pods: first transaction to the last confirmation | {:.1} s |",
            self.converged.as_secs_f64()
        )?;
        let cpu = (self.cpu.as_secs_f64(), self.cpu_of_switches.as_secs_f64());
        writeln!(f, "| CPU: controller, simulated switches | {:.1} s, {:.1} s |", cpu.0, cpu.1)?;
        if let Some(share) = self.idle {
            writeln!(
                f,
                "| CPU of the controller while nothing happens | {:.2} % of a core |",
                100.0 * share
            )?;
        }
        writeln!(
            f,
            "| flow-mods, group-mods a pod | {:.1}, {:.1} |",
            per_pod(self.flow_mods),
            per_pod(self.group_mods)
        )?;
        writeln!(f, "| bytes a pod, all switches together | {:.0} |", per_pod(self.bytes))?;
        writeln!(f, "| flows, groups and meters held | {} |", self.held)?;
        let (now, most) = (mib(self.memory), mib(self.memory_at_most));
        writeln!(
            f,
            "| memory of the process: before pods, with them, at most | {:.0}, {now:.0}, {most:.0} MiB |",
            mib(self.memory_before_pods)
        )?;
        if !self.single.is_empty() {
            let (median, late) = (self.time(0.5).as_secs_f64() * 1e3, self.time(0.99).as_secs_f64() * 1e3);
            writeln!(
                f,
                "| one pod more, transaction to confirmation: p50, p99 | {median:.2} ms, {late:.2} ms |"
            )?;
            let most = |part: fn(&(Duration, usize, u64, u64)) -> u64| {
                self.single.iter().map(part).max().unwrap_or(0)
            };
            let (switches, flows, groups) = (most(|one| one.1 as u64), most(|one| one.2), most(|one| one.3));
            writeln!(
                f,
                "| one pod more, at most: switches, flow-mods, group-mods | {switches}, {flows}, {groups} |"
            )?;
        }
        write!(f, "| lines that Open vSwitch holds as desired | {} |", self.compared_lines)
    }
}
