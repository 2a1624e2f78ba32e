//! Packets that switches hand over: DHCP of both versions with all that follows from them, and what tells of neighbours, routers, refused connections and drops.

use std::net::IpAddr;
use std::sync::{Arc, LazyLock};

use coeus::dhcp::{Book, Port, v4, v6};
use coeus::model::{AllocationPool, PoolOptions, Times};
use coeus::net::MacAddr;
use coeus::{neighbours, observe, ra, refusal};

const GATEWAY: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xfe]);
/// Seconds since 1970.
const NOW: u64 = 1_790_000_000;

fn pool(subnet: &str, from: &str, to: &str, gateway: &str) -> Arc<AllocationPool> {
    let address = |text: &str| Some(text.parse::<IpAddr>().unwrap());
    Arc::new(AllocationPool {
        network: "blue".into(),
        key: subnet.into(),
        subnet: subnet.parse().unwrap(),
        from: address(from),
        to: address(to),
        gateway: address(gateway),
        dns: vec![gateway.parse().unwrap()],
        times: Times { lease: 86_400, max: None, renewal: None, rebinding: None, quarantine: 600 },
        low_water: 10,
        relays: vec!["blue:p1".into()],
        options: PoolOptions::default(),
        reservations: Vec::new(),
    })
}

static POOLS: LazyLock<Vec<Arc<AllocationPool>>> = LazyLock::new(|| {
    let v4 = pool("192.168.10.0/24", "192.168.10.3", "192.168.10.5", "192.168.10.2");
    let v6 = pool("fd00:1::/64", "fd00:1::10", "fd00:1::20", "fd00:1::1");
    let own =
        |pool: &Arc<AllocationPool>| Arc::new(AllocationPool { relays: Vec::new(), ..(**pool).clone() });
    vec![own(&v4), own(&v6), v4, v6]
});

/// The port that a packet came from: its own, so that what depends on the port is reached.
fn port(mac: MacAddr) -> Port {
    let interface = "blue:p1".into();
    Port { interface, mac, fixed: None, fixed_v6: None, mtu: 1450, pools: POOLS.clone() }
}

/// A reply that is made can be written; what is written is a frame of a server, and no request.
pub fn dhcp(frame: &[u8]) {
    if let Some(request) = v4::read(frame) {
        let _ = (request.client_id(), request.is_relayed());
        let answer = v4::answer(&request, &port(request.source), &Book::default(), NOW);
        if let Some(reply) = answer.reply {
            let written = v4::write(&request, &reply).expect("a reply can be written");
            assert!(v4::read(&written).is_none(), "an answer is no request");
        }
    }
    if let Some(request) = v6::read(frame) {
        let server = v6::Duid::of_uuid([7; 16]);
        let answer = v6::answer(&request, &port(request.source), &server, &Book::default(), NOW);
        if let Some(reply) = answer.reply {
            let written = v6::write(&request, &reply).expect("a reply can be written");
            assert!(v6::read(&written).is_none(), "an answer is no request");
        }
    }
}

/// What is said in return can be read again by who understands it.
pub fn neighbours(frame: &[u8]) {
    use neighbours::frame::{Told, announcement, question, read};
    match read(frame) {
        Some(Told::Here { address, mac }) => {
            // Not every address can be announced; one that is says what was heard.
            if let Some(Told::Here { address: said, mac: who }) = read(&announcement(mac, address)) {
                assert_eq!((said, who), (address, mac));
            }
        }
        Some(Told::Wanted { source, target }) => {
            let asked = question(GATEWAY, source, target);
            assert_eq!(asked.is_some(), source.is_ipv4() == target.is_ipv4());
        }
        None => {}
    }
    if let Some(asker) = ra::frame::read(frame) {
        let prefixes = vec!["fd00:1::/64".parse().unwrap()];
        let said = ra::Said { managed: true, other: true, mtu: 1450, prefixes };
        let written = ra::frame::write(asker, GATEWAY, &said).expect("an advertisement can be written");
        assert!(ra::frame::read(&written).is_none(), "an advertisement is no solicitation");
    }
    if let Some(refused) = refusal::frame::refusal(frame) {
        let headers = observe::drops::Headers::of(&refused).expect("a refusal is an IP packet");
        let asked = observe::drops::Headers::of(frame).expect("what is refused is one");
        assert_eq!((headers.source, headers.destination), (asked.destination, asked.source));
    }
    if let Some(headers) = observe::drops::Headers::of(frame) {
        assert!(!headers.protocol_name().is_empty());
    }
}
