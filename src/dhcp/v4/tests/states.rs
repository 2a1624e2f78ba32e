use super::*;
use crate::dhcp::{Count, Entry};

/// Seconds of the lease that an answer tells of.
fn seconds(answer: &Answer) -> Option<u32> {
    let time = answer.reply.as_ref()?.options.iter().find(|option| option.code == 51)?;
    Some(u32::from_be_bytes(time.data.as_slice().try_into().unwrap()))
}

fn codes(answer: &Answer) -> Vec<u8> {
    let options = answer.reply.iter().flat_map(|reply| &reply.options);
    options.map(|option| option.code).collect()
}

#[test]
fn selecting_binds_what_was_offered() {
    let mut world = World::new(1, vec![pool(3, 50)]);
    assert_eq!(told(&world.says(1, &discover(1))), offer(3));
    let answer = world.says(1, &selecting(1, 3));
    assert_eq!((told(&answer), seconds(&answer)), (ack(3), Some(86_400)));
    assert_eq!(world.held(), [("blue:p1".into(), host(3).into())]);
    assert_eq!(world.book.leases().next().map(|lease| lease.expires), Some(world.now + LEASE));
}

#[test]
fn selecting_what_another_has_is_refused() {
    let mut world = World::new(2, vec![pool(3, 50)]);
    world.says(1, &selecting(1, 3));
    assert_eq!(told(&world.says(2, &selecting(2, 3))), NAK);
    assert_eq!(told(&world.says(2, &selecting(2, 2))), NAK, "the gateway's");
    assert_eq!(told(&world.says(2, &selecting(2, 60))), NAK, "outside of the range");
}

#[test]
fn an_offer_that_is_not_taken_is_free_again() {
    let mut world = World::new(2, vec![pool(3, 3)]);
    assert_eq!(told(&world.says(1, &discover(1))), offer(3));
    assert_eq!(world.says(2, &discover(2)).counts, [Count::Discover, Count::Exhausted]);
    let other = Request { server: Some(Ipv4Addr::new(10, 0, 0, 1)), ..selecting(1, 3) };
    let answer = world.says(1, &other);
    assert_eq!((told(&answer), answer.counts), (None, vec![Count::Request, Count::Foreign]));
    assert_eq!(told(&world.says(2, &discover(2))), offer(3));
    world.passes(61);
    assert_eq!(told(&world.says(1, &discover(1))), offer(3), "forgotten after a minute");
}

#[test]
fn init_reboot() {
    let mut world = World::new(2, vec![pool(3, 50)]);
    let silent = world.says(1, &rebooting(1, host(9)));
    assert_eq!(
        (told(&silent), silent.counts),
        (None, vec![Count::Request, Count::Unknown]),
        "nothing is known"
    );
    assert_eq!(told(&world.says(1, &rebooting(1, Ipv4Addr::new(10, 0, 0, 9)))), NAK, "the wrong link");
    world.says(1, &selecting(1, 9));
    assert_eq!(told(&world.says(1, &rebooting(1, host(9)))), ack(9));
    assert_eq!(told(&world.says(1, &rebooting(1, host(10)))), NAK, "it has another one");
}

#[test]
fn renewing_and_rebinding_extend_the_lease() {
    let mut world = World::new(2, vec![pool(3, 50)]);
    world.says(1, &selecting(1, 3));
    world.passes(LEASE / 2);
    assert_eq!(told(&world.says(1, &renewing(1, 3))), ack(3));
    assert_eq!(world.book.leases().next().map(|lease| lease.expires), Some(world.now + LEASE));
    assert_eq!(told(&world.says(2, &renewing(2, 3))), NAK, "another's");
    world.passes(LEASE);
    assert_eq!(world.held(), []);
    assert_eq!(told(&world.says(1, &renewing(1, 3))), NAK, "it has run out");
    assert_eq!(told(&world.says(1, &discover(1))), offer(3), "what it had before");
}

#[test]
fn a_released_address_is_free_and_remembered() {
    let mut world = World::new(2, vec![pool(3, 50)]);
    world.says(1, &selecting(1, 9));
    let other = Request { ciaddr: host(9), ..message(2, Kind::Release) };
    world.says(2, &other);
    assert_eq!(world.held().len(), 1, "nobody releases another's");
    let answer = world.says(1, &Request { ciaddr: host(9), ..message(1, Kind::Release) });
    assert_eq!((told(&answer), world.held().len()), (None, 0));
    assert_eq!(told(&world.says(1, &discover(1))), offer(9));
    world.passes(61);
    world.says(2, &selecting(2, 9));
    assert_eq!(told(&world.says(1, &discover(1))), offer(3));
}

#[test]
fn a_declined_address_rests() {
    let mut world = World::new(2, vec![pool(3, 4)]);
    world.says(1, &selecting(1, 3));
    let decline = |port, last| Request { requested: Some(host(last)), ..message(port, Kind::Decline) };
    assert_eq!(world.says(2, &decline(2, 3)).entries, [], "nobody makes others' unusable");
    let answer = world.says(1, &decline(1, 3));
    let rest = Entry::Rest { network: "blue".into(), address: host(3).into(), until: world.now + 600 };
    assert_eq!(answer.entries.last(), Some(&rest));
    assert_eq!(told(&world.says(1, &discover(1))), offer(4));
    assert_eq!(told(&world.says(2, &selecting(2, 3))), NAK);
    world.passes(600);
    assert_eq!(told(&world.says(2, &discover(2))), offer(3));
}

#[test]
fn a_declined_offer_rests_too() {
    let mut world = World::new(1, vec![pool(3, 4)]);
    world.says(1, &discover(1));
    world.says(1, &Request { requested: Some(host(3)), ..message(1, Kind::Decline) });
    assert_eq!(told(&world.says(1, &discover(1))), offer(4));
}

#[test]
fn inform_gets_options_but_neither_address_nor_times() {
    let mut world = World::new(1, vec![pool(3, 50)]);
    let inform = |address| Request { ciaddr: address, ..message(1, Kind::Inform) };
    let answer = world.says(1, &inform(host(99)));
    assert_eq!(told(&answer), Some((Kind::Ack, NOBODY)));
    assert!(codes(&answer).contains(&1) && !codes(&answer).contains(&51), "{:?}", codes(&answer));
    assert_eq!((answer.entries.len(), world.held().len()), (0, 0));
    assert_eq!(told(&world.says(1, &inform(Ipv4Addr::new(10, 0, 0, 1)))), None);
}

#[test]
fn the_gateway_and_the_subnets_own_addresses_are_never_given() {
    let mut world = World::new(3, vec![pool(0, 3)]);
    assert_eq!(told(&world.says(1, &discover(1))), offer(1));
    assert_eq!(told(&world.says(2, &discover(2))), offer(3));
    assert_eq!(told(&world.says(3, &discover(3))), None);
}

#[test]
fn a_wish_is_granted_where_it_is_free() {
    let mut world = World::new(2, vec![pool(3, 50)]);
    let wish = |port| Request { requested: Some(host(20)), ..discover(port) };
    assert_eq!(told(&world.says(1, &wish(1))), offer(20));
    assert_eq!(told(&world.says(2, &wish(2))), offer(3));
}

#[test]
fn a_pods_own_address_is_handed_out_and_nothing_else() {
    let mut world = World::new(2, vec![pool(3, 50)]);
    world.configured(1, 77);
    world.configured(1, 3);
    world.ports[0].fixed = Some(host(77));
    assert_eq!(told(&world.says(1, &discover(1))), offer(77));
    assert_eq!(told(&world.says(1, &selecting(1, 3))), NAK);
    assert_eq!(told(&world.says(1, &rebooting(1, host(77)))), ack(77));
    assert_eq!(told(&world.says(2, &discover(2))), offer(4), "3 is a pod's own");
    world.ports[0].fixed = Some(Ipv4Addr::new(10, 0, 0, 1));
    assert_eq!(world.says(1, &discover(1)).counts, [Count::Discover, Count::Unserved]);
}

#[test]
fn a_lease_gives_way_to_a_pods_own_address() {
    let mut world = World::new(2, vec![pool(3, 50)]);
    world.says(1, &selecting(1, 3));
    world.configured(2, 3);
    assert_eq!(told(&world.says(1, &renewing(1, 3))), NAK);
    assert_eq!(told(&world.says(1, &discover(1))), offer(4));
}

#[test]
fn a_reserved_address_is_for_one_client_only() {
    let keep = |last| AllocationPool { reservations: vec![kept(last, 2)], ..pool(3, 4) };
    let mut world = World::new(3, vec![keep(3)]);
    assert_eq!(told(&world.says(1, &discover(1))), offer(4));
    assert_eq!(told(&world.says(3, &selecting(3, 3))), NAK);
    assert_eq!(told(&world.says(2, &discover(2))), offer(3));
    assert_eq!(told(&world.says(2, &rebooting(2, host(3)))), ack(3), "its reservation is a record");
    world.pools(vec![keep(200)]);
    assert_eq!(told(&world.says(2, &discover(2))), offer(200), "outside of the range");
}

#[test]
fn reservations_are_by_mac_client_id_or_interface() {
    for client in [
        ReservedFor::Mac(mac(1)),
        ReservedFor::ClientId("01ff".into()),
        ReservedFor::Interface("blue:p1".into()),
    ] {
        let reservations = vec![Reservation { address: host(30).into(), client }];
        let mut world = World::new(2, vec![AllocationPool { reservations, ..pool(3, 50) }]);
        let ask = Request { client_id: Some(vec![1, 0xff]), ..discover(1) };
        assert_eq!(told(&world.says(1, &ask)), offer(30));
        assert_eq!(told(&world.says(2, &discover(2))), offer(3));
    }
}

#[test]
fn a_shrunken_pool_keeps_its_leases_until_they_expire() {
    let mut world = World::new(2, vec![pool(3, 50)]);
    world.says(1, &selecting(1, 40));
    world.pools(vec![pool(3, 9)]);
    world.passes(1000);
    let answer = world.says(1, &renewing(1, 40));
    assert_eq!((told(&answer), seconds(&answer)), (ack(40), Some(85_400)), "no longer than was promised");
    assert_eq!(told(&world.says(1, &rebooting(1, host(40)))), ack(40));
    assert_eq!(told(&world.says(2, &selecting(2, 40))), NAK, "it is out for others");
    world.passes(85_395);
    assert_eq!(told(&world.says(1, &renewing(1, 40))), NAK);
    assert_eq!(told(&world.says(1, &discover(1))), offer(3));
}

#[test]
fn several_pools_are_used_in_their_order() {
    let other = AllocationPool {
        key: "192.168.0.0/16".into(),
        subnet: "192.168.0.0/16".parse().unwrap(),
        from: Some(Ipv4Addr::new(192, 168, 20, 1).into()),
        to: Some(Ipv4Addr::new(192, 168, 20, 9).into()),
        ..pool(0, 0)
    };
    let mut world = World::new(2, vec![pool(3, 3), other]);
    world.says(1, &selecting(1, 3));
    let second = Some((Kind::Offer, Ipv4Addr::new(192, 168, 20, 1)));
    assert_eq!(told(&world.says(2, &discover(2))), second);
}

#[test]
fn times_are_the_pools_within_what_the_client_asks() {
    let times =
        Times { lease: 600, max: Some(1200), renewal: Some(100), rebinding: Some(200), quarantine: 0 };
    let mut world = World::new(1, vec![AllocationPool { times, ..pool(3, 50) }]);
    for (asked, given) in [(None, 600), (Some(900), 900), (Some(5000), 1200), (Some(1), 60)] {
        let answer = world.says(1, &Request { time: asked, ..selecting(1, 3) });
        assert_eq!(seconds(&answer), Some(given));
    }
    let answer = world.says(1, &selecting(1, 3));
    let options = &answer.reply.unwrap().options;
    assert!(options.contains(&Opt::seconds(58, 100)) && options.contains(&Opt::seconds(59, 200)));
}

#[test]
fn foreign_and_nonsensical_requests_are_counted_and_not_answered() {
    let mut world = World::new(1, vec![pool(3, 50)]);
    let counted = |world: &mut World, request| {
        let answer = world.says(1, &request);
        assert_eq!(answer.reply, None);
        answer.counts
    };
    assert_eq!(counted(&mut world, Request { source: mac(9), ..discover(1) }), [Count::Foreign]);
    assert_eq!(counted(&mut world, Request { chaddr: mac(9), ..discover(1) }), [Count::Foreign]);
    assert_eq!(counted(&mut world, message(1, Kind::Request)), [Count::Malformed]);
    assert_eq!(counted(&mut world, message(1, Kind::Offer)), [Count::Malformed]);
    world.pools(vec![]);
    assert_eq!(counted(&mut world, discover(1)), [Count::Discover, Count::Unserved]);
}

#[test]
fn relayed_requests_are_answered_for_those_who_may_relay() {
    let behind = AllocationPool {
        key: "10.9.0.0/24".into(),
        subnet: "10.9.0.0/24".parse().unwrap(),
        from: Some(Ipv4Addr::new(10, 9, 0, 10).into()),
        to: Some(Ipv4Addr::new(10, 9, 0, 11).into()),
        gateway: Some(Ipv4Addr::new(10, 9, 0, 1).into()),
        ..pool(0, 0)
    };
    let giaddr = Ipv4Addr::new(10, 9, 0, 1);
    let ask = |client| Request { chaddr: mac(client), giaddr, ..discover(1) };
    let mut world = World::new(1, vec![pool(3, 50), behind.clone()]);
    assert_eq!(world.says(1, &ask(100)).counts, [Count::Foreign], "it may not relay");
    world.pools(vec![pool(3, 50), AllocationPool { relays: vec!["blue:p1".into()], ..behind }]);
    let first = Some((Kind::Offer, Ipv4Addr::new(10, 9, 0, 10)));
    assert_eq!(told(&world.says(1, &ask(100))), first, "of the relay agent's link");
    let take = Request { kind: Kind::Request, requested: Some(Ipv4Addr::new(10, 9, 0, 10)), ..ask(100) };
    world.says(1, &Request { server: Some(giaddr), ..take });
    let second = Some((Kind::Offer, Ipv4Addr::new(10, 9, 0, 11)));
    assert_eq!(told(&world.says(1, &ask(101))), second, "another client");
    let routed =
        Request { kind: Kind::Request, giaddr: NOBODY, ciaddr: Ipv4Addr::new(10, 9, 0, 10), ..ask(100) };
    assert_eq!(told(&world.says(1, &routed)), Some((Kind::Ack, Ipv4Addr::new(10, 9, 0, 10))));
    assert_eq!(
        world.says(1, &Request { giaddr: host(7), ..ask(102) }).counts,
        [Count::Foreign],
        "no such link"
    );
    let selected =
        Request { giaddr: host(7), relay_info: Some(vec![1, 1, 9, 5, 4, 10, 9, 0, 1]), ..ask(101) };
    assert_eq!(told(&world.says(1, &selected)), second, "link selection");
}

#[test]
fn networks_and_namespaces_do_not_mix() {
    let mut world = World::new(2, vec![pool(3, 50)]);
    let red = AllocationPool { network: "red".into(), ..pool(3, 50) };
    world.ports[1].interface = "red:p2".into();
    world.ports[1].pools = vec![Arc::new(red)];
    world.says(1, &selecting(1, 3));
    assert_eq!(told(&world.says(2, &discover(2))), offer(3), "the same subnet in another network");
    world.ports[1].pools = world.ports[0].pools.clone();
    world.passes(61);
    assert_eq!(told(&world.says(2, &discover(2))), offer(4), "one network for both");
}

#[test]
fn a_client_is_told_the_mtu_of_its_link_unless_the_pool_has_one() {
    let mut world = World::new(1, vec![pool(3, 50)]);
    world.ports[0].mtu = 8950;
    let asking = || Request { wanted: Some(vec![26]), ..discover(1) };
    let told = |world: &mut World| {
        world.says(1, &asking()).reply.unwrap().options.pop().map(|option| (option.code, option.data))
    };
    assert_eq!(told(&mut world), Some((26, vec![0x22, 0xf6])));
    let options = PoolOptions { mtu: Some(1400), ..PoolOptions::default() };
    world.pools(vec![AllocationPool { options, ..pool(3, 50) }]);
    assert_eq!(told(&mut world), Some((26, vec![0x05, 0x78])));
}

#[test]
fn options_are_those_that_the_client_asks_for() {
    let options = PoolOptions {
        domain: Some("blue.example".into()),
        search: vec!["a.example".into()],
        mtu: Some(1400),
        ntp: vec![host(7).into()],
        routes: vec![("10.0.0.0/8".parse().unwrap(), host(9).into())],
        next_server: Some(host(8)),
        boot_file: Some("kernel".into()),
        ..PoolOptions::default()
    };
    let mut world = World::new(1, vec![AllocationPool { options, dns: vec![host(6).into()], ..pool(3, 50) }]);
    let asking = |codes: &[u8]| Request { wanted: Some(codes.to_vec()), ..discover(1) };
    assert_eq!(codes(&world.says(1, &discover(1))), [51, 58, 59, 1, 3, 121, 6, 26, 15, 28, 42, 67, 119]);
    assert_eq!(codes(&world.says(1, &asking(&[6, 3, 200]))), [51, 58, 59, 3, 6]);
    let answer = world.says(1, &asking(&[1, 3, 121, 249]));
    assert_eq!(codes(&answer), [51, 58, 59, 1, 121, 249], "routers are among the routes");
    let routes = answer.reply.unwrap().options.pop().map(|option| option.data);
    assert_eq!(routes, Some(vec![8, 10, 192, 168, 10, 9, 0, 192, 168, 10, 2]));
}
