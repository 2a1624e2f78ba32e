//! The headers of a packet that was stopped.

use std::fmt;
use std::net::IpAddr;

use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice};
use openflow_rs::{Field, Match};

use crate::pipeline::matches::ct;

/// Who sent what to whom, as far as the bytes say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headers {
    pub source: IpAddr,
    pub destination: IpAddr,
    /// Number of the protocol (IANA).
    pub protocol: u8,
    /// Source and destination; none of fragments behind the first, nor of protocols without ports.
    pub ports: Option<(u16, u16)>,
}

/// Why a packet was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No rule allows it.
    NoRule,
    /// It goes on with a connection that was allowed and is not any more.
    NoLongerAllowed,
    /// It answers what was not allowed.
    NotAskedFor,
}

/// Number of SCTP (RFC 9260 section 3), which has its ports where UDP does.
const SCTP: u8 = 132;

impl Headers {
    /// `None`: it is no IP packet.
    pub fn of(frame: &[u8]) -> Option<Headers> {
        let packet = LaxSlicedPacket::from_ethernet(frame).ok()?;
        let (source, destination, payload): (IpAddr, IpAddr, _) = match packet.net.as_ref()? {
            LaxNetSlice::Ipv4(ip) => {
                let header = ip.header();
                (header.source_addr().into(), header.destination_addr().into(), ip.payload())
            }
            LaxNetSlice::Ipv6(ip) => {
                let header = ip.header();
                (header.source_addr().into(), header.destination_addr().into(), ip.payload())
            }
            LaxNetSlice::Arp(_) => return None,
        };
        let protocol = payload.ip_number.0;
        let ports = match &packet.transport {
            Some(TransportSlice::Tcp(tcp)) => Some((tcp.source_port(), tcp.destination_port())),
            Some(TransportSlice::Udp(udp)) => Some((udp.source_port(), udp.destination_port())),
            None if protocol == SCTP && !payload.fragmented => {
                let word = |at: usize| {
                    payload.payload.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]))
                };
                word(0).zip(word(2))
            }
            _ => None,
        };
        Some(Headers { source, destination, protocol, ports })
    }

    /// The protocol as people call it.
    pub fn protocol_name(&self) -> String {
        match self.protocol {
            1 => "icmp".into(),
            6 => "tcp".into(),
            17 => "udp".into(),
            58 => "icmpv6".into(),
            SCTP => "sctp".into(),
            other => other.to_string(),
        }
    }
}

impl Reason {
    /// By what the pipeline knew of a packet that one of the tables of what is denied handed over. The table that takes the bit from a
    /// connection leaves nothing of what was known of it (ovs-actions(7), `ct`: fields of connection tracking are cleared).
    pub fn of(metadata: &Match) -> Reason {
        let state = metadata.get(Field::CtState).map_or(0, |condition| condition.value as u32);
        if state & ct::TRACKED == 0 {
            Reason::NoLongerAllowed
        } else if state & ct::REPLY != 0 {
            Reason::NotAskedFor
        } else {
            Reason::NoRule
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::NoRule => "no-rule",
            Reason::NoLongerAllowed => "no-longer-allowed",
            Reason::NotAskedFor => "not-asked-for",
        })
    }
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;
    use proptest::prelude::*;

    use super::*;

    fn builder() -> etherparse::PacketBuilderStep<etherparse::IpHeaders> {
        PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 63)
    }

    #[test]
    fn headers_are_read_of_the_first_bytes() {
        let (mut udp, mut tcp) = (Vec::new(), Vec::new());
        builder().udp(40_000, 53).write(&mut udp, &[9; 600]).unwrap();
        builder().tcp(40_000, 80, 1, 1).syn().write(&mut tcp, &[]).unwrap();
        let found = Headers::of(&udp[..128]).unwrap();
        let wanted = |protocol, ports| Headers {
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 2].into(),
            protocol,
            ports,
        };
        assert_eq!(found, wanted(17, Some((40_000, 53))));
        assert_eq!(Headers::of(&tcp).unwrap(), wanted(6, Some((40_000, 80))));
        assert_eq!(found.protocol_name(), "udp");
    }

    #[test]
    fn sctp_has_ports_and_icmp_has_none() {
        let (mut sctp, mut echo) = (Vec::new(), Vec::new());
        let chunk = [0x9c, 0x40, 0x00, 0x50, 0, 0, 0, 0, 0, 0, 0, 0];
        builder().write(&mut sctp, etherparse::IpNumber(SCTP), &chunk).unwrap();
        builder().icmpv4_echo_request(1, 1).write(&mut echo, &[]).unwrap();
        assert_eq!(Headers::of(&sctp).unwrap().ports, Some((40_000, 80)));
        assert_eq!(Headers::of(&echo).unwrap().ports, None);
        assert_eq!(Headers::of(&[0; 60]), None);
    }

    #[test]
    fn the_pipeline_says_why() {
        let with = |state: u32| Match::new().with(Field::CtState, state);
        assert_eq!(Reason::of(&with(0x21)), Reason::NoRule);
        assert_eq!(Reason::of(&with(0x22)), Reason::NoRule);
        assert_eq!(Reason::of(&with(0x2a)), Reason::NotAskedFor);
        assert_eq!(Reason::of(&Match::new()), Reason::NoLongerAllowed);
    }

    proptest! {
        /// Nothing that a pod sends makes it panic.
        #[test]
        fn any_frame_is_taken(frame in prop::collection::vec(any::<u8>(), 0..200), six in any::<bool>()) {
            let mut frame = frame;
            if frame.len() > 34 {
                frame[12..15].copy_from_slice(if six { &[0x86, 0xdd, 0x60] } else { &[8, 0, 0x45] });
            }
            let _ = Headers::of(&frame);
        }
    }
}
