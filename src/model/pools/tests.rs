use super::*;

fn pool(subnet: &str, from: &str, to: &str, gateway: &str) -> AllocationPool {
    AllocationPool::plain("blue", subnet, from, to, gateway)
}

fn good() -> AllocationPool {
    pool("192.168.10.0/24", "192.168.10.3", "192.168.10.50", "192.168.10.2")
}

fn checked(pools: Vec<AllocationPool>) -> Result<(), String> {
    let network = Network { id: "blue".into(), pools: pools.into_iter().map(Arc::new).collect() };
    check(None, &network).map_err(|fault| fault.message)
}

fn kept(text: &str, mac: u8) -> Reservation {
    Reservation { address: text.parse().unwrap(), client: ReservedFor::Mac(MacAddr([2, 0, 0, 0, 0, mac])) }
}

#[test]
fn pools_that_can_be_served_pass() {
    let none = pool("10.0.0.0/16", "", "", "");
    let v6 = pool("fd00::/64", "fd00::100", "fd00::ffff:ffff", "fd00::1");
    let kept = AllocationPool {
        reservations: vec![kept("192.168.10.77", 1), kept("192.168.10.5", 2)],
        relays: vec!["blue:relay".into()],
        dns: vec!["10.0.0.53".parse().unwrap()],
        ..good()
    };
    // Two addresses and no more: both are hosts' (RFC 3021, RFC 6164).
    let pair = pool("10.1.0.0/31", "10.1.0.1", "10.1.0.1", "10.1.0.0");
    let pair_v6 = pool("fd01::/127", "fd01::1", "fd01::1", "fd01::");
    assert_eq!(checked(vec![none, kept, v6, pair, pair_v6]), Ok(()));
}

#[test]
fn each_fault_names_pool_reason_and_next_step() {
    let times = |lease, max, renewal, rebinding| Times { lease, max, renewal, rebinding, quarantine: 0 };
    let keeps = |all: Vec<Reservation>| AllocationPool { reservations: all, ..good() };
    let net = |text: &str| text.parse::<IpNetwork>().unwrap();
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    let routes = |to: &str, by: &str| AllocationPool {
        options: PoolOptions { routes: vec![(net(to), ip(by))], ..PoolOptions::default() },
        ..good()
    };
    let table = [
        (pool("192.168.10.0/24", "192.168.10.3", "", ""), "no allocate-to"),
        (pool("192.168.10.0/24", "", "192.168.10.3", ""), "no allocate-from"),
        (
            pool("192.168.10.0/24", "192.168.11.3", "192.168.10.9", ""),
            "allocate-from 192.168.11.3 is not in the subnet",
        ),
        (
            pool("192.168.10.0/24", "192.168.10.3", "192.168.11.9", ""),
            "allocate-to 192.168.11.9 is not in the subnet",
        ),
        (pool("192.168.10.0/24", "fd00::1", "fd00::2", ""), "not in the subnet"),
        (pool("192.168.10.0/24", "192.168.10.9", "192.168.10.3", ""), "swap"),
        (pool("192.168.10.0/24", "192.168.10.1", "192.168.10.9", "192.168.10.2"), "inside the range"),
        (pool("192.168.10.0/24", "", "", "192.168.11.2"), "gateway 192.168.11.2 is not in the subnet"),
        (pool("192.168.10.0/24", "", "", "192.168.10.0"), "gateway 192.168.10.0 is the subnet's own"),
        (pool("192.168.10.0/24", "", "", "192.168.10.255"), "gateway 192.168.10.255 is the subnet's own"),
        (pool("0.0.0.0/0", "", "", ""), "wider than a /8"),
        (pool("::/0", "", "", ""), "wider than a /12"),
        (pool("224.0.0.0/24", "", "", ""), "unicast"),
        (pool("10.0.0.0/8", "10.0.0.1", "10.255.255.254", ""), "16777214 addresses"),
        (AllocationPool { times: times(100, Some(60), None, None), ..good() }, "max-lease-time"),
        (AllocationPool { times: times(100, None, None, Some(101)), ..good() }, "rebinding-time"),
        (AllocationPool { times: times(100, None, Some(90), Some(80)), ..good() }, "renewal-time"),
        (keeps(vec![kept("192.168.11.9", 1)]), "reservation 192.168.11.9 is not in the subnet"),
        (keeps(vec![kept("192.168.10.2", 1)]), "the gateway's"),
        (keeps(vec![kept("192.168.10.255", 1)]), "the subnet's own"),
        (keeps(vec![kept("192.168.10.8", 1), kept("192.168.10.9", 1)]), "two reservations"),
        (routes("fd00::/64", "192.168.10.9"), "another family"),
        (routes("10.0.0.0/8", "192.168.11.9"), "next-hop"),
        (
            AllocationPool { dns: vec![ip("10.0.0.53"), ip("fd00::53")], ..good() },
            "dns-servers fd00::53 is an address of IPv6",
        ),
        (
            AllocationPool { dns: vec![ip("10.0.0.53")], ..pool("fd00::/64", "", "", "") },
            "dns-servers 10.0.0.53 is an address of IPv4, which clients of an IPv6 pool",
        ),
        (
            AllocationPool {
                options: PoolOptions { ntp: vec![ip("fd00::7b")], ..PoolOptions::default() },
                ..good()
            },
            "ntp-server fd00::7b",
        ),
    ];
    for (pool, reason) in table {
        let message = checked(vec![pool.clone()]).expect_err(reason);
        assert!(message.starts_with(&format!("pool {} of network blue: ", pool.key)), "{message}");
        assert!(message.contains(reason), "{message} lacks {reason}");
    }
}

#[test]
fn two_pools_of_a_network_share_no_address() {
    let wide = pool("192.168.0.0/16", "192.168.10.40", "192.168.10.60", "");
    assert!(checked(vec![good(), wide]).unwrap_err().contains("overlaps"));
    let wide = AllocationPool {
        reservations: vec![kept("192.168.10.3", 9)],
        ..pool("192.168.0.0/16", "192.168.20.1", "192.168.20.9", "")
    };
    assert!(checked(vec![good(), wide]).unwrap_err().contains("is also in pool"));
}

#[test]
fn a_pool_does_not_give_out_the_gateway_of_another() {
    let wide = |from, to| pool("192.168.0.0/16", from, to, "");
    let told =
        "gateway 192.168.10.2 of pool 192.168.10.0/24 is among the addresses for pods of pool 192.168.0.0/16";
    let over = wide("192.168.10.1", "192.168.10.2");
    let keeps = AllocationPool { reservations: vec![kept("192.168.10.2", 9)], ..wide("", "") };
    for other in [over, keeps] {
        assert!(checked(vec![good(), other.clone()]).unwrap_err().contains(told));
        // It is found as well when the other one is what is new.
        let old = Network { id: "blue".into(), pools: vec![Arc::new(good())] };
        let new = Network { id: "blue".into(), pools: vec![Arc::new(good()), Arc::new(other)] };
        assert!(check(Some(&old), &new).unwrap_err().message.contains(told));
    }
    assert_eq!(checked(vec![good(), wide("192.168.10.60", "192.168.10.70")]), Ok(()));
}

#[test]
fn a_pool_that_was_so_before_is_not_in_the_way() {
    let old = Network {
        id: "blue".into(),
        pools: vec![Arc::new(pool("192.168.10.0/24", "192.168.10.1", "192.168.10.9", "192.168.10.2"))],
    };
    let mut new = old.clone();
    new.pools.push(Arc::new(pool("10.0.0.0/24", "10.0.0.9", "10.0.0.20", "")));
    assert_eq!(check(Some(&old), &new), Ok(()));
}
