use super::*;
use crate::dhcp::v6::Opt;

#[test]
fn section_18_3_1_solicit_is_advertised_what_request_then_leases() {
    let mut world = World::new(2, vec![pool(3, 9)]);
    let answer = world.says(1, &solicit(1));
    assert_eq!(said(&answer), Some((Kind::Advertise, None, vec![None])));
    assert_eq!(told(&answer), Some(vec![leased(3, LEASE)]));
    assert_eq!(ias(&answer)[0].times, (LEASE / 2, LEASE / 5 * 4));
    let reply = answer.reply.unwrap();
    assert_eq!(reply.options[0], Opt { code: 7, data: vec![255] }, "no other server is waited for");
    assert!(world.held().is_empty(), "an advertised address is not leased");
    assert_eq!(addresses(&world.says(2, &solicit(2))), [host(4)], "and nobody else's meanwhile");
    let answer = world.says(1, &with(request(1), &[host(3)]));
    assert_eq!(said(&answer), Some((Kind::Reply, None, vec![None])));
    assert_eq!(world.held(), [("blue:p1".into(), host(3).into())]);
    assert_eq!(answer.counts, [Count::Request, Count::Reply]);
    let lease = world.book.lease(&Holder::PortV6("blue:p1".into())).unwrap();
    assert_eq!((lease.iaid, lease.client_id.clone()), (Some(1), Some(client(1).to_string())));
    assert_eq!(lease.expires, world.now + u64::from(LEASE));
}

#[test]
fn section_18_3_1_a_wish_is_granted_where_it_is_free() {
    let mut world = World::new(2, vec![pool(3, 9)]);
    assert_eq!(addresses(&world.says(1, &with(solicit(1), &[host(7)]))), [host(7)]);
    assert_eq!(addresses(&world.says(2, &with(solicit(2), &[host(7)]))), [host(3)], "it is offered");
    assert_eq!(addresses(&world.says(2, &with(solicit(2), &[elsewhere()]))), [host(3)], "not of this link");
    assert_eq!(addresses(&world.says(2, &with(solicit(2), &[host(GATEWAY)]))), [host(3)]);
}

#[test]
fn section_18_3_1_rapid_commit_leases_at_once() {
    let mut world = World::new(2, vec![pool(3, 3)]);
    let rapid = |port| Request { rapid_commit: true, ..solicit(port) };
    let answer = world.says(1, &rapid(1));
    assert_eq!(said(&answer), Some((Kind::Reply, None, vec![None])));
    assert!(answer.reply.unwrap().rapid_commit);
    assert_eq!(world.held().len(), 1);
    // With nothing to commit it is an answer like any other.
    let answer = world.says(2, &rapid(2));
    assert_eq!(said(&answer), Some((Kind::Advertise, None, vec![Some(Status::NoAddrsAvail)])));
    assert!(!answer.reply.unwrap().rapid_commit);
}

#[test]
fn section_18_3_9_an_exhausted_pool_says_no_addrs_avail() {
    let mut world = World::new(3, vec![pool(3, 4)]);
    assert_eq!((world.lease(1), world.lease(2)), (Some(host(3)), Some(host(4))));
    let answer = world.says(3, &solicit(3));
    assert_eq!(said(&answer), Some((Kind::Advertise, None, vec![Some(Status::NoAddrsAvail)])));
    assert!(answer.counts.contains(&Count::Exhausted));
    assert!(answer.entries.is_empty());
    assert!(answer.reply.unwrap().options.iter().all(|option| option.code != 7), "others may do better");
    world.says(1, &with(message(1, Kind::Release), &[host(3)]));
    assert_eq!(world.lease(3), Some(host(3)));
}

#[test]
fn section_18_3_2_other_associations_get_the_status_of_their_kind() {
    let mut world = World::new(1, vec![pool(3, 9)]);
    let of = |kind, iaid| Ia { kind, iaid, addresses: vec![] };
    let ias_asked = vec![of(IaKind::Pd, 5), of(IaKind::Ta, 6), na(1, &[]), na(2, &[])];
    let expected =
        vec![Some(Status::NoPrefixAvail), Some(Status::NoAddrsAvail), None, Some(Status::NoAddrsAvail)];
    for kind in [Kind::Solicit, Kind::Request] {
        let answer = world.says(1, &Request { ias: ias_asked.clone(), ..message(1, kind) });
        assert_eq!(said(&answer).unwrap().2, expected, "{kind:?}");
        assert_eq!(addresses(&answer), [host(3)]);
        let numbers: Vec<_> = ias(&answer).iter().map(|ia| (ia.kind, ia.iaid)).collect();
        assert_eq!(numbers[0], (IaKind::Pd, 5));
        assert_eq!(numbers[1], (IaKind::Ta, 6));
    }
    // The association that has the address has it again, wherever it stands.
    let turned = vec![na(2, &[]), na(1, &[])];
    let answer = world.says(1, &Request { ias: turned, ..request(1) });
    assert_eq!(said(&answer).unwrap().2, [Some(Status::NoAddrsAvail), None]);
    // Only prefixes are asked for.
    let answer = world.says(1, &Request { ias: vec![of(IaKind::Pd, 5)], ..message(1, Kind::Renew) });
    assert_eq!(said(&answer).unwrap().2, [Some(Status::NoPrefixAvail)]);
}

#[test]
fn section_18_3_2_a_request_for_another_link_is_not_on_link() {
    let mut world = World::new(1, vec![pool(3, 9)]);
    let answer = world.says(1, &with(request(1), &[elsewhere()]));
    assert_eq!(said(&answer), Some((Kind::Reply, None, vec![Some(Status::NotOnLink)])));
    assert_eq!(answer.counts, [Count::Request, Count::Reply, Count::Refused]);
    assert!(world.held().is_empty());
}

#[test]
fn section_18_3_3_confirm_looks_at_the_link_only() {
    let mut world = World::new(1, vec![pool(3, 9)]);
    let confirm = |addresses: &[Ipv6Addr]| with(message(1, Kind::Confirm), addresses);
    let table = [
        (vec![host(200)], Some(Status::Success)),
        (vec![host(3), elsewhere()], Some(Status::NotOnLink)),
        (vec![elsewhere()], Some(Status::NotOnLink)),
    ];
    for (addresses, status) in table {
        let answer = world.says(1, &confirm(&addresses));
        assert_eq!(said(&answer), Some((Kind::Reply, status, vec![])), "{addresses:?}");
        assert!(answer.entries.is_empty());
    }
    assert_eq!(said(&world.says(1, &confirm(&[]))), None, "there is nothing to confirm");
    world.pools(vec![]);
    assert_eq!(said(&world.says(1, &confirm(&[host(3)]))), None, "nothing is known of the link");
}

#[test]
fn section_18_3_4_renew_prolongs() {
    let mut world = World::new(1, vec![pool(3, 9)]);
    world.lease(1);
    world.passes(40_000);
    let answer = world.says(1, &with(message(1, Kind::Renew), &[host(3)]));
    assert_eq!(told(&answer), Some(vec![leased(3, LEASE)]));
    let lease = world.book.leases().next().unwrap();
    assert_eq!(lease.expires, world.now + u64::from(LEASE));
    // What else the client believes to have it has no longer.
    let answer = world.says(1, &with(message(1, Kind::Renew), &[host(3), host(8), elsewhere()]));
    let gone = Leased { address: elsewhere(), lifetime: 0 };
    assert_eq!(told(&answer), Some(vec![leased(3, LEASE), leased(8, 0), gone]));
}

#[test]
fn section_18_3_4_renew_of_what_is_not_bound_is_no_binding() {
    let mut world = World::new(2, vec![pool(3, 9)]);
    world.lease(1);
    let renew = || with(message(1, Kind::Renew), &[host(3)]);
    let other_number = Request { ias: vec![na(2, &[host(3)])], ..renew() };
    let other_client = Request { client: Some(client(9)), ..renew() };
    let other_port = with(message(2, Kind::Renew), &[host(3)]);
    for (port, request) in [(1, other_number), (1, other_client), (2, other_port)] {
        let answer = world.says(port, &request);
        assert_eq!(said(&answer), Some((Kind::Reply, None, vec![Some(Status::NoBinding)])));
        assert!(answer.entries.is_empty());
    }
    world.passes(u64::from(LEASE));
    assert_eq!(said(&world.says(1, &renew())).unwrap().2, [Some(Status::NoBinding)], "it has run out");
}

#[test]
fn section_18_3_4_an_address_that_the_pool_has_no_more_lasts_as_promised() {
    let mut world = World::new(1, vec![pool(3, 9)]);
    world.lease(1);
    world.passes(1000);
    world.pools(vec![pool(5, 9)]);
    let renew = with(message(1, Kind::Renew), &[host(3)]);
    let answer = world.says(1, &renew);
    assert_eq!((told(&answer), answer.entries.len()), (Some(vec![leased(3, LEASE - 1000)]), 0));
    // Another subnet: the old address goes, and the new one comes with the same answer.
    let moved = AllocationPool::plain("blue", "fd00:9::/64", "fd00:9::1", "fd00:9::8", "fd00:9::ff");
    world.pools(vec![moved]);
    let answer = world.says(1, &renew);
    let new = Leased { address: elsewhere(), lifetime: LEASE };
    assert_eq!(told(&answer), Some(vec![new, leased(3, 0)]));
    assert_eq!(world.held(), [("blue:p1".into(), elsewhere().into())]);
    // No address at all: it ends.
    world.pools(vec![stateless()]);
    let answer = world.says(1, &with(message(1, Kind::Renew), &[elsewhere()]));
    assert_eq!(told(&answer), Some(vec![Leased { address: elsewhere(), lifetime: 0 }]));
    assert!(world.held().is_empty());
}

#[test]
fn section_18_3_5_rebind_is_answered_by_any_server() {
    let mut world = World::new(1, vec![pool(3, 9)]);
    world.lease(1);
    let rebind = |addresses: &[Ipv6Addr]| with(message(1, Kind::Rebind), addresses);
    assert_eq!(told(&world.says(1, &rebind(&[host(3)]))), Some(vec![leased(3, LEASE)]));
    let other = Request { ias: vec![na(2, &[elsewhere()])], ..rebind(&[]) };
    let answer = world.says(1, &other);
    assert_eq!(told(&answer), Some(vec![Leased { address: elsewhere(), lifetime: 0 }]), "not of this link");
    let unknown = Request { ias: vec![na(2, &[host(5)])], ..rebind(&[]) };
    assert_eq!(said(&world.says(1, &unknown)).unwrap().2, [Some(Status::NoBinding)]);
}

#[test]
fn section_18_3_6_information_is_given_without_an_address() {
    let mut blue = stateless();
    blue.dns = vec!["fd00::53".parse().unwrap(), "10.0.0.53".parse().unwrap()];
    blue.options.search = vec!["blue.example".into()];
    let mut world = World::new(1, vec![blue]);
    let ask = message(1, Kind::InformationRequest);
    let codes = |answer: &Answer| -> Vec<u16> {
        answer.reply.as_ref().unwrap().options.iter().map(|option| option.code).collect()
    };
    let answer = world.says(1, &ask);
    assert_eq!(said(&answer), Some((Kind::Reply, None, vec![])));
    assert_eq!((codes(&answer), answer.counts.clone()), (vec![23, 24], vec![Count::Inform, Count::Reply]));
    let dns = &answer.reply.as_ref().unwrap().options[0].data;
    assert_eq!(dns.len(), 16, "only of its version");
    let nobody = Request { client: None, wanted: Some(vec![24, 99]), ..ask.clone() };
    assert_eq!(codes(&world.says(1, &nobody)), [24], "what is wanted, and the asker may be nameless");
    // A stateless pool has no addresses to give.
    let answer = world.says(1, &solicit(1));
    assert_eq!(said(&answer).unwrap().2, [Some(Status::NoAddrsAvail)]);
    assert!(answer.counts.contains(&Count::Unserved));
    world.pools(vec![]);
    assert_eq!(said(&world.says(1, &ask)), None);
    assert_eq!(said(&world.says(1, &solicit(1))), None, "no pool is no server");
}

#[test]
fn section_18_3_7_release_ends_the_lease_and_is_confirmed() {
    let mut world = World::new(2, vec![pool(3, 9)]);
    world.lease(1);
    let release = |port, addresses: &[Ipv6Addr]| with(message(port, Kind::Release), addresses);
    let answer = world.says(2, &release(2, &[host(3)]));
    assert_eq!(said(&answer), Some((Kind::Reply, Some(Status::Success), vec![Some(Status::NoBinding)])));
    world.says(1, &release(1, &[host(4)]));
    assert_eq!(world.held().len(), 1, "neither another's nor another address");
    let answer = world.says(1, &release(1, &[host(3)]));
    assert_eq!(said(&answer), Some((Kind::Reply, Some(Status::Success), vec![])));
    assert!(world.held().is_empty());
    assert_eq!(world.lease(1), Some(host(3)), "it is remembered");
}

#[test]
fn section_18_3_8_a_declined_address_rests() {
    let mut world = World::new(2, vec![pool(3, 9)]);
    world.lease(1);
    let decline = |port, last| with(message(port, Kind::Decline), &[host(last)]);
    assert_eq!(said(&world.says(2, &decline(2, 3))).unwrap().2, [Some(Status::NoBinding)]);
    let answer = world.says(1, &decline(1, 3));
    assert_eq!(said(&answer), Some((Kind::Reply, Some(Status::Success), vec![])));
    assert_eq!((world.held().len(), answer.entries.len()), (0, 2));
    assert_eq!(world.lease(1), Some(host(4)));
    assert_eq!(world.lease(2), Some(host(5)));
    world.says(1, &with(message(1, Kind::Release), &[host(4)]));
    world.passes(601);
    assert_eq!(addresses(&world.says(1, &with(solicit(1), &[host(3)]))), [host(4)], "remembered first");
    let mut third = World { book: world.book, ..World::new(3, vec![pool(3, 9)]) };
    third.now = 2000;
    assert_eq!(third.lease(3), Some(host(3)), "it has rested");
}

#[test]
fn section_18_4_what_is_sent_to_one_address_hears_use_multicast() {
    let mut world = World::new(1, vec![pool(3, 9)]);
    world.lease(1);
    for kind in [Kind::Request, Kind::Renew, Kind::Release, Kind::Decline] {
        let asked = Request { unicast: true, ..with(message(1, kind), &[host(3)]) };
        let answer = world.says(1, &asked);
        assert_eq!(said(&answer), Some((Kind::Reply, Some(Status::UseMulticast), vec![])), "{kind:?}");
        assert!(answer.entries.is_empty());
    }
    assert_eq!(world.held().len(), 1);
}

#[test]
fn section_16_what_is_not_sound_is_discarded_and_counted() {
    let mut world = World::new(2, vec![pool(3, 9)]);
    let theirs = || Some(Duid::of_uuid([8; 16]));
    let mut table = vec![
        (message(1, Kind::Advertise), Count::Malformed),
        (message(1, Kind::Reply), Count::Malformed),
        (message(1, Kind::Reconfigure), Count::Malformed),
        (Request { source: mac(2), ..solicit(1) }, Count::Foreign),
        (Request { server: theirs(), ..message(1, Kind::InformationRequest) }, Count::Foreign),
        (Request { ias: vec![na(1, &[])], ..message(1, Kind::InformationRequest) }, Count::Malformed),
        (Request { unicast: true, ..message(1, Kind::InformationRequest) }, Count::Malformed),
    ];
    for kind in [Kind::Solicit, Kind::Confirm, Kind::Rebind] {
        table.push((Request { client: None, ..message(1, kind) }, Count::Malformed));
        table.push((Request { server: Some(server()), ..message(1, kind) }, Count::Malformed));
        table.push((Request { unicast: true, ..message(1, kind) }, Count::Malformed));
    }
    for kind in [Kind::Request, Kind::Renew, Kind::Release, Kind::Decline] {
        table.push((Request { client: None, ..message(1, kind) }, Count::Malformed));
        table.push((Request { server: None, ..message(1, kind) }, Count::Malformed));
        table.push((Request { server: theirs(), ..message(1, kind) }, Count::Foreign));
    }
    for (request, count) in table {
        let answer = world.says(1, &request);
        assert_eq!((said(&answer), answer.counts), (None, vec![count]), "{request:?}");
        assert!(answer.entries.is_empty());
    }
}

#[test]
fn a_pod_with_an_address_of_its_own_is_given_that_and_nothing_else() {
    let mut world = World::new(2, vec![pool(3, 9)]);
    world.configured(1, 0x40);
    assert_eq!(world.lease(1), Some(host(0x40)));
    assert_eq!(
        told(&world.says(1, &with(message(1, Kind::Renew), &[host(0x40)]))),
        Some(vec![leased(0x40, LEASE)])
    );
    // It is configured otherwise now.
    world.ports[0].fixed_v6 = Some(host(0x41));
    let answer = world.says(1, &with(message(1, Kind::Renew), &[host(0x40)]));
    assert_eq!(told(&answer), Some(vec![leased(0x41, LEASE), leased(0x40, 0)]));
    // One in no pool: there is nothing to give.
    world.ports[1].fixed_v6 = Some(elsewhere());
    let answer = world.says(2, &solicit(2));
    assert_eq!(said(&answer).unwrap().2, [Some(Status::NoAddrsAvail)]);
    assert!(answer.counts.contains(&Count::Unserved));
}

#[test]
fn a_reserved_address_is_its_clients_by_mac_duid_or_interface() {
    let by = |last: u16, client| Reservation { address: host(last).into(), client };
    let reservations = vec![
        kept(4, 2),
        by(0x50, ReservedFor::ClientId(client(3).to_string().into())),
        by(0x51, ReservedFor::Interface("blue:p4".into())),
    ];
    let mut world = World::new(4, vec![AllocationPool { reservations, ..pool(3, 9) }]);
    assert_eq!(
        (world.lease(2), world.lease(3), world.lease(4)),
        (Some(host(4)), Some(host(0x50)), Some(host(0x51)))
    );
    assert_eq!(addresses(&world.says(1, &with(solicit(1), &[host(4)]))), [host(3)], "not another's");
}

#[test]
fn a_port_has_one_address_whoever_asks_from_it() {
    let mut world = World::new(1, vec![pool(3, 9)]);
    world.lease(1);
    let reborn = Request { client: Some(client(77)), ..with(request(1), &[host(3)]) };
    assert_eq!(addresses(&world.says(1, &reborn)), [host(3)]);
    let renumbered = Request { ias: vec![na(9, &[])], ..request(1) };
    assert_eq!(addresses(&world.says(1, &renumbered)), [host(3)]);
    assert_eq!(world.held().len(), 1);
}

#[test]
fn pools_of_version_4_and_those_behind_a_relay_agent_give_nothing() {
    let v4 = AllocationPool::plain("blue", "10.0.0.0/24", "10.0.0.3", "10.0.0.9", "");
    let behind = AllocationPool { relays: vec!["blue:p1".into()], ..pool(3, 9) };
    let mut world = World::new(1, vec![v4, behind]);
    assert_eq!(world.says(1, &solicit(1)).counts, [Count::Solicit, Count::Unserved]);
}
