//! What a switch sends: cut into messages and decoded; and to a running session, with its programmer behind it.

#[path = "../support/sessions.rs"]
mod sessions;

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::OnceLock;
use std::time::Duration;

use bytes::BytesMut;
use coeus::net::Dpid;
use coeus::pipeline::{Delta, base_flows};
use coeus::programmer::Mandate;
use openflow_rs::{Features, Message, frame_len};

use super::frames;
use sessions::Sessions;

const DPID: u64 = 7;

/// What is decoded is encoded in a form that is decoded to the same. Packets that are handed over go to those who read them.
pub fn take(bytes: &[u8]) {
    let mut rest = BytesMut::from(bytes);
    while let Ok(Some(length)) = frame_len(&rest)
        && rest.len() >= length
    {
        let frame = rest.split_to(length).freeze();
        let Ok((header, message)) = Message::decode(&frame) else { continue };
        if let Message::PacketIn(packet) | Message::PacketIn2(packet) = &message {
            frames::dhcp(&packet.frame);
            frames::neighbours(&packet.frame);
        }
        let _ = format!("{message:?}");
        let mut again = BytesMut::new();
        message.encode(header.xid, &mut again);
        if let Ok((_, decoded)) = Message::decode(&again.freeze()) {
            let (mut first, mut second) = (BytesMut::new(), BytesMut::new());
            message.encode(header.xid, &mut first);
            decoded.encode(header.xid, &mut second);
            assert_eq!(first, second, "{message:?}");
        }
    }
    session(bytes);
}

/// The session server and the programmer of one switch.
fn bed() -> Sessions {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mut delta = Delta::default();
    base_flows().into_iter().for_each(|flow| delta.put_flow(flow));
    Sessions::start(runtime, Duration::ZERO, Mandate::Alone, [(Dpid(DPID), delta)].into())
}

/// A switch that introduces itself, says these bytes, and goes. The session must end.
fn session(bytes: &[u8]) {
    static BED: OnceLock<Sessions> = OnceLock::new();
    let bed = BED.get_or_init(bed);
    let mut stream = TcpStream::connect(("127.0.0.1", bed.port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let features = Features { dpid: DPID, buffers: 0, tables: 254, auxiliary_id: 0, capabilities: 0 };
    let mut said = BytesMut::new();
    Message::Hello { versions: 1 << 4 }.encode(1, &mut said);
    Message::FeaturesReply(features).encode(2, &mut said);
    said.extend_from_slice(bytes);
    // It may hang up at any time.
    let _ = stream.write_all(&said);
    let _ = stream.shutdown(Shutdown::Write);
    let mut heard = Vec::new();
    if let Err(error) = stream.read_to_end(&mut heard) {
        let timed_out = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
        assert!(!timed_out, "the session goes on without its switch");
    }
}
