//! What pods mean in netvirt's terms. Owns no table; derives nodes that everybody can read.
//!
//! | from            | to                                                                                        |
//! |-----------------|-------------------------------------------------------------------------------------------|
//! | node, namespace | `elan-instance`, `elan-tag-name-map`, `elan-state`                                        |
//! | namespace       | `vpn-instance`, `vpn-instance-to-vpn-id`, `vpn-id-to-vpn-instance`, `vpn-instance-op-data` |
//! | pod interface   | ietf `interface`, `elan-interface`, `vpn-interface`, `pod-identifier`, its status         |
//! | service         | `floating-ip-info` of its pods, where it has addresses outside                            |
//! | pod             | its status while it has no interface                                                      |

mod derive;
mod floating;
mod names;
mod status;

pub use floating::ServiceAddresses;
use names::Names;

use super::key::{touched_interfaces, underlay_neighbours};
use super::nodes::Made;
use super::{Key, Keys, Rendered, Renderer};
use crate::model::{InterfaceId, Model, Touched};
use crate::schema::{Node, Schema, SchemaId, Text};

/// The feature.
pub struct Coe {
    names: Names,
    status: status::Names,
    /// The `vpn-instance-names` of all interfaces of a VPN, by its name and the type of their subnets.
    memberships: Made<(Text, i32), (SchemaId, Node)>,
}

impl Coe {
    pub fn new(schema: &Schema) -> Coe {
        Coe { names: Names::of(schema), status: status::Names::of(schema), memberships: Made::default() }
    }
}

impl Renderer for Coe {
    fn name(&self) -> &'static str {
        "coe"
    }

    fn affected(&self, touched: &Touched, model: &Model, keys: &mut Keys) {
        touched_interfaces(touched, keys);
        for uid in &touched.pods {
            keys.insert(Key::Pod(uid.clone()));
            // Their status shows what the pod is called, even while nothing else follows from it.
            let interfaces = model.pod(uid).into_iter().flat_map(|pod| &pod.interfaces);
            let id = |uid: &Text, of: &Text| InterfaceId { pod: of.clone(), uid: uid.clone() };
            keys.extend(interfaces.map(|interface| Key::Interface(id(&interface.uid, uid))));
        }
        underlay_neighbours(touched, model, keys);
        keys.extend(touched.elans.iter().cloned().map(Key::Elan));
        keys.extend(touched.vpns.iter().cloned().map(Key::Vpn));
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        match key {
            Key::Pod(uid) => self.pod(uid, model, out),
            Key::Interface(id) => self.interface(id, model, out),
            Key::Elan(name) => self.elan(name, model, out),
            Key::Vpn(name) => self.vpn(name, model, out),
            _ => {}
        }
    }
}
