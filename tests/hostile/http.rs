//! What a client sends on a connection to the RESTCONF server, from its first byte on.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use coeus::accounts::Throttle;

use super::support::Server;

/// A last request: with it most of what was begun ends, and the server hangs up.
const LAST: &[u8] = b"\r\n\r\nGET /livez HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";
/// Nothing is heard for so long: the server waits for more, or has a stream without end.
const IDLE: Duration = Duration::from_millis(100);
/// What lasts longer never ends.
const LONG: Duration = Duration::from_secs(20);

/// A server that a stranger may ask as often as he likes, and the status of each answer that it gave.
struct Bed {
    server: Server,
    answered: Arc<Mutex<Vec<u16>>>,
}

impl Bed {
    fn start() -> Bed {
        let answered: Arc<Mutex<Vec<u16>>> = Arc::default();
        let noted = answered.clone();
        let server = Server::adjusted(move |app| {
            Arc::get_mut(&mut app.accounts).unwrap().throttle = Throttle::new(u32::MAX, Duration::ZERO);
            app.answered = Some(Arc::new(move |_, _, status, _| {
                noted.lock().unwrap_or_else(PoisonError::into_inner).push(status.as_u16());
            }));
        });
        Bed { server, answered }
    }
}

/// Answers are some, none is a fault of the server, and what was refused changes nothing.
pub fn take(bytes: &[u8]) {
    static BED: Mutex<Option<Bed>> = Mutex::new(None);
    let mut place = BED.lock().unwrap_or_else(PoisonError::into_inner);
    // What an input may change is not there for the next one.
    let bed = place.take().unwrap_or_else(Bed::start);
    let before = bed.server.state();
    let heard = exchange(bed.server.address, bytes);
    if !heard.is_empty() && !bytes.starts_with(b"PRI ") {
        let digits = heard.get(9..12).unwrap_or_default();
        assert!(heard.starts_with(b"HTTP/1.") && digits.iter().all(u8::is_ascii_digit), "{}", text(&heard));
    }
    let answers = std::mem::take(&mut *bed.answered.lock().unwrap_or_else(PoisonError::into_inner));
    assert!(answers.iter().all(|status| *status < 500 || *status == 501), "{answers:?}: {}", text(&heard));
    if bed.server.state() == before {
        *place = Some(bed);
    } else {
        assert!(answers.iter().any(|status| *status < 300), "{answers:?}: refused, but something changed");
    }
}

fn text(heard: &[u8]) -> String {
    String::from_utf8_lossy(heard).into_owned()
}

/// All that the server says until it hangs up, which it may do at any time, or says nothing more.
fn exchange(server: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(server).unwrap();
    stream.set_write_timeout(Some(LONG)).unwrap();
    stream.set_read_timeout(Some(IDLE)).unwrap();
    let _ = stream.write_all(bytes).and_then(|()| stream.write_all(LAST));
    let (begun, mut heard, mut chunk) = (Instant::now(), Vec::new(), [0; 65536]);
    while let Ok(count @ 1..) = stream.read(&mut chunk) {
        heard.extend_from_slice(&chunk[..count]);
        assert!(begun.elapsed() < LONG, "there is no end of it: {}", text(&heard));
    }
    heard
}
