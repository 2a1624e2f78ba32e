//! The flows of one key, held once for the renderers and for all switches that they are on.

use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;

use arcstr::ArcStr;
use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};
use smallvec::SmallVec;
use triomphe::ThinArc;

use super::owner::OwnerName;
use super::{Flow, shapes};
use crate::net::Dpid;

/// Flows that are on the same switches, packed. Equal if they hold the same flows in the same order. A copy is a pointer.
#[derive(Clone)]
pub struct Sheaf(ThinArc<Head, u8>);

/// What stands before the packed flows.
#[derive(PartialEq, Eq)]
struct Head {
    switches: SmallVec<[Dpid; 2]>,
    /// Keys of those who asked for them. As a rule it is one, whatever the features.
    keys: SmallVec<[ArcStr; 1]>,
    count: u32,
}

/// What becomes of the sheaves of one switch.
#[derive(Clone, Debug, Default)]
pub struct Rebound {
    /// All that were there before go.
    pub anew: bool,
    pub gone: Vec<Sheaf>,
    pub came: Vec<Sheaf>,
}

/// The sheaves of one switch.
#[derive(Debug, Default)]
pub struct Sheaves {
    all: HashTable<Sheaf>,
    hasher: DefaultHashBuilder,
    flows: usize,
}

impl Sheaf {
    /// Flows on switches, gathered by what switches they are on: as a rule there is one sheaf.
    pub fn all_of(flows: &[(Dpid, Arc<Flow>)]) -> SmallVec<[Sheaf; 1]> {
        let mut gathered: Vec<(SmallVec<[Dpid; 2]>, Vec<&Flow>)> = Vec::new();
        let mut rest = flows;
        while let Some((_, first)) = rest.first() {
            // The same flow on several switches comes in one go.
            let count = rest.iter().take_while(|(_, flow)| Arc::ptr_eq(flow, first)).count();
            let (same, others) = rest.split_at(count);
            let switches: SmallVec<[Dpid; 2]> = same.iter().map(|(dpid, _)| *dpid).collect();
            match gathered.iter_mut().find(|(on, _)| *on == switches) {
                Some((_, flows)) => flows.push(first),
                None => gathered.push((switches, vec![first])),
            }
            rest = others;
        }
        gathered.into_iter().map(|(switches, flows)| Sheaf::new(switches, &flows)).collect()
    }

    fn new(switches: SmallVec<[Dpid; 2]>, flows: &[&Flow]) -> Sheaf {
        let mut keys = SmallVec::new();
        let mut packed = Vec::with_capacity(16 * flows.len());
        for flow in flows {
            shapes::pack(flow, flow.owner.number(&mut keys), &mut packed);
        }
        let head = Head { switches, keys, count: flows.len() as u32 };
        Sheaf(ThinArc::from_header_and_slice(head, &packed))
    }

    /// The same memory.
    pub fn ptr_eq(&self, other: &Sheaf) -> bool {
        self.0.as_ptr() == other.0.as_ptr()
    }

    /// The switches that all its flows are on.
    pub fn switches(&self) -> &[Dpid] {
        &self.head().switches
    }

    pub fn is_on(&self, dpid: Dpid) -> bool {
        self.switches().contains(&dpid)
    }

    /// Whether somebody who may have asked for one of them marks flows with this cookie.
    pub fn may_hold(&self, cookie: u64) -> bool {
        OwnerName::of_any_feature(&self.head().keys).any(|owner| owner.cookie(cookie as u32) == cookie)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.head().count as usize
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The flows, made anew.
    pub fn flows(&self) -> impl Iterator<Item = Arc<Flow>> + '_ {
        let (head, mut rest) = (self.head(), &self.0.slice);
        let owner = |number| OwnerName::numbered(number, &head.keys);
        std::iter::from_fn(move || shapes::unpack(&mut rest, owner).map(Arc::new))
    }

    fn head(&self) -> &Head {
        &self.0.header.header
    }
}

impl PartialEq for Sheaf {
    fn eq(&self, other: &Sheaf) -> bool {
        self.ptr_eq(other) || self.head() == other.head() && self.0.slice == other.0.slice
    }
}

impl Eq for Sheaf {}

impl Sheaves {
    /// Takes in what has changed.
    pub fn rebind(&mut self, rebound: Rebound) {
        if rebound.anew {
            *self = Sheaves::default();
        }
        for sheaf in &rebound.gone {
            let hash = self.hash(sheaf);
            if let Ok(found) = self.all.find_entry(hash, |held| held.ptr_eq(sheaf)) {
                found.remove();
                self.flows -= sheaf.len();
            }
        }
        for sheaf in rebound.came {
            let (hash, hasher) = (self.hash(&sheaf), &self.hasher);
            let of = |held: &Sheaf| hasher.hash_one(held.0.as_ptr());
            if let Entry::Vacant(place) = self.all.entry(hash, |held| held.ptr_eq(&sheaf), of) {
                self.flows += sheaf.len();
                place.insert(sheaf);
            }
        }
    }

    /// How many flows there are.
    pub fn flow_count(&self) -> usize {
        self.flows
    }

    /// All flows, made anew, in no order that means anything.
    pub fn flows(&self) -> impl Iterator<Item = Arc<Flow>> + '_ {
        self.all.iter().flat_map(|sheaf| sheaf.flows())
    }

    fn hash(&self, sheaf: &Sheaf) -> u64 {
        self.hasher.hash_one(sheaf.0.as_ptr())
    }
}

impl fmt::Debug for Sheaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sheaf")
            .field("switches", &self.switches())
            .field("flows", &self.flows().collect::<Vec<_>>())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{ElanTag, LportTag, MacAddr};
    use crate::pipeline::{EGRESS_DISPATCHER, ELAN_DMAC, Owner, actions, matches, owners};

    fn flow(mac: u8) -> Arc<Flow> {
        let matching = [matches::elan_tag(ElanTag(5000)), matches::eth_dst(MacAddr([2, 0, 0, 0, 0, mac]))];
        let then = [actions::egress_to(LportTag(mac.into())), actions::resubmit(EGRESS_DISPATCHER)];
        let draft = Flow::table(ELAN_DMAC).priority(20).matching(matching).then(then);
        Arc::new(draft.owned_by(&Owner::<owners::Elan>::new("e")))
    }

    #[test]
    fn flows_on_the_same_switches_are_one_sheaf() {
        let (one, both, other) = (flow(1), flow(2), flow(3));
        let flows = [
            (Dpid(1), one.clone()),
            (Dpid(1), both.clone()),
            (Dpid(2), both.clone()),
            (Dpid(1), other.clone()),
        ];
        let sheaves = Sheaf::all_of(&flows);
        let there: Vec<_> = sheaves
            .iter()
            .map(|sheaf| (sheaf.switches().to_vec(), sheaf.flows().collect::<Vec<_>>()))
            .collect();
        assert_eq!(there, [(vec![Dpid(1)], vec![one, other]), (vec![Dpid(1), Dpid(2)], vec![both])]);
        assert!(sheaves[0].is_on(Dpid(1)) && !sheaves[0].is_on(Dpid(2)));
        assert_eq!(sheaves, Sheaf::all_of(&flows));
    }

    #[test]
    fn a_flow_takes_few_bytes() {
        let flows: Vec<_> = (0..100).map(|mac| (Dpid(1), flow(mac))).collect();
        let sheaves = Sheaf::all_of(&flows);
        assert!(sheaves[0].0.slice.len() < 12 * flows.len(), "{} bytes", sheaves[0].0.slice.len());
    }

    #[test]
    fn sheaves_go_and_come_by_themselves() {
        let sheaf = |macs: std::ops::Range<u8>| {
            Sheaf::all_of(&macs.map(|mac| (Dpid(1), flow(mac))).collect::<Vec<_>>())[0].clone()
        };
        let (one, other, third) = (sheaf(1..3), sheaf(3..6), sheaf(6..7));
        let mut held = Sheaves::default();
        held.rebind(Rebound { came: vec![one.clone(), other.clone(), one.clone()], ..Rebound::default() });
        assert_eq!((held.flow_count(), held.flows().count()), (5, 5));
        held.rebind(Rebound { gone: vec![one.clone(), sheaf(3..6)], ..Rebound::default() });
        assert_eq!((held.flow_count(), held.flows().count()), (3, 3), "an equal one is not the same one");
        held.rebind(Rebound { anew: true, came: vec![third], ..Rebound::default() });
        assert_eq!(held.flows().collect::<Vec<_>>(), [flow(6)]);
    }
}
