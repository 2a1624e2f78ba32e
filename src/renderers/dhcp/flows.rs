//! Table 60 and its meters.

use crate::net::LportTag;
use crate::pipeline::matches::{lport, udp};
use crate::pipeline::{DHCP, Flow, Meter, Owner, owners};

/// The only flows beside the miss. Source: netvirt, dynamic allocation pool.
const REQUEST: u16 = 49;
/// Packets a second and port that reach the controller: a client that retries sends one every few seconds.
const RATE: u32 = 5;
/// Packets at once before the rate counts.
const BURST: u32 = 10;
/// UDP ports of both sides (RFC 2131).
const CLIENT: u16 = 68;
const SERVER: u16 = 67;
/// Bytes of a request that are sent to the controller: all of it.
const WHOLE_PACKET: u16 = 0xffff;
/// What the punted packet carries back, so that nobody has to guess by its content.
pub const USERDATA: &[u8] = b"dhcp";

type Owned = Owner<owners::Dhcp>;

/// One meter a port: nobody's requests use up another's rate. Its number is the lport tag.
pub(super) fn rate(port: LportTag, owner: &Owned) -> Meter {
    Meter::packets_per_second(port.0, RATE, BURST, owner)
}

/// From a DHCP client to a server.
pub(super) fn punt(port: LportTag, owner: &Owned) -> Flow {
    Flow::table(DHCP)
        .priority(REQUEST)
        .matching([lport(port)])
        .matching(udp(CLIENT, SERVER))
        .punt_metered(port.0, WHOLE_PACKET, USERDATA)
        .owned_by(owner)
}
