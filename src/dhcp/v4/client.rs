//! Who asks: the port's own pod, or a client behind a relay agent.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use super::message::{Request, hex};
use crate::dhcp::book::Holder;
use crate::dhcp::client::Client;
use crate::dhcp::port::Port;

/// Sub-option of option 82: the link that the client is on (RFC 3527).
const LINK_SELECTION: u8 = 5;

/// `None`: the message is not of this port's pod, or relayed by one that may not.
pub fn client<'a>(request: &Request, port: &'a Port) -> Option<Client<'a>> {
    if request.source != port.mac {
        return None;
    }
    let id = request.client_id();
    let pools = port.pools.iter().map(Arc::as_ref).filter(|pool| pool.subnet.is_ipv4());
    if !request.is_relayed() && request.chaddr == port.mac {
        return Some(Client {
            holder: Holder::Port(port.interface.clone()),
            interface: &port.interface,
            mac: port.mac,
            id,
            fixed: port.fixed.map(IpAddr::V4),
            // What is behind a relay agent is another link than the pods'.
            pools: pools.filter(|pool| pool.relays.is_empty()).collect(),
        });
    }
    // Renewals come without giaddr: the agent only routes them.
    let link = if request.is_relayed() { request.giaddr } else { request.ciaddr };
    let link = request.relay_info.as_deref().and_then(selected_link).unwrap_or(link);
    let pools: Vec<_> =
        pools.filter(|pool| pool.is_relay(&port.interface) && pool.subnet.contains(link.into())).collect();
    let network = pools.first()?.network.clone();
    let client = id.clone().unwrap_or_else(|| hex(&request.chaddr.0)).into();
    Some(Client {
        holder: Holder::Relayed { network, client },
        interface: &port.interface,
        mac: request.chaddr,
        id,
        fixed: None,
        pools,
    })
}

/// RFC 3527: the sub-option of the relay agent's information.
fn selected_link(info: &[u8]) -> Option<Ipv4Addr> {
    let mut rest = info;
    while let [code, length, data @ ..] = rest {
        let length = usize::from(*length);
        if *code == LINK_SELECTION {
            let octets: [u8; 4] = data.get(..length)?.try_into().ok()?;
            return Some(octets.into());
        }
        rest = data.get(length..)?;
    }
    None
}
