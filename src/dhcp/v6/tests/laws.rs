use proptest::prelude::*;

use super::*;
use crate::dhcp::v6::{read, write};

/// One thing that happens.
#[derive(Debug, Clone)]
enum Event {
    Says(u8, Request),
    Passes(u64),
    Pool(u16, u16),
}

const KINDS: [Kind; 11] = [
    Kind::Solicit,
    Kind::Advertise,
    Kind::Request,
    Kind::Confirm,
    Kind::Renew,
    Kind::Rebind,
    Kind::Reply,
    Kind::Release,
    Kind::Decline,
    Kind::Reconfigure,
    Kind::InformationRequest,
];

fn asked() -> impl Strategy<Value = (u8, Request)> {
    let kind = prop::sample::select(KINDS.to_vec());
    let ia_kind = prop::sample::select(vec![IaKind::Na, IaKind::Na, IaKind::Na, IaKind::Ta, IaKind::Pd]);
    let ia = (ia_kind, 1_u32..3, prop::collection::vec(0_u16..12, 0..3));
    let ias = prop::collection::vec(ia, 0..3);
    let flags = (any::<bool>(), prop::bool::weighted(0.1), 1_u8..4);
    (1_u8..=4, kind, ias, flags).prop_map(|(port, kind, ias, (rapid_commit, unicast, who))| {
        let ia = |(kind, iaid, lasts): (_, _, Vec<u16>)| {
            let address = |last| if last == 11 { elsewhere() } else { host(last) };
            Ia { kind, iaid, addresses: lasts.into_iter().map(address).collect() }
        };
        let ias = ias.into_iter().map(ia).collect();
        let sound = message(port, kind);
        let client = if who == 3 { Some(client(99)) } else { sound.client.clone() };
        (port, Request { ias, rapid_commit, unicast, client, ..sound })
    })
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => asked().prop_map(|(port, request)| Event::Says(port, request)),
        1 => (0_u64..100_000).prop_map(Event::Passes),
        1 => (0_u16..6, 3_u16..10).prop_map(|(from, to)| Event::Pool(from, to.max(from))),
    ]
}

fn pools(from: u16, to: u16) -> Vec<AllocationPool> {
    vec![AllocationPool { reservations: vec![kept(5, 2)], ..pool(from, to) }]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever clients do and however the pool changes: no two hold one address, nobody holds the gateway's, a pod's own or what is
    /// kept for another, and what a reply gives is what is held.
    #[test]
    fn no_two_clients_hold_one_address(events in prop::collection::vec(event(), 0..60)) {
        let mut world = World::new(4, pools(0, 5));
        world.configured(4, 6);
        for event in events {
            match event {
                Event::Says(port, request) => {
                    let answer = world.says(port, &request);
                    if answer.reply.as_ref().is_some_and(|reply| reply.kind == Kind::Reply) {
                        for address in addresses(&answer) {
                            let holder = format!("blue:p{port}").into();
                            prop_assert!(world.held().contains(&(holder, IpAddr::V6(address))), "{:?}", answer);
                        }
                    }
                }
                Event::Passes(seconds) => world.passes(seconds),
                Event::Pool(from, to) => world.pools(pools(from, to)),
            }
            let mut held: Vec<_> = world.held().into_iter().map(|(_, address)| address).collect();
            held.sort();
            let number = held.len();
            held.dedup();
            prop_assert_eq!(held.len(), number);
            for never in [host(GATEWAY), host(0)] {
                prop_assert!(!held.contains(&never.into()));
            }
            for lease in world.book.leases() {
                prop_assert!(lease.address != host(5) || lease.mac == mac(2));
                prop_assert!(lease.address != host(6) || lease.mac == mac(4));
                prop_assert!(lease.expires > world.now);
            }
        }
        // Everything runs out, and then nothing is in use but what is configured.
        world.passes(10_000_000);
        prop_assert_eq!(world.book.room(&pools(0, 9)[0]), (7, 6));
    }

    /// What comes is read or not; what is read is answered with a frame or not at all. Never is there a panic.
    #[test]
    fn whatever_octets_come_nothing_breaks(
        payload in prop::collection::vec(any::<u8>(), 0..200),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        (port, request) in asked(),
        length in any::<prop::sample::Index>(),
    ) {
        let mut world = World::new(4, pools(0, 5));
        world.lease(1);
        let mut frame = super::bytes::frame_of(&request);
        for (at, octet) in &cuts {
            let at = at.index(frame.len());
            frame[at] = *octet;
        }
        if cuts.len() % 2 == 1 {
            frame.truncate(1 + length.index(frame.len()));
        }
        for frame in [frame, super::bytes::frame_around(&payload)] {
            if let Some(read) = read(&frame) {
                let answer = world.says(port, &read);
                if let Some(reply) = answer.reply {
                    let written = write(&read, &reply).map(|frame| frame.len());
                    prop_assert!(written.is_some_and(|length| length <= 14 + 1450), "{:?}", written);
                }
            }
        }
    }
}
