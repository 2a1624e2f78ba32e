//! Whether this process may make what a pod needs, and the kernel can: tried in a network namespace of its own.

use std::io;

use coeus_cni::Prefix;

use super::Found;
use crate::node::announce::announce;
use crate::node::link::{self, Inside};
use crate::node::namespace::Namespace;
use crate::node::netlink::Netlink;
use crate::node::rules::{self, Standing};

pub(super) fn account() -> Found {
    if rustix::process::geteuid().is_root() {
        return Found::Good("root".into());
    }
    let user = rustix::process::geteuid().as_raw();
    Found::fault(
        format!("this is user {user}"),
        "run coeus node, and this, as root in the node's network namespace",
    )
}

pub(super) fn abilities() -> Found {
    let fresh = Namespace::fresh().map_err(told("a network namespace"));
    let done = fresh.and_then(|namespace| namespace.run(|| trial(&namespace)).and_then(|done| done));
    match done {
        Ok(()) => Found::Good("a pair of devices could be made in a namespace".into()),
        Err(error) => Found::fault(
            error.to_string(),
            "this needs root with CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW, and the kernel's module veth (modprobe veth)",
        ),
    }
}

/// Whether host ports lead to the switch from the node and beyond.
pub(super) fn host_ports() -> Found {
    match Netlink::open().and_then(|mut kernel| rules::standing(&mut kernel)) {
        Ok(standing) => judge(standing),
        Err(error) => Found::fault(format!("the rules of the kernel: {error}"), "run this as root"),
    }
}

fn judge(Standing { rules, is_local_first, has_way }: Standing) -> Found {
    let wrong = match (is_local_first, has_way) {
        _ if rules == 0 => return Found::Good("no pod here has one".into()),
        (false, true) => return Found::Good(format!("{rules} rules lead to the switch")),
        (_, false) => "table 77 is empty",
        (true, true) => "the local table comes before them",
    };
    Found::doubt(
        format!(
            "{rules} rules of host ports do nothing, since {wrong}: pods reach these ports, the node and others do not"
        ),
        "set the node up as for node ports (docs/guide/services.md): addresses of coeus0, a route in table 77, the rule of the local table at 100",
    )
}

fn told(what: &'static str) -> impl Fn(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// Does with the kernel what ADD does; to be run within the namespace.
fn trial(here: &Namespace) -> io::Result<()> {
    let inside = Inside {
        name: "doctor1".into(),
        mac: "0a:00:00:00:00:01".into(),
        mtu: 1450,
        addresses: vec![Prefix { address: [192, 0, 2, 2].into(), length: 24 }],
        routes: Vec::new(),
        makes_checksums: true,
    };
    let mut kernel = Netlink::open().map_err(told("netlink"))?;
    link::make_pair(&mut kernel, "doctor0", here.raw(), &inside)
        .map_err(told("a pair of virtual devices"))?;
    link::configure(&inside)?;
    announce(&inside.name, &inside.addresses).map_err(told("a raw socket"))?;
    link::remove(&mut kernel, "doctor0").map_err(told("its removal"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_do_nothing_are_told() {
        let of = |rules, is_local_first, has_way| {
            matches!(judge(Standing { rules, is_local_first, has_way }), Found::Good(_))
        };
        assert!(of(0, true, false) && of(2, false, true));
        assert!(!of(2, true, true) && !of(2, false, false));
    }

    #[test]
    fn a_trial_leaves_nothing_here() {
        let before = Namespace::open("/proc/thread-self/ns/net").unwrap().path().canonicalize().ok();
        let found = abilities();
        assert_eq!(Namespace::open("/proc/thread-self/ns/net").unwrap().path().canonicalize().ok(), before);
        if rustix::process::geteuid().is_root() {
            assert!(matches!(found, Found::Good(_)), "{found:?}");
            let left = link::device(&mut Netlink::open().unwrap(), "doctor0").unwrap();
            assert_eq!(left, None);
        }
    }
}
