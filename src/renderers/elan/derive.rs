//! Who is in an ELAN, and where: `elan-dpn-interfaces` and the MAC addresses of `elan-forwarding-tables`.

use super::super::key::touched_interfaces;
use super::super::nodes::{InnerList, ListAt};
use super::super::{Key, Keys, Rendered, Renderer};
use crate::datastore::Store;
use crate::model::{Interface, Model, Touched};
use crate::schema::{Key as ListKey, Node, Schema, SchemaId, Value};

/// The feature's derived nodes.
pub struct ElanMembers {
    places: ListAt,
    switches: InnerList,
    interfaces: SchemaId,
    tables: ListAt,
    entries: InnerList,
    interface: SchemaId,
    is_static: SchemaId,
    ip_prefix: SchemaId,
}

impl ElanMembers {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &Schema) -> ElanMembers {
        const PLACE: &str = "/elan:elan-dpn-interfaces/elan-dpn-interfaces-list";
        const TABLE: &str = "/elan:elan-forwarding-tables/mac-table";
        let entry = |leaf: &str| schema.resolve(&format!("{TABLE}/mac-entry/{leaf}"));
        ElanMembers {
            places: ListAt::new(schema, PLACE),
            switches: InnerList::new(schema, &format!("{PLACE}/dpn-interfaces")),
            interfaces: schema.resolve(&format!("{PLACE}/dpn-interfaces/interfaces")),
            tables: ListAt::new(schema, TABLE),
            entries: InnerList::new(schema, &format!("{TABLE}/mac-entry")),
            interface: entry("interface"),
            is_static: entry("isStaticAddress"),
            ip_prefix: entry("ip-prefix"),
        }
    }

    fn interface(&self, interface: &Interface, out: &mut Rendered) {
        let Some((identity, _, attachment)) = interface.plugged() else { return };
        let elan = || Value::Text(identity.elan.clone());
        let name = || Value::Text(identity.name.clone());
        let dpid = Value::Uint(attachment.dpid.0);
        let (path, _) = self.switches.entry(self.places.inner([elan()]), [dpid]);
        let path = path.entry(self.interfaces, ListKey::one(name()));
        out.node(Store::Operational, path, Node::Leaf(name()));
        let Some(mac) = interface.mac_text.clone().map(Value::Text) else { return };
        let (path, build) = self.entries.entry(self.tables.inner([elan()]), [mac]);
        let node = build.leaf(self.interface, name()).leaf(self.is_static, Value::Bool(true)).leaf_if(
            self.ip_prefix,
            interface.first_address().map(|address| Value::Text(address.text.clone())),
        );
        out.node(Store::Operational, path, node.node());
    }
}

impl Renderer for ElanMembers {
    fn name(&self) -> &'static str {
        "elan"
    }

    fn affected(&self, touched: &Touched, _: &Model, keys: &mut Keys) {
        touched_interfaces(touched, keys);
        keys.extend(touched.elans.iter().cloned().map(Key::Elan));
        keys.extend(touched.elan_spans.iter().cloned().map(|(elan, dpid)| Key::ElanOnSwitch(elan, dpid)));
    }

    /// Entries of lists are nodes of their own, so that one more does not touch the others; what they stand in holds
    /// its key alone.
    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        match key {
            Key::Interface(id) => {
                if let Some(interface) = model.interface(id) {
                    self.interface(interface, out);
                }
            }
            Key::Elan(name) if model.elan(name).is_some() => {
                for list in [&self.places, &self.tables] {
                    let (path, build) = list.entry([Value::Text(name.clone())]);
                    out.node(Store::Operational, path, build.node());
                }
            }
            Key::ElanOnSwitch(name, dpid)
                if model.elan(name).is_some_and(|elan| elan.members.contains_key(dpid)) =>
            {
                let elan = self.places.inner([Value::Text(name.clone())]);
                let (path, build) = self.switches.entry(elan, [Value::Uint(dpid.0)]);
                out.node(Store::Operational, path, build.node());
            }
            _ => {}
        }
    }
}
