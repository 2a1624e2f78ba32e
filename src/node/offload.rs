//! Checksums of what a container sends, made by the container itself.
//!
//! Open vSwitch's userspace datapath forwards half-made TCP checksums as they are, and the receiver drops them. So the end of the
//! pair that is inside has its TX checksum offload turned off, there and not at the other end.
#![allow(
    unsafe_code,
    reason = "SIOCETHTOOL (ethtool(8), linux/sockios.h) takes a pointer within a structure"
)]

use std::ffi::c_void;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};

/// linux/sockios.h
const SIOCETHTOOL: rustix::ioctl::Opcode = 0x8946;
/// linux/ethtool.h
const ETHTOOL_STXCSUM: u32 = 0x17;

/// `struct ethtool_value`.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// `struct ifreq` (netdevice(7)) with the member `ifr_data`, as long as the kernel's.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    data: *mut c_void,
    rest: [u8; 16],
}

/// Turns TX checksum offload (and with it TSO) of an interface of this thread's namespace off.
///
/// # Errors
/// What the kernel says.
pub fn turn_off(interface: &str) -> io::Result<()> {
    let mut value = EthtoolValue { command: ETHTOOL_STXCSUM, data: 0 };
    let mut request = InterfaceRequest { name: [0; 16], data: (&raw mut value).cast(), rest: [0; 16] };
    let name = interface.as_bytes();
    // The last byte stays the end of the name.
    let Some(place) = request.name.get_mut(..name.len()).filter(|_| name.len() < 16) else {
        return Err(io::Error::other(format!("{interface}: the name is too long for an interface")));
    };
    place.copy_from_slice(name);
    let socket =
        UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).or_else(|_| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)))?;
    // SAFETY: the kernel reads and writes an ifreq of this size, and behind its pointer an ethtool_value; both live until it
    // returns.
    let done = unsafe {
        let call = rustix::ioctl::Updater::<SIOCETHTOOL, InterfaceRequest>::new(&mut request);
        rustix::ioctl::ioctl(&socket, call)
    };
    Ok(done?)
}
