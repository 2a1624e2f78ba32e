use std::time::{Duration, Instant};

use etcd_client::{GetOptions, Txn, TxnOp};
use rustix::process::Signal;

use super::super::{Journal, JournalError, News, Records, Replica, conformance, replica_conformance};
use super::keys::PIECE;
use super::testing::Etcd;
use super::{Credentials, EtcdJournal, EtcdReplica, Outcome};

fn record(revision: u64) -> (u64, Vec<u8>) {
    (revision, format!("record {revision}").into_bytes())
}

fn loaded(etcd: &Etcd) -> Records {
    etcd.open().load().unwrap().records
}

/// All keys of the store.
fn keys(journal: &EtcdJournal) -> Vec<String> {
    let options = GetOptions::new().with_prefix().with_keys_only();
    let found = journal.store.link.get(b"/coeus/test/", Some(options)).unwrap();
    found.kvs().iter().map(|found| String::from_utf8_lossy(found.key()).into_owned()).collect()
}

fn put(journal: &EtcdJournal, key: String, value: &[u8]) {
    journal.store.link.txn(Txn::new().and_then([TxnOp::put(key, value, None)])).unwrap();
}

#[test]
fn etcd_conforms() {
    let etcd = Etcd::start();
    conformance(|| Box::new(etcd.open()));
}

#[test]
fn etcd_conforms_to_those_who_follow() {
    let etcd = Etcd::start();
    replica_conformance(|| Box::new(etcd.open()), || Box::new(etcd.follow()));
}

#[test]
fn who_follows_misses_nothing_while_etcd_is_compacted_and_killed() {
    let mut etcd = Etcd::start();
    let (mut journal, mut replica) = (etcd.open(), etcd.follow());
    replica.load().unwrap();
    let mut found = Records::new();
    let look = |replica: &mut EtcdReplica, found: &mut Records| loop {
        let News::Records { records, newest, .. } = replica.news().unwrap() else {
            panic!("nothing was taken away")
        };
        found.extend(records);
        if found.last().is_none_or(|(revision, _)| *revision >= newest) {
            return;
        }
    };
    for revision in 1..=60 {
        let long = if revision % 20 == 0 { 3 * PIECE } else { 0 };
        journal.append(&[(revision, vec![revision as u8; 10 + long])]).unwrap();
        match revision % 12 {
            3 | 7 => look(&mut replica, &mut found),
            5 => {
                let now = journal.store.link.get(b"x", None).unwrap().header().unwrap().revision();
                etcd.compact(now);
            }
            9 => {
                etcd.kill();
                etcd.run();
            }
            _ => {}
        }
    }
    look(&mut replica, &mut found);
    assert!(found == journal.load().unwrap().records, "{} records", found.len());
}

#[test]
fn who_follows_is_told_of_changes() {
    let etcd = Etcd::start();
    let (mut journal, replica) = (etcd.open(), etcd.follow());
    let mut wait = replica.changes();
    for _ in 0..3 {
        wait();
    }
    let begun = Instant::now();
    for revision in 1..=20 {
        journal.append(&[record(revision)]).unwrap();
        wait();
    }
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "it waits for its pause each time: {:?}",
        begun.elapsed()
    );
}

#[test]
fn what_was_appended_outlives_a_killed_etcd() {
    let mut etcd = Etcd::start();
    let mut journal = etcd.open();
    for revision in 1..=20 {
        journal.append(&[record(revision)]).unwrap();
        if revision % 5 == 0 {
            etcd.kill();
            etcd.run();
        }
    }
    assert_eq!(loaded(&etcd), (1..=20).map(record).collect::<Records>());
}

#[test]
fn who_has_lost_the_store_appends_nothing() {
    let etcd = Etcd::start();
    let mut first = etcd.open();
    first.append(&[record(1)]).unwrap();
    let mut second = etcd.open();
    for _ in 0..2 {
        let refused = first.append(&[record(2)]).unwrap_err();
        assert!(matches!(refused, JournalError::Displaced { .. }), "{refused}");
        let long = first.append(&[(2, vec![0; 2 * PIECE])]).unwrap_err();
        assert!(matches!(long, JournalError::Displaced { .. }), "{long}");
    }
    let refused = first.checkpoints().write(1, &[b"old".to_vec()]).unwrap_err();
    assert!(matches!(refused, JournalError::Displaced { .. }), "{refused}");
    assert!(matches!(first.load(), Err(JournalError::Displaced { .. })));
    second.append(&[record(3)]).unwrap();
    assert_eq!(second.load().unwrap().records, [record(1), record(3)]);
    assert_eq!(second.load().unwrap().checkpoint, None);
}

#[test]
fn an_append_waits_for_an_etcd_that_is_away() {
    let mut etcd = Etcd::start();
    let mut journal = etcd.open();
    journal.append(&[record(1)]).unwrap();
    etcd.kill();
    std::thread::scope(|scope| {
        let back = scope.spawn(|| {
            std::thread::sleep(Duration::from_secs(3));
            etcd.run();
        });
        let begun = Instant::now();
        journal.append(&[record(2), record(3)]).unwrap();
        assert!(begun.elapsed() >= Duration::from_secs(2), "{:?}", begun.elapsed());
        back.join().unwrap();
    });
    journal.append(&[record(4)]).unwrap();
    assert_eq!(loaded(&etcd), (1..=4).map(record).collect::<Records>());
}

#[test]
fn an_append_whose_answer_comes_too_late_happens_once() {
    let etcd = Etcd::start();
    let mut journal = etcd.open();
    journal.append(&[record(1)]).unwrap();
    etcd.signal(Signal::STOP);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_secs(5));
            etcd.signal(Signal::CONT);
        });
        journal.append(&[record(2)]).unwrap();
    });
    journal.append(&[record(3)]).unwrap();
    assert_eq!(loaded(&etcd), (1..=3).map(record).collect::<Records>());
}

#[test]
fn what_was_given_up_never_happens() {
    let etcd = Etcd::start();
    let mut journal = etcd.open();
    journal.append(&[record(1)]).unwrap();
    let head = journal.store.head_with(2);
    let late =
        Txn::new().when([journal.still_head()]).and_then([TxnOp::put(journal.store.keys.head(), head, None)]);
    assert!(matches!(journal.settle(2).unwrap().unwrap(), Outcome::DidNot));
    assert!(!journal.store.link.txn(late.clone()).unwrap().succeeded(), "on its way while it was given up");
    let mut second = etcd.open();
    assert!(!journal.store.link.txn(late).unwrap().succeeded());
    assert_eq!(second.load().unwrap().records, [record(1)]);
}

#[test]
fn what_became_of_an_append_is_known_after_a_takeover_too() {
    let etcd = Etcd::start();
    let mut journal = etcd.open();
    let before = journal.head;
    journal.append(&[record(1)]).unwrap();
    journal.head = before;
    let _second = etcd.open();
    assert!(matches!(journal.settle(1).unwrap().unwrap(), Outcome::Happened));
    assert!(matches!(journal.settle(2).unwrap(), Err(JournalError::Displaced { .. })));
    let _third = etcd.open();
    let Err(unknown) = journal.settle(1).unwrap() else { panic!("nobody can know") };
    assert!(unknown.to_string().contains("not known"), "{unknown}");
}

#[test]
fn long_appends_are_whole_or_not_there() {
    let etcd = Etcd::start();
    let mut journal = etcd.open();
    let long = |revision: u64| (revision, vec![revision as u8; 2 * PIECE + 77]);
    journal.append(&[record(1), long(2), record(3)]).unwrap();
    let many: Records = (4..=600).map(record).collect();
    journal.append(&many).unwrap();
    // What a controller leaves that ends between two pieces.
    let next = super::keys::pieces(600, &[long(601)]);
    put(&journal, journal.store.keys.log_piece(601, 0), &next[0]);
    put(&journal, journal.store.keys.log_piece(601, 1), &next[1]);
    let mut journal = etcd.open();
    let loaded = journal.load().unwrap();
    let expected: Records = [record(1), long(2), record(3)].into_iter().chain(many).collect();
    assert!(loaded.records == expected, "{} records", loaded.records.len());
    assert!(loaded.repairs.len() == 1 && loaded.repairs[0].contains("2 pieces"), "{:?}", loaded.repairs);
    journal.append(&[record(601)]).unwrap();
    assert!(journal.load().unwrap().records.ends_with(&[record(600), record(601)]));
}

#[test]
fn a_record_that_is_missing_or_changed_is_damage() {
    let etcd = Etcd::start();
    let mut journal = etcd.open();
    let log = |revision| journal.store.keys.log(revision);
    let (second, third, fourth) = (log(2), log(3), log(4));
    (1..=3).for_each(|revision| journal.append(&[record(revision)]).unwrap());
    let damage = |journal: &mut EtcdJournal, key: &str| {
        let error = journal.load().unwrap_err().to_string();
        assert!(error.contains("damaged") && error.contains(key), "{error}");
    };
    let value = journal.store.link.get(third.as_bytes(), None).unwrap().kvs()[0].value().to_vec();
    put(&journal, third.clone(), &value[1..]);
    damage(&mut journal, &third);
    journal.store.link.txn(Txn::new().and_then([TxnOp::delete(third.clone(), None)])).unwrap();
    damage(&mut journal, "log/");
    put(&journal, third.clone(), &value);
    assert_eq!(journal.load().unwrap().records.len(), 3);
    journal.store.link.txn(Txn::new().and_then([TxnOp::delete(second, None)])).unwrap();
    damage(&mut journal, &third);
    // A checkpoint takes its place, and what is behind it is whole.
    journal.checkpoints().write(2, &[vec![7; 10]]).unwrap();
    assert_eq!(journal.load().unwrap().records, [record(3)]);
    put(&journal, fourth, b"");
    assert!(journal.load().is_err());
}

#[test]
fn checkpoints_are_cut_and_leave_nothing_behind() {
    let etcd = Etcd::start();
    let mut journal = etcd.open();
    (1..=40).for_each(|revision| journal.append(&[record(revision)]).unwrap());
    let parts = |seed: u8| -> Vec<Vec<u8>> {
        (0..50).map(|part| vec![seed ^ part; if part == 9 { 3 * PIECE } else { 40_000 }]).collect()
    };
    let mut checkpoints = journal.checkpoints();
    for (revision, seed) in [(10, 1), (20, 2), (20, 3), (39, 4)] {
        // What a controller leaves that ends while it writes one.
        put(&journal, journal.store.keys.folder_piece("00000000000000000005.0", 3), b"left");
        checkpoints.write(revision, &parts(seed)).unwrap();
        let loaded = journal.load().unwrap();
        assert!(loaded.checkpoint == Some((revision, parts(seed))));
        assert_eq!(loaded.records, (revision + 1..=40).map(record).collect::<Records>());
        let left = keys(&journal).into_iter().filter(|key| key.contains("/checkpoint/")).count();
        assert_eq!(left, 5, "50 parts of 4.9 MiB");
    }
    checkpoints.write(40, &[]).unwrap();
    assert_eq!(journal.load().unwrap().checkpoint, Some((40, Vec::new())));
    assert_eq!(keys(&journal).len(), 3, "{:?}", keys(&journal));
}

#[test]
fn records_are_appended_while_a_checkpoint_is_written() {
    let etcd = Etcd::start();
    let mut journal = etcd.open();
    (1..=100).for_each(|revision| journal.append(&[record(revision)]).unwrap());
    let mut checkpoints = journal.checkpoints();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for revision in [20, 50, 90] {
                checkpoints.write(revision, &vec![vec![revision as u8; 300_000]; 10]).unwrap();
            }
        });
        (101..=300).for_each(|revision| journal.append(&[record(revision)]).unwrap());
    });
    let loaded = etcd.open().load().unwrap();
    assert_eq!(loaded.checkpoint.map(|(revision, parts)| (revision, parts.len())), Some((90, 10)));
    assert_eq!(loaded.records, (91..=300).map(record).collect::<Records>());
}

#[test]
fn compaction_changes_nothing() {
    let etcd = Etcd::start();
    let mut journal = etcd.open();
    let compact = || {
        let (url, place) = (etcd.place().endpoints[0].clone(), etcd.place());
        let status = std::process::Command::new("sh")
            .args(["-c", "etcdctl --endpoints=$0 compact --physical $(etcdctl --endpoints=$0 get / -w json | sed 's/.*\"revision\":\\([0-9]*\\).*/\\1/')", &url])
            .env("ETCDCTL_API", "3")
            .output()
            .unwrap();
        assert!(status.status.success(), "{place}: {status:?}");
    };
    for revision in 1..=100 {
        journal.append(&[record(revision)]).unwrap();
        if revision % 40 == 0 {
            compact();
        }
    }
    journal.checkpoints().write(30, &[b"base".to_vec()]).unwrap();
    compact();
    // A moment that etcd has forgotten is not read.
    let store = &journal.store;
    assert!(super::load::records(store, 0, 100, 3).unwrap().is_none());
    assert_eq!(journal.load().unwrap().records, (31..=100).map(record).collect::<Records>());
    journal.append(&[record(101)]).unwrap();
    assert_eq!(loaded(&etcd).len(), 71);
}

#[test]
fn an_etcd_that_is_not_there_is_named_with_what_to_do() {
    let etcd = Etcd::prepare();
    let begun = Instant::now();
    let Err(error) = EtcdJournal::open(&etcd.place(), &Credentials::default()) else { panic!() };
    assert!(begun.elapsed() < Duration::from_secs(20));
    let text = error.to_string();
    for part in [&*etcd.place().endpoints[0], "/coeus/test/head", "refused", "start it"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_newer_format_is_left_alone() {
    let etcd = Etcd::start();
    let journal = etcd.open();
    put(&journal, journal.store.keys.head(), br#"{"format":2,"revision":1,"writer":"x"}"#);
    let before = keys(&journal);
    let newer = EtcdJournal::open(&etcd.place(), &Credentials::default());
    assert!(matches!(newer, Err(JournalError::Newer { found: 2, .. })));
    assert_eq!(keys(&journal), before);
}

/// A certificate for 127.0.0.1 and its key in PEM, signed by the authority.
fn signed(by: &rcgen::Issuer<'_, rcgen::KeyPair>, usage: rcgen::ExtendedKeyUsagePurpose) -> (String, String) {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    params.extended_key_usages = vec![usage];
    (params.signed_by(&key, by).unwrap().pem(), key.serialize_pem())
}

#[test]
fn etcd_is_spoken_to_with_tls_by_who_has_a_certificate() {
    use rcgen::ExtendedKeyUsagePurpose::{ClientAuth, ServerAuth};
    let etcd = Etcd::prepare();
    let folder = etcd.folder();
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let authority = || {
        let mut params = rcgen::CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = rcgen::KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        (rcgen::Issuer::new(params, key), pem)
    };
    let (issuer, ca) = authority();
    let ca = file("ca.pem", &ca);
    let (certificate, key) = signed(&issuer, ServerAuth);
    let (certificate, key) = (file("server.pem", &certificate), file("server.key", &key));
    let text = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let mut etcd = etcd.with_tls(&text(&certificate), &text(&key), &text(&ca));
    etcd.run();
    let (certificate, key) = signed(&issuer, ClientAuth);
    let ours = (file("client.pem", &certificate), file("client.key", &key));
    let with = |certificate| Credentials { ca: Some(ca.clone()), certificate, user: None };
    let mut journal = EtcdJournal::open(&etcd.place(), &with(Some(ours))).unwrap();
    journal.append(&[record(1)]).unwrap();
    assert_eq!(journal.load().unwrap().records, [record(1)]);
    assert!(EtcdJournal::open(&etcd.place(), &with(None)).is_err(), "without a certificate");
    let (other, pem) = authority();
    let _ = file("ca.pem", &pem);
    let (certificate, key) = signed(&other, ClientAuth);
    let theirs = (file("other.pem", &certificate), file("other.key", &key));
    assert!(EtcdJournal::open(&etcd.place(), &with(Some(theirs))).is_err(), "of another authority");
}

#[test]
fn a_user_of_etcd_writes_below_his_prefix() {
    let etcd = Etcd::start();
    let etcdctl = |words: &[&str]| {
        let done = std::process::Command::new("etcdctl")
            .args(["--endpoints", &etcd.place().endpoints[0]])
            .args(words)
            .env("ETCDCTL_API", "3")
            .output()
            .unwrap();
        assert!(done.status.success(), "{words:?}: {done:?}");
    };
    etcdctl(&["user", "add", "root:root"]);
    etcdctl(&["user", "grant-role", "root", "root"]);
    etcdctl(&["role", "add", "coeus"]);
    etcdctl(&["role", "grant-permission", "coeus", "--prefix=true", "readwrite", "/coeus/test/"]);
    etcdctl(&["user", "add", "coeus:secret"]);
    etcdctl(&["user", "grant-role", "coeus", "coeus"]);
    etcdctl(&["auth", "enable"]);
    let with = |password: &str| {
        let password_file = etcd.folder().join("password");
        std::fs::write(&password_file, format!("{password}\n")).unwrap();
        let user = Some(super::User { name: "coeus".into(), password_file });
        EtcdJournal::open(&etcd.place(), &Credentials { user, ..Credentials::default() })
    };
    let mut journal = with("secret").unwrap();
    journal.append(&[record(1)]).unwrap();
    journal.checkpoints().write(1, &[b"one".to_vec()]).unwrap();
    assert_eq!(journal.load().unwrap().checkpoint, Some((1, vec![b"one".to_vec()])));
    let wrong = with("wrong").err().unwrap().to_string();
    assert!(wrong.contains("the login") && wrong.contains("rights of the user"), "{wrong}");
    let nobody = EtcdJournal::open(&etcd.place(), &Credentials::default()).err().unwrap();
    assert!(nobody.to_string().contains("rights of the user"), "{nobody}");
}
