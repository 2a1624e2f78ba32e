//! ADD: from a call to a pod that forwards packets, or to nothing at all.

use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use coeus_cni::{Call, Code, Error, Interface, Ip, Request, Success};

use super::Agent;
use super::addresses::{Plan, Terms};
use super::announce::announce;
use super::datastore::Trouble;
use super::layout::Layout;
use super::link::{self, Inside};
use super::namespace::Namespace;
use super::netlink::Netlink;
use super::plug::port;
use super::ready::{Ready, Sent};
use super::record::{Record, Wrote, host_name, number};
use super::switch::{Bridge, Port, SwitchError};
use super::target::Target;
use super::{asks, rules};

/// For the pod's entry, and again for the switch, unless the configuration says (key `timeout`).
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// What was read earlier is read again.
const FRESH: Duration = Duration::from_secs(1);

/// Takes everything down again, unless it is told that all went well.
pub(super) struct Undo<'a> {
    agent: &'a Agent,
    pub record: Record,
    /// A port that was there before, or is being made.
    pub ready: Option<Ready>,
    /// What is under way for it.
    pub sent: Option<Sent>,
    is_done: bool,
}

impl Undo<'_> {
    pub fn save(&self) -> Result<(), Error> {
        let failed = |error| Error::new(Code::Io, format!("the record of the attachment: {error}"));
        self.agent.records.put(&self.record).map_err(failed)
    }

    /// Waits for what is under way.
    pub fn arrived(&mut self) -> Result<(), Error> {
        let Some(sent) = self.sent.take() else { return Ok(()) };
        let panicked = |_| {
            let message = format!("{}: the thread that works on it panicked", self.record.host);
            Err(Error::new(Code::Plug, message))
        };
        sent.join().unwrap_or_else(panicked)
    }
}

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        // Nothing is to come after it was taken down.
        let _ = self.arrived();
        if let Err(error) = self.agent.take_down(&self.record) {
            tracing::warn!("what ADD of {} had made is not all gone yet: {error}", self.record.container);
        }
    }
}

/// What leads to a container.
pub(super) enum Way {
    /// A pair of devices, of which the outer one is a port of this bridge.
    Pair(Bridge),
    /// A VLAN device of this one.
    Vlan(String),
}

impl Way {
    fn local_ip(&self) -> Option<IpAddr> {
        match self {
            Way::Pair(bridge) => bridge.local_ip,
            Way::Vlan(_) => None,
        }
    }
}

impl Agent {
    pub(super) fn way(&self, request: &Request) -> Result<Way, Error> {
        match self.settings.trunk.as_ref().and_then(|trunk| trunk.link.as_ref()) {
            Some(link) => Ok(Way::Vlan(link.clone())),
            None => {
                let bridge = self.switch.bridge(self.bridge(request)).map_err(|error| away(&error))?;
                Ok(Way::Pair(bridge))
            }
        }
    }

    pub(super) fn add(&self, request: &Request, call: &Call) -> Result<Success, Error> {
        let begin = Instant::now();
        let netns = request.netns.as_deref().unwrap_or_default();
        let namespace = Namespace::open(netns)
            .map_err(|error| Error::new(Code::Environment, format!("CNI_NETNS={netns}: {error}")))?;
        self.is_vacant(request, &namespace)?;
        plugs_by(request)?;
        let mut undo = self.begin(request, &namespace)?;
        let way = self.way(request)?;
        let node = self.settings.address.or(way.local_ip()).ok_or_else(|| {
            Error::new(Code::Again, "the node's address is not known")
                .with("give coeus node --address, or set other_config:local_ip of Open vSwitch")
        })?;
        self.start(request, &way, &namespace, &mut undo)?;
        let (found, usual) = self.look_up(request, node);
        let target = match found? {
            // What it wrote goes with it, so the entry is looked for again.
            target if self.takes_over(request, &target)? => self.target(request)?,
            target => target,
        };
        undo.record.is_of(&target);
        undo.save()?;
        let host = target.entry.host.unwrap_or(node);
        let is_usual =
            target.network.is_none() && host == node && target.namespace == request.pod_namespace();
        let plan = match usual.filter(|_| is_usual) {
            Some(plan) => plan?,
            None => self.datastore.plan(&target.namespace, target.network.as_deref(), host)?,
        };
        let layout = self.lay_out((request, call), &target, &plan, node, &mut undo)?;
        let own = target.entry.host.into_iter().chain([node]).collect();
        undo.record.led = rules::led(&asks::host_ports(request, &target), &own);
        self.ask(request, &target, &mut undo)?;
        undo.save()?;
        let inside = self.inside(request, &target, &plan, &layout, &way)?;
        let tag = self.sub_port(&target, &inside.mac, &mut undo)?;
        let addressed = Instant::now();
        let outside = self.plug(&way, tag, &namespace, &inside, &mut undo)?;
        let attached = Instant::now();
        let patience = request.config.timeout.map_or(PATIENCE, Duration::from_secs);
        self.datastore
            .programmed(&target.entry, &target.name, patience)
            .map_err(|error| self.said_by_switch(error, &port(&undo.record, &inside)))?;
        let programmed = Instant::now();
        // The switch hears of the carrier, and takes longer for that than for the flows: it is to have these before.
        undo.arrived()?;
        configure(&namespace, &inside)?;
        undo.is_done = true;
        if !undo.record.led.is_empty() {
            self.keep_rules();
        }
        let ms = |time: Duration| format!("{:.1}", time.as_secs_f64() * 1e3);
        tracing::info!(
            addresses = ms(addressed - begin),
            port = ms(attached - addressed),
            flows = ms(programmed - attached),
            inside = ms(programmed.elapsed()),
            "{} is programmed after {} ms",
            target.name,
            begin.elapsed().as_millis()
        );
        let container = Interface {
            name: inside.name.clone(),
            mac: inside.mac.clone(),
            mtu: Some(inside.mtu),
            sandbox: Some(netns.to_owned()),
        };
        tell_neighbours(namespace, inside, target.name);
        let interfaces: Vec<Interface> = outside.into_iter().chain([container]).collect();
        let own = interfaces.len() - 1;
        let ip = |terms: &Terms| Ip { address: terms.address, gateway: terms.gateway, interface: Some(own) };
        Ok(Success {
            interfaces,
            ips: layout.terms.iter().map(ip).collect(),
            routes: layout.routes,
            dns: layout.dns,
        })
    }

    /// The pod's entry, and meanwhile what bears on a pod of that namespace on this node in most cases; nothing if that was long ago when the
    /// entry came.
    fn look_up(
        &self,
        request: &Request,
        node: IpAddr,
    ) -> (Result<Target, Error>, Option<Result<Plan, Trouble>>) {
        let begin = Instant::now();
        std::thread::scope(|scope| {
            let plan = scope.spawn(|| self.datastore.plan(request.pod_namespace(), None, node));
            let target = self.target(request);
            let plan = plan.join().ok().filter(|_| begin.elapsed() < FRESH);
            (target, plan)
        })
    }

    /// Writes down what is about to be made, and begins with what takes longest: the inner end of a port that is ready is sent.
    fn begin(&self, request: &Request, namespace: &Namespace) -> Result<Undo<'_>, Error> {
        let is_usual = self.bridge(request) == self.settings.bridge;
        let ready = if is_usual { self.take_ready() } else { None };
        let is_device = self.settings.trunk.as_ref().is_some_and(|trunk| trunk.link.is_some());
        let host = match &ready {
            Some(ready) => ready.name.clone(),
            None if is_device => String::new(),
            None => host_name(&request.container, &request.ifname),
        };
        let mut undo =
            Undo { agent: self, record: record(request, host), ready: None, sent: None, is_done: false };
        undo.save()?;
        if let Some(ready) = ready {
            // That of the entry may be another one.
            let mac = request.mac.clone().unwrap_or_else(|| own_mac(&request.container, &request.ifname));
            let sent = self.send(&ready, namespace, &request.ifname, &mac);
            undo.sent = sent.map_err(|error| not_begun(&ready.name, &error))?;
            undo.ready = Some(ready);
        }
        Ok(undo)
    }

    /// Where no port was ready, one is made meanwhile. In a machine its tag has to be known before.
    fn start(
        &self,
        request: &Request,
        way: &Way,
        namespace: &Namespace,
        undo: &mut Undo<'_>,
    ) -> Result<(), Error> {
        let Way::Pair(bridge) = way else { return Ok(()) };
        if undo.ready.is_some() || self.settings.trunk.is_some() {
            return Ok(());
        }
        let port = Ready::to_come(&undo.record.host, self.usual_mtu.load(Ordering::Relaxed));
        let started = self.start_port(bridge, &port, namespace, &request.ifname);
        undo.sent = Some(started.map_err(|error| not_begun(&port.name, &error))?);
        undo.ready = Some(port);
        Ok(())
    }

    /// An interface of the name must not be there (CNI specification, ADD); what an ADD that was cut short has left is taken away.
    fn is_vacant(&self, request: &Request, namespace: &Namespace) -> Result<(), Error> {
        if has_device(namespace, &request.ifname)? {
            let message = format!(
                "CNI_IFNAME={}: CNI_NETNS={} has an interface of that name",
                request.ifname,
                namespace.path().display()
            );
            return Err(Error::new(Code::Environment, message).with("DEL removes one that ADD has made"));
        }
        match self.records.find(&request.container, &request.ifname) {
            Some(left) => self.take_down(&left),
            None => Ok(()),
        }
    }

    fn inside(
        &self,
        request: &Request,
        target: &Target,
        plan: &Plan,
        layout: &Layout,
        way: &Way,
    ) -> Result<Inside, Error> {
        let known = target.entry.mac.clone().filter(|_| target.is_first());
        let mac = match (&request.mac, known) {
            (Some(asked), Some(known)) if *asked != known => {
                return Err(Error::new(
                    Code::Config,
                    format!("MAC address {asked} is asked for, but the datastore has {known}"),
                ));
            }
            (Some(asked), _) => asked.clone(),
            (None, Some(known)) => known,
            (None, None) => own_mac(&request.container, &request.ifname),
        };
        let addresses: Vec<IpAddr> = layout.terms.iter().map(|terms| terms.address.address).collect();
        let told = request.config.mtu.or_else(|| plan.pool_of(&addresses)?.mtu);
        let mtu = told.unwrap_or(plan.mtu);
        self.usual_mtu.store(mtu, Ordering::Relaxed);
        Ok(Inside {
            name: request.ifname.clone(),
            mac,
            mtu,
            addresses: layout.terms.iter().map(|terms| terms.address).collect(),
            routes: layout.routes.clone(),
            makes_checksums: matches!(way, Way::Pair(bridge) if bridge.is_userspace),
        })
    }

    /// An error of waiting, with what vswitchd says of the port.
    fn said_by_switch(&self, error: Error, port: &Port) -> Error {
        let said = Some(&port.name).filter(|name| !name.is_empty());
        let said = said.and_then(|name| self.switch.port(name).ok().flatten()?.error);
        match said {
            Some(said) => Error {
                message: format!("{}; Open vSwitch says of port {}: {said}", error.message, port.name),
                ..error
            },
            None => error,
        }
    }
}

fn configure(namespace: &Namespace, inside: &Inside) -> Result<(), Error> {
    let configured = namespace.run(|| link::configure(inside)).and_then(|done| done);
    configured.map_err(|error| {
        Error::new(Code::Plug, format!("{} in {}: {error}", inside.name, namespace.path().display()))
    })
}

/// Tells where the container is, which nobody waits for.
fn tell_neighbours(namespace: Namespace, inside: Inside, name: String) {
    let said = name.clone();
    let tell = move || {
        let told = namespace.run(|| announce(&inside.name, &inside.addresses)).and_then(|told| told);
        if let Err(error) = told {
            tracing::warn!("the neighbours of {said} are not told where it is: {error}");
        }
    };
    if let Err(error) = std::thread::Builder::new().name("neighbours".into()).spawn(tell) {
        tracing::warn!("the neighbours of {name} are not told where it is: {error}");
    }
}

/// The device of a name in a namespace.
fn has_device(namespace: &Namespace, name: &str) -> Result<bool, Error> {
    let look = || link::device(&mut Netlink::open()?, name).map(|device| device.is_some());
    let found = namespace.run(look).and_then(|found| found);
    found.map_err(|error| Error::new(Code::Plug, format!("{}: {error}", namespace.path().display())))
}

fn plugs_by(request: &Request) -> Result<(), Error> {
    match request.args.value("PORT_TYPE") {
        Some(kind) if !["ovs", "veth"].iter().any(|known| kind.eq_ignore_ascii_case(known)) => {
            Err(Error::new(Code::Field, format!("CNI_ARGS: PORT_TYPE={kind} is not supported"))
                .with("ovs is: a pair of virtual devices whose outer end is a port of Open vSwitch"))
        }
        _ => Ok(()),
    }
}

pub(super) fn away(error: &SwitchError) -> Error {
    let code = if matches!(error, SwitchError::Refused { .. }) { Code::Plug } else { Code::Again };
    Error::new(code, error.to_string())
        .with("are ovsdb-server and ovs-vswitchd running, and is --ovsdb right?")
}

fn not_begun(port: &str, error: &std::io::Error) -> Error {
    Error::new(Code::Again, format!("{port}: {error}"))
}

fn record(request: &Request, host: String) -> Record {
    Record {
        network: request.config.network.clone(),
        container: request.container.clone(),
        ifname: request.ifname.clone(),
        netns: request.netns.clone().unwrap_or_default(),
        host,
        tag: None,
        is_tag_chosen: false,
        pod: String::new(),
        interface: String::new(),
        name: String::new(),
        wrote: Wrote::Nothing,
        addresses: Vec::new(),
        asked: Vec::new(),
        led: Vec::new(),
        is_chosen: false,
        delegate: None,
        is_ended: false,
    }
}

/// A locally administered address that depends on the attachment alone.
fn own_mac(container: &str, ifname: &str) -> String {
    let octets = number(container, ifname).to_be_bytes();
    let rest: Vec<String> = octets[..5].iter().map(|octet| format!("{octet:02x}")).collect();
    format!("0a:{}", rest.join(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_mac_addresses_are_local_ones_of_one_host() {
        let mac = own_mac("c", "eth0");
        assert_eq!(coeus_cni::unicast_mac(&mac), Some(mac.clone()));
        assert!(mac.starts_with("0a:") && mac != own_mac("c", "eth1"));
    }
}
