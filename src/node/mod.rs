//! The node agent: makes and removes the interfaces of containers, as the CNI plugin `coeus-cni` hands it the runtime's calls.
//!
//! ```text
//! runtime ─ exec ─ coeus-cni ─ unix socket ─ agent ─┬─ RESTCONF ─ controller    the pod's entry, its addresses, whether it is programmed
//!                                                   ├─ OVSDB ──── Open vSwitch  the port
//!                                                   └─ rtnetlink ─ kernel       the pair of devices, addresses, routes
//! ```
//! Everything that is made stands in a record before it is made (`record`), and one function takes a record down: DEL, a failed
//! ADD, GC and the start all use it. Plain threads, one a call; nothing here waits for time to pass but where somebody else
//! has to act.

mod add;
mod addresses;
mod announce;
mod asks;
mod busy;
mod check;
mod datastore;
mod entry;
mod examine;
mod ipam;
mod layout;
mod link;
mod namespace;
mod netlink;
mod offload;
mod plug;
mod program;
mod ready;
mod record;
mod remove;
mod rules;
mod server;
mod switch;
mod target;
mod trunk;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use coeus_cni::{Answer, Call, Code, Command, Error, Request, SUPPORTED, Version};
use serde_json::Value;

use busy::{Busy, Turn};
pub use datastore::{Controller, Trouble};
use datastore::{Datastore, USUAL_MTU};
pub use examine::{Finding, Folders, Found, node as examine};
use ready::Pool;
use record::Records;
use switch::Switch;
pub use trunk::Trunk;

/// How the agent is set up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the plugin finds it.
    pub socket: PathBuf,
    /// The unix socket of the node's OVSDB.
    pub ovsdb: PathBuf,
    /// The bridge of pods, unless a configuration names one.
    pub bridge: String,
    /// The node's address in entries of pods; otherwise `other_config:local_ip` of the switch.
    pub address: Option<IpAddr>,
    pub state: PathBuf,
    /// The node is a virtual machine, and its pods share its port.
    pub trunk: Option<Trunk>,
    /// So many ports are made before containers ask for them,
    pub ready_ports: usize,
    /// once the node has so many attachments.
    pub ready_from: usize,
}

/// Whoever works on a container longer is stuck.
const TURN: Duration = Duration::from_secs(100);

/// The agent of a node.
struct Agent {
    settings: Settings,
    datastore: Datastore,
    switch: Switch,
    records: Records,
    busy: Busy,
    ready: Pool,
    /// The MTU of the last attachment: what the next one probably has.
    usual_mtu: AtomicU32,
    /// Held while the rules of host ports are made what they are to be.
    ruling: Mutex<()>,
    /// Addresses chosen here.
    chosen: Mutex<BTreeSet<IpAddr>>,
    /// The VLAN that was given out last.
    last_tag: Mutex<u16>,
}

/// Serves until the process is stopped. `ready` is called once calls are taken.
///
/// # Errors
/// When it cannot start.
pub fn run(settings: Settings, controller: Box<dyn Controller>, ready: impl FnOnce()) -> std::io::Result<()> {
    let _only = server::only_one(&settings.state)?;
    let listener = server::listen(&settings.socket)?;
    let records = Records::open(&settings.state.join("attachments"))?;
    let chosen =
        records.all().into_iter().filter(|record| record.is_chosen).flat_map(|record| record.addresses);
    let last_tag = records.all().into_iter().filter_map(|record| record.tag).max().unwrap_or_default();
    let agent = Agent {
        last_tag: Mutex::new(last_tag),
        datastore: Datastore { controller },
        switch: Switch { socket: settings.ovsdb.clone() },
        chosen: Mutex::new(chosen.collect()),
        busy: Busy::default(),
        ruling: Mutex::default(),
        ready: Pool::new(settings.ready_number(), settings.ready_from, settings.owner()),
        usual_mtu: AtomicU32::new(USUAL_MTU),
        records,
        settings,
    };
    ready();
    server::serve(&agent, &listener)
}

impl Settings {
    /// What marks ports as made ready by the agent with these records.
    fn owner(&self) -> String {
        self.state.display().to_string()
    }

    /// In a machine there are none: its ports have VLANs, or are none of a switch.
    fn ready_number(&self) -> usize {
        if self.trunk.is_some() { 0 } else { self.ready_ports }
    }
}

impl Agent {
    fn answer(&self, call: &Call) -> Answer {
        let newest = SUPPORTED[SUPPORTED.len() - 1].name();
        let asked = call.peek("cniVersion").unwrap_or_else(|| newest.into());
        match self.carry_out(call, &asked) {
            Ok(output) => Answer::done(&output),
            Err(error) => {
                tracing::warn!(
                    "{} of {} {}: {error}",
                    call.variable("CNI_COMMAND").unwrap_or("a call"),
                    call.variable("CNI_CONTAINERID").unwrap_or("-"),
                    call.variable("CNI_IFNAME").unwrap_or("-")
                );
                Answer::failed(&error, &asked)
            }
        }
    }

    fn carry_out(&self, call: &Call, asked: &str) -> Result<Value, Error> {
        if Command::of(call)? == Command::Version {
            return Ok(Version::answer(asked));
        }
        let request = Request::read(call)?;
        let _working = self.ready.working();
        match request.command {
            Command::Add => {
                let _turn = self.turn(&request.container)?;
                self.add(&request, call).map(|made| made.json(request.version))
            }
            Command::Del => {
                let _turn = self.turn(&request.container)?;
                self.del(&request, call).map(|()| Value::Null)
            }
            Command::Check => {
                let _turn = self.turn(&request.container)?;
                self.check(&request, call).map(|()| Value::Null)
            }
            Command::Gc => self.collect(&request, call).map(|()| Value::Null),
            Command::Status => self.status(&request, call).map(|()| Value::Null),
            Command::Version => Ok(Version::answer(asked)),
        }
    }

    fn turn(&self, container: &str) -> Result<Turn<'_>, Error> {
        let busy =
            || Error::new(Code::Again, format!("CNI_CONTAINERID={container} is worked on by another call"));
        self.busy.turn(container, TURN).ok_or_else(busy)
    }

    fn bridge<'a>(&'a self, request: &'a Request) -> &'a str {
        request.config.bridge.as_deref().unwrap_or(&self.settings.bridge)
    }
}
