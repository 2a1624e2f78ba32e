//! Next hops that share a route, as the operational datastore tells, and how often they are to be asked.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use super::watch::{Hop, Pace};
use crate::datastore::Snapshot;
use crate::model::next_hop_key;
use crate::net::{Dpid, LportTag, MacAddr};
use crate::schema::{Fields, Schema, SchemaId, Value};

/// Where a next hop is, and in whose name it is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At {
    pub dpid: Dpid,
    pub lport: LportTag,
    pub asker: IpAddr,
    pub mac: MacAddr,
}

/// Defaults of the model.
const INTERVAL: u64 = 1;
const MISSES: u32 = 3;

/// What was seen last.
pub struct World {
    next_hops: SchemaId,
    next_hop: SchemaId,
    switch: SchemaId,
    lport: SchemaId,
    asker_address: SchemaId,
    asker_mac: SchemaId,
    liveness: SchemaId,
    interval: SchemaId,
    misses: SchemaId,
    seen: Option<Fields>,
    pub hops: BTreeMap<Hop, At>,
    /// The same by where an answer comes from.
    ports: BTreeMap<(Dpid, LportTag, IpAddr), Hop>,
}

impl World {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &Schema) -> World {
        let id = |path: &str| schema.resolve(&format!("/coeus-next-hop:{path}"));
        let leaf = |name: &str| id(&format!("next-hops/next-hop/{name}"));
        World {
            next_hops: id("next-hops"),
            next_hop: id("next-hops/next-hop"),
            switch: leaf("switch"),
            lport: leaf("lport-tag"),
            asker_address: leaf("asker-address"),
            asker_mac: leaf("asker-mac"),
            liveness: id("next-hop-liveness"),
            interval: id("next-hop-liveness/interval"),
            misses: id("next-hop-liveness/misses"),
            seen: None,
            hops: BTreeMap::new(),
            ports: BTreeMap::new(),
        }
    }

    /// Takes in how things are now.
    pub fn follow(&mut self, snapshot: &Snapshot) {
        let now = snapshot.operational.derived.container(self.next_hops);
        let same = match (&self.seen, now) {
            (Some(seen), Some(now)) => seen.ptr_eq(now),
            (seen, now) => seen.is_none() && now.is_none(),
        };
        if same {
            return;
        }
        self.seen = now.cloned();
        let list = now.and_then(|all| all.list(self.next_hop));
        let hops = list.into_iter().flatten();
        self.hops = hops.filter_map(|(key, entry)| self.at(next_hop_key(key)?, entry)).collect();
        let ports = self.hops.iter().map(|(hop, at)| ((at.dpid, at.lport, hop.1), hop.clone()));
        self.ports = ports.collect();
    }

    /// Whose answer this is.
    pub fn answering(&self, dpid: Dpid, lport: LportTag, address: IpAddr) -> Option<&Hop> {
        self.ports.get(&(dpid, lport, address))
    }

    /// How often they are asked.
    pub fn pace(&self, snapshot: &Snapshot) -> Pace {
        let fields = snapshot.config.input.container(self.liveness);
        let number = |leaf| fields.and_then(|fields| fields.leaf(leaf)?.as_uint());
        let misses = number(self.misses).and_then(|misses| u32::try_from(misses).ok());
        Pace {
            interval: number(self.interval).unwrap_or(INTERVAL).saturating_mul(1_000),
            misses: misses.unwrap_or(MISSES),
        }
    }

    fn at(&self, hop: Hop, entry: &Fields) -> Option<(Hop, At)> {
        let lport = entry.leaf(self.lport).and_then(Value::as_uint)?;
        let asker = entry.text(self.asker_address).map(str::parse);
        let at = At {
            dpid: entry.text(self.switch)?.parse().ok()?,
            lport: LportTag(lport.try_into().ok()?),
            // Nobody's address: a probe, which is answered as well (RFC 5227 section 2.1.1).
            asker: asker.map_or(Some(IpAddr::V4(Ipv4Addr::UNSPECIFIED)), Result::ok)?,
            mac: entry.text(self.asker_mac)?.parse().ok()?,
        };
        Some((hop, at))
    }
}
