//! What clients and servers say (RFC 2131 section 2), without its bytes.

use std::net::Ipv4Addr;

use crate::net::MacAddr;
use crate::schema::Text;

/// Option 53 (RFC 2132 section 9.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Discover = 1,
    Offer = 2,
    Request = 3,
    Decline = 4,
    Ack = 5,
    Nak = 6,
    Release = 7,
    Inform = 8,
}

/// Code and data of an option (RFC 2132).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opt {
    pub code: u8,
    pub data: Vec<u8>,
}

/// A client's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub kind: Kind,
    pub xid: u32,
    /// The broadcast flag.
    pub broadcast: bool,
    /// Ethernet source of the frame: the client's own or its relay agent's.
    pub source: MacAddr,
    /// Hardware address in the message.
    pub chaddr: MacAddr,
    pub ciaddr: Ipv4Addr,
    /// The relay agent's address on the client's link; unspecified without one.
    pub giaddr: Ipv4Addr,
    /// Option 50.
    pub requested: Option<Ipv4Addr>,
    /// Option 54.
    pub server: Option<Ipv4Addr>,
    /// Option 51, seconds.
    pub time: Option<u32>,
    /// Option 61 as it came.
    pub client_id: Option<Vec<u8>>,
    /// Option 55: codes in the client's order.
    pub wanted: Option<Vec<u8>>,
    /// Option 57: octets of the IP datagram of a reply.
    pub max_size: Option<u16>,
    /// Option 82 as it came (RFC 3046).
    pub relay_info: Option<Vec<u8>>,
}

/// A server's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub kind: Kind,
    pub server: Ipv4Addr,
    /// yiaddr: unspecified in NAK and in the answer to INFORM.
    pub address: Ipv4Addr,
    /// siaddr.
    pub next_server: Ipv4Addr,
    /// sname.
    pub server_name: Option<Text>,
    /// file.
    pub boot_file: Option<Text>,
    /// All but message type, server identifier and what is echoed; what matters most comes first.
    pub options: Vec<Opt>,
}

impl Kind {
    pub fn of(number: u8) -> Option<Kind> {
        use Kind::{Ack, Decline, Discover, Inform, Nak, Offer, Release, Request};
        let all = [Discover, Offer, Request, Decline, Ack, Nak, Release, Inform];
        all.into_iter().find(|kind| *kind as u8 == number)
    }
}

impl Opt {
    pub fn new(code: u8, data: impl Into<Vec<u8>>) -> Opt {
        Opt { code, data: data.into() }
    }

    pub fn seconds(code: u8, seconds: u32) -> Opt {
        Opt::new(code, seconds.to_be_bytes())
    }

    pub fn addresses(code: u8, addresses: &[Ipv4Addr]) -> Opt {
        Opt { code, data: addresses.iter().flat_map(Ipv4Addr::octets).collect() }
    }
}

impl Request {
    /// Option 61 in hexadecimal.
    pub fn client_id(&self) -> Option<String> {
        self.client_id.as_ref().map(|id| hex(id))
    }

    /// Did a relay agent send it on?
    pub fn is_relayed(&self) -> bool {
        !self.giaddr.is_unspecified()
    }
}

/// Lower case, two digits a byte.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
