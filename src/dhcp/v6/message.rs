//! What clients and servers say (RFC 8415 sections 7, 8 and 21), without its bytes.

use std::fmt;
use std::net::Ipv6Addr;

use crate::net::MacAddr;

/// Message types (section 7.3); those of relay agents are not for us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Solicit = 1,
    Advertise = 2,
    Request = 3,
    Confirm = 4,
    Renew = 5,
    Rebind = 6,
    Reply = 7,
    Release = 8,
    Decline = 9,
    Reconfigure = 10,
    InformationRequest = 11,
}

/// Status codes (section 21.13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Success = 0,
    NoAddrsAvail = 2,
    NoBinding = 3,
    NotOnLink = 4,
    UseMulticast = 5,
    NoPrefixAvail = 6,
}

/// A unique identifier of a client or server, as it came (section 11).
#[derive(Clone, PartialEq, Eq)]
pub struct Duid(pub Vec<u8>);

/// Kinds of identity associations, by their options' codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IaKind {
    /// Addresses.
    Na = 3,
    /// Temporary addresses.
    Ta = 4,
    /// Prefixes for delegation.
    Pd = 25,
}

/// An identity association of a client's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ia {
    pub kind: IaKind,
    pub iaid: u32,
    /// Addresses that it has, or would like to have.
    pub addresses: Vec<Ipv6Addr>,
}

/// A client's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub kind: Kind,
    /// 24 bits.
    pub xid: u32,
    /// Ethernet source of the frame.
    pub source: MacAddr,
    pub address: Ipv6Addr,
    /// It was sent to one address and not to all servers.
    pub unicast: bool,
    /// Option 1.
    pub client: Option<Duid>,
    /// Option 2.
    pub server: Option<Duid>,
    pub ias: Vec<Ia>,
    /// Option 6: codes in the client's order.
    pub wanted: Option<Vec<u16>>,
    /// Option 14.
    pub rapid_commit: bool,
}

/// An address with its lifetime in seconds, preferred and valid alike. Zero: it is not the client's any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leased {
    pub address: Ipv6Addr,
    pub lifetime: u32,
}

/// What becomes of an identity association.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IaReply {
    pub kind: IaKind,
    pub iaid: u32,
    /// T1 and T2, seconds.
    pub times: (u32, u32),
    pub addresses: Vec<Leased>,
    pub status: Option<Status>,
}

/// Code and data of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opt {
    pub code: u16,
    pub data: Vec<u8>,
}

/// A server's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub kind: Kind,
    pub server: Duid,
    /// Of the whole message.
    pub status: Option<Status>,
    pub ias: Vec<IaReply>,
    pub rapid_commit: bool,
    /// All but identifiers, status and associations; what matters most comes first.
    pub options: Vec<Opt>,
}

impl Kind {
    pub fn of(number: u8) -> Option<Kind> {
        use Kind::{
            Advertise, Confirm, Decline, InformationRequest, Rebind, Reconfigure, Release, Renew, Reply,
            Request, Solicit,
        };
        let all = [
            Solicit,
            Advertise,
            Request,
            Confirm,
            Renew,
            Rebind,
            Reply,
            Release,
            Decline,
            Reconfigure,
            InformationRequest,
        ];
        all.into_iter().find(|kind| *kind as u8 == number)
    }
}

impl Status {
    /// For the people who read a client's log.
    pub fn said(self) -> &'static str {
        match self {
            Status::Success => "done",
            Status::NoAddrsAvail => "no address is left",
            Status::NoBinding => "not an address of this client",
            Status::NotOnLink => "not an address of this link",
            Status::UseMulticast => "send it to all servers",
            Status::NoPrefixAvail => "no prefixes are delegated",
        }
    }
}

impl Duid {
    /// The random kind (RFC 6355): whoever draws it keeps it.
    pub fn of_uuid(random: [u8; 16]) -> Duid {
        Duid([0, 4].into_iter().chain(random).collect())
    }

    /// Octets that may be one (section 11.1).
    pub fn of(octets: &[u8]) -> Option<Duid> {
        (3..=130).contains(&octets.len()).then(|| Duid(octets.to_vec()))
    }

    /// From what `Display` writes.
    pub fn parse(text: &str) -> Option<Duid> {
        let digits = text.as_bytes().chunks(2);
        let octets = digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
        Duid::of(&octets.collect::<Option<Vec<u8>>>()?)
    }
}

/// Hexadecimal, lower case.
impl fmt::Display for Duid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

impl fmt::Debug for Duid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
