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
    Malformed,
    Foreign,
    Unknown,
    Unserved,
    Exhausted,
}
