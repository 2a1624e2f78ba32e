//! Switching within a namespace on a node (and wherever its pods are plugged in).
//!
//! ```text
//! 48 ─► 50 known source ─► 51 known destination ─► 220
//!        └ drop              └ 52 flood ─► groups ─► 55 never to the sender ─► 220
//! ```
//! Nothing is learned: pods' addresses are configuration. The local broadcast group of an ELAN on a switch holds
//! chunks of at most 64 ports, so that one more pod changes one small group.

mod derive;
mod flows;
mod groups;

pub use derive::ElanMembers;

use super::key::{elans_respanned, interfaces_of_elan, touched_interfaces, underlay_neighbours};
use super::{Key, Keys, Rendered, Renderer};
use crate::model::{Chunk, InterfaceId, Model, Touched};
use crate::net::Dpid;
use crate::pipeline::Owner;
use crate::schema::Text;

/// The feature.
pub struct Elans;

impl Renderer for Elans {
    fn name(&self) -> &'static str {
        "elan"
    }

    fn affected(&self, touched: &Touched, model: &Model, keys: &mut Keys) {
        touched_interfaces(touched, keys);
        keys.extend(touched.switches.iter().copied().map(Key::Switch));
        keys.extend(touched.chunks.iter().cloned().map(Key::Chunk));
        underlay_neighbours(touched, model, keys);
        let on_switch = |(elan, dpid)| Key::ElanOnSwitch(elan, dpid);
        keys.extend(touched.floods.iter().chain(&touched.elan_spans).cloned().map(on_switch));
        for name in elans_respanned(touched, model) {
            interfaces_of_elan(name, model, keys);
            let Some(elan) = model.elan(name) else { continue };
            keys.extend(elan.members.keys().map(|dpid| Key::ElanOnSwitch(name.clone(), *dpid)));
            if touched.elans.contains(name) {
                let chunks =
                    elan.members.keys().flat_map(|dpid| elan.chunks(*dpid).into_iter().map(|n| (*dpid, n)));
                keys.extend(
                    chunks.map(|(dpid, number)| Key::Chunk(Chunk { elan: name.clone(), dpid, number })),
                );
            }
        }
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        match key {
            Key::Interface(id) => interface(id, model, out),
            Key::ElanOnSwitch(name, dpid) => flood(name, *dpid, model, out),
            Key::Chunk(chunk) => {
                let Some(elan) = model.elan(&chunk.elan) else { return };
                let Some(tag) = elan.tag else { return };
                let members: Vec<_> = elan.chunk(chunk.dpid, chunk.number).collect();
                if !members.is_empty() {
                    out.group(
                        chunk.dpid,
                        groups::chunk(tag, chunk.first(), &members, &Owner::new(&chunk.elan)),
                    );
                }
            }
            Key::Switch(dpid) if model.switch(*dpid).is_some() => {
                out.flow(*dpid, flows::reserved(&Owner::new("switch")));
            }
            _ => {}
        }
    }
}

/// One pod's own flows, and the way to it from other switches of its ELAN.
fn interface(id: &InterfaceId, model: &Model, out: &mut Rendered) {
    let Some((identity, lport, attachment)) = model.interface(id).and_then(|interface| interface.plugged())
    else {
        return;
    };
    let Some(elan) = model.elan(&identity.elan) else { return };
    let (Some(tag), here, mac) = (elan.tag, attachment.dpid, attachment.mac) else { return };
    let owner = Owner::new(&identity.name);
    out.flow(here, flows::smac(lport, tag, mac, &owner));
    out.flow(here, flows::dmac_local(lport, tag, mac, &owner));
    out.flow(here, flows::not_to_sender(lport, &owner));
    out.flow(here, flows::flooded(lport, &owner));
    let kind = elan.segment().kind;
    for dpid in elan.members.keys().filter(|dpid| **dpid != here) {
        if let (Some(remote), Some(vni)) = (model.remote_by(kind, *dpid, here), elan.vni) {
            out.flow(*dpid, flows::dmac_remote(tag, mac, vni, remote, &owner));
        }
    }
}

/// How an ELAN floods on a switch.
fn flood(name: &Text, dpid: Dpid, model: &Model, out: &mut Rendered) {
    let Some(elan) = model.elan(name).filter(|elan| elan.members.contains_key(&dpid)) else { return };
    let Some(tag) = elan.tag else { return };
    let owner = Owner::new(name);
    let chunks: Vec<_> = elan.chunks(dpid).into_iter().map(Chunk::first_of).collect();
    let others = elan.members.keys().filter(|other| **other != dpid);
    let segment = elan.segment();
    let remote = |other: &Dpid| Some((model.remote_by(segment.kind, dpid, *other)?, elan.vni?));
    let remotes: Vec<_> = others.filter_map(remote).collect();
    let uplink = model.uplink(name, dpid).and_then(Result::ok);
    out.group(dpid, groups::local(tag, &chunks, &owner));
    out.group(dpid, groups::full(tag, &remotes, uplink.as_ref(), &owner));
    out.flow(dpid, flows::flood_everywhere(tag, &owner));
    if segment.is_physical() {
        // Whom we do not know is outside; who asks for somebody unknown from there is not answered by everybody.
        out.flow(dpid, flows::flood_here_to_all(tag, &owner));
        if let Some(uplink) = &uplink {
            out.flow(dpid, flows::unknown_is_outside(tag, uplink, &owner));
        }
    } else {
        out.flow(dpid, flows::flood_here(tag, &owner));
    }
}
