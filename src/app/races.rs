//! Forced races for a switch: who owns it changes a thousand times while the one before goes on writing. Not one of its changes may be
//! taken once the new one is the master. Real etcd for the keys of owners, real Open vSwitch for the refusals.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use bytes::BytesMut;
use openflow_rs::{
    BundleControl, BundleFlags, Field, FlowCommand, FlowMod, Match, Message, MultipartReply,
    MultipartRequest, Role, error_name, frame_len,
};

use super::cluster::{claimed, given_back};
use super::leader::{Campaign, Lease};
use crate::datastore::journal::etcd::testing::Etcd;
use crate::datastore::journal::etcd::{Credentials, cluster_prefix};
use crate::net::Dpid;
use crate::simulation::switch::Switch;

const RACES: u64 = 1000;
/// Changes before and after the new owner's claim, in each race.
const CHANGES: u32 = 6;
const BUNDLE: BundleFlags = BundleFlags::BOTH;

/// A controller as the switch sees it: one session, nothing held back and nothing remembered.
struct Owner {
    stream: TcpStream,
    xid: u32,
    waiting: BytesMut,
}

impl Owner {
    /// Waits for the switch, and does the handshake.
    fn accept(listener: &TcpListener) -> Owner {
        let (stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut owner = Owner { stream, xid: 1, waiting: BytesMut::new() };
        owner.say(&Message::Hello { versions: 1 << 4 });
        let asked = owner.say(&Message::FeaturesRequest);
        owner.send();
        while !matches!(owner.hear(), (xid, Message::FeaturesReply(_)) if xid == asked) {}
        owner
    }

    /// Prepares a message; its transaction id.
    fn say(&mut self, message: &Message) -> u32 {
        self.xid += 1;
        message.encode(self.xid, &mut self.waiting);
        self.xid
    }

    fn send(&mut self) {
        let bytes = std::mem::take(&mut self.waiting);
        self.stream.write_all(&bytes).unwrap();
    }

    fn hear(&mut self) -> (u32, Message) {
        let mut frame = vec![0; 8];
        self.stream.read_exact(&mut frame).unwrap();
        let length = frame_len(&frame).unwrap().unwrap();
        frame.resize(length, 0);
        self.stream.read_exact(&mut frame[8..]).unwrap();
        let (header, message) = Message::decode(&frame).unwrap();
        if let Message::EchoRequest(data) = &message {
            let mut answer = BytesMut::new();
            Message::EchoReply(data.clone()).encode(header.xid, &mut answer);
            self.stream.write_all(&answer).unwrap();
        }
        (header.xid, message)
    }

    /// Sends what is prepared; what was refused of it, with the reason.
    fn settle(&mut self) -> BTreeMap<u32, String> {
        let barrier = self.say(&Message::BarrierRequest);
        self.send();
        let mut refused = BTreeMap::new();
        loop {
            match self.hear() {
                (xid, Message::BarrierReply) if xid == barrier => return refused,
                (xid, Message::Error(error)) => drop(refused.insert(xid, error_name(error.kind, error.code))),
                _ => {}
            }
        }
    }

    /// Claims the switch; whether it is given.
    fn claim(&mut self, generation: u64) -> Result<(), String> {
        let asked = self.say(&Message::RoleRequest { role: Role::Master, generation });
        self.send();
        loop {
            match self.hear() {
                (xid, Message::RoleReply { role: Role::Master, .. }) if xid == asked => return Ok(()),
                (xid, Message::Error(error)) if xid == asked => {
                    return Err(error_name(error.kind, error.code));
                }
                _ => {}
            }
        }
    }

    /// The cookies of all flows.
    fn cookies(&mut self) -> BTreeSet<u64> {
        let asked = self.say(&Message::MultipartRequest(MultipartRequest::all_flows()));
        self.send();
        let mut cookies = BTreeSet::new();
        loop {
            match self.hear() {
                (xid, Message::MultipartReply { more, body: MultipartReply::Flow(flows) })
                    if xid == asked =>
                {
                    cookies.extend(flows.iter().map(|flow| flow.cookie));
                    if !more {
                        return cookies;
                    }
                }
                _ => {}
            }
        }
    }
}

/// A change that can be told from all others.
fn change(cookie: u64) -> Message {
    let mut flow = FlowMod::add(51, 20, Match::new().with(Field::EthDst, cookie));
    flow.cookie = cookie;
    Message::FlowMod(flow)
}

fn remove_all() -> Message {
    let mut flow = FlowMod::add(0xff, 0, Match::new());
    flow.command = FlowCommand::Delete;
    Message::FlowMod(flow)
}

fn bundle(bundle: u32, control: BundleControl) -> Message {
    Message::BundleControl { bundle, control, flags: BUNDLE }
}

/// A controller with a lease of its own.
async fn member(etcd: &Etcd, name: &str) -> Lease {
    let key = format!("{}controllers/{name}", cluster_prefix(&etcd.place()));
    let mut campaign = Campaign::of_key(&etcd.place(), &Credentials::default(), key, &name).unwrap();
    campaign.try_once().await.unwrap().unwrap()
}

/// One race: the new owner claims while the stale one writes. Returns how many changes of the stale one came in time.
fn race(stale: &mut Owner, old: u64, new: &mut Owner, generation: u64, number: u64) -> usize {
    let cookie = |change: u32| 1 << 40 | number << 8 | u64::from(change);
    let opened = number as u32;
    // On its way when the new one claims: single changes, and a bundle that lacks its commit.
    let early: BTreeMap<u32, u64> = (0..CHANGES)
        .map(|change_number| (stale.say(&change(cookie(change_number))), cookie(change_number)))
        .collect();
    stale.say(&bundle(opened, BundleControl::OpenRequest));
    let bundled = Box::new(change(cookie(100)));
    stale.say(&Message::BundleAdd { bundle: opened, flags: BUNDLE, message: bundled });
    stale.send();
    new.claim(generation).unwrap();
    let at_the_claim = new.cookies();

    // It does not know yet, and then will not hear of it.
    let mut late = BTreeSet::new();
    late.insert(stale.say(&bundle(opened, BundleControl::CommitRequest)));
    late.extend((10..10 + CHANGES).map(|number| stale.say(&change(cookie(number)))));
    late.insert(stale.say(&remove_all()));
    let claimed_again = stale.say(&Message::RoleRequest { role: Role::Master, generation: old });
    late.extend((20..20 + CHANGES).map(|number| stale.say(&change(cookie(number)))));
    let refused = stale.settle();

    for xid in &late {
        let reason = refused.get(xid).map(String::as_str);
        assert!(reason.is_some(), "race {number}: a change of the stale owner was taken");
        assert!(
            matches!(reason, Some("OFPBRC_IS_SLAVE" | "OFPBFC_BAD_ID" | "OFPBFC_EPERM")),
            "race {number}: {reason:?}"
        );
    }
    assert_eq!(refused.get(&claimed_again).map(String::as_str), Some("OFPRRFC_STALE"), "race {number}");
    assert_eq!(
        new.cookies(),
        at_the_claim,
        "race {number}: what the switch holds has changed after the claim"
    );
    let taken: BTreeSet<u64> =
        early.iter().filter(|(xid, _)| !refused.contains_key(*xid)).map(|(_, cookie)| *cookie).collect();
    assert_eq!(taken, at_the_claim, "race {number}: the stale owner knows what was taken and what was not");

    // The new owner's changes are.
    new.say(&remove_all());
    assert_eq!(new.settle(), BTreeMap::new(), "race {number}");
    taken.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_owner_changes_nothing_in_a_thousand_races() {
    let (etcd, switch) = (Etcd::start(), Switch::start(None).unwrap());
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let targets = listeners
        .each_ref()
        .map(|listener| format!("tcp:127.0.0.1:{}", listener.local_addr().unwrap().port()));
    switch.vsctl(&["set-controller", "br0", &targets[0], &targets[1]]).unwrap();
    let [mut one, mut other] = listeners.each_ref().map(Owner::accept);
    let (mut first, mut second) = (member(&etcd, "one").await, member(&etcd, "other").await);
    let (prefix, dpid) = (cluster_prefix(&etcd.place()), Dpid(1));

    let mut election = claimed(&first, &prefix, dpid).await.unwrap().unwrap();
    one.claim(election).unwrap();
    let mut in_time = 0;
    for number in 0..RACES {
        let old = election;
        assert_eq!(claimed(&second, &prefix, dpid).await.unwrap(), None, "race {number}: it has an owner");
        given_back(&second, &prefix, dpid).await.unwrap();
        assert_eq!(
            claimed(&second, &prefix, dpid).await.unwrap(),
            None,
            "race {number}: only its owner gives it back"
        );
        given_back(&first, &prefix, dpid).await.unwrap();
        election = claimed(&second, &prefix, dpid).await.unwrap().unwrap();
        assert!(election > old, "race {number}");
        in_time += race(&mut one, old, &mut other, election, number);
        std::mem::swap(&mut one, &mut other);
        std::mem::swap(&mut first, &mut second);
    }
    assert!(in_time > 0, "the stale owner never came in time: these were no races");
}
