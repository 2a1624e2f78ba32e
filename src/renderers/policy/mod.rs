//! Isolation policies: what a pod sends goes by 211 to 217 on its way in, what it gets by 241 to 247 on its way out.
//!
//! ```text
//! 17 ─► 211 outside of policy? ─► 212 ct ─► 213 an answer to what was allowed? ─► 214 rules ─► 216 remember ─► 17
//!        └ 17                                └ 17, or 217                          └ 215 forget ─► 217 deny
//! 220 ─► 241 ─► 242 ─► 243 ─► 244 ─► 246 ─► 220, and 245 ─► 247
//! ```
//! A rule of M peers and N ports on T pods is a conjunction: M + N + T flows, each shared with other rules that name the same. A
//! connection is judged with each packet that goes the way it began; only answers rest on what is remembered, one bit
//! of `ct_mark` a direction. Pods that no policy selects have nothing of this.

mod derive;
mod flows;
mod side;

pub use derive::PolicyStates;

use ipnetwork::IpNetwork;

use super::{Key, Keys, Rendered, Renderer};
use crate::model::{Clause, Identity, InterfaceId, Model, PolicyItem, Touched};
use crate::net::{Dpid, LportTag};
use crate::pipeline::Owner;
use crate::policy::Direction;
use side::{From, Side, To};

/// The feature.
pub struct Policies;

impl Renderer for Policies {
    fn name(&self) -> &'static str {
        "policy"
    }

    fn affected(&self, touched: &Touched, _: &Model, keys: &mut Keys) {
        keys.extend(touched.policies.iter().cloned().map(|(dpid, item)| Key::Policy(dpid, item)));
        let switches = touched.switches.iter().chain(&touched.node_sides);
        keys.extend(switches.map(|dpid| Key::Policy(*dpid, PolicyItem::Switch)));
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        let Key::Policy(dpid, item) = key else { return };
        if model.switch(*dpid).is_none() {
            return;
        }
        match item {
            PolicyItem::Switch => {
                if model.has_policies(*dpid) {
                    switch::<From>(*dpid, model, out);
                    switch::<To>(*dpid, model, out);
                }
            }
            PolicyItem::Target(id) => {
                target::<From>(*dpid, id, model, out);
                target::<To>(*dpid, id, model, out);
                logging(*dpid, id, model, out);
            }
            PolicyItem::Peer(Direction::Egress, prefix) => peer::<From>(*dpid, *prefix, model, out),
            PolicyItem::Peer(Direction::Ingress, prefix) => peer::<To>(*dpid, *prefix, model, out),
            PolicyItem::Port(direction, port) => {
                let clauses = model.clauses_with_port(*dpid, *direction, *port);
                let parts = parts(&clauses, |clause| clause.dimensions() - 1);
                let owner = Owner::new(format!("port {} {}/{:#x}", port.protocol, port.value, port.mask));
                let flows = match direction {
                    Direction::Egress => flows::port::<From>(*port, &parts, &owner),
                    Direction::Ingress => flows::port::<To>(*port, &parts, &owner),
                };
                flows.into_iter().for_each(|flow| out.flow(*dpid, flow));
            }
            PolicyItem::Fragments(direction, protocol) => {
                let clauses = model.clauses_with_protocol(*dpid, *direction, *protocol);
                let parts = parts(&clauses, |clause| clause.dimensions() - 1);
                let owner = Owner::new(format!("fragments {protocol}"));
                let flows = match direction {
                    Direction::Egress => flows::fragments::<From>(*protocol, &parts, &owner),
                    Direction::Ingress => flows::fragments::<To>(*protocol, &parts, &owner),
                };
                flows.into_iter().for_each(|flow| out.flow(*dpid, flow));
            }
            PolicyItem::Everything(direction) => {
                let parts = open_parts(&model.open_clauses(*dpid, *direction), 1);
                let owner = Owner::new("everything");
                let flows = match direction {
                    Direction::Egress => flows::everything::<From>(&parts, &owner),
                    Direction::Ingress => flows::everything::<To>(&parts, &owner),
                };
                flows.into_iter().for_each(|flow| out.flow(*dpid, flow));
            }
            PolicyItem::Clause(key) => {
                let Some(clause) = model.clause(*dpid, key) else { return };
                let Some(id) = clause.id else { return };
                let (owner, is_open) = (Owner::new(key), clause.is_open());
                out.flow(
                    *dpid,
                    match clause.direction {
                        Direction::Egress => flows::holds::<From>(id, is_open, &owner),
                        Direction::Ingress => flows::holds::<To>(id, is_open, &owner),
                    },
                );
            }
        }
    }
}

/// Number of a conjunction, and which part of how many.
type Part = (u32, u8, u8);

fn parts(clauses: &[&Clause], part: impl Fn(&Clause) -> u8) -> Vec<Part> {
    let several = clauses.iter().filter(|clause| !clause.is_open());
    several.filter_map(|clause| Some((clause.id?, part(clause), clause.dimensions()))).collect()
}

/// The same of rules about everything: their parts are the target, and everything.
fn open_parts(clauses: &[&Clause], part: u8) -> Vec<Part> {
    clauses
        .iter()
        .filter(|clause| clause.is_open())
        .filter_map(|clause| Some((clause.id?, part, 2)))
        .collect()
}

/// What all pods under policies share.
fn switch<S: Side>(dpid: Dpid, model: &Model, out: &mut Rendered) {
    let owner = Owner::new("switch");
    for flow in flows::of_switch::<S>(&owner) {
        out.flow(dpid, flow);
    }
    let Some((lport, _)) = model.node_port(dpid) else { return };
    for address in model.addresses_of_node(dpid) {
        out.flow(dpid, flows::node::<S>(lport, address, &owner));
    }
}

/// The name and the port of an interface that is under policies here.
fn policed<'a>(dpid: Dpid, id: &InterfaceId, model: &'a Model) -> Option<(&'a Identity, LportTag)> {
    let (identity, lport, attachment) = model.interface(id)?.plugged()?;
    (model.is_policed(id, dpid) && attachment.dpid == dpid).then_some((identity, lport))
}

/// The meter of what is logged of a pod's drops, if anything is.
fn logging(dpid: Dpid, id: &InterfaceId, model: &Model, out: &mut Rendered) {
    let Some((identity, lport)) = policed(dpid, id, model) else { return };
    if Direction::BOTH.into_iter().any(|direction| model.stance(id, direction).logs_drops) {
        out.meter(dpid, flows::logging(lport, &Owner::new(&identity.name)));
    }
}

/// A pod's own flows of one direction.
fn target<S: Side>(dpid: Dpid, id: &InterfaceId, model: &Model, out: &mut Rendered) {
    let Some((identity, lport)) = policed(dpid, id, model) else { return };
    let owner = Owner::new(&identity.name);
    let stance = model.stance(id, S::DIRECTION);
    let open = open_parts(&stance.clauses, 0);
    if !stance.is_isolated {
        out.flow(dpid, flows::open::<S>(lport, &owner));
    } else if !open.is_empty() {
        out.flow(dpid, flows::opened::<S>(lport, &open, &owner));
    }
    let parts = parts(&stance.clauses, |_| 0);
    if !parts.is_empty() {
        out.flow(dpid, flows::target::<S>(lport, &parts, &owner));
    }
    if stance.keeps_established {
        out.flow(dpid, flows::keep::<S>(lport, &owner));
    }
    out.flow(dpid, flows::deny::<S>(lport, stance.logs_drops, &owner));
}

/// Addresses as the peers of clauses.
fn peer<S: Side>(dpid: Dpid, prefix: IpNetwork, model: &Model, out: &mut Rendered) {
    let parts = parts(&model.clauses_with_peer(dpid, S::DIRECTION, prefix), |_| 1);
    if !parts.is_empty() {
        out.flow(dpid, flows::peer::<S>(prefix, &parts, &Owner::new(format!("peer {prefix}"))));
    }
}
