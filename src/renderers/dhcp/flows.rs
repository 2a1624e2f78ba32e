//! Table 60.

use crate::net::LportTag;
use crate::pipeline::matches::{lport, udp};
use crate::pipeline::{DHCP, Flow, LONGEST_PUNT, Owner, owners};

/// The only flows beside the miss. Source: netvirt, dynamic allocation pool.
const REQUEST: u16 = 49;
/// UDP ports of both sides (RFC 2131).
const CLIENT: u16 = 68;
const SERVER: u16 = 67;
/// What the punted packet carries back, so that nobody has to guess by its content.
pub const USERDATA: &[u8] = b"dhcp";

type Owned = Owner<owners::Dhcp>;

/// From a DHCP client to a server.
pub(super) fn punt(port: LportTag, owner: &Owned) -> Flow {
    to_server(CLIENT, port, owner)
}

/// From a relay agent to a server (RFC 2131 section 4.1), for ports whose pod may relay.
pub(super) fn punt_relayed(port: LportTag, owner: &Owned) -> Flow {
    to_server(SERVER, port, owner)
}

fn to_server(source: u16, port: LportTag, owner: &Owned) -> Flow {
    Flow::table(DHCP)
        .priority(REQUEST)
        .matching([lport(port)])
        .matching(udp(source, SERVER))
        .punt_metered(port.0, LONGEST_PUNT, USERDATA)
        .owned_by(owner)
}
