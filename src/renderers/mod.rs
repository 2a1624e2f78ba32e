//! From the model to flows, groups, meters and derived nodes: one folder a feature, pure functions.
//!
//! A [`Renderer`] says which of its keys a commit may concern (`affected`) and what one key contributes, computed
//! from scratch (`render`). It never looks at the event. [`Engine`] keeps what each key rendered last, so that the
//! difference is exact; it runs inside the commit, one renderer after the other in the order of [`all`].
//!
//! | folder    | tables                 | keys                                   |
//! |-----------|------------------------|----------------------------------------|
//! | base      | the miss flows of all  | switch                                 |
//! | coe       | (derived nodes)        | pod, interface, ELAN, VPN              |
//! | interface | 0, 17, 220             | interface, switch, port number         |
//! | antispoof | 208, 209, 210          | interface, switch                      |
//! | tunnel    | 36                     | ELAN or VPN on a switch, tunnel        |
//! | elan      | 48, 50, 51, 52, 55     | interface, ELAN on a switch, chunk     |
//! | vpn       | 19, 21                 | interface, VPN on a switch, gateway, prefix |
//! | arp       | 43, 81                 | interface, gateway, prefix             |
//! | nd        | 45, 82                 | interface, gateway, prefix             |
//! | dhcp      | 60                     | interface                              |
//! | nat       | 25 to 28, 44, 46, 47   | interface, switch, floating address    |
//! | policy    | 211–217, 241–247       | target, peer, port, clause of a policy on a switch |
//! | service   | 29 to 35               | service, endpoint, interface, switch   |

mod antispoof;
mod arp;
mod base;
mod behind_policies;
mod coe;
mod counted;
mod dated;
mod dhcp;
mod difference;
mod dropped;
mod elan;
mod engine;
mod explain;
mod ids;
mod interface;
mod key;
mod nat;
mod nd;
mod nodes;
mod origin;
mod places;
mod plan;
mod policy;
mod reach;
mod recipes;
mod rendered;
mod service;
mod trace;
mod tunnel;
mod vpn;
mod workshop;
mod zones;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use counted::{Counted, CountedPort, CountedRule, Subject, denied_at};
pub use dropped::{DropClass, drop_classes};
pub use engine::{Engine, Sink};
pub use explain::{Explained, FlowQuery};
pub use ids::{POOLS, PoolRange};
pub use key::{Key, Keys};
pub use plan::{Plan, Planned, SwitchPlan};
pub use rendered::Rendered;
pub use trace::{Exit, Protocol, Start, TraceError, TraceQuery};

use crate::model::{Model, Touched};
use crate::schema::Schema;

/// One feature: what it contributes to the switches and to the derived layers.
pub trait Renderer: Send + Sync {
    /// The feature's name, as in cookies and logs.
    fn name(&self) -> &'static str;

    /// Keys that may look different now. May name too many, never too few; repeats do no harm.
    fn affected(&self, touched: &Touched, model: &Model, keys: &mut Keys);

    /// Everything this key contributes. Nothing, if there is no such thing (any more).
    fn render(&self, key: &Key, model: &Model, out: &mut Rendered);
}

/// All features, in the order they run.
pub fn all(schema: &Schema) -> Vec<Box<dyn Renderer>> {
    let mut all = switching();
    all.extend(deriving(schema));
    all
}

/// What goes to switches.
fn switching() -> Vec<Box<dyn Renderer>> {
    vec![
        Box::new(base::Base),
        Box::new(interface::Interfaces),
        Box::new(antispoof::Antispoof),
        Box::new(tunnel::Tunnels),
        Box::new(elan::Elans),
        Box::new(vpn::Vpns),
        Box::new(arp::Arp),
        Box::new(nd::Nd),
        Box::new(dhcp::Dhcp),
        Box::new(nat::Nat),
        Box::new(policy::Policies),
        Box::new(service::Services),
    ]
}

/// What goes to the derived layers.
fn deriving(schema: &Schema) -> Vec<Box<dyn Renderer>> {
    vec![
        Box::new(coe::Coe::new(schema)),
        Box::new(interface::InterfaceStates::new(schema)),
        Box::new(interface::Services::new(schema)),
        Box::new(interface::Inventory::new(schema)),
        Box::new(tunnel::TunnelStates::new(schema)),
        Box::new(elan::ElanMembers::new(schema)),
        Box::new(vpn::Prefixes::new(schema)),
        Box::new(vpn::Routes::new(schema)),
        Box::new(vpn::NextHopStates::new(schema)),
        Box::new(coe::ServiceAddresses::new(schema)),
        Box::new(nat::FloatingStates::new(schema)),
        Box::new(nat::SourceStates::new(schema)),
        Box::new(policy::PolicyStates::new(schema)),
        Box::new(service::ServiceStates::new(schema)),
    ]
}
