//! Open vSwitch's own tools read what we write, and we read what they write, without a switch.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::process::Command;

use bytes::BytesMut;
use openflow_rs::{Features, FlowMod, Message, frame_len, instruction};

#[test]
fn ovs_ofctl_prints_our_bytes_as_we_do() {
    for n in [1, 77, 0xabcd] {
        for flow in common::samples(n) {
            let mut bytes = BytesMut::new();
            Message::FlowMod(flow.clone()).encode(7, &mut bytes);
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let printed = common::run(Command::new("ovs-ofctl").args(["ofp-print", &hex]));
            assert_eq!(common::essence(&printed), common::essence(&flow.to_string()), "{printed}");
        }
    }
}

/// Reads whole messages off a stream.
fn next(stream: &mut impl Read, buffer: &mut Vec<u8>) -> Option<Vec<u8>> {
    loop {
        if let Ok(Some(length)) = frame_len(buffer)
            && buffer.len() >= length
        {
            return Some(buffer.drain(..length).collect());
        }
        let mut chunk = [0; 4096];
        let count = stream.read(&mut chunk).ok().filter(|count| *count > 0)?;
        buffer.extend(&chunk[..count]);
    }
}

#[test]
fn flows_that_ovs_ofctl_reads_from_our_text_arrive_as_we_meant_them() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("switch");
    let listener = UnixListener::bind(&socket).unwrap();
    let switch = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
        let (mut buffer, mut flows) = (Vec::new(), Vec::<FlowMod>::new());
        let send = |stream: &mut std::os::unix::net::UnixStream, message: Message, xid| {
            let mut bytes = BytesMut::new();
            message.encode(xid, &mut bytes);
            let _ = stream.write_all(&bytes);
        };
        send(&mut stream, Message::Hello { versions: 16 }, 1);
        while let Some(frame) = next(&mut stream, &mut buffer) {
            let (header, message) = Message::decode(&frame).unwrap();
            match message {
                Message::FlowMod(flow) => flows.push(flow),
                Message::BarrierRequest => send(&mut stream, Message::BarrierReply, header.xid),
                Message::EchoRequest(data) => send(&mut stream, Message::EchoReply(data), header.xid),
                Message::FeaturesRequest => {
                    let features =
                        Features { dpid: 1, buffers: 0, tables: 254, auxiliary_id: 0, capabilities: 0 };
                    send(&mut stream, Message::FeaturesReply(features), header.xid);
                }
                _ => {}
            }
        }
        flows
    });
    let wanted = common::samples(5);
    let text: String = wanted.iter().map(|flow| format!("{flow}\n")).collect();
    let file = folder.path().join("flows");
    std::fs::write(&file, text).unwrap();
    let target = format!("unix:{}", socket.display());
    common::run(
        Command::new("ovs-ofctl").args(["--no-names", "-O", "OpenFlow13", "add-flows", &target]).arg(&file),
    );
    let arrived = switch.join().unwrap();
    assert_eq!(arrived.len(), wanted.len());
    for (arrived, wanted) in arrived.into_iter().zip(wanted) {
        assert_eq!(arrived.match_.canonical(), wanted.match_.canonical());
        assert_eq!(instruction::canonical(arrived.instructions), instruction::canonical(wanted.instructions));
        assert_eq!(
            (arrived.table, arrived.priority, arrived.cookie),
            (wanted.table, wanted.priority, wanted.cookie)
        );
    }
}
