//! Forgetting tracked connections (`NXT_CT_FLUSH`, Open vSwitch 3.1).

use std::net::IpAddr;

use bytes::{BufMut, BytesMut};

use crate::wire::{patch_len, put_zeros};

const NICIRA: u32 = 0x2320;
const CT_FLUSH: u32 = 32;
/// Types of the properties of the message. Source: `enum nx_ct_flush_tlv_type`.
const ORIGINAL: u16 = 0;
const REPLY: u16 = 1;
const ZONE: u16 = 2;
/// Types of the properties of a tuple. Source: `enum nx_ct_flush_tuple_tlv_type`.
const SOURCE: u16 = 0;
const DESTINATION: u16 = 1;
const SOURCE_PORT: u16 = 2;
const DESTINATION_PORT: u16 = 3;

/// Connections of a zone by what is known of them; all that is given has to hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CtFlush {
    pub zone: u16,
    /// Number of the transport protocol; 0: any.
    pub protocol: u8,
    /// Who sent the first packet, before any translation; `None`: anybody.
    pub source: Option<IpAddr>,
    /// Where the first packet went, before any translation, an address of zeros and a port of 0 being any; `None`: anywhere.
    pub destination: Option<(IpAddr, u16)>,
    /// Who answers, a port of 0 being any; `None`: anybody.
    pub answered_by: Option<(IpAddr, u16)>,
}

impl CtFlush {
    pub fn encode(&self, xid: u32, out: &mut BytesMut) {
        let start = crate::Header::begin(crate::message::EXPERIMENTER, xid, out);
        out.put_u32(NICIRA);
        out.put_u32(CT_FLUSH);
        out.put_u8(self.protocol);
        put_zeros(out, 7);
        if self.source.is_some() || self.destination.is_some() {
            tuple(ORIGINAL, out, |out| {
                self.source.inspect(|source| put_address(SOURCE, *source, out));
                if let Some((address, port)) = self.destination {
                    if !address.is_unspecified() {
                        put_address(DESTINATION, address, out);
                    }
                    if port != 0 {
                        put_number(DESTINATION_PORT, port, out);
                    }
                }
            });
        }
        if let Some((address, port)) = self.answered_by {
            tuple(REPLY, out, |out| {
                put_address(SOURCE, address, out);
                if port != 0 {
                    put_number(SOURCE_PORT, port, out);
                }
            });
        }
        put_number(ZONE, self.zone, out);
        patch_len(out, start, 2);
    }
}

/// A property that holds others.
fn tuple(kind: u16, out: &mut BytesMut, inside: impl FnOnce(&mut BytesMut)) {
    let start = out.len();
    out.put_u16(kind);
    out.put_u16(0);
    put_zeros(out, 4);
    inside(out);
    patch_len(out, start, 2);
}

fn put_address(kind: u16, address: IpAddr, out: &mut BytesMut) {
    let address = match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    out.put_u16(kind);
    out.put_u16(20);
    out.put_slice(&address.octets());
    put_zeros(out, 4);
}

fn put_number(kind: u16, number: u16, out: &mut BytesMut) {
    out.put_u16(kind);
    out.put_u16(8);
    out.put_u16(number);
    put_zeros(out, 2);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(flush: &CtFlush) -> String {
        let mut bytes = BytesMut::new();
        flush.encode(2, &mut bytes);
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The bytes that `ovs-ofctl -O OpenFlow13 ct-flush` of Open vSwitch 3.1 sends.
    #[test]
    fn it_says_what_ovs_ofctl_says() {
        let flush = CtFlush {
            zone: 10,
            protocol: 6,
            source: None,
            destination: Some((IpAddr::from([10, 96, 0, 10]), 80)),
            answered_by: Some((IpAddr::from([10, 11, 1, 20]), 8080)),
        };
        assert_eq!(
            hex(&flush),
            "04040070000000020000232000000020060000000000000000000028000000000001001400000000000000000000ffff\
             0a60000a00000000000300080050000000010028000000000000001400000000000000000000ffff0a0b011400000000\
             000200081f90000000020008000a0000"
        );
        let anywhere =
            CtFlush { destination: Some(("0.0.0.0".parse().unwrap(), 80)), answered_by: None, ..flush };
        assert_eq!(
            hex(&anywhere),
            "0404003000000002000023200000002006000000000000000000001000000000000300080050000000020008000a0000"
        );
        let any_port = CtFlush {
            protocol: 132,
            destination: None,
            answered_by: flush.answered_by.map(|(address, _)| (address, 0)),
            ..flush
        };
        assert_eq!(
            hex(&any_port),
            "0404004000000002000023200000002084000000000000000001002000000000\
             0000001400000000000000000000ffff0a0b011400000000000200080\
             00a0000"
        );
        let all = CtFlush {
            protocol: 17,
            destination: Some(("fd96::1".parse().unwrap(), 80)),
            answered_by: None,
            ..flush
        };
        assert_eq!(
            hex(&all),
            "0404004800000002000023200000002011000000000000000000002800000000000100\
             14fd96000000000000000000000000000100000000000300080050000000020008000a0000"
        );
        let of = |source: IpAddr| CtFlush {
            zone: 65_520,
            protocol: 0,
            source: Some(source),
            destination: None,
            answered_by: None,
        };
        assert_eq!(
            hex(&of([10, 11, 1, 10].into())),
            "0404004000000002000023200000002000000000000000000000002000000000000000\
             1400000000000000000000ffff0a0b010a0000000000020008fff00000"
        );
        assert_eq!(
            hex(&of("fd00:1::10".parse().unwrap())),
            "0404004000000002000023200000002000000000000000000000002000000000000000\
             14fd0000010000000000000000000000100000000000020008fff00000"
        );
    }
}
