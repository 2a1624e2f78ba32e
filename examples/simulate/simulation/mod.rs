//! Runs the whole controller with a network around it, and says what that cost.

mod network;
#[path = "../../../crates/openflow-rs/tests/common/ovs.rs"]
mod ovs;
mod peer;
mod usage;
mod witness;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::Parser;
use coeus::app::{self, Controller, ServeOptions, Settings};
use coeus::net::Dpid;
use network::Network;
use peer::{Held, Peer};
use witness::Witness;

/// The network, and how it is written.
#[derive(Clone, Debug, Parser)]
#[command(about = "Runs the controller with a simulated network in one process, and prints what it costs")]
pub struct Options {
    /// Nodes, each with one switch
    #[arg(long, default_value_t = 1000)]
    pub switches: u32,
    /// Pods, spread evenly
    #[arg(long, default_value_t = 100_000)]
    pub pods: u32,
    /// Namespaces [default: one for each 100 pods]
    #[arg(long)]
    pub namespaces: Option<u32>,
    /// Nodes that a namespace has pods on
    #[arg(long, default_value_t = 10)]
    pub spread: u32,
    /// Switches that are real: Open vSwitch with a dummy datapath (needs root and openvswitch-switch)
    #[arg(long, default_value_t = 3)]
    pub witnesses: u32,
    /// Pods of one transaction
    #[arg(long, default_value_t = 1000)]
    pub batch: u32,
    /// Pods that are added one by one at the end
    #[arg(long, default_value_t = 200)]
    pub more: u32,
    /// Seconds that a step may take
    #[arg(long, default_value_t = 1800)]
    pub patience: u64,
}

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
    pub memory: u64,
    pub memory_at_most: u64,
    pub memory_before_pods: u64,
    /// Of each pod that was added by itself: time, switches that were sent something, flow-mods, group-mods.
    pub single: Vec<(Duration, usize, u64, u64)>,
    pub compared_lines: usize,
}

/// # Errors
/// What did not come about, or differs from what is desired.
pub fn run(options: &Options) -> Result<Report, String> {
    let namespaces = options.namespaces.unwrap_or(options.pods / 100).max(1);
    let spread = options.spread.clamp(1, options.switches);
    let network = Network { switches: options.switches, namespaces, spread };
    app::allow_many_files();
    let runtime = tokio::runtime::Runtime::new().map_err(text)?;
    let apart = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name(usage::PEERS)
        .enable_all()
        .build()
        .map_err(text)?;
    let folder = tempfile::tempdir().map_err(text)?;
    let settings = Settings::from(
        ServeOptions {
            data_dir: Some(folder.path().to_owned()),
            restconf: Some("127.0.0.1:0".into()),
            openflow: Some("127.0.0.1:0".into()),
            ovsdb: Some("127.0.0.1:0".into()),
            ..ServeOptions::default()
        },
        Some("simulation".into()),
    );
    let controller = runtime.block_on(app::start(&settings.map_err(text)?)).map_err(text)?;
    let mut fleet = Fleet {
        network,
        controller,
        runtime,
        apart,
        peers: BTreeMap::new(),
        witnesses: Vec::new(),
        patience: Duration::from_secs(options.patience),
    };
    fleet.connect(options.witnesses);
    let report = fleet.measure(options);
    let Fleet { controller, runtime, apart, .. } = fleet;
    apart.shutdown_background();
    runtime.block_on(controller.stop());
    report
}

fn text(error: impl fmt::Display) -> String {
    error.to_string()
}

/// The controller and its switches.
struct Fleet {
    network: Network,
    controller: Controller,
    runtime: tokio::runtime::Runtime,
    /// Runs the simulated switches on a thread of their own.
    apart: tokio::runtime::Runtime,
    peers: BTreeMap<Dpid, Arc<Peer>>,
    witnesses: Vec<Witness>,
    patience: Duration,
}

impl Fleet {
    /// The first switches are the real ones.
    fn connect(&mut self, witnesses: u32) {
        let controller = self.controller.openflow;
        for node in 0..self.network.switches {
            let dpid = Network::dpid(node);
            if node < witnesses {
                self.witnesses.push(Witness::start(dpid, controller));
                continue;
            }
            let peer = Arc::new(Peer::default());
            self.peers.insert(dpid, peer.clone());
            self.apart.spawn(peer.run(dpid, controller));
        }
    }

    fn measure(&self, options: &Options) -> Result<Report, String> {
        let Network { switches, namespaces, spread } = self.network;
        let mut report = Report { switches, pods: options.pods, namespaces, spread, ..Report::default() };
        // The number of each pod on its node, counted up.
        let mut on_node = vec![0_u32; switches as usize];
        let mut ports: Vec<Vec<(u32, u32)>> = vec![Vec::new(); switches as usize];
        let numbered: Vec<(u32, u32)> = (0..options.pods + options.more)
            .map(|pod| {
                let node = self.network.place(pod).node as usize;
                on_node[node] += 1;
                ports[node].push((pod, on_node[node] - 1));
                (pod, on_node[node] - 1)
            })
            .collect();
        if on_node.iter().any(|count| *count > 250) {
            return Err("a node has room for 250 pods in its /24; take fewer pods or more switches".into());
        }
        let begin = Instant::now();
        self.commit(self.network.nodes())?;
        for (node, ports) in (0..).zip(&ports) {
            self.commit(self.network.switch(node, ports))?;
        }
        self.settle()?;
        report.joined = begin.elapsed();
        report.memory_before_pods = usage::memory("VmRSS");

        let (cpu_of_switches, cpu) = usage::cpu();
        let (flow_mods, group_mods, bytes) = self.sent();
        let begin = Instant::now();
        let (bulk, single) = numbered.split_at(options.pods as usize);
        for pods in bulk.chunks(options.batch.max(1) as usize) {
            self.commit(self.network.pods(pods))?;
        }
        self.settle()?;
        report.converged = begin.elapsed();
        let sent = self.sent();
        (report.flow_mods, report.group_mods, report.bytes) =
            (sent.0 - flow_mods, sent.1 - group_mods, sent.2 - bytes);
        let now = usage::cpu();
        (report.cpu_of_switches, report.cpu) = (now.0 - cpu_of_switches, now.1 - cpu);
        report.memory = usage::memory("VmRSS");

        for pod in single {
            let before: Vec<_> = self.peers.values().map(|peer| peer.mods()).collect();
            let transaction = self.network.pods(&[*pod]);
            let begin = Instant::now();
            self.commit(transaction)?;
            self.wait([Network::dpid(self.network.place(pod.0).node)].into_iter())?;
            let took = begin.elapsed();
            self.settle()?;
            let after = self.peers.values().map(|peer| peer.mods());
            let more: Vec<_> =
                before.iter().zip(after).map(|(old, new)| (new.0 - old.0, new.1 - old.1)).collect();
            let touched = more.iter().filter(|more| **more != (0, 0)).count();
            let sum = |part: fn(&(u64, u64)) -> u64| more.iter().map(part).sum();
            report.single.push((took, touched, sum(|more| more.0), sum(|more| more.1)));
        }
        report.memory_at_most = usage::memory("VmHWM");
        self.compare(&mut report)?;
        Ok(report)
    }

    fn commit(&self, transaction: coeus::datastore::Transaction) -> Result<(), String> {
        self.controller.datastore.commit_blocking(transaction).map(drop).map_err(text)
    }

    fn dpids(&self) -> impl Iterator<Item = Dpid> {
        self.peers.keys().copied().chain(self.witnesses.iter().map(|witness| witness.dpid))
    }

    /// Waits until every switch has confirmed all that is desired of it.
    fn settle(&self) -> Result<(), String> {
        self.wait(self.dpids())
    }

    fn wait(&self, switches: impl Iterator<Item = Dpid>) -> Result<(), String> {
        let programmers = &self.controller.programmers;
        let all = async {
            for dpid in switches {
                let mut confirmed = programmers.confirmed(dpid);
                while *confirmed.borrow_and_update() == 0 || programmers.pending(dpid) {
                    if confirmed.changed().await.is_err() {
                        return Err(dpid);
                    }
                }
            }
            Ok(())
        };
        let in_time = async { tokio::time::timeout(self.patience, all).await };
        match self.runtime.block_on(in_time) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(dpid)) => Err(format!("switch {dpid} is gone")),
            Err(_) => {
                let late = self.dpids().filter(|dpid| programmers.pending(*dpid)).count();
                Err(format!("{late} switches were not programmed within {:?}", self.patience))
            }
        }
    }

    /// Flow-mods and group-mods to all switches, and bytes to the simulated ones, so far.
    fn sent(&self) -> (u64, u64, u64) {
        let status = self.dpids().map(|dpid| self.controller.programmers.status(dpid));
        let (flows, groups) =
            status.fold((0, 0), |sum, status| (sum.0 + status.flow_mods, sum.1 + status.group_mods));
        (flows, groups, self.peers.values().map(|peer| peer.sent.bytes.load(Ordering::Relaxed)).sum())
    }

    /// Every switch holds exactly what is desired: the simulated by digests, the real ones line by line.
    fn compare(&self, report: &mut Report) -> Result<(), String> {
        let programmers = &self.controller.programmers;
        for (dpid, peer) in &self.peers {
            let wanted = Held::of(&programmers.desired(*dpid));
            report.held += wanted.count();
            let unread = peer.sent.unread.load(Ordering::Relaxed);
            if !peer.holds(&wanted) || unread > 0 {
                return Err(format!(
                    "switch {dpid} does not hold what is desired ({unread} messages unread)"
                ));
            }
        }
        for witness in &self.witnesses {
            let wanted = programmers.desired(witness.dpid);
            report.held += wanted.flows.len() + wanted.groups.len() + wanted.meters.len();
            report.compared_lines += witness.compare(&wanted)?;
        }
        let refused = self.dpids().map(|dpid| programmers.status(dpid).failures.len()).sum::<usize>();
        if refused > 0 { Err(format!("{refused} things were refused")) } else { Ok(()) }
    }
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
