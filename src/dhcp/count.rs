/// What has happened, as the leafs of `coeus-dhcp:counters` are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Count {
    Discover,
    Offer,
    Request,
    Ack,
    Nak,
    Release,
    Decline,
    Inform,
    Solicit,
    Advertise,
    Confirm,
    Renew,
    Rebind,
    Reply,
    Refused,
    Malformed,
    Foreign,
    Unknown,
    Unserved,
    Exhausted,
}
