//! The controller and its switches, and what is asked of them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use super::Options;
use super::network::Network;
use super::peer::{Held, Peer};
use super::report::Report;
use super::usage;
use super::witness::Witness;
use crate::app::Controller;
use crate::datastore::Transaction;
use crate::net::Dpid;

pub(super) fn text(error: impl fmt::Display) -> String {
    error.to_string()
}

/// The controller and its switches.
pub(super) struct Fleet {
    network: Network,
    controller: Controller,
    runtime: Runtime,
    /// Runs the simulated switches on a thread of their own.
    apart: Runtime,
    peers: BTreeMap<Dpid, Arc<Peer>>,
    witnesses: Vec<Witness>,
    patience: Duration,
}

impl Fleet {
    pub fn new(
        network: Network,
        controller: Controller,
        runtime: Runtime,
        apart: Runtime,
        patience: Duration,
    ) -> Fleet {
        Fleet { network, controller, runtime, apart, peers: BTreeMap::new(), witnesses: Vec::new(), patience }
    }

    pub fn stop(self) {
        self.apart.shutdown_background();
        self.runtime.block_on(self.controller.stop());
    }

    /// The first switches are the real ones.
    ///
    /// # Errors
    /// When one of those does not start.
    pub fn connect(&mut self, witnesses: u32) -> Result<(), String> {
        let controller = self.controller.openflow;
        for node in 0..self.network.switches {
            let dpid = Network::dpid(node);
            if node < witnesses {
                self.witnesses.push(Witness::start(dpid, controller)?);
                continue;
            }
            let peer = Arc::new(Peer::default());
            self.peers.insert(dpid, peer.clone());
            self.apart.spawn(peer.run(dpid, controller));
        }
        Ok(())
    }

    /// # Errors
    /// What did not come about, or differs from what is desired.
    pub fn measure(&self, options: &Options) -> Result<Report, String> {
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
        if options.idle > 0 {
            let quiet = Duration::from_secs(options.idle);
            // What is free goes back to the system meanwhile, and is not counted.
            std::thread::sleep(quiet / 2);
            let before = usage::cpu().1;
            std::thread::sleep(quiet / 2);
            report.idle = Some((usage::cpu().1 - before).as_secs_f64() / (quiet / 2).as_secs_f64());
        }
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

    fn commit(&self, transaction: Transaction) -> Result<(), String> {
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
