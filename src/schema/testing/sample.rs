//! One of everything.

use std::sync::LazyLock;

use super::super::Expression;
use super::super::ir::*;
use super::Builder;

/// Module `test` (prefix `t`) with one of everything, and `aug` (prefix `a`), which augments it.
pub fn sample() -> &'static Schema {
    static SAMPLE: LazyLock<&'static Schema> = LazyLock::new(make);
    *SAMPLE
}

fn text(kind: StringKind, patterns: &[&str]) -> Type {
    let pattern = |text: &&str| Pattern { expression: Expression::new(*text), inverted: false, says: None };
    Type::String { lengths: vec![], patterns: patterns.iter().map(pattern).collect(), says: None, kind }
}

fn plain() -> Type {
    text(StringKind::Plain, &[])
}

fn uuid() -> Type {
    let hex = "[0-9a-fA-F]";
    let pattern = format!("{hex}{{8}}-{hex}{{4}}-{hex}{{4}}-{hex}{{4}}-{hex}{{12}}");
    text(StringKind::LowerCase, &[&pattern])
}

fn ipv4() -> Type {
    let octet = "([0-9]|[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5])";
    text(StringKind::Ipv4Address, &[&format!("({octet}\\.){{3}}{octet}")])
}

fn uint(bits: u8) -> Type {
    Type::Uint { bits, ranges: vec![0..=u64::MAX >> (64 - bits)], says: None }
}

fn make() -> &'static Schema {
    let mut b = Builder::new();
    let m = b.module("test", "t");
    let aug = b.module("aug", "a");
    let transport = b.identity(m, "transport", &[]);
    b.identity(m, "tcp", &[transport]);
    let udp = b.identity(aug, "udp", &[transport]);
    b.identity(aug, "udp-lite", &[udp]);

    let coe = b.container(None, m, "coe");
    let pods = b.list(Some(coe), m, "pods");
    let uid = b.leaf(pods, "uid", uuid());
    b.keys(pods, &[uid]);
    b.leaf(pods, "name", plain());
    b.leaf(pods, "host-ip-address", ipv4());
    b.leaf(pods, "port-mac-address", text(StringKind::LowerCase, &["[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}"]));
    b.leaf(pods, "network-type", Type::Enumeration(vec![("FLAT".into(), 0), ("VXLAN".into(), 7)]));
    b.leaf(pods, "segmentation-id", uint(32));
    b.leaf(pods, "dpn-id", uint(64));
    b.leaf(pods, "small", Type::Int { bits: 8, ranges: vec![-100..=-1, 5..=100], says: None });
    b.leaf(pods, "large", Type::Int { bits: 64, ranges: vec![i64::MIN..=i64::MAX], says: None });
    b.leaf(
        pods,
        "ratio",
        Type::Decimal64 { fraction_digits: 2, ranges: vec![-100_000..=100_000], says: None },
    );
    b.leaf(pods, "flags", Type::Bits(vec![("up".into(), 0), ("running".into(), 3), ("last".into(), 63)]));
    let enabled = b.leaf(pods, "enabled", Type::Boolean);
    let Kind::Leaf { default, .. } = &mut b.node(enabled).kind else { unreachable!() };
    *default = Some("true".into());
    b.leaf(pods, "nothing", Type::Empty);
    b.leaf(pods, "blob", Type::Binary { lengths: vec![0..=8], says: None });
    b.leaf(pods, "kind", Type::IdentityRef(vec![transport]));
    b.leaf(pods, "prefix", text(StringKind::Ipv4Prefix, &["[0-9.]+/[0-9]{1,2}"]));
    b.leaf(pods, "prefix6", text(StringKind::Ipv6Prefix, &["[0-9a-fA-F:.]+/[0-9]{1,3}"]));
    b.leaf(
        pods,
        "either",
        Type::Union(vec![
            ipv4(),
            text(StringKind::Ipv6Address, &["[0-9a-fA-F:.]*:.*"]),
            uint(8),
            Type::Boolean,
        ]),
    );
    b.leaf(
        pods,
        "short",
        Type::String { lengths: vec![1..=3, 5..=5], patterns: vec![], says: None, kind: StringKind::Plain },
    );
    b.leaf_list(pods, "tags", plain(), false);
    b.leaf_list(pods, "order", uint(16), true);
    b.leaf(pods, "target", Type::InstanceIdentifier { require_instance: false });
    let v4 = b.leaf(pods, "v4", plain());
    let v6 = b.leaf(pods, "v6", plain());
    let scope = b.leaf(pods, "scope", plain());
    b.choice(&[&[v4], &[v6, scope]]);
    let interface = b.list(Some(pods), m, "interface");
    let port = b.leaf(interface, "uid", uuid());
    b.keys(interface, &[port]);
    b.leaf(interface, "ip-address", ipv4());
    let status = b.container(Some(pods), m, "status");
    let phase = b.leaf(status, "phase", plain());
    b.state(status);
    let _ = phase;
    b.add(Some(pods), aug, "extra", Kind::Leaf { type_: plain(), mandatory: false, default: None });
    let settings = b.container(Some(coe), m, "settings");
    b.leaf(settings, "level", uint(8));
    b.add(Some(coe), m, "any", Kind::Any { mandatory: false });

    let nodes = b.container(None, m, "nodes");
    let node = b.list(Some(nodes), m, "node");
    let name = b.leaf(node, "name", plain());
    b.keys(node, &[name]);
    let address = b.leaf(node, "address", ipv4());
    let peer_type = Type::LeafRef {
        target: Some(name),
        path: "/t:nodes/t:node/t:name".into(),
        require_instance: true,
        real: Box::new(plain()),
    };
    b.leaf(node, "peer", peer_type);
    let role = b.leaf(node, "role", Type::IdentityRef(vec![transport]));
    let tcp_only = b.leaf(node, "tcp-port", uint(16));
    b.when(tcp_only, "../t:role = 't:tcp'", false);
    let udp_only = b.leaf(node, "udp-port", uint(16));
    b.when(udp_only, "derived-from-or-self(role, 'a:udp')", true);
    b.must(address, "not(starts-with(., '127.')) and count(../../node) < 5");
    b.must(role, "current()/../address or /nodes/node[name = current()/../peer]/address != ''");
    let Kind::List { unique, max, .. } = &mut b.node(node).kind else { unreachable!() };
    *unique = vec![vec![vec![address]]];
    *max = 6;

    let rules = b.list(None, m, "rule");
    let index = b.leaf(rules, "index", uint(32));
    b.keys(rules, &[index]);
    b.leaf(rules, "protocol", plain());
    let Kind::List { positional, .. } = &mut b.node(rules).kind else { unreachable!() };
    *positional = true;

    let acl = b.list(None, m, "acl");
    let acl_name = b.leaf(acl, "name", plain());
    b.keys(acl, &[acl_name]);
    b.leaf(acl, "action", plain());
    let Kind::List { user_ordered, .. } = &mut b.node(acl).kind else { unreachable!() };
    *user_ordered = true;

    let pairs = b.container(None, m, "pairs");
    let pair = b.list(Some(pairs), m, "pair");
    let first = b.leaf(pair, "first", plain());
    let second = b.leaf(pair, "second", uint(16));
    b.keys(pair, &[first, second]);
    b.leaf(pair, "value", plain());

    let strict = b.add(None, m, "strict", Kind::Container { presence: true });
    let needed = b.leaf(strict, "needed", plain());
    let Kind::Leaf { mandatory, .. } = &mut b.node(needed).kind else { unreachable!() };
    *mandatory = true;
    let some = b.leaf_list(strict, "some", uint(8), false);
    let Kind::LeafList { min, max, .. } = &mut b.node(some).kind else { unreachable!() };
    (*min, *max) = (1, 2);

    let state = b.container(None, m, "state");
    let sample = b.list(Some(state), m, "sample");
    b.leaf(sample, "at", uint(64));
    b.leaf_list(state, "log", plain(), false);
    b.state(state);

    let rpc = b.add(None, m, "reset", Kind::Rpc);
    let input = b.add(Some(rpc), m, "input", Kind::Input);
    b.leaf(input, "hard", Type::Boolean);
    let output = b.add(Some(rpc), m, "output", Kind::Output);
    b.leaf(output, "took", uint(32));
    b.build()
}
