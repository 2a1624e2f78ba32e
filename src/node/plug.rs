//! The devices of an attachment and the port of the switch: one that was made ready before, or a new one.

use coeus_cni::{Code, Error, Interface};

use super::Agent;
use super::add::{Undo, Way, away};
use super::link::{self, Inside};
use super::namespace::Namespace;
use super::netlink::Netlink;
use super::record::{Record, host_name};
use super::switch::{Bridge, IFNAME, NETWORK, Port};
use super::trunk;

fn failed(what: &str, error: &std::io::Error) -> Error {
    Error::new(Code::Plug, format!("{what}: {error}"))
}

impl Agent {
    /// Makes the devices, and the port if there is one; the outer end of a pair as the result shows it.
    pub(super) fn plug(
        &self,
        way: &Way,
        tag: Option<u16>,
        namespace: &Namespace,
        inside: &Inside,
        undo: &mut Undo<'_>,
    ) -> Result<Option<Interface>, Error> {
        match way {
            Way::Vlan(parent) => {
                let mut kernel = Netlink::open().map_err(|error| failed("netlink", &error))?;
                let tag = tag.unwrap_or_default();
                link::make_vlan(&mut kernel, parent, tag, namespace.raw(), inside)
                    .map_err(|error| trunk::not_made(parent, &error))?;
                Ok(None)
            }
            Way::Pair(bridge) => {
                if let Some(outer) = self.plug_ready(inside, undo)? {
                    return Ok(Some(outer));
                }
                self.plug_new(bridge, tag, namespace, inside, &undo.record)?;
                outer(&undo.record.host).map(Some)
            }
        }
    }

    fn plug_new(
        &self,
        bridge: &Bridge,
        tag: Option<u16>,
        namespace: &Namespace,
        inside: &Inside,
        record: &Record,
    ) -> Result<(), Error> {
        let host = &record.host;
        let mut kernel = Netlink::open().map_err(|error| failed("netlink", &error))?;
        // Left by an agent that has lost its records: the name says whose it was.
        link::remove(&mut kernel, host).map_err(|error| failed(host, &error))?;
        link::make_pair(&mut kernel, host, namespace.raw(), inside).map_err(|error| failed(host, &error))?;
        self.switch.attach(bridge, &port(record, inside), tag).map_err(|error| away(&error))
    }

    /// A port that was ready, or has been made meanwhile, and is the container's now, as the result shows it.
    fn plug_ready(&self, inside: &Inside, undo: &mut Undo<'_>) -> Result<Option<Interface>, Error> {
        let Some(ready) = undo.ready.take() else { return Ok(None) };
        if ready.mac.is_none() {
            undo.arrived()?;
        }
        let port = port(&undo.record, inside);
        if self.switch.claim(&port, &self.ready.owner).map_err(|error| away(&error))? {
            if ready.mtu != inside.mtu {
                let set = Netlink::open()
                    .and_then(|mut kernel| link::set_mtu(&mut kernel, &ready.name, inside.mtu));
                set.map_err(|error| failed(&ready.name, &error))?;
            }
            let Some(mac) = ready.mac else { return outer(&ready.name).map(Some) };
            return Ok(Some(Interface { name: ready.name, mac, mtu: Some(inside.mtu), sandbox: None }));
        }
        tracing::warn!("port {} was ready, and somebody has taken it away", ready.name);
        undo.arrived()?;
        let left = self.unplug(&ready.name);
        if !left.is_empty() {
            return Err(Error::new(Code::Again, left.join("; ")));
        }
        undo.record.host = host_name(&undo.record.container, &undo.record.ifname);
        undo.save().map(|()| None)
    }
}

fn outer(host: &str) -> Result<Interface, Error> {
    let found = Netlink::open().and_then(|mut kernel| link::device(&mut kernel, host));
    let device = found.map_err(|error| failed(host, &error))?;
    let device =
        device.ok_or_else(|| Error::new(Code::Plug, format!("{host} has gone while it was plugged in")))?;
    Ok(Interface { name: host.to_owned(), mac: device.mac, mtu: Some(device.mtu), sandbox: None })
}

pub(super) fn port(record: &Record, inside: &Inside) -> Port {
    let first = inside.addresses.first().map(|address| address.address.to_string()).unwrap_or_default();
    let ids = [
        ("iface-id", record.name.clone()),
        ("attached-mac", inside.mac.clone()),
        ("ip-address", first),
        ("iface-id-ver", record.pod.clone()),
        ("sandbox", record.container.clone()),
        ("netns", record.netns.clone()),
        (NETWORK, record.network.clone()),
        (IFNAME, record.ifname.clone()),
    ];
    let external_ids = ids.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    Port { name: record.host.clone(), external_ids, error: None }
}
