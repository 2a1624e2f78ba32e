//! Leases and counters as nodes of `coeus-dhcp`.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use super::answer::{Count, Lease, LeaseEdit, LeaseState};
use crate::datastore::{Edit, Snapshot, Store};
use crate::schema::{DataPath, Fields, Key, List, Node, Schema, SchemaId, Value, lexical};

/// The schema nodes of `coeus-dhcp`.
pub struct Names {
    schema: &'static Schema,
    leases: SchemaId,
    lease: SchemaId,
    declined: SchemaId,
    counters: SchemaId,
}

const LEASE: &str = "/coeus-dhcp:leases/lease";
const DECLINED: &str = "/coeus-dhcp:leases/declined";

impl Names {
    pub fn new(schema: &'static Schema) -> Names {
        Names {
            schema,
            leases: schema.resolve("/coeus-dhcp:leases"),
            lease: schema.resolve(LEASE),
            declined: schema.resolve(DECLINED),
            counters: schema.resolve("/coeus-dhcp:counters"),
        }
    }

    fn leaf(&self, parent: &str, name: &str, text: &str) -> Option<(SchemaId, Node)> {
        let id = self.schema.resolve(&format!("{parent}/{name}"));
        Some((id, Node::Leaf(lexical::parse_value(self.schema, id, text).ok()?)))
    }

    fn entry(&self, list: SchemaId, key: &str) -> DataPath {
        DataPath::root().child(self.leases).entry(list, Key::text(key))
    }

    /// The edit of the operational store.
    pub fn edit(&self, edit: &LeaseEdit) -> Edit {
        match edit {
            LeaseEdit::Drop { interface } => {
                Edit::remove(Store::Operational, self.entry(self.lease, interface))
            }
            LeaseEdit::Quarantine { address, until } => {
                let address = address.to_string();
                let fields = [
                    self.leaf(DECLINED, "address", &address),
                    self.leaf(DECLINED, "until", &until.to_string()),
                ];
                Edit::put(Store::Operational, self.entry(self.declined, &address), gathered(fields))
            }
            LeaseEdit::Put(lease) => {
                let state = if lease.state == LeaseState::Bound { "bound" } else { "offered" };
                let fields = [
                    self.leaf(LEASE, "interface", &lease.interface),
                    self.leaf(LEASE, "mac-address", &lease.mac.to_string()),
                    lease.client_id.as_ref().and_then(|id| self.leaf(LEASE, "client-id", id)),
                    self.leaf(LEASE, "address", &lease.address.to_string()),
                    self.leaf(LEASE, "network-id", &lease.network),
                    self.leaf(LEASE, "subnet", &lease.subnet.to_string()),
                    self.leaf(LEASE, "state", state),
                    self.leaf(LEASE, "expires", &lease.expires.to_string()),
                ];
                Edit::put(Store::Operational, self.entry(self.lease, &lease.interface), gathered(fields))
            }
        }
    }

    /// All leases, expired ones included.
    pub fn leases(&self, snapshot: &Snapshot) -> Vec<Lease> {
        self.entries(snapshot, self.lease).iter().filter_map(|fields| self.lease(fields)).collect()
    }

    /// Declined addresses and until when they rest.
    pub fn declined(&self, snapshot: &Snapshot) -> Vec<(Ipv4Addr, u64)> {
        let read = |fields: &Arc<Fields>| {
            let address = self.text(fields, DECLINED, "address")?.parse().ok()?;
            Some((address, self.number(fields, DECLINED, "until")?))
        };
        self.entries(snapshot, self.declined).iter().filter_map(read).collect()
    }

    pub fn forget_declined(&self, address: Ipv4Addr) -> Edit {
        Edit::remove(Store::Operational, self.entry(self.declined, &address.to_string()))
    }

    fn entries(&self, snapshot: &Snapshot, list: SchemaId) -> Vec<Arc<Fields>> {
        let path = DataPath::root().child(self.leases);
        let Some(Node::Container(leases)) = snapshot.written(Store::Operational, &path) else {
            return Vec::new();
        };
        leases
            .list(list)
            .map(|list: &List| list.iter().map(|(_, entry)| entry.clone()).collect())
            .unwrap_or_default()
    }

    fn text<'a>(&self, fields: &'a Fields, parent: &str, name: &str) -> Option<&'a str> {
        fields.text(self.schema.resolve(&format!("{parent}/{name}")))
    }

    fn number(&self, fields: &Fields, parent: &str, name: &str) -> Option<u64> {
        fields.leaf(self.schema.resolve(&format!("{parent}/{name}")))?.as_uint()
    }

    fn lease(&self, fields: &Arc<Fields>) -> Option<Lease> {
        let text = |name| self.text(fields, LEASE, name);
        let state = fields.leaf(self.schema.resolve(&format!("{LEASE}/state")))?;
        Some(Lease {
            interface: text("interface")?.to_owned(),
            mac: text("mac-address")?.parse().ok()?,
            client_id: text("client-id").map(str::to_owned),
            address: text("address")?.parse().ok()?,
            network: text("network-id").unwrap_or_default().to_owned(),
            subnet: text("subnet")?.parse().ok()?,
            state: if *state == Value::Enum(0) { LeaseState::Offered } else { LeaseState::Bound },
            expires: self.number(fields, LEASE, "expires")?,
        })
    }

    /// The counters as they are shown; they are not kept across restarts.
    pub fn counters(&self, counts: &BTreeMap<Count, u64>) -> Edit {
        let name = |count: &Count| format!("{count:?}").to_lowercase();
        let fields = counts
            .iter()
            .map(|(count, number)| self.leaf("/coeus-dhcp:counters", &name(count), &number.to_string()));
        Edit::put(Store::Operational, DataPath::root().child(self.counters), gathered(fields))
    }
}

fn gathered(fields: impl IntoIterator<Item = Option<(SchemaId, Node)>>) -> Node {
    Fields::of(fields.into_iter().flatten().collect()).into()
}
