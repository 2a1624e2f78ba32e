//! What the database of a switch sends: cut into messages and taken into the cache, however it was cut; and to a running session, with the renderers behind it. The
//! configuration is never changed by it.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use coeus::datastore::journal::MemoryJournal;
use coeus::datastore::{Handle, actor};
use coeus::ovsdb::{Cache, Framer, Incoming, Monitor, Table, notified, refusal, reply};
use coeus::renderers::Engine;
use coeus::schema::{Fields, builtin};
use coeus::southbound::ovsdb;

/// Some of what sessions ask for.
const TABLES: &[Table] = &[
    Table {
        name: "Bridge",
        columns: &["name", "ports", "fail_mode", "datapath_id", "other_config"],
        sets: &["ports"],
    },
    Table { name: "Interface", columns: &["name", "type", "ofport", "external_ids", "options"], sets: &[] },
];
/// Whoever connects brings rows that stay; a bed is made new after so many.
const SESSIONS: usize = 500;

pub fn take(bytes: &[u8]) {
    let whole = messages(bytes, bytes.len().max(1));
    assert_eq!(whole, messages(bytes, 7), "how a stream is cut does not matter");
    let mut cache = Cache::new(TABLES);
    for message in whole.0 {
        match Incoming::parse(&message) {
            Ok(Incoming::Notification { method, params }) => {
                let _ = notified(&mut cache, &method, &params);
            }
            Ok(Incoming::Response { result, .. }) => {
                for monitor in [Monitor::Since, Monitor::Conditional, Monitor::Plain] {
                    let _ = monitor.answer(&mut cache.clone(), &result);
                }
                let _ = Monitor::Since.answer(&mut cache, &result);
            }
            Ok(Incoming::Request { id, method, params }) => {
                for answer in [reply(&id, &params), refusal(&id, &method)] {
                    assert!(matches!(Incoming::parse(&answer), Ok(Incoming::Response { .. })));
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    session(bytes);
}

/// The messages of a stream, and whether it was refused behind them.
fn messages(bytes: &[u8], cut: usize) -> (Vec<Vec<u8>>, bool) {
    let (mut framer, mut found) = (Framer::default(), Vec::new());
    for piece in bytes.chunks(cut) {
        framer.push(piece);
        loop {
            match framer.next_message() {
                Ok(Some(message)) => found.push(message),
                Ok(None) => break,
                Err(_) => return (found, true),
            }
        }
    }
    (found, false)
}

struct Bed {
    _runtime: tokio::runtime::Runtime,
    datastore: Handle,
    port: u16,
}

impl Bed {
    fn start() -> Bed {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let engine = Engine::new(builtin(), Box::new(|_, _| {}));
        let datastore =
            actor::start(builtin(), Box::new(MemoryJournal::default()), Box::new(engine)).unwrap().handle;
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        let settings = ovsdb::Settings::default();
        runtime.spawn(ovsdb::serve(listener, settings, datastore.clone(), std::future::pending()));
        Bed { _runtime: runtime, datastore, port }
    }

    /// As it was written; what is derived from facts stands beside it.
    fn config(&self) -> Fields {
        self.datastore.snapshot().config.input.clone()
    }
}

/// A database that says these bytes and goes. The session must end.
fn session(bytes: &[u8]) {
    static BED: Mutex<Option<Arc<Bed>>> = Mutex::new(None);
    static USED: AtomicUsize = AtomicUsize::new(0);
    let bed = {
        let mut held = BED.lock().unwrap_or_else(PoisonError::into_inner);
        if USED.fetch_add(1, Ordering::Relaxed).is_multiple_of(SESSIONS) {
            *held = None;
        }
        held.get_or_insert_with(|| Arc::new(Bed::start())).clone()
    };
    let before = bed.config();
    let mut stream = TcpStream::connect(("127.0.0.1", bed.port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // It may hang up at any time.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let mut heard = Vec::new();
    if let Err(error) = stream.read_to_end(&mut heard) {
        let timed_out = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
        assert!(!timed_out, "the session goes on without its database");
    }
    assert_eq!(bed.config(), before, "a switch has changed the configuration");
}
