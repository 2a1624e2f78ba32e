//! What is dropped, and why: one class a counter.

/// A class of packets that no pod may send. Its flows have a cookie number of their own, so that their counters are the
/// class's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// Protocols between bridges: spanning tree, LLDP, link aggregation.
    LinkProtocol = 2,
    /// Router advertisements and redirects: the switch is the router.
    Router = 3,
    /// Answers of a DHCP or DHCPv6 server.
    DhcpServer = 4,
    /// Another MAC address than the pod's.
    SourceMac = 5,
    /// An ARP packet that tells of another MAC or address than the pod's.
    ArpSender = 6,
    /// The same of a neighbour solicitation or advertisement.
    NdSender = 7,
    /// Another IPv4 address than the pod's.
    Ipv4Source = 8,
    /// Another IPv6 address than the pod's.
    Ipv6Source = 9,
    /// A link-local IPv6 address of a pod that has no IPv6: its kernel tries by itself, and means no harm.
    LinkLocal = 10,
    /// IPv6 whose headers push what it carries out of sight.
    HiddenHeader = 11,
}

impl Class {
    /// As in cookies' owners and logs.
    pub fn name(self) -> &'static str {
        match self {
            Class::LinkProtocol => "drop link-protocol",
            Class::Router => "drop router",
            Class::DhcpServer => "drop dhcp-server",
            Class::SourceMac => "drop source-mac",
            Class::ArpSender => "drop arp-sender",
            Class::NdSender => "drop nd-sender",
            Class::Ipv4Source => "drop ipv4-source",
            Class::Ipv6Source => "drop ipv6-source",
            Class::LinkLocal => "drop link-local",
            Class::HiddenHeader => "drop hidden-header",
        }
    }
}
