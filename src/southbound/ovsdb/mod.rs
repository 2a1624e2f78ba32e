//! OVSDB sessions: switches dial in on 6640 or are dialled, get their bridge, and tell of their ports.
//!
//! `plan` says what must be written to a switch's database and is empty when all is right; `facts` says what of it the
//! operational datastore shows. Both are pure; `session` carries them out.

mod facts;
mod plan;
mod server;
mod session;

pub use facts::{Facts, Names};
pub use plan::plan;
pub use server::{connect, serve};

use std::time::Duration;

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
    /// Silence after which the peer is asked for an echo; twice that ends the session.
    pub probe: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            bridge: "br-int".into(),
            datapath_type: "system".into(),
            openflow_port: 6653,
            controller: None,
            probe: Duration::from_secs(5),
        }
    }
}

/// Name of the one tunnel port of a switch.
pub const TUNNEL_PORT: &str = "vxlan-coeus";
