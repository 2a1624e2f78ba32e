//! Whether Open vSwitch is there as pods need it, as its database says.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::node::Settings;
use crate::node::link;
use crate::node::netlink::Netlink;
use crate::node::switch::{Port, State, Switch, SwitchError};

use super::Found;

/// Before this, connections do not end with their endpoint (docs/guide/services.md).
const NEEDED: (u32, u32) = (3, 1);
/// ovs-vswitchd and ovsdb-server write down who is connected every 5 and 2.5 s.
const PATIENCE: Duration = Duration::from_secs(7);
const LOOK: Duration = Duration::from_millis(250);

/// What the controller is asked about after.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Of the bridge, in hexadecimal.
    pub dpid: Option<String>,
    pub address: Option<IpAddr>,
}

type Findings = Vec<(&'static str, Found)>;

pub(super) fn look(switch: &Switch, bridge: &str, address: Option<IpAddr>) -> (Seen, Findings) {
    match settled(switch, bridge) {
        Ok(state) => {
            let seen = Seen { dpid: state.dpid.clone(), address: address.or(state.local_ip) };
            (seen, judge(&state, bridge, address))
        }
        Err(error) => {
            let next = "are ovsdb-server and ovs-vswitchd running, and is --ovsdb right?";
            (Seen { dpid: None, address }, vec![("Open vSwitch", Found::fault(error.to_string(), next))])
        }
    }
}

/// The database as it is once it had time to say who is connected, which it does every few seconds.
fn settled(switch: &Switch, bridge: &str) -> Result<State, SwitchError> {
    let end = Instant::now() + PATIENCE;
    loop {
        let state = switch.state(bridge)?;
        let is_away = |all: &[(String, bool)]| !all.is_empty() && !all.iter().any(|one| one.1);
        if !(is_away(&state.managers) || is_away(&state.controllers)) || Instant::now() >= end {
            return Ok(state);
        }
        std::thread::sleep(LOOK);
    }
}

fn judge(state: &State, bridge: &str, address: Option<IpAddr>) -> Findings {
    let version = match state.datapath_types.is_empty() {
        true => Found::fault(
            "ovs-vswitchd has never run with this database",
            "start ovs-vswitchd, and see its log",
        ),
        false => version(state.version.as_deref()),
    };
    let mut findings = vec![("Open vSwitch", version)];
    findings.push(("bridge", of_bridge(state, bridge)));
    let node = match (address, state.local_ip) {
        (Some(address), _) => Found::Good(format!("{address}, as --address says")),
        (None, Some(address)) => Found::Good(format!("{address}, of other_config:local_ip")),
        (None, None) => Found::fault(
            "other_config:local_ip is not set, or is no address",
            "ovs-vsctl set open_vswitch . other_config:local_ip=ADDRESS, by which other nodes reach this one",
        ),
    };
    findings.push(("address of the node", node));
    findings.push(("manager", connected(&state.managers, "ovs-vsctl set-manager tcp:CONTROLLER:6640")));
    if state.dpid.is_some() {
        findings.push((
            "OpenFlow",
            connected(&state.controllers, "is the manager connected? the controller sets it"),
        ));
    }
    findings
}

fn version(said: Option<&str>) -> Found {
    let Some(said) = said else {
        let next = format!("it should be {}.{} or later: ovs-vswitchd --version", NEEDED.0, NEEDED.1);
        return Found::doubt("its version is not known: ovs_version is not set, as ovs-ctl does", next);
    };
    let mut parts = said.split('.').map(|part| part.parse::<u32>().ok());
    match (parts.next().flatten(), parts.next().flatten()) {
        (Some(major), Some(minor)) if (major, minor) < NEEDED => Found::doubt(
            format!("{said}: connections outlive the endpoint of a service that they go to"),
            format!("update Open vSwitch to {}.{} or later", NEEDED.0, NEEDED.1),
        ),
        (Some(_), Some(_)) => Found::Good(said.to_owned()),
        _ => Found::doubt(format!("{said:?} is no version that is known"), "see ovs-vswitchd --version"),
    }
}

fn of_bridge(state: &State, bridge: &str) -> Found {
    let Some(kind) = &state.datapath_type else {
        return Found::fault(
            format!("there is no {bridge}"),
            "the controller makes it when the manager is connected; or give --bridge as `coeus serve` has it",
        );
    };
    let kind = if kind.is_empty() { "system" } else { kind };
    if !state.datapath_types.is_empty() && !state.datapath_types.iter().any(|known| known == kind) {
        let known = state.datapath_types.join(", ");
        return Found::fault(
            format!("{bridge}: this Open vSwitch has no datapath_type {kind}, but {known}"),
            "modprobe openvswitch, or give `coeus serve` --datapath-type netdev",
        );
    }
    match state.dpid {
        Some(_) => Found::Good(format!("{bridge}, datapath_type {kind}")),
        None => Found::fault(
            format!("{bridge} has no datapath_id: ovs-vswitchd has not made it"),
            "start ovs-vswitchd, and see its log",
        ),
    }
}

/// The ports that the agent has made before their containers.
pub(super) fn ready(switch: &Switch, settings: &Settings) -> Found {
    match switch.ready(&settings.owner()) {
        Ok(mut ports) => {
            for port in &mut ports {
                let there = Netlink::open().and_then(|mut kernel| link::device(&mut kernel, &port.name));
                if matches!(there, Ok(None)) {
                    port.error = Some("its device is gone".into());
                }
            }
            judge_ready(&ports, settings.ready_number())
        }
        Err(error) => Found::fault(error.to_string(), "is ovsdb-server running, and is --ovsdb right?"),
    }
}

fn judge_ready(ports: &[Port], number: usize) -> Found {
    let broken = ports.iter().find_map(|port| Some(format!("{}: {}", port.name, port.error.as_ref()?)));
    match broken {
        Some(why) => Found::doubt(
            why,
            "restart coeus node, which takes away what it had ready; without it: ovs-vsctl del-port, for all with external_ids:coeus-ready",
        ),
        None if ports.len() > number => Found::doubt(
            format!("{} are ready, and {number} are to be (--ready-ports)", ports.len()),
            "give --ready-ports as coeus node has it, or start that: it takes away what is left of another time",
        ),
        None => Found::Good(format!("{} of {number}", ports.len())),
    }
}

/// Who is to connect, and whether it is.
fn connected(all: &[(String, bool)], none: &str) -> Found {
    let texts = |is: bool| all.iter().filter(|one| one.1 == is).map(|one| one.0.as_str()).collect::<Vec<_>>();
    match (texts(true), texts(false)) {
        (yes, _) if !yes.is_empty() => Found::Good(format!("connected to {}", yes.join(", "))),
        (_, no) if !no.is_empty() => Found::fault(
            format!("not connected to {}", no.join(", ")),
            "is the controller running, and is the way there open? (ovs-vsctl show)",
        ),
        _ => Found::fault("none is set", none),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> State {
        State {
            version: Some("3.1.0".into()),
            local_ip: "192.0.2.7".parse().ok(),
            datapath_types: vec!["netdev".into(), "system".into()],
            datapath_type: Some(String::new()),
            dpid: Some("0000000000000001".into()),
            managers: vec![("tcp:192.0.2.1:6640".into(), true)],
            controllers: vec![("tcp:192.0.2.1:6653".into(), true)],
        }
    }

    /// What is not good of it.
    fn wrong(change: impl Fn(&mut State)) -> Vec<&'static str> {
        let mut state = good();
        change(&mut state);
        let all = judge(&state, "br-int", None);
        all.into_iter().filter(|(_, found)| !matches!(found, Found::Good(_))).map(|(what, _)| what).collect()
    }

    #[test]
    fn ready_ports_are_good_unless_they_are_broken_or_too_many() {
        let port = |error: Option<&str>| Port {
            name: "veth1".into(),
            external_ids: Default::default(),
            error: error.map(str::to_owned),
        };
        let is_good = |ports: &[Port], number| matches!(judge_ready(ports, number), Found::Good(_));
        assert!(is_good(&[], 0) && is_good(&[], 2) && is_good(&[port(None)], 1));
        assert!(!is_good(&[port(None)], 0));
        assert!(!is_good(&[port(None), port(Some("no such device"))], 2));
    }

    #[test]
    fn each_breakage_is_named() {
        assert!(wrong(|_| ()).is_empty());
        for version in ["2.17.3", "3.0.1", "next"] {
            assert_eq!(wrong(|state| state.version = Some(version.into())), ["Open vSwitch"]);
        }
        assert!(wrong(|state| state.version = Some("4.0".into())).is_empty());
        assert_eq!(wrong(|state| state.version = None), ["Open vSwitch"]);
        assert_eq!(wrong(|state| state.local_ip = None), ["address of the node"]);
        assert_eq!(wrong(|state| state.datapath_type = None), ["bridge"]);
        assert_eq!(wrong(|state| state.datapath_type = Some("dpdk".into())), ["bridge"]);
        assert_eq!(wrong(|state| state.managers.clear()), ["manager"]);
        assert_eq!(wrong(|state| state.managers[0].1 = false), ["manager"]);
        assert_eq!(wrong(|state| state.controllers[0].1 = false), ["OpenFlow"]);
        assert_eq!(wrong(|state| state.dpid = None), ["bridge"]);
    }
}
