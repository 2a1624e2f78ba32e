//! Pairs of virtual Ethernet devices, addresses and routes.

use std::io;
use std::net::IpAddr;
use std::os::fd::RawFd;

use coeus_cni::{Prefix, Route};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage, AddressScope};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, InfoVlan, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope,
    RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::netlink::Netlink;
use super::offload;

/// ENODEV and ESRCH: there is no such thing.
const NO_DEVICE: i32 = 19;
const NO_SUCH: i32 = 3;
const EXISTS: i32 = 17;

/// IN6_ADDR_GEN_MODE_NONE (linux/if_link.h).
const NO_ADDRESS: &str = "1";

/// A device as the kernel has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    pub index: u32,
    pub mac: String,
    pub mtu: u32,
    pub is_up: bool,
    /// Its VLAN, if it is a device of one.
    pub vlan: Option<u16>,
}

/// What a device has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configured {
    pub addresses: Vec<Prefix>,
    /// Each with its gateway.
    pub routes: Vec<(Prefix, Option<IpAddr>)>,
}

/// The end of a pair that a container gets.
#[derive(Debug, Clone)]
pub struct Inside {
    pub name: String,
    pub mac: String,
    pub mtu: u32,
    pub addresses: Vec<Prefix>,
    pub routes: Vec<Route>,
    /// The switch does not finish checksums.
    pub makes_checksums: bool,
}

/// A device of this thread's namespace.
///
/// # Errors
/// What the kernel says, but that there is none.
pub fn device(kernel: &mut Netlink, name: &str) -> io::Result<Option<Device>> {
    let mut message = LinkMessage::default();
    message.attributes.push(LinkAttribute::IfName(name.into()));
    let answers = match kernel.ask(RouteNetlinkMessage::GetLink(message), 0) {
        Err(error) if error.raw_os_error() == Some(NO_DEVICE) => return Ok(None),
        answers => answers?,
    };
    let found = answers.into_iter().find_map(|answer| match answer {
        RouteNetlinkMessage::NewLink(link) => Some(link),
        _ => None,
    });
    Ok(found.map(|link| {
        let mut device = Device {
            index: link.header.index,
            mac: String::new(),
            mtu: 0,
            is_up: link.header.flags.contains(LinkFlags::Up),
            vlan: None,
        };
        for attribute in &link.attributes {
            match attribute {
                LinkAttribute::Address(octets) => {
                    let octets: Vec<String> = octets.iter().map(|octet| format!("{octet:02x}")).collect();
                    device.mac = octets.join(":");
                }
                LinkAttribute::Mtu(mtu) => device.mtu = *mtu,
                LinkAttribute::LinkInfo(infos) => device.vlan = vlan_of(infos),
                _ => {}
            }
        }
        device
    }))
}

/// Makes a pair: `host` here and up, the other end in the namespace. The end here is a port of a switch and no host: without IPv6 it has no
/// address and no routes, which ovs-vswitchd reads anew, all of them, whenever one changes.
///
/// # Errors
/// What the kernel says.
pub fn make_pair(kernel: &mut Netlink, host: &str, namespace: RawFd, inside: &Inside) -> io::Result<()> {
    let mut peer = LinkMessage::default();
    peer.attributes.extend([
        LinkAttribute::IfName(inside.name.clone()),
        LinkAttribute::Mtu(inside.mtu),
        LinkAttribute::Address(octets(&inside.mac)?),
        LinkAttribute::NetNsFd(namespace),
    ]);
    let mut message = LinkMessage::default();
    message.attributes.extend([
        LinkAttribute::IfName(host.into()),
        LinkAttribute::Mtu(inside.mtu),
        LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]),
    ]);
    kernel.ask(RouteNetlinkMessage::NewLink(message), NLM_F_CREATE | NLM_F_EXCL)?;
    match std::fs::write(format!("/proc/sys/net/ipv6/conf/{host}/disable_ipv6"), "1") {
        // The kernel has no IPv6 at all.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        // Without it all works, and slower where there are many.
        Err(error) => tracing::warn!("{host} keeps IPv6: {error}"),
        Ok(()) => {}
    }
    let made = device(kernel, host)?.ok_or_else(|| io::Error::from_raw_os_error(NO_DEVICE))?;
    bring_up(kernel, made.index)
}

fn bring_up(kernel: &mut Netlink, index: u32) -> io::Result<()> {
    let mut up = LinkMessage::default();
    up.header.index = index;
    up.header.flags = LinkFlags::Up;
    up.header.change_mask = LinkFlags::Up;
    kernel.ask(RouteNetlinkMessage::SetLink(up), 0).map(drop)
}

/// Sends a device to another namespace, where it has another name and MAC address.
///
/// # Errors
/// What the kernel says.
pub fn send(kernel: &mut Netlink, index: u32, namespace: RawFd, name: &str, mac: &str) -> io::Result<()> {
    let there = [
        LinkAttribute::NetNsFd(namespace),
        LinkAttribute::IfName(name.into()),
        LinkAttribute::Address(octets(mac)?),
    ];
    set(kernel, index, there)
}

/// # Errors
/// What the kernel says.
pub fn set_mtu(kernel: &mut Netlink, device: &str, mtu: u32) -> io::Result<()> {
    change(kernel, device, [LinkAttribute::Mtu(mtu)])
}

fn change(
    kernel: &mut Netlink,
    name: &str,
    attributes: impl IntoIterator<Item = LinkAttribute>,
) -> io::Result<()> {
    let device = device(kernel, name)?.ok_or_else(|| io::Error::from_raw_os_error(NO_DEVICE))?;
    set(kernel, device.index, attributes)
}

fn set(
    kernel: &mut Netlink,
    index: u32,
    attributes: impl IntoIterator<Item = LinkAttribute>,
) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.attributes.extend(attributes);
    kernel.ask(RouteNetlinkMessage::SetLink(message), 0).map(drop)
}

fn vlan_of(infos: &[LinkInfo]) -> Option<u16> {
    infos.iter().find_map(|info| match info {
        LinkInfo::Data(InfoData::Vlan(parts)) => parts.iter().find_map(|part| match part {
            InfoVlan::Id(id) => Some(*id),
            _ => None,
        }),
        _ => None,
    })
}

/// Makes a VLAN device of one of this namespace's, in another namespace.
///
/// # Errors
/// What the kernel says.
pub fn make_vlan(
    kernel: &mut Netlink,
    parent: &str,
    tag: u16,
    namespace: RawFd,
    inside: &Inside,
) -> io::Result<()> {
    let parent = device(kernel, parent)?.ok_or_else(|| io::Error::from_raw_os_error(NO_DEVICE))?;
    let mut message = LinkMessage::default();
    message.attributes.extend([
        LinkAttribute::IfName(inside.name.clone()),
        LinkAttribute::Link(parent.index),
        LinkAttribute::NetNsFd(namespace),
        LinkAttribute::Mtu(inside.mtu),
        LinkAttribute::Address(octets(&inside.mac)?),
        LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Vlan),
            LinkInfo::Data(InfoData::Vlan(vec![InfoVlan::Id(tag)])),
        ]),
    ]);
    kernel.ask(RouteNetlinkMessage::NewLink(message), NLM_F_CREATE | NLM_F_EXCL).map(drop)
}

pub(super) fn octets(mac: &str) -> io::Result<Vec<u8>> {
    let octets = mac.split(':').map(|part| u8::from_str_radix(part, 16)).collect::<Result<Vec<u8>, _>>();
    octets.map_err(|_| io::Error::other(format!("{mac} is no MAC address")))
}

/// Removes a device and its peer, if it is there.
///
/// # Errors
/// What the kernel says.
pub fn remove(kernel: &mut Netlink, name: &str) -> io::Result<()> {
    let Some(device) = device(kernel, name)? else { return Ok(()) };
    let mut message = LinkMessage::default();
    message.header.index = device.index;
    match kernel.ask(RouteNetlinkMessage::DelLink(message), 0) {
        Err(error) if error.raw_os_error() == Some(NO_DEVICE) => Ok(()),
        done => done.map(drop),
    }
}

/// Brings the inner end up with its addresses and routes; to be run in the container's namespace.
///
/// # Errors
/// What the kernel says, with what it was asked.
pub fn configure(inside: &Inside) -> io::Result<()> {
    let told = |what: &str, error: io::Error| io::Error::new(error.kind(), format!("{what}: {error}"));
    let mut kernel = Netlink::open()?;
    let device = device(&mut kernel, &inside.name)?.ok_or_else(|| io::Error::from_raw_os_error(NO_DEVICE))?;
    // One that waited for its container was not made for it.
    if device.mac != inside.mac || device.mtu != inside.mtu {
        let is_to_be = [LinkAttribute::Mtu(inside.mtu), LinkAttribute::Address(octets(&inside.mac)?)];
        change(&mut kernel, &inside.name, is_to_be).map_err(|error| told("MAC address and MTU", error))?;
    }
    has_ipv6(inside).map_err(|error| told("IPv6", error))?;
    if inside.makes_checksums {
        offload::turn_off(&inside.name).map_err(|error| told("TX checksum offload", error))?;
    }
    bring_up(&mut kernel, device.index).map_err(|error| told("up", error))?;
    for address in &inside.addresses {
        add_address(&mut kernel, device.index, *address)
            .map_err(|error| told(&format!("address {address}"), error))?;
    }
    for route in &inside.routes {
        add_route(&mut kernel, device.index, route, &inside.addresses)
            .map_err(|error| told(&format!("route {}", route.to), error))?;
    }
    Ok(())
}

/// Addresses are the datastore's, so nobody has to be asked whether they are free. An interface without IPv6 addresses gets no link-local
/// one either: the kernel would tell all of the network about it, which nobody there has a use for.
fn has_ipv6(inside: &Inside) -> io::Result<()> {
    let set = |name: &str, value: &str| {
        std::fs::write(format!("/proc/sys/net/ipv6/conf/{}/{name}", inside.name), value)
    };
    if inside.addresses.iter().any(|address| address.address.is_ipv6()) {
        set("disable_ipv6", "0")?;
        return set("accept_dad", "0");
    }
    match set("addr_gen_mode", NO_ADDRESS) {
        // The kernel has no IPv6 at all.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn add_address(kernel: &mut Netlink, index: u32, address: Prefix) -> io::Result<()> {
    let mut message = AddressMessage::default();
    message.header.family = family(address.address);
    message.header.prefix_len = address.length;
    message.header.index = index;
    message.header.scope = AddressScope::Universe;
    message.attributes.push(AddressAttribute::Address(address.address));
    message.attributes.push(AddressAttribute::Local(address.address));
    match address.address {
        IpAddr::V4(v4) if address.length < 31 => {
            let hosts = u32::MAX.checked_shr(address.length.into()).unwrap_or(0);
            message.attributes.push(AddressAttribute::Broadcast((v4.to_bits() | hosts).into()));
        }
        IpAddr::V4(_) => {}
        IpAddr::V6(_) => message.header.flags = AddressHeaderFlags::Nodad,
    }
    kernel.ask(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL).map(drop)
}

fn is_within(address: IpAddr, prefix: &Prefix) -> bool {
    ipnetwork::IpNetwork::new(prefix.address, prefix.length).is_ok_and(|network| network.contains(address))
}

fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local())
}

fn add_route(kernel: &mut Netlink, index: u32, route: &Route, addresses: &[Prefix]) -> io::Result<()> {
    if let Some(gateway) = route.gateway
        && !is_link_local(gateway)
        && !addresses.iter().any(|address| is_within(gateway, address))
    {
        let length = if gateway.is_ipv4() { 32 } else { 128 };
        let to = Prefix { address: gateway, length };
        match put_route(kernel, index, &Route { to, gateway: None, mtu: None, priority: None }) {
            Err(error) if error.raw_os_error() == Some(EXISTS) => {}
            done => done?,
        }
    }
    put_route(kernel, index, route)
}

fn put_route(kernel: &mut Netlink, index: u32, route: &Route) -> io::Result<()> {
    let mut message = RouteMessage::default();
    message.header.address_family = family(route.to.address);
    message.header.destination_prefix_length = route.to.length;
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = RouteProtocol::Static;
    message.header.scope = if route.gateway.is_some() { RouteScope::Universe } else { RouteScope::Link };
    message.header.kind = RouteType::Unicast;
    if route.to.length > 0 {
        message.attributes.push(RouteAttribute::Destination(RouteAddress::from(route.to.address)));
    }
    message.attributes.push(RouteAttribute::Oif(index));
    message
        .attributes
        .extend(route.gateway.map(|gateway| RouteAttribute::Gateway(RouteAddress::from(gateway))));
    message.attributes.extend(route.mtu.map(|mtu| RouteAttribute::Metrics(vec![RouteMetric::Mtu(mtu)])));
    message.attributes.extend(route.priority.map(RouteAttribute::Priority));
    let new = RouteNetlinkMessage::NewRoute(message);
    match kernel.ask(new.clone(), NLM_F_CREATE | NLM_F_EXCL) {
        // The switch answers as soon as the device is up, and its advertisement may have made the route.
        Err(error) if error.raw_os_error() == Some(EXISTS) && route.to.address.is_ipv6() => {
            kernel.ask(new, NLM_F_CREATE | NLM_F_REPLACE).map(drop)
        }
        done => done.map(drop),
    }
}

/// Addresses and routes of a device of this thread's namespace.
///
/// # Errors
/// What the kernel says.
pub fn configured(kernel: &mut Netlink, index: u32) -> io::Result<Configured> {
    let addresses = kernel.ask(RouteNetlinkMessage::GetAddress(AddressMessage::default()), NLM_F_DUMP)?;
    let addresses = addresses.into_iter().filter_map(|message| match message {
        RouteNetlinkMessage::NewAddress(found) if found.header.index == index => {
            let address = found.attributes.iter().find_map(|attribute| match attribute {
                AddressAttribute::Address(address) => Some(*address),
                _ => None,
            })?;
            Some(Prefix { address, length: found.header.prefix_len })
        }
        _ => None,
    });
    let addresses = addresses.collect();
    let mut routes = Vec::new();
    for like in [IpAddr::from([0; 4]), IpAddr::from([0; 16])] {
        let mut message = RouteMessage::default();
        message.header.address_family = family(like);
        let found = match kernel.ask(RouteNetlinkMessage::GetRoute(message), NLM_F_DUMP) {
            Err(error) if error.raw_os_error() == Some(NO_SUCH) => continue,
            found => found?,
        };
        routes.extend(found.into_iter().filter_map(|message| match message {
            RouteNetlinkMessage::NewRoute(route) => read_route(&route, index, like),
            _ => None,
        }));
    }
    Ok(Configured { addresses, routes })
}

fn read_route(route: &RouteMessage, index: u32, like: IpAddr) -> Option<(Prefix, Option<IpAddr>)> {
    let address = |address: &RouteAddress| match address {
        RouteAddress::Inet(address) => Some(IpAddr::V4(*address)),
        RouteAddress::Inet6(address) => Some(IpAddr::V6(*address)),
        _ => None,
    };
    let (mut to, mut gateway, mut device) = (Prefix::everything(like).address, None, None);
    for attribute in &route.attributes {
        match attribute {
            RouteAttribute::Destination(destination) => to = address(destination)?,
            RouteAttribute::Gateway(through) => gateway = address(through),
            RouteAttribute::Oif(index) => device = Some(*index),
            _ => {}
        }
    }
    let length = route.header.destination_prefix_length;
    (device == Some(index)).then_some((Prefix { address: to, length }, gateway))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::namespace::Namespace;

    #[test]
    fn a_route_that_was_advertised_meanwhile_is_made_ours() {
        let Ok(namespace) = Namespace::fresh() else { return };
        let route = |to: &str, by: &str| Route {
            to: to.parse().unwrap(),
            gateway: by.parse().ok(),
            mtu: None,
            priority: None,
        };
        let inside = Inside {
            name: "inner".into(),
            mac: "0a:00:00:00:00:01".into(),
            mtu: 1400,
            addresses: vec!["192.0.2.2/24".parse().unwrap(), "fd00::2/64".parse().unwrap()],
            routes: vec![route("0.0.0.0/0", "192.0.2.1"), route("::/0", "fe80::1")],
            makes_checksums: false,
        };
        let work = || -> io::Result<Configured> {
            let mut kernel = Netlink::open()?;
            make_pair(&mut kernel, "outer", namespace.raw(), &inside)?;
            configure(&inside)?;
            let index = device(&mut kernel, "inner")?.unwrap().index;
            put_route(&mut kernel, index, &inside.routes[1])?;
            let twice = put_route(&mut kernel, index, &inside.routes[0]).unwrap_err();
            assert_eq!(twice.raw_os_error(), Some(EXISTS));
            configured(&mut kernel, index)
        };
        let found = namespace.run(work).unwrap().unwrap();
        for route in &inside.routes {
            assert_eq!(found.routes.iter().filter(|one| **one == (route.to, route.gateway)).count(), 1);
        }
    }

    #[test]
    fn who_waited_becomes_what_the_container_is_to_have() {
        let (Ok(here), Ok(there)) = (Namespace::fresh(), Namespace::fresh()) else { return };
        let inside = |name: &str, mac: &str, mtu| Inside {
            name: name.into(),
            mac: mac.into(),
            mtu,
            addresses: Vec::new(),
            routes: Vec::new(),
            makes_checksums: true,
        };
        let waiting = inside("waits", "0a:00:00:00:00:01", 1450);
        let wanted = inside("eth0", "0a:00:00:00:00:02", 1300);
        let send = || -> io::Result<()> {
            let mut kernel = Netlink::open()?;
            make_pair(&mut kernel, "outer", here.raw(), &waiting)?;
            let index = device(&mut kernel, "waits")?.unwrap().index;
            super::send(&mut kernel, index, there.raw(), "eth0", "0a:00:00:00:00:03")
        };
        here.run(send).unwrap().unwrap();
        let found = there.run(|| {
            configure(&wanted)?;
            device(&mut Netlink::open()?, "eth0")
        });
        let found = found.unwrap().unwrap().unwrap();
        assert_eq!((found.mac.as_str(), found.mtu, found.is_up), (wanted.mac.as_str(), 1300, true));
    }
}
