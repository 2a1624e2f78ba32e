//! OVSDB sessions: switches dial in on 6640 or are dialled, get their bridge, and tell of their ports.
//!
//! `plan` says what must be written to a switch's database and is empty when all is right; `facts` says what of it the
//! operational datastore shows, and `track` follows the changes. All three are pure; `session` carries them out.

mod facts;
mod node_port;
mod physical;
mod plan;
mod presence;
mod server;
mod session;
mod track;

pub use facts::{Liveness, Names};
pub use plan::plan;
pub use presence::Presence;
pub use server::{connect, serve};

use std::time::Duration;

use tokio::sync::watch;

use super::admission::Admission;
use crate::ovsdb::Table;

/// How switches are set up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Name of the bridge that pods are plugged into.
    pub bridge: String,
    /// `netdev` or `system`; counts when the bridge is made.
    pub datapath_type: String,
    /// Port on which we listen for OpenFlow.
    pub openflow_port: u16,
    /// Controller target for switches that are not reached over TCP, or when it differs from where OVSDB connects to.
    pub controller: Option<String>,
    /// What carries most networks between nodes.
    pub overlay: Overlay,
    /// Whether each node gets a GRE port, for networks that ask for GRE.
    pub gre: bool,
    /// Whether each node gets a port of its own on the bridge, to reach its pods.
    pub node_port: bool,
    /// Silence after which the peer is asked for an echo; twice that ends the session.
    pub probe: Duration,
    /// Which databases are connected; one for all sessions.
    pub presence: Presence,
    /// Where the switch reaches the other controllers of the store.
    pub others: watch::Receiver<Vec<String>>,
    /// Who may connect.
    pub admission: Admission,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            bridge: "br-int".into(),
            datapath_type: "system".into(),
            openflow_port: 6653,
            controller: None,
            overlay: Overlay::default(),
            gre: true,
            node_port: true,
            probe: Duration::from_secs(5),
            presence: Presence::default(),
            others: watch::channel(Vec::new()).1,
            admission: Admission::default(),
        }
    }
}

/// What is monitored.
const TABLES: &[Table] = &[
    Table {
        name: "Open_vSwitch",
        columns: &["bridges", "other_config", "external_ids", "ovs_version"],
        sets: &["bridges"],
    },
    Table {
        name: "Bridge",
        columns: &["name", "ports", "fail_mode", "protocols", "datapath_id", "controller", "other_config"],
        sets: &["ports", "protocols", "controller"],
    },
    Table { name: "Port", columns: &["name", "interfaces", "external_ids"], sets: &["interfaces"] },
    Table { name: "Interface", columns: &["name", "type", "ofport", "external_ids", "options"], sets: &[] },
    Table { name: "Controller", columns: &["target", "external_ids"], sets: &[] },
];

/// The tunnel that carries most networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Overlay {
    #[default]
    Vxlan,
    Geneve,
}

impl Overlay {
    /// The type of its port in the database. Source: ovs-vswitchd.conf.db(5).
    pub fn interface_type(self) -> &'static str {
        match self {
            Overlay::Vxlan => "vxlan",
            Overlay::Geneve => "geneve",
        }
    }

    /// Name of the one port of it that a switch has.
    pub fn port(self) -> &'static str {
        match self {
            Overlay::Vxlan => "vxlan-coeus",
            Overlay::Geneve => "geneve-coeus",
        }
    }
}

/// Name of the node's own port on the integration bridge, and of its network device.
pub const NODE_PORT: &str = "coeus0";

/// Name of the one GRE port of a switch.
pub const GRE_PORT: &str = "gre-coeus";
