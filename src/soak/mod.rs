//! `coeus soak`: a controller of its own, real switches, and random pods, services, policies and restarts for a time. At each checkpoint the
//! switches are compared with what follows from the data alone, and the process's memory, descriptors and threads are written down.
//!
//! `world` draws the writes and is pure, and so is `figures`, which says whether the process grows; `process` is the controller, `oracle` the
//! comparison, `status` reads what the system says of a process.

mod figures;
mod oracle;
mod process;
mod status;
mod world;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::cli;
use figures::{Figures, Sample};
use oracle::Switch;
pub use oracle::computed;
use process::Process;
pub(crate) use status::field as status_field;
use world::World;

/// How long a switch may take until it holds what it should.
const SETTLING: Duration = Duration::from_secs(20);

/// Command line of `coeus soak`.
#[derive(clap::Args, Debug, Clone)]
#[command(
    after_help = "Switches connect by themselves to the controller that is started here, and have ports whose iface-id is soak:NODE-PORT, both from 0 on, in the order of --switch."
)]
pub struct Soak {
    /// How long, in seconds
    #[arg(long, default_value = "60")]
    seconds: u64,
    /// Repeats a run; drawn if absent
    #[arg(long, env = "COEUS_SEED")]
    seed: Option<u64>,
    /// An empty or new folder for the controller's data
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    /// A node's address, and the management socket of its integration bridge, such as 192.0.2.1=/run/openvswitch/br-int.mgmt
    #[arg(long = "switch", value_name = "ADDRESS=SOCKET", required = true)]
    switches: Vec<Switch>,
    /// Ports of each switch
    #[arg(long, default_value = "20")]
    ports: u32,
    /// Seconds between two checkpoints
    #[arg(long, default_value = "10")]
    every: u64,
    /// The controller is stopped or killed, and started again, after so many checkpoints; 0: never
    #[arg(long, default_value = "3")]
    restart_after: u32,
    /// Writes a second at most
    #[arg(long, default_value = "50")]
    rate: u32,
    /// Port on 127.0.0.1 where the controller is asked
    #[arg(long, default_value = "8180")]
    port: u16,
    /// More words of `coeus serve`
    #[arg(last = true)]
    serve: Vec<String>,
}

/// Why a run ended early, or what it found.
#[derive(Debug, thiserror::Error)]
pub enum SoakError {
    #[error("{0} is not ADDRESS=SOCKET")]
    Switch(String),
    #[error("{what}: {error}")]
    Io { what: String, error: std::io::Error },
    #[error(transparent)]
    Client(#[from] cli::Failure),
    #[error("{what} is answered with {status}: {said}")]
    Refused { what: String, status: u16, said: String },
    #[error("the controller ended by itself ({0}); its log is {1}")]
    Ended(std::process::ExitStatus, PathBuf),
    #[error("the controller is not ready after {0} s; its log is {1}")]
    NotReady(u64, PathBuf),
    #[error("what follows from the data cannot be computed: {0}")]
    Oracle(String),
    #[error("ovs-ofctl of {socket}: {said}")]
    Switches { socket: String, said: String },
    #[error("{address} differs from what follows from the data:\nmissing\n{missing}\nextra\n{extra}")]
    Differs { address: String, missing: String, extra: String },
    #[error("after a restart, {0} messages were sent to switches that were right")]
    Sent(u64),
    #[error("the process grows: {0}")]
    Grows(String),
}

impl SoakError {
    fn io(what: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> SoakError {
        move |error| SoakError::Io { what: what.to_string(), error }
    }
}

/// Runs, and prints the figures at the end, also of a run that fails.
///
/// # Errors
/// When a switch is not as it should be, when the process grows, and when something does not work at all.
pub fn run(asked: &Soak) -> Result<(), SoakError> {
    let seed = asked.seed.unwrap_or_else(rand::random);
    println!("COEUS_SEED={seed}");
    let mut figures = Figures::default();
    let outcome = soak(asked, seed, &mut figures);
    print!("{}", figures.table());
    outcome?;
    figures.growth().map_or(Ok(()), |grown| Err(SoakError::Grows(grown)))
}

fn soak(asked: &Soak, seed: u64, figures: &mut Figures) -> Result<(), SoakError> {
    let begin = Instant::now();
    let end = begin + Duration::from_secs(asked.seconds);
    let mut process = Process::start(&asked.data_dir, asked.port, &asked.serve)?;
    let addresses: Vec<String> = asked.switches.iter().map(|switch| switch.address.clone()).collect();
    let mut world = World::new(seed, &addresses, asked.ports);
    for write in world.nodes() {
        process.write(&write)?;
    }
    let pace = Duration::from_secs(1) / asked.rate.max(1);
    let (mut writes, mut since_restart) = (0_u64, 0);
    loop {
        let checkpoint = (Instant::now() + Duration::from_secs(asked.every.max(1))).min(end);
        while Instant::now() < checkpoint {
            let next = Instant::now() + pace;
            for write in world.step() {
                process.write(&write)?;
                writes += 1;
            }
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
        }
        let flows = oracle::compare(&asked.data_dir, &asked.switches, SETTLING)?;
        figures.add(Sample {
            at: begin.elapsed(),
            life: process.life(),
            writes,
            flows,
            used: process.used()?,
        });
        if Instant::now() >= end {
            return process.stop();
        }
        since_restart += 1;
        if since_restart == asked.restart_after {
            since_restart = 0;
            figures.restarts += 1;
            process.restart(world.heads())?;
            process.sent(asked.switches.len())?;
        }
    }
}
