//! Leases and rests as nodes of `coeus-dhcp:leases`, and the server's own identifier.

use super::book::{Entry, Holder, Lease};
use super::v6::Duid;
use crate::datastore::{Edit, Snapshot, Store};
use crate::schema::{DataPath, Fields, Key, List, Node, Schema, SchemaId, Text, Value, lexical};

/// The schema nodes of leases.
pub struct Names {
    schema: &'static Schema,
    leases: SchemaId,
    lease: SchemaId,
    ipv6_lease: SchemaId,
    relayed: SchemaId,
    quarantined: SchemaId,
    server: SchemaId,
    duid: SchemaId,
}

/// What a snapshot holds.
#[derive(Debug, Default)]
pub struct Kept {
    pub entries: Vec<Entry>,
    /// The server's identifier in DHCPv6, once somebody was told one.
    pub duid: Option<Duid>,
    /// What earlier versions wrote and this one does not.
    pub obsolete: Vec<Edit>,
}

impl Names {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &'static Schema) -> Names {
        Names {
            schema,
            leases: schema.resolve("/coeus-dhcp:leases"),
            lease: schema.resolve("/coeus-dhcp:leases/lease"),
            ipv6_lease: schema.resolve("/coeus-dhcp:leases/ipv6-lease"),
            relayed: schema.resolve("/coeus-dhcp:leases/relayed-lease"),
            quarantined: schema.resolve("/coeus-dhcp:leases/quarantined"),
            server: schema.resolve("/coeus-dhcp:server"),
            duid: schema.resolve("/coeus-dhcp:server/duid"),
        }
    }

    /// The edit of the operational store; none for what is not durable.
    pub fn edit(&self, entry: &Entry, book: &super::Book) -> Option<Edit> {
        match entry {
            Entry::Bind(lease) => {
                let (list, path) = self.place(&lease.holder);
                Some(Edit::put(Store::Operational, path, self.node(list, lease)))
            }
            Entry::End(holder) if book.lease(holder).is_some() => {
                Some(Edit::remove(Store::Operational, self.place(holder).1))
            }
            Entry::Rest { network, address, until } => {
                let (address, until) = (address.to_string(), until.to_string());
                let fields = [("network-id", &**network), ("address", &address), ("until", &until)];
                let node = self.fields(self.quarantined, fields);
                Some(Edit::put(Store::Operational, self.rest(network, &address), node))
            }
            Entry::Wake { network, address } => {
                Some(Edit::remove(Store::Operational, self.rest(network, &address.to_string())))
            }
            Entry::End(_) | Entry::Offer(_) | Entry::Withdraw(_) => None,
        }
    }

    /// The edit that makes the server's identifier durable.
    pub fn named(&self, duid: &Duid) -> Edit {
        let path = DataPath::root().child(self.server);
        Edit::put(Store::Operational, path, self.fields(self.server, [("duid", &*duid.to_string())]))
    }

    fn at(&self, list: SchemaId, key: &[&str]) -> DataPath {
        let key: Key = key.iter().map(Value::text).collect();
        DataPath::root().child(self.leases).entry(list, key)
    }

    fn rest(&self, network: &str, address: &str) -> DataPath {
        self.at(self.quarantined, &[network, address])
    }

    fn place(&self, holder: &Holder) -> (SchemaId, DataPath) {
        match holder {
            Holder::Port(interface) => (self.lease, self.at(self.lease, &[&**interface])),
            Holder::PortV6(interface) => (self.ipv6_lease, self.at(self.ipv6_lease, &[&**interface])),
            Holder::Relayed { network, client } => {
                (self.relayed, self.at(self.relayed, &[&**network, &**client]))
            }
        }
    }

    fn node(&self, list: SchemaId, lease: &Lease) -> Node {
        let (mac, address) = (lease.mac.to_string(), lease.address.to_string());
        let (expires, iaid) = (lease.expires.to_string(), lease.iaid.map(|iaid| iaid.to_string()));
        let mut fields = vec![
            ("interface", &*lease.interface),
            ("mac-address", &mac),
            ("address", &address),
            ("network-id", &*lease.network),
            ("subnet", &*lease.subnet),
            ("expires", &expires),
        ];
        let client_id = if matches!(lease.holder, Holder::PortV6(_)) { "duid" } else { "client-id" };
        fields.extend(lease.client_id.as_deref().map(|id| (client_id, id)));
        fields.extend(iaid.as_deref().map(|iaid| ("iaid", iaid)));
        match &lease.holder {
            Holder::Port(_) => fields.push(("state", "bound")),
            Holder::PortV6(_) => {}
            Holder::Relayed { client, .. } => fields.push(("client", client)),
        }
        self.fields(list, fields)
    }

    fn fields<'a>(&self, list: SchemaId, leafs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Node {
        let leaf = |(name, text): (&str, &str)| {
            let id = self.schema.child(Some(list), None, name)?;
            Some((id, Node::Leaf(lexical::parse_value(self.schema, id, text).ok()?)))
        };
        Fields::of(leafs.into_iter().filter_map(leaf).collect()).into()
    }

    /// Everything that was made durable.
    pub fn kept(&self, snapshot: &Snapshot) -> Kept {
        let path = DataPath::root().child(self.leases);
        let mut kept = Kept { duid: self.kept_duid(snapshot), ..Kept::default() };
        let Some(Node::Container(leases)) = snapshot.written(Store::Operational, &path) else { return kept };
        let entries = |list| leases.list(list).into_iter().flat_map(List::iter);
        for (key, fields) in entries(self.lease) {
            match self.lease(self.lease, fields).filter(|_| self.is_bound(fields)) {
                Some(lease) => kept.entries.push(Entry::Bind(lease)),
                None => {
                    let path = path.clone().entry(self.lease, key.clone());
                    kept.obsolete.push(Edit::remove(Store::Operational, path));
                }
            }
        }
        for (_, fields) in entries(self.ipv6_lease) {
            kept.entries.extend(self.lease(self.ipv6_lease, fields).map(Entry::Bind));
        }
        for (_, fields) in entries(self.relayed) {
            kept.entries.extend(self.lease(self.relayed, fields).map(Entry::Bind));
        }
        for (_, fields) in entries(self.quarantined) {
            kept.entries.extend(self.resting(fields));
        }
        if let Some(declined) = self.schema.child(Some(self.leases), None, "declined") {
            for (key, _) in entries(declined) {
                let path = path.clone().entry(declined, key.clone());
                kept.obsolete.push(Edit::remove(Store::Operational, path));
            }
        }
        kept
    }

    fn kept_duid(&self, snapshot: &Snapshot) -> Option<Duid> {
        let path = DataPath::root().child(self.server);
        let Some(Node::Container(server)) = snapshot.written(Store::Operational, &path) else { return None };
        Duid::parse(server.text(self.duid)?)
    }

    fn resting(&self, fields: &Fields) -> Option<Entry> {
        let text = |name| fields.text(self.schema.child(Some(self.quarantined), None, name)?);
        let until = fields.leaf(self.schema.child(Some(self.quarantined), None, "until")?)?.as_uint()?;
        Some(Entry::Rest {
            network: text("network-id")?.into(),
            address: text("address")?.parse().ok()?,
            until,
        })
    }

    /// Offers of earlier versions stand among the leases.
    fn is_bound(&self, fields: &Fields) -> bool {
        let state = self.schema.child(Some(self.lease), None, "state");
        state.and_then(|state| fields.leaf(state)) != Some(&Value::Enum(0))
    }

    fn lease(&self, list: SchemaId, fields: &Fields) -> Option<Lease> {
        let text = |name| fields.text(self.schema.child(Some(list), None, name)?);
        let (interface, network): (Text, Text) =
            (text("interface")?.into(), text("network-id").unwrap_or_default().into());
        let holder = match text("client") {
            Some(client) => Holder::Relayed { network: network.clone(), client: client.into() },
            None if list == self.ipv6_lease => Holder::PortV6(interface.clone()),
            None => Holder::Port(interface.clone()),
        };
        Some(Lease {
            holder,
            interface,
            mac: text("mac-address")?.parse().ok()?,
            client_id: text("client-id").or_else(|| text("duid")).map(str::to_owned),
            iaid: self.iaid(list, fields),
            address: text("address")?.parse().ok()?,
            network,
            subnet: text("subnet")?.into(),
            expires: fields.leaf(self.schema.child(Some(list), None, "expires")?)?.as_uint()?,
        })
    }

    fn iaid(&self, list: SchemaId, fields: &Fields) -> Option<u32> {
        fields.leaf(self.schema.child(Some(list), None, "iaid")?)?.as_uint()?.try_into().ok()
    }
}
