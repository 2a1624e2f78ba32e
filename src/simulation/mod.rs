//! `coeus sim`: how the controller bears a large network.
//!
//! One process holds the whole controller and its switches. They speak real OpenFlow over the loopback interface, through the same
//! sessions and programmers as any switch, and keep a digest of what they are told; the first few are real Open vSwitch. What a
//! switch's database would tell (its address, its ports) is committed as the OVSDB session commits it. At the end every
//! switch is compared with what is desired of it.

mod fleet;
mod network;
mod peer;
mod report;
pub(crate) mod switch;
mod usage;
mod witness;

use std::time::Duration;

use clap::Args;

use crate::app::{self, ServeOptions, Settings};
use fleet::{Fleet, text};
use network::Network;
pub use report::Report;

/// The network, and how it is written.
#[derive(Clone, Debug, Args)]
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
    /// Seconds in which nothing happens, for what that costs
    #[arg(long, default_value_t = 10)]
    pub idle: u64,
    /// Seconds that a step may take
    #[arg(long, default_value_t = 1800)]
    pub patience: u64,
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
            // A digest cannot be read back.
            audit_seconds: Some(0),
            ..ServeOptions::default()
        },
        Some("simulation".into()),
    );
    let controller = runtime.block_on(app::start(&settings.map_err(text)?)).map_err(text)?;
    let mut fleet = Fleet::new(network, controller, runtime, apart, Duration::from_secs(options.patience));
    let report = fleet.connect(options.witnesses).and_then(|()| fleet.measure(options));
    fleet.stop();
    report
}
