//! What a snapshot says of the port that a request came from.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use super::answer::{Lease, Pool, Port};
use super::leases;
use crate::datastore::{Snapshot, Store};
use crate::net::LportTag;
use crate::schema::{DataPath, Fields, Key, Node, Schema, SchemaId, Value};

/// The schema nodes that are read.
pub struct Names {
    schema: &'static Schema,
    pub leases: leases::Names,
}

const OBJECT: &str = "/coeus-status:objects/object";
const NETWORK: &str = "/dhcp_allocation_pool:dhcp_allocation_pool/network";

impl Names {
    pub fn new(schema: &'static Schema) -> Names {
        Names { schema, leases: leases::Names::new(schema) }
    }

    fn id(&self, path: &str) -> SchemaId {
        self.schema.resolve(path)
    }

    /// The entry of a list below a top-level container.
    fn entry(
        &self,
        snapshot: &Snapshot,
        store: Store,
        container: &str,
        list: &str,
        key: Key,
    ) -> Option<std::sync::Arc<Fields>> {
        let path =
            DataPath::root().child(self.id(container)).entry(self.id(&format!("{container}/{list}")), key);
        if let Some(Node::Container(fields)) = snapshot.read(store, &path) { Some(fields) } else { None }
    }

    fn text<'a>(&self, fields: &'a Fields, path: &str) -> Option<&'a str> {
        fields.text(self.id(path))
    }

    /// The interface that holds a logical port tag.
    pub fn interface(&self, snapshot: &Snapshot, tag: LportTag) -> Option<String> {
        let container = "/odl-interface-meta:if-indexes-interface-map";
        let key = Key::one(Value::Int(i64::from(tag.0)));
        let entry = self.entry(snapshot, Store::Operational, container, "if-index-interface", key)?;
        self.text(&entry, &format!("{container}/if-index-interface/interface-name")).map(str::to_owned)
    }

    /// Names of all interfaces that pods have now.
    pub fn interfaces(&self, snapshot: &Snapshot) -> BTreeSet<String> {
        self.objects(snapshot, |name, _| Some(name.to_owned())).into_iter().collect()
    }

    fn objects<T>(&self, snapshot: &Snapshot, take: impl Fn(&str, &Fields) -> Option<T>) -> Vec<T> {
        let path = DataPath::root().child(self.id("/coeus-status:objects"));
        let Some(Node::Container(objects)) = snapshot.read(Store::Operational, &path) else {
            return Vec::new();
        };
        let Some(list) = objects.list(self.id(OBJECT)) else { return Vec::new() };
        let name = self.id(&format!("{OBJECT}/name"));
        list.iter().filter_map(|(_, fields)| take(fields.text(name)?, fields)).collect()
    }

    /// Everything that an answer depends on. `None`: no such interface, or its MAC is not known.
    pub fn port(&self, snapshot: &Snapshot, interface: &str, now: u64) -> Option<Port> {
        let object = self.entry(
            snapshot,
            Store::Operational,
            "/coeus-status:objects",
            "object",
            Key::text(interface),
        )?;
        let leaf = |name: &str| self.text(&object, &format!("{OBJECT}/{name}"));
        let mac = leaf("mac-address")?.parse().ok()?;
        let namespace = leaf("namespace")?.to_owned();
        let leases = self.leases.leases(snapshot);
        let lease = leases.iter().find(|lease| lease.interface == interface).cloned();
        let pod = leaf("pod-uid")
            .and_then(|uid| self.entry(snapshot, Store::Config, "/pod:coe", "pods", Key::text(uid)));
        let configured = pod.as_ref().map(|pod| self.of_interfaces(pod, "ip-address")).unwrap_or_default();
        let fixed = leaf("address")
            .filter(|address| configured.iter().any(|own| own == address))
            .and_then(|text| text.parse().ok());
        let mut networks = pod.as_ref().map(|pod| self.of_interfaces(pod, "network-id")).unwrap_or_default();
        networks.push(namespace.clone());
        networks.extend(self.elan(snapshot, interface));
        let mut pools: Vec<Pool> =
            networks.iter().flat_map(|network| self.pools(snapshot, network)).collect();
        pools.sort_by_key(|pool| pool.subnet);
        let taken = self.taken(snapshot, interface, &namespace, &leases, now);
        Some(Port { interface: interface.to_owned(), mac, fixed, lease, pools, taken })
    }

    /// One leaf of all interfaces of a pod.
    fn of_interfaces(&self, pod: &Fields, leaf: &str) -> Vec<String> {
        let id = self.id(&format!("/pod:coe/pods/interface/{leaf}"));
        let Some(list) = pod.list(self.id("/pod:coe/pods/interface")) else { return Vec::new() };
        list.iter().filter_map(|(_, fields)| fields.text(id)).map(str::to_owned).collect()
    }

    fn elan(&self, snapshot: &Snapshot, interface: &str) -> Option<String> {
        let container = "/elan:elan-interfaces";
        let entry = self.entry(snapshot, Store::Config, container, "elan-interface", Key::text(interface))?;
        self.text(&entry, &format!("{container}/elan-interface/elan-instance-name")).map(str::to_owned)
    }

    fn pools(&self, snapshot: &Snapshot, network: &str) -> Vec<Pool> {
        let container = "/dhcp_allocation_pool:dhcp_allocation_pool";
        let Some(entry) = self.entry(snapshot, Store::Config, container, "network", Key::text(network))
        else {
            return Vec::new();
        };
        let Some(list) = entry.list(self.id(&format!("{NETWORK}/allocation-pool"))) else {
            return Vec::new();
        };
        let id = |leaf: &str| self.id(&format!("{NETWORK}/allocation-pool/{leaf}"));
        let pool = |fields: &Fields| {
            let address = |leaf: &str| fields.text(id(leaf)).and_then(|text| text.parse::<Ipv4Addr>().ok());
            let dns = fields
                .leaf_list(id("dns-servers"))
                .filter_map(|value| value.as_text()?.parse().ok())
                .collect();
            Some(Pool {
                network: network.to_owned(),
                subnet: fields.text(id("subnet"))?.parse().ok()?,
                from: address("allocate-from")?,
                to: address("allocate-to")?,
                gateway: address("gateway"),
                dns,
            })
        };
        list.iter().filter_map(|(_, fields)| pool(fields)).collect()
    }

    /// Addresses that other pods of the namespace have, that others lease, and that rest.
    fn taken(
        &self,
        snapshot: &Snapshot,
        interface: &str,
        namespace: &str,
        leases: &[Lease],
        now: u64,
    ) -> BTreeSet<Ipv4Addr> {
        let (space, address) =
            (self.id(&format!("{OBJECT}/namespace")), self.id(&format!("{OBJECT}/address")));
        let of_others = self.objects(snapshot, |name, fields| {
            let other = name != interface && fields.text(space) == Some(namespace);
            fields.text(address).filter(|_| other)?.parse().ok()
        });
        let leased = leases
            .iter()
            .filter(|lease| lease.interface != interface && lease.expires > now)
            .map(|lease| lease.address);
        let resting = self
            .leases
            .declined(snapshot)
            .into_iter()
            .filter(|(_, until)| *until > now)
            .map(|(address, _)| address);
        of_others.into_iter().chain(leased).chain(resting).collect()
    }
}
