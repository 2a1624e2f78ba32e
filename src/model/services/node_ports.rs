//! Node ports: a number at which every node serves a port of a service.

use std::collections::BTreeMap;

use super::super::apply::{Model, Work};
use super::{Service, ServicePort, put};
use crate::net::{Dpid, Transport};
use crate::schema::Text;

/// A protocol and a number of all nodes.
pub type NodePort = (Transport, u16);

impl ServicePort {
    /// Where every node serves it.
    pub fn at_nodes(&self) -> Option<NodePort> {
        Some((self.transport, self.node_port?))
    }
}

impl Model {
    /// The node port of a port of a service, unless another service comes first.
    pub fn node_port_of(&self, service: &Service, port: &ServicePort) -> Option<u16> {
        let first = self.services.node_ports.get(&port.at_nodes()?)?.first()?;
        (*first == service.uid && !service.headless).then_some(port.node_port)?
    }

    /// Whether any service has a node port.
    pub fn has_node_ports(&self) -> bool {
        !self.services.node_ports.is_empty()
    }

    /// The service that has a node port.
    pub(in super::super) fn with_node_port(&self, place: NodePort) -> Option<&Service> {
        self.all_with_node_port(place).next()
    }

    /// All services that ask for a node port, the one that has it first.
    pub(in super::super) fn all_with_node_port(&self, place: NodePort) -> impl Iterator<Item = &Service> {
        let uids = self.services.node_ports.get(&place).into_iter().flatten();
        uids.filter_map(|uid| self.services.rows.get(uid))
    }

    /// Notes the node ports of a service that comes or goes.
    pub(super) fn note_node_ports(&mut self, service: &Service, comes: bool, work: &mut Work) {
        let before = self.has_node_ports();
        for place in service.ports.iter().filter_map(ServicePort::at_nodes) {
            put(&mut self.services.node_ports, place, &service.uid, comes);
            let others = self.services.node_ports.get(&place).into_iter().flatten();
            work.touched.cluster_services.extend(others.cloned());
            self.mark_host_port(place, work);
        }
        if before != self.has_node_ports() {
            work.touched.node_sides.extend(self.switches.keys());
        }
    }

    /// Who else has a node port, or will have: of those that do not change, and of those already looked at.
    pub(super) fn node_port_beside<'a>(
        &'a self,
        place: NodePort,
        service: &Service,
        changed: &BTreeMap<&Text, Option<&Service>>,
        claimed: &BTreeMap<NodePort, &'a Service>,
    ) -> Option<&'a Service> {
        let held = self.services.node_ports.get(&place).into_iter().flatten();
        let mut others = held.filter(|other| **other != service.uid && !changed.contains_key(other));
        let other = others.next().and_then(|other| self.services.rows.get(other));
        other.or_else(|| claimed.get(&place).copied().filter(|other| other.uid != service.uid))
    }

    /// The switch that an address serves on: none for a host outside.
    pub fn serving_on(&self, address: std::net::IpAddr) -> Option<Dpid> {
        let (id, _) = self.services.serving.get(&address)?.first_key_value()?;
        Some(self.interface(id)?.plugged()?.2.dpid)
    }
}
