//! What controllers of a store say to each other about switches, as bytes. Pure.
//!
//! A frame: its length behind these four bytes (u32), what it is (u8), the switch (u64), and what is said: of a status the election (u64)
//! and JSON, of everything else a message of OpenFlow.

use bytes::{Buf, BufMut, BytesMut};
use openflow_rs::{DecodeError, FlowRemoved, Message, PacketIn, PacketOut};

use crate::net::Dpid;
use crate::programmer::Status;

/// Bytes of a frame at most.
const LONGEST: usize = 1 << 20;
const HEAD: usize = 9;

/// One thing that is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// How far a switch is, by whoever owns it by this election.
    Status(Dpid, u64, Box<Status>),
    /// A packet that a switch handed over to its owner.
    Punted(Dpid, PacketIn),
    /// A flow that a switch has no more.
    Ended(Dpid, FlowRemoved),
    /// A frame that the owner is to send through the switch.
    Out(Dpid, PacketOut),
}

#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error("a frame of {0} bytes; at most {LONGEST} are taken")]
    Length(usize),
    #[error("nothing is said by {0}")]
    Kind(u8),
    #[error("a status: {0}")]
    Status(#[from] serde_json::Error),
    #[error("a message: {0}")]
    Message(#[from] DecodeError),
}

impl Word {
    /// Appends the frame.
    pub fn encode(&self, out: &mut BytesMut) {
        let start = out.len();
        out.put_u32(0);
        let (kind, dpid) = match self {
            Word::Status(dpid, ..) => (1, dpid),
            Word::Punted(dpid, _) => (2, dpid),
            Word::Ended(dpid, _) => (3, dpid),
            Word::Out(dpid, _) => (4, dpid),
        };
        out.put_u8(kind);
        out.put_u64(dpid.0);
        let mut body = BytesMut::new();
        match self {
            Word::Status(_, election, status) => {
                body.put_u64(*election);
                body.extend(serde_json::to_vec(status).unwrap_or_default());
            }
            Word::Punted(_, packet) => Message::PacketIn2(packet.clone()).encode(0, &mut body),
            Word::Ended(_, flow) => Message::FlowRemoved(flow.clone()).encode(0, &mut body),
            Word::Out(_, packet) => Message::PacketOut(packet.clone()).encode(0, &mut body),
        }
        out.extend(body);
        let length = (out.len() - start - 4) as u32;
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// Takes the first whole frame off. `None`: it is not whole yet.
    ///
    /// # Errors
    /// When it is none of ours.
    pub fn take(input: &mut BytesMut) -> Result<Option<Word>, FrameError> {
        let Some(length) = input.first_chunk().map(|length| u32::from_be_bytes(*length) as usize) else {
            return Ok(None);
        };
        if !(HEAD..=LONGEST).contains(&length) {
            return Err(FrameError::Length(length));
        }
        if input.len() < 4 + length {
            return Ok(None);
        }
        input.advance(4);
        let mut frame = input.split_to(length);
        let (kind, dpid) = (frame.get_u8(), Dpid(frame.get_u64()));
        if kind == 1 {
            let election = frame.try_get_u64().map_err(|_| FrameError::Length(length))?;
            return Ok(Some(Word::Status(dpid, election, serde_json::from_slice(&frame)?)));
        }
        match (kind, Message::decode(&frame)?.1) {
            (2, Message::PacketIn2(packet)) => Ok(Some(Word::Punted(dpid, packet))),
            (3, Message::FlowRemoved(flow)) => Ok(Some(Word::Ended(dpid, flow))),
            (4, Message::PacketOut(packet)) => Ok(Some(Word::Out(dpid, packet))),
            (kind, _) => Err(FrameError::Kind(kind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use openflow_rs::{Field, Match, ports};

    use super::*;
    use crate::programmer::Failure;

    fn words() -> Vec<Word> {
        let failure = Failure {
            owner: "elan e".into(),
            key: "e".into(),
            subject: "a flow".into(),
            message: "OFPFMFC_TABLE_FULL".into(),
        };
        let status = Status {
            connected: true,
            peer: "10.0.0.1:4".into(),
            since: Some(SystemTime::UNIX_EPOCH + Duration::from_millis(1_500)),
            programmed: 17,
            failures: vec![failure],
            ..Status::default()
        };
        let packet = PacketIn {
            table: 60,
            cookie: 7,
            metadata: Match::new().with(Field::InPort, 5_u64),
            userdata: vec![1, 2],
            full_len: 4,
            frame: vec![1, 2, 3, 4],
            ..PacketIn::default()
        };
        let out = PacketOut { in_port: ports::CONTROLLER, actions: Vec::new(), frame: vec![9; 60] };
        vec![
            Word::Status(Dpid(1), 42, Box::new(status)),
            Word::Punted(Dpid(u64::MAX), packet),
            Word::Out(Dpid(3), out),
        ]
    }

    #[test]
    fn what_is_said_is_heard_however_it_is_cut() {
        let mut bytes = BytesMut::new();
        words().iter().for_each(|word| word.encode(&mut bytes));
        let (mut heard, mut input) = (Vec::new(), BytesMut::new());
        for byte in bytes {
            input.put_u8(byte);
            heard.extend(Word::take(&mut input).unwrap());
        }
        assert_eq!(heard, words());
        assert!(input.is_empty());
    }

    #[test]
    fn what_is_nothing_of_ours_is_refused() {
        for wrong in [
            [0_u8; 16].as_slice(),
            &[0xff; 16],
            &[0, 0, 0, 9, 1, 0, 0, 0, 0, 0, 0, 0, 1],
            &[0, 0, 0, 17, 2, 0, 0, 0, 0, 0, 0, 0, 1, 4, 0, 0, 8, 0, 0, 0, 0],
        ] {
            assert!(Word::take(&mut wrong.into()).is_err(), "{wrong:?}");
        }
    }
}
