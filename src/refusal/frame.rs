//! Packets read, refusals written.

use etherparse::{
    Icmpv4Type, Icmpv6Type, LaxNetSlice, LaxSlicedPacket, LinkSlice, PacketBuilder, PacketBuilderStep,
    TcpSlice, TransportSlice, icmpv4, icmpv6,
};

/// What a host puts into its own packets.
const TTL: u8 = 64;
/// Bytes of the packet that an ICMP error quotes: its headers and a little more (RFC 1812 section 4.3.2.3).
const QUOTED: usize = 128;
/// Length of an Ethernet header: what follows is the IP packet.
const ETHERNET: usize = 14;

/// The answer of a host where nobody listens: a reset to TCP (RFC 9293 section 3.10.7.1), an ICMP error to all else (RFC
/// 1122 section 4.1.3.1, RFC 4443 section 3.1). `None`: there is none to this packet.
pub fn refusal(frame: &[u8]) -> Option<Vec<u8>> {
    let packet = LaxSlicedPacket::from_ethernet(frame).ok()?;
    let Some(LinkSlice::Ethernet2(link)) = &packet.link else { return None };
    let builder = PacketBuilder::ethernet2(link.destination(), link.source());
    let quoted = frame.get(ETHERNET..frame.len().min(ETHERNET + QUOTED))?;
    let (to_client, payload) = match packet.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let to_client = builder.ipv4(header.destination(), header.source(), TTL);
            (to_client, usize::from(header.total_len()).checked_sub(header.slice().len())?)
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            let to_client = builder.ipv6(header.destination(), header.source(), TTL);
            (to_client, usize::from(header.payload_length()))
        }
        LaxNetSlice::Arp(_) => return None,
    };
    let is_v4 = matches!(packet.net, Some(LaxNetSlice::Ipv4(_)));
    match packet.transport {
        Some(TransportSlice::Tcp(asked)) => reset(to_client, &asked, payload),
        Some(TransportSlice::Icmpv4(_) | TransportSlice::Icmpv6(_)) => None,
        _ if is_v4 => {
            let kind = Icmpv4Type::DestinationUnreachable(icmpv4::DestUnreachableHeader::Port);
            let builder = to_client.icmpv4(kind);
            let mut answer = Vec::with_capacity(builder.size(quoted.len()));
            builder.write(&mut answer, quoted).ok()?;
            Some(answer)
        }
        _ => {
            let kind = Icmpv6Type::DestinationUnreachable(icmpv6::DestUnreachableCode::Port);
            let builder = to_client.icmpv6(kind);
            let mut answer = Vec::with_capacity(builder.size(quoted.len()));
            builder.write(&mut answer, quoted).ok()?;
            Some(answer)
        }
    }
}

/// A reset that the client takes for an answer to its own segment. `length`: bytes of the segment with its header.
fn reset(
    to_client: PacketBuilderStep<etherparse::IpHeaders>,
    asked: &TcpSlice<'_>,
    length: usize,
) -> Option<Vec<u8>> {
    if asked.rst() {
        return None;
    }
    let (from, to) = (asked.destination_port(), asked.source_port());
    let builder = if asked.ack() {
        to_client.tcp(from, to, asked.acknowledgment_number(), 0).rst()
    } else {
        let data = length.checked_sub(usize::from(asked.data_offset()) * 4)? as u32;
        let taken = data + u32::from(asked.syn()) + u32::from(asked.fin());
        to_client.tcp(from, to, 0, 0).rst().ack(asked.sequence_number().wrapping_add(taken))
    };
    let mut answer = Vec::with_capacity(builder.size(0));
    builder.write(&mut answer, &[]).ok()?;
    Some(answer)
}

#[cfg(test)]
mod tests {
    use etherparse::{NetSlice, SlicedPacket};
    use proptest::prelude::*;

    use super::*;

    const CLIENT: [u8; 4] = [10, 11, 1, 10];
    const SERVICE: [u8; 4] = [10, 96, 0, 10];

    fn v4() -> PacketBuilderStep<etherparse::IpHeaders> {
        PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4(CLIENT, SERVICE, 63)
    }

    fn asked(builder: PacketBuilderStep<etherparse::TcpHeader>, data: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        builder.write(&mut frame, data).unwrap();
        frame
    }

    /// Ports, sequence and acknowledgement of a reset.
    fn read_reset(frame: &[u8]) -> (u16, u16, u32, Option<u32>) {
        let packet = SlicedPacket::from_ethernet(frame).unwrap();
        let Some(NetSlice::Ipv4(ip)) = &packet.net else { panic!("no IPv4") };
        assert_eq!((ip.header().source(), ip.header().destination()), (SERVICE, CLIENT));
        let Some(TransportSlice::Tcp(tcp)) = packet.transport else { panic!("no TCP") };
        assert!(tcp.rst());
        let ack = tcp.ack().then(|| tcp.acknowledgment_number());
        (tcp.source_port(), tcp.destination_port(), tcp.sequence_number(), ack)
    }

    #[test]
    fn a_connection_is_reset() {
        let syn = asked(v4().tcp(40000, 80, 7, 1000).syn(), &[]);
        let answer = refusal(&syn).unwrap();
        assert_eq!(read_reset(&answer), (80, 40000, 0, Some(8)));
        assert_eq!((&answer[..6], &answer[6..12]), (&[1; 6][..], &[2; 6][..]));
        let midst = asked(v4().tcp(40000, 80, 7, 1000).ack(99), b"data");
        assert_eq!(read_reset(&refusal(&midst).unwrap()), (80, 40000, 99, None));
        assert_eq!(
            refusal(&asked(v4().tcp(40000, 80, 7, 1000).rst(), &[])),
            None,
            "a reset is never answered"
        );
    }

    #[test]
    fn a_datagram_is_answered_with_an_error_that_quotes_it() {
        let mut frame = Vec::new();
        v4().udp(40000, 53).write(&mut frame, &[9; 600]).unwrap();
        // What a switch punts is cut.
        let answer = refusal(&frame[..256]).unwrap();
        let packet = SlicedPacket::from_ethernet(&answer).unwrap();
        let Some(TransportSlice::Icmpv4(error)) = packet.transport else { panic!("no ICMP") };
        assert_eq!((error.type_u8(), error.code_u8()), (3, 3));
        assert_eq!(error.payload(), &frame[14..14 + QUOTED]);
        let mut frame = Vec::new();
        let v6 = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv6([1; 16], [2; 16], 63);
        v6.udp(40000, 53).write(&mut frame, &[9; 6]).unwrap();
        let answer = refusal(&frame).unwrap();
        let packet = SlicedPacket::from_ethernet(&answer).unwrap();
        let Some(TransportSlice::Icmpv6(error)) = packet.transport else { panic!("no ICMPv6") };
        assert_eq!((error.type_u8(), error.code_u8()), (1, 4));
    }

    proptest! {
        /// Nothing that a pod sends makes it panic.
        #[test]
        fn any_frame_is_taken(frame in prop::collection::vec(any::<u8>(), 0..200), kind in any::<bool>()) {
            let mut frame = frame;
            if frame.len() > 34 {
                frame[12..15].copy_from_slice(if kind { &[8, 0, 0x45] } else { &[0x86, 0xdd, 0x60] });
            }
            let _ = refusal(&frame);
        }
    }
}
