//! What a pool tells its clients, and for how long they have their addresses.

use std::net::IpAddr;

use super::message::{Opt, Request};
use crate::dhcp::names::names;
use crate::model::{AllocationPool, Times};

/// Codes (RFC 8415 section 21; 23 and 24: RFC 3646; 56: RFC 5908).
pub const PREFERENCE: u16 = 7;
const DNS: u16 = 23;
const DOMAIN_LIST: u16 = 24;
const NTP: u16 = 56;
/// Sub-option of option 56: an address.
const NTP_ADDRESS: [u8; 4] = [0, 1, 0, 16];
/// The most there is: a client takes such an offer without waiting for others (section 18.2.1). There is no other server.
pub const MOST_PREFERRED: u8 = 255;

/// T1 and T2 of a lease: the pool's own, where the lease is long enough, else half and four fifths of it (section 21.4).
pub fn renewal(times: &Times, lease: u32) -> (u32, u32) {
    let own = |own: Option<u32>| own.filter(|own| *own < lease);
    let rebinding = own(times.rebinding).unwrap_or(lease / 5 * 4);
    (own(times.renewal).unwrap_or(lease / 2).min(rebinding), rebinding)
}

/// What the client wants of what the pool has; a client that wants nothing in particular gets all of it.
pub fn wanted(pool: &AllocationPool, request: &Request) -> Vec<Opt> {
    let mut all = all(pool);
    if let Some(codes) = &request.wanted {
        all.retain(|option| codes.contains(&option.code));
    }
    all
}

fn all(pool: &AllocationPool) -> Vec<Opt> {
    let octets = |addresses: &[IpAddr], before: &[u8]| {
        let of_v6 = addresses.iter().filter_map(|address| match address {
            IpAddr::V6(address) => Some([before, &address.octets()].concat()),
            IpAddr::V4(_) => None,
        });
        of_v6.flatten().collect::<Vec<u8>>()
    };
    let options = &pool.options;
    // DHCPv6 has no option for one domain: it is the list's first where it stands alone.
    let search = if options.search.is_empty() { options.domain.as_slice() } else { &options.search };
    let all = [
        Opt { code: DNS, data: octets(&pool.dns, &[]) },
        Opt { code: DOMAIN_LIST, data: names(search) },
        Opt { code: NTP, data: octets(&options.ntp, &NTP_ADDRESS) },
    ];
    all.into_iter().filter(|option| !option.data.is_empty()).collect()
}
