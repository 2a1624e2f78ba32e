//! Table 60.

use crate::net::LportTag;
use crate::pipeline::matches::{lport, udp, udp_v6};
use crate::pipeline::{DHCP, Flow, LONGEST_PUNT, Owner, owners};

/// The only flows beside the miss. Source: netvirt, dynamic allocation pool.
const REQUEST: u16 = 49;
/// UDP ports of both sides (RFC 2131).
const CLIENT: u16 = 68;
const SERVER: u16 = 67;
/// The same of IPv6 (RFC 8415 section 7.2).
const CLIENT_V6: u16 = 546;
const SERVER_V6: u16 = 547;
/// What the punted packet carries back, so that nobody has to guess by its content.
const USERDATA: &[u8] = b"dhcp";
const USERDATA_V6: &[u8] = b"dhcp6";

type Owned = Owner<owners::Dhcp>;

/// From a DHCP client to a server.
pub(super) fn punt(port: LportTag, owner: &Owned) -> Flow {
    to_server(CLIENT, port, owner)
}

/// From a relay agent to a server (RFC 2131 section 4.1), for ports whose pod may relay.
pub(super) fn punt_relayed(port: LportTag, owner: &Owned) -> Flow {
    to_server(SERVER, port, owner)
}

/// From a DHCPv6 client to a server, or to all of them.
pub(super) fn punt_v6(port: LportTag, owner: &Owned) -> Flow {
    Flow::table(DHCP)
        .priority(REQUEST)
        .matching([lport(port)])
        .matching(udp_v6(CLIENT_V6, SERVER_V6))
        .punt_metered(port.0, LONGEST_PUNT, USERDATA_V6)
        .owned_by(owner)
}

fn to_server(source: u16, port: LportTag, owner: &Owned) -> Flow {
    Flow::table(DHCP)
        .priority(REQUEST)
        .matching([lport(port)])
        .matching(udp(source, SERVER))
        .punt_metered(port.0, LONGEST_PUNT, USERDATA)
        .owned_by(owner)
}
