//! DEL, GC, and what is left of containers that are gone.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use coeus_cni::{Attachment, Call, Code, Error, Request};

use super::Agent;
use super::ipam::Delegate;
use super::link;
use super::namespace::{Namespace, is_gone};
use super::netlink::Netlink;
use super::record::{Record, Wrote, host_name};
use super::switch::{IFNAME, NETWORK, Port};

/// Leftovers are looked for so often.
const AGAIN: Duration = Duration::from_secs(10);

impl Agent {
    pub(super) fn chosen(&self) -> MutexGuard<'_, BTreeSet<IpAddr>> {
        self.chosen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes down what a record says, in the reverse order of its making; what is gone already is no error. What could not be done
    /// stays in the record and is tried again.
    pub(super) fn take_down(&self, record: &Record) -> Result<(), Error> {
        let mut wrong = self.unplug(&record.host);
        wrong.extend(unplug_vlan(record));
        // A VLAN is nobody's only when nothing in the machine sends with it any more.
        if !record.is_tag_chosen || wrong.is_empty() {
            let unwritten = self.unwrite(record);
            wrong.extend(unwritten.err().map(|trouble| Error::from(trouble).to_string()));
        }
        if let Some(delegate) = &record.delegate {
            wrong.extend(delegate.tell("DEL").err().map(|error| error.to_string()));
        }
        let kept = if wrong.is_empty() {
            if record.is_chosen {
                self.chosen().retain(|address| !record.addresses.contains(address));
            }
            self.records.forget(record)
        } else {
            self.records.put(&Record { is_ended: true, ..record.clone() })
        };
        wrong.extend(kept.err().map(|error| format!("the record of the attachment: {error}")));
        if !record.led.is_empty() {
            self.keep_rules();
        }
        if wrong.is_empty() { Ok(()) } else { Err(Error::new(Code::Again, wrong.join("; "))) }
    }

    /// The port and the pair of devices; what went wrong.
    pub(super) fn unplug(&self, host: &str) -> Vec<String> {
        if host.is_empty() {
            return Vec::new();
        }
        let detached = self.switch.detach(host).map_err(|error| error.to_string());
        let removed = Netlink::open().and_then(|mut kernel| link::remove(&mut kernel, host));
        let removed = removed.map_err(|error| format!("{host}: {error}"));
        detached.err().into_iter().chain(removed.err()).collect()
    }

    fn unwrite(&self, record: &Record) -> Result<(), super::Trouble> {
        let datastore = &self.datastore;
        if matches!(record.wrote, Wrote::Nothing | Wrote::Addresses) {
            datastore.unask(&record.pod, &record.interface, &record.asked)?;
            if record.is_tag_chosen {
                datastore.delete_trunk(&record.pod, &record.interface)?;
            }
        }
        match record.wrote {
            Wrote::Nothing => Ok(()),
            Wrote::Addresses => datastore.unaddress(&record.pod, &record.interface, &record.addresses),
            Wrote::Interface => datastore.delete_interface(&record.pod, &record.interface),
            Wrote::Entry => match self.records.others_of(record).into_iter().next() {
                None => datastore.delete_pod(&record.pod),
                // The pod has other interfaces still: the last one that goes takes it along.
                Some(heir) => {
                    let heir = Record { wrote: Wrote::Entry, ..heir };
                    self.records.put(&heir).map_err(|error| super::Trouble::Away(error.to_string()))?;
                    datastore.delete_interface(&record.pod, &record.interface)
                }
            },
        }
    }

    /// Always succeeds: what cannot be taken down now is taken down later, without the runtime.
    pub(super) fn del(&self, request: &Request, call: &Call) -> Result<(), Error> {
        let (container, ifname) = (&request.container, &request.ifname);
        let wrong = match self.records.find(container, ifname) {
            Some(record) => {
                self.take_down(&record).err().map(|error| error.to_string()).into_iter().collect()
            }
            None => {
                let mut wrong = self.unplug(&host_name(container, ifname));
                let lost = Attachment { container: container.clone(), ifname: ifname.clone() };
                wrong.extend(self.remove_ports(|port| attachment(port) == lost));
                let delegate = Delegate::of(request, call);
                wrong.extend(delegate.and_then(|ipam| ipam.tell("DEL").err()).map(|error| error.to_string()));
                wrong
            }
        };
        if !wrong.is_empty() {
            tracing::warn!("DEL of {container} {ifname}: {}", wrong.join("; "));
        }
        Ok(())
    }

    /// Takes down what this network has and the runtime does not know; goes on after errors and reports all.
    pub(super) fn collect(&self, request: &Request, call: &Call) -> Result<(), Error> {
        let valid: BTreeSet<&Attachment> = request.config.valid.iter().collect();
        let network = &request.config.network;
        let mut wrong = Vec::new();
        for record in self.records.all() {
            if record.network == *network && !valid.contains(&record.attachment()) {
                wrong.extend(self.end(&record).err());
            }
        }
        let is_left = |port: &Port| port.id(NETWORK) == network && !valid.contains(&attachment(port));
        wrong.extend(self.remove_ports(is_left));
        if let Some(delegate) = Delegate::of(request, call) {
            wrong.extend(delegate.tell("GC").err().map(|error| error.to_string()));
        }
        if wrong.is_empty() { Ok(()) } else { Err(Error::new(Code::Plug, wrong.join("; "))) }
    }

    /// Takes down what belongs to namespaces that have certainly ended, and what an earlier agent could not finish.
    fn sweep(&self) {
        for record in self.records.all() {
            if record.is_ended || has_ended(&record.netns, &record.host) {
                match self.end(&record) {
                    Ok(()) => {
                        tracing::info!("{} {} was left and is taken down", record.container, record.ifname)
                    }
                    Err(error) => tracing::warn!("{} {} is left: {error}", record.container, record.ifname),
                }
            }
        }
        let is_left = |port: &Port| !port.id("netns").is_empty() && has_ended(port.id("netns"), &port.name);
        for wrong in self.remove_ports(is_left) {
            tracing::warn!("{wrong}");
        }
        if let Err(error) = self.follow_host_ports() {
            tracing::debug!("host ports of entries are not looked for: {error}");
        }
        self.keep_rules();
    }

    pub(super) fn end(&self, record: &Record) -> Result<(), String> {
        let _turn = self.turn(&record.container).map_err(|error| error.to_string())?;
        // It may have been taken down while this waited.
        match self.records.find(&record.container, &record.ifname) {
            Some(record) => self.take_down(&record).map_err(|error| format!("{}: {error}", record.container)),
            None => Ok(()),
        }
    }

    /// Removes ports of ours that are left and of which no record tells.
    fn remove_ports(&self, is_left: impl Fn(&Port) -> bool) -> Vec<String> {
        let ports = match self.switch.ports() {
            Ok(ports) => ports,
            Err(error) => return vec![error.to_string()],
        };
        let is_unknown = |port: &Port| {
            let Attachment { container, ifname } = attachment(port);
            self.records.find(&container, &ifname).is_none()
        };
        ports
            .iter()
            .filter(|port| is_left(port) && is_unknown(port))
            .flat_map(|port| self.unplug(&port.name))
            .collect()
    }

    /// Sweeps at the start and ever again, for as long as the agent runs.
    pub(super) fn keep_trying(&self) {
        loop {
            self.sweep();
            std::thread::park_timeout(AGAIN);
        }
    }
}

/// Whether a container's namespace has certainly ended: its path leads nowhere, and the end of the pair that is outside is gone, which
/// lives as long as the namespace of the other. An agent that does not see the paths, or a process that is left in the
/// namespace, is no proof.
fn has_ended(netns: &str, host: &str) -> bool {
    let device = || Netlink::open().and_then(|mut kernel| link::device(&mut kernel, host));
    is_gone(netns) && (host.is_empty() || device().is_ok_and(|device| device.is_none()))
}

/// Takes a container's VLAN device away; what went wrong. One whose namespace is not there any more is gone with it.
fn unplug_vlan(record: &Record) -> Option<String> {
    let tag = record.tag.filter(|_| record.host.is_empty())?;
    let namespace = match Namespace::open(&record.netns) {
        Ok(namespace) => namespace,
        Err(_) if is_gone(&record.netns) => return None,
        Err(error) => return Some(format!("{}: {error}", record.netns)),
    };
    let remove = || {
        let mut kernel = Netlink::open()?;
        match link::device(&mut kernel, &record.ifname)? {
            Some(device) if device.vlan == Some(tag) => link::remove(&mut kernel, &record.ifname),
            _ => Ok(()),
        }
    };
    let removed = namespace.run(remove).and_then(|removed| removed);
    removed.err().map(|error| format!("{} in {}: {error}", record.ifname, record.netns))
}

fn attachment(port: &Port) -> Attachment {
    Attachment { container: port.id("sandbox").to_owned(), ifname: port.id(IFNAME).to_owned() }
}
