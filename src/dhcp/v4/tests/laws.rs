use proptest::prelude::*;

use super::*;

/// One thing that happens.
#[derive(Debug, Clone)]
enum Event {
    Says(u8, Request),
    Passes(u64),
    Pool(u8, u8),
}

fn request(port: u8) -> impl Strategy<Value = Request> {
    let kinds = [
        Kind::Discover,
        Kind::Request,
        Kind::Request,
        Kind::Request,
        Kind::Release,
        Kind::Decline,
        Kind::Inform,
    ];
    let last = || prop::option::of(0_u8..10);
    let relayed = prop::option::of(1_u8..4);
    (prop::sample::select(kinds.to_vec()), last(), last(), any::<bool>(), relayed).prop_map(
        move |(kind, wanted, held, ours, relayed)| Request {
            requested: wanted.map(host),
            ciaddr: held.map_or(NOBODY, host),
            server: ours.then_some(GATEWAY),
            chaddr: relayed.map_or(mac(port), |client| mac(100 + client)),
            giaddr: relayed.map_or(NOBODY, |_| GATEWAY),
            ..message(port, kind)
        },
    )
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => (1_u8..=3).prop_flat_map(|port| (Just(port), request(port))).prop_map(|(port, request)| Event::Says(port, request)),
        1 => (0_u64..100_000).prop_map(Event::Passes),
        1 => (0_u8..6, 3_u8..10).prop_map(|(from, to)| Event::Pool(from, to.max(from))),
    ]
}

fn pools(from: u8, to: u8) -> Vec<AllocationPool> {
    let relays = vec!["blue:p1".into(), "blue:p2".into()];
    let own = AllocationPool { reservations: vec![kept(5, 2), kept(8, 101)], ..pool(from, to) };
    // Validation refuses two pools with the same addresses; the law holds even so.
    let key: Text = "192.168.0.0/16".into();
    let first = Some(host(from.max(1)).into());
    let behind = AllocationPool { subnet: key.parse().unwrap(), key, relays, from: first, ..own.clone() };
    vec![own, behind]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Whatever clients do and however the pool changes: no two hold one address, nobody holds the gateway's, a pod's own or what is
    /// kept for another, and what is told is what is held.
    #[test]
    fn no_two_clients_hold_one_address(events in prop::collection::vec(event(), 0..80)) {
        let mut world = World::new(4, pools(0, 5));
        world.configured(4, 6);
        for event in events {
            match event {
                Event::Says(port, request) => {
                    let answer = world.says(port, &request);
                    if let Some((Kind::Ack, address)) = told(&answer)
                        && address != NOBODY
                    {
                        prop_assert!(world.held().iter().any(|(_, held)| *held == IpAddr::V4(address)));
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
            for never in [GATEWAY, host(6), host(0), host(255)] {
                prop_assert!(!held.contains(&never.into()));
            }
            for lease in world.book.leases() {
                prop_assert!(lease.address != host(5) || lease.mac == mac(2));
                prop_assert!(lease.address != host(8) || lease.mac == mac(101));
                prop_assert!(lease.expires > world.now);
            }
        }
        // Everything runs out, and then nothing is in use but what is configured.
        world.passes(10_000_000);
        prop_assert_eq!(world.book.room(&pools(0, 9)[0]), (6, 5));
    }
}
