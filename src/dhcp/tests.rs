//! The book follows the datastore, and what is durable reads back.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

use super::book::{Book, Entry, Holder, Lease};
use super::leases;
use super::status::{Level, State};
use super::v6::Duid;
use super::view::View;
use crate::datastore::{Core, Edit, Snapshot, Store, Transaction};
use crate::model::AllocationPool;
use crate::net::MacAddr;
use crate::renderers::Engine;
use crate::schema::{DataPath, Text, builtin, json};

fn core() -> Core {
    let engine = Engine::new(builtin(), Box::new(|_, _| {}));
    Core::new(Snapshot::empty(builtin()), &[], Box::new(engine), SystemTime::now())
}

fn uid(number: u8) -> String {
    format!("00000000-0000-4000-8000-0000000000{number:02x}")
}

fn apply(core: &mut Core, edit: Edit) {
    core.apply(&Transaction::new("test", vec![edit]), SystemTime::now()).unwrap();
}

fn put(core: &mut Core, path: &str, body: &str) {
    let path = DataPath::parse_rfc8040(builtin(), path).unwrap();
    let node = json::parse_resource(builtin(), &path, body.as_bytes(), json::Mode::Lenient).unwrap();
    apply(core, Edit::put(Store::Config, path, node));
}

fn put_pod(core: &mut Core, number: u8, address: &str) {
    let uid = uid(number);
    let body = format!(
        r#"{{"pod:pods":[{{"uid":"{uid}","name":"p{number}","network-NS":"blue","host-ip-address":"192.168.200.1",
            "interface":[{{"uid":"{uid}","ip-address":"{address}"}}]}}]}}"#
    );
    put(core, &format!("pod:coe/pods={uid}"), &body);
}

fn remove_pod(core: &mut Core, number: u8) {
    let path = DataPath::parse_rfc8040(builtin(), &format!("pod:coe/pods={}", uid(number))).unwrap();
    apply(core, Edit::remove(Store::Config, path));
}

fn put_pool(core: &mut Core, to: &str) {
    let body = format!(
        r#"{{"network":[{{"network-id":"blue","allocation-pool":[
            {{"subnet":"10.0.0.0/24","allocate-from":"10.0.0.3","allocate-to":"{to}"}}]}}]}}"#
    );
    put(core, "dhcp_allocation_pool:dhcp_allocation_pool/network=blue", &body);
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn lease(name: &str, last: &str, expires: u64) -> Lease {
    Lease {
        holder: Holder::Port(name.into()),
        interface: name.into(),
        mac: MacAddr([2, 0, 0, 0, 0, 1]),
        client_id: Some("01ff".into()),
        iaid: None,
        address: address(last),
        network: "blue".into(),
        subnet: "10.0.0.0/24".into(),
        expires,
    }
}

#[test]
fn the_book_follows_pods_and_pools() {
    let (mut core, mut book, mut view) = (core(), Book::default(), View::new(builtin()));
    let mut follow = |core: &Core, book: &mut Book| view.follow(Arc::new(core.snapshot().clone()), book);
    put_pool(&mut core, "10.0.0.6");
    put_pod(&mut core, 1, "10.0.0.3");
    put_pod(&mut core, 2, "10.0.0.4");
    assert_eq!(follow(&core, &mut book), Vec::<Text>::new());
    let pool = AllocationPool::plain("blue", "10.0.0.0/24", "10.0.0.3", "10.0.0.6", "");
    assert_eq!(book.lowest_free(&pool, "blue:p9"), Some(address("10.0.0.5")));
    assert_eq!(book.lowest_free(&pool, "red:p9"), Some(address("10.0.0.3")), "another namespace");

    put_pod(&mut core, 1, "10.0.0.5");
    assert_eq!(follow(&core, &mut book), [Text::from("blue:p1")]);
    assert_eq!(book.lowest_free(&pool, "blue:p9"), Some(address("10.0.0.3")));
    remove_pod(&mut core, 1);
    remove_pod(&mut core, 2);
    assert_eq!(follow(&core, &mut book).len(), 2);
    assert_eq!(book.room(&pool), (4, 4));
    put_pool(&mut core, "10.0.0.9");
    follow(&core, &mut book);
    assert!(!view.exists("blue:p1"));
    let pools: Vec<_> = view.pools().map(|pool| pool.to.unwrap()).collect();
    assert_eq!(pools, [address("10.0.0.9")]);
}

#[test]
fn what_is_durable_reads_back() {
    let (mut core, names, mut book) = (core(), leases::Names::new(builtin()), Book::default());
    let relayed = Holder::Relayed { network: "blue".into(), client: "01aa".into() };
    let entries = [
        Entry::Bind(lease("blue:p1", "10.0.0.3", 500)),
        Entry::Bind(Lease { holder: relayed.clone(), ..lease("blue:relay", "10.0.0.4", 600) }),
        Entry::Rest { network: "blue".into(), address: address("10.0.0.5"), until: 700 },
        Entry::Bind(Lease {
            holder: Holder::PortV6("blue:p1".into()),
            iaid: Some(7),
            subnet: "fd00:1::/64".into(),
            ..lease("blue:p1", "fd00:1::3", 800)
        }),
    ];
    for entry in &entries {
        apply(&mut core, names.edit(entry, &book).unwrap());
        book.write(entry);
    }
    let kept = names.kept(core.snapshot());
    let by_place =
        |entries: &[Entry]| entries.iter().map(|entry| format!("{entry:?}")).collect::<BTreeSet<_>>();
    assert_eq!((by_place(&kept.entries), kept.obsolete.len()), (by_place(&entries), 0));
    assert_eq!(kept.duid, None);
    let duid = Duid::of_uuid([9; 16]);
    apply(&mut core, names.named(&duid));
    assert_eq!(names.kept(core.snapshot()).duid, Some(duid));
    let ends = [
        Entry::End(Holder::Port("blue:p1".into())),
        Entry::End(relayed),
        Entry::Wake { network: "blue".into(), address: address("10.0.0.5") },
        Entry::End(Holder::PortV6("blue:p1".into())),
    ];
    assert_eq!(book.due(1000), ends);
    for entry in &ends {
        apply(&mut core, names.edit(entry, &book).unwrap());
        book.write(entry);
    }
    assert_eq!(names.kept(core.snapshot()).entries, []);
    assert!(names.edit(&ends[0], &book).is_none(), "it has ended");
}

#[test]
fn a_lease_that_somebody_takes_away_is_free() {
    let (mut core, names) = (core(), leases::Names::new(builtin()));
    let (mut book, mut view) = (Book::default(), View::new(builtin()));
    for holder in [Holder::Port("blue:p1".into()), Holder::PortV6("blue:p1".into())] {
        let bind = Entry::Bind(Lease { holder: holder.clone(), ..lease("blue:p1", "10.0.0.3", 500) });
        apply(&mut core, names.edit(&bind, &book).unwrap());
        book.write(&bind);
        view.follow(Arc::new(core.snapshot().clone()), &mut book);
        assert_eq!(book.leases().count(), 1);
        apply(&mut core, names.edit(&Entry::End(holder), &book).unwrap());
        view.follow(Arc::new(core.snapshot().clone()), &mut book);
        assert_eq!(book.leases().count(), 0);
    }
}

#[test]
fn a_pool_is_low_and_then_exhausted() {
    let pool = AllocationPool::plain("blue", "10.0.0.0/24", "10.0.0.1", "10.0.0.11", "");
    let mut book = Book::default();
    assert_eq!(Level::of(&pool, &book).state, State::Normal);
    for last in 2..=10 {
        book.write(&Entry::Bind(lease(&format!("blue:p{last}"), &format!("10.0.0.{last}"), 100)));
    }
    let level = Level::of(&pool, &book);
    assert_eq!((level.state, level.size, level.free, level.tally.leases), (State::Low, 10, 1, 9));
    let silent = AllocationPool { low_water: 0, ..pool.clone() };
    assert_eq!(Level::of(&silent, &book).state, State::Normal);
    book.write(&Entry::Bind(lease("blue:p11", "10.0.0.11", 100)));
    assert_eq!(Level::of(&silent, &book).state, State::Exhausted);
    let none = AllocationPool::plain("blue", "10.0.0.0/24", "", "", "");
    assert_eq!(Level::of(&none, &book).state, State::Normal);
}
