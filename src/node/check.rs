//! CHECK and STATUS.

use std::net::IpAddr;
use std::time::Duration;

use coeus_cni::{Call, Code, Error, Prefix, Request, Success};

use super::Agent;
use super::add::away;
use super::ipam::Delegate;
use super::link::{self, Configured, Device};
use super::namespace::Namespace;
use super::netlink::Netlink;
use super::record::Record;
use super::switch::SwitchError;

/// What is there already is programmed; a switch that comes back needs a moment.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the kernel has of an interface.
struct Found {
    device: Device,
    configured: Configured,
}

impl Agent {
    /// Whether everything is as ADD has made it.
    pub(super) fn check(&self, request: &Request, call: &Call) -> Result<(), Error> {
        let (container, ifname) = (&request.container, &request.ifname);
        let drift = |what: String| Error::new(Code::Drift, what);
        let Some(record) = self.records.find(container, ifname).filter(|record| !record.is_ended) else {
            return Err(drift(format!("nothing was made for container {container} and interface {ifname}")));
        };
        let previous = request.config.previous.clone().unwrap_or_default();
        let netns = request.netns.as_deref().unwrap_or_default();
        let namespace = Namespace::open(netns)
            .map_err(|error| Error::new(Code::Environment, format!("CNI_NETNS={netns}: {error}")))?;
        let found = namespace.run(|| look(ifname)).and_then(|found| found);
        let found = found.map_err(|error| drift(format!("{ifname} in {netns}: {error}")))?;
        let found = found.ok_or_else(|| drift(format!("{ifname} is not in {netns}")))?;
        differs(&previous, ifname, &found)
            .map_or(Ok(()), |what| Err(drift(format!("{ifname} in {netns}: {what}"))))?;
        self.check_outside(&record)?;
        if let Some(delegate) = record.delegate.is_some().then(|| Delegate::of(request, call)).flatten() {
            delegate.tell("CHECK")?;
        }
        match self.datastore.pod(&record.pod)? {
            Some(entry) => {
                Agent::is_asked(request, &entry, &record.interface)?;
                self.datastore.programmed(&entry, &record.name, PATIENCE)
            }
            None => Err(drift(format!("{} has no entry in pod:coe/pods any more", record.name))),
        }
    }

    fn check_outside(&self, record: &Record) -> Result<(), Error> {
        if record.host.is_empty() {
            return Ok(());
        }
        let drift = |what: String| Error::new(Code::Drift, what);
        let outside = Netlink::open().and_then(|mut kernel| link::device(&mut kernel, &record.host));
        match outside.map_err(|error| drift(format!("{}: {error}", record.host)))? {
            None => return Err(drift(format!("{}, the host's end, is gone", record.host))),
            Some(device) if !device.is_up => {
                return Err(drift(format!("{}, the host's end, is down", record.host)));
            }
            Some(_) => {}
        }
        match self.switch.port(&record.host).map_err(|error| away(&error))? {
            None => Err(drift(format!("{} is no port of Open vSwitch any more", record.host))),
            Some(port) if port.id("iface-id") != record.name => {
                let has = port.id("iface-id");
                Err(drift(format!(
                    "port {}: external_ids:iface-id is {has:?} and was {:?}",
                    record.host, record.name
                )))
            }
            Some(_) => Ok(()),
        }
    }

    /// The bridge, or in a machine the device of which pods get VLAN devices.
    fn has_way(&self, request: &Request) -> Result<(), Error> {
        // Without it the pods that are there have no network either.
        let gone = |is_lost: bool, what: String| {
            let lost = is_lost && !self.records.all().is_empty();
            Error::new(if lost { Code::Limited } else { Code::NotAvailable }, what)
        };
        match self.settings.trunk.as_ref().and_then(|trunk| trunk.link.as_ref()) {
            Some(parent) => {
                let found = Netlink::open().and_then(|mut kernel| link::device(&mut kernel, parent));
                match found {
                    Ok(Some(_)) => Ok(()),
                    Ok(None) => Err(gone(true, format!("there is no device {parent} (--trunk-link)"))),
                    Err(error) => Err(gone(false, format!("{parent}: {error}"))),
                }
            }
            None => self
                .switch
                .bridge(self.bridge(request))
                .map(drop)
                .map_err(|error| gone(matches!(error, SwitchError::NoBridge(_)), error.to_string())),
        }
    }

    /// Whether ADD can be served.
    pub(super) fn status(&self, request: &Request, call: &Call) -> Result<(), Error> {
        self.has_way(request)?;
        self.datastore.answers().map_err(|trouble| Error { code: Code::NotAvailable, ..trouble.into() })?;
        match Delegate::of(request, call) {
            Some(delegate) => delegate.tell("STATUS").map_err(|error| match error.code {
                Code::Other(50 | 51) => error,
                _ => Error { code: Code::NotAvailable, ..error },
            }),
            None => Ok(()),
        }
    }
}

fn look(ifname: &str) -> std::io::Result<Option<Found>> {
    let mut kernel = Netlink::open()?;
    let Some(device) = link::device(&mut kernel, ifname)? else { return Ok(None) };
    let configured = link::configured(&mut kernel, device.index)?;
    Ok(Some(Found { device, configured }))
}

/// What of the result of ADD is not so any more. Others may have added to it.
fn differs(previous: &Success, ifname: &str, found: &Found) -> Option<String> {
    if !found.device.is_up {
        return Some("it is down".into());
    }
    let is_ours = |place: usize| {
        previous.interfaces.get(place).is_none_or(|one| one.name == ifname && one.sandbox.is_some())
    };
    let ours = previous.interfaces.iter().find(|one| one.name == ifname && one.sandbox.is_some());
    if let Some(ours) =
        ours.filter(|ours| !ours.mac.is_empty() && !ours.mac.eq_ignore_ascii_case(&found.device.mac))
    {
        return Some(format!("its MAC address is {} and was {}", found.device.mac, ours.mac));
    }
    let mut ips = previous.ips.iter().filter(|ip| ip.interface.is_none_or(is_ours)).map(|ip| ip.address);
    if let Some(lost) = ips.find(|address| !found.configured.addresses.contains(address)) {
        return Some(format!("address {lost} is gone"));
    }
    let is_there = |to: &Prefix, gateway: Option<IpAddr>| {
        found.configured.routes.iter().any(|(there, by)| there == to && (gateway.is_none() || *by == gateway))
    };
    let lost = previous.routes.iter().find(|route| !is_there(&route.to, route.gateway))?;
    Some(format!("the route to {} is gone", lost.to))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_lost_is_named_and_what_was_added_is_not() {
        let previous = Success::parse(&json!({
            "interfaces": [{"name": "veth1", "mac": "0a:00:00:00:00:09", "sandbox": ""}, {"name": "eth0", "mac": "0A:00:00:00:00:01", "sandbox": "/n"}],
            "ips": [{"address": "10.0.0.5/24", "interface": 1}, {"address": "10.9.9.9/24", "interface": 0}],
            "routes": [{"dst": "0.0.0.0/0", "gw": "10.0.0.1"}]
        }))
        .unwrap();
        let route = |to: &str, by: &str| (to.parse().unwrap(), by.parse().ok());
        let found = |change: fn(&mut Found)| {
            let mut found = Found {
                device: Device {
                    index: 2,
                    mac: "0a:00:00:00:00:01".into(),
                    mtu: 1450,
                    is_up: true,
                    vlan: None,
                },
                configured: Configured {
                    addresses: vec!["10.0.0.5/24".parse().unwrap(), "10.0.0.77/24".parse().unwrap()],
                    routes: vec![route("0.0.0.0/0", "10.0.0.1"), route("10.0.0.0/24", "")],
                },
            };
            change(&mut found);
            differs(&previous, "eth0", &found)
        };
        assert_eq!(found(|_| ()), None);
        assert!(found(|found| found.device.is_up = false).unwrap().contains("down"));
        assert!(found(|found| found.device.mac = "0a:00:00:00:00:02".into()).unwrap().contains("MAC"));
        assert!(found(|found| found.configured.addresses.clear()).unwrap().contains("10.0.0.5/24"));
        assert!(found(|found| found.configured.routes.clear()).unwrap().contains("0.0.0.0/0"));
        assert!(found(|found| found.configured.routes[0].1 = None).unwrap().contains("0.0.0.0/0"));
    }
}
