//! Questions to the kernel's routing socket (rtnetlink(7)), one at a time.

use std::io;

use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

/// A socket in the namespace of the thread that opens it.
pub struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    /// # Errors
    /// When the kernel gives none.
    pub fn open() -> io::Result<Netlink> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Netlink { socket, sequence: 0 })
    }

    /// Has something done; what comes back beside the acknowledgement.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn ask(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<Vec<RouteNetlinkMessage>> {
        self.sequence += 1;
        let mut message = NetlinkMessage::from(message);
        let wants_ack = if flags & NLM_F_DUMP == NLM_F_DUMP { 0 } else { NLM_F_ACK };
        message.header.flags = NLM_F_REQUEST | wants_ack | flags;
        message.header.sequence_number = self.sequence;
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let mut found = Vec::new();
        loop {
            let (bytes, _) = self.socket.recv_from_full()?;
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
                    .map_err(|error| io::Error::other(format!("netlink: {error}")))?;
                let length = (message.header.length as usize).next_multiple_of(4);
                rest = rest.get(length..).unwrap_or_default();
                if message.header.sequence_number != self.sequence {
                    continue;
                }
                match message.payload {
                    NetlinkPayload::InnerMessage(inner) => found.push(inner),
                    NetlinkPayload::Done(_) => return Ok(found),
                    NetlinkPayload::Error(error) if error.code.is_none() => return Ok(found),
                    NetlinkPayload::Error(error) => return Err(error.to_io()),
                    _ => {}
                }
                if length == 0 {
                    break;
                }
            }
        }
    }
}
