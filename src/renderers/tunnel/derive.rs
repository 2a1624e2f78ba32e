//! Tunnel endpoints (`dpn-endpoints`) and the tunnels between them (`tunnels_state`, `dpn-teps-state`), and
//! how large what they carry may be (`coeus-tunnel:underlay`).
//!
//! One flow-based port serves all remote switches, so a tunnel is a pair of endpoints and no port of its own. It is
//! named by them: `tun-<datapath id>-<datapath id>`, in decimal as in node ids. Pairs grow with the square of the
//! switches, so among more than [`crate::model::MESH`] of them only the endpoints are listed.

use std::collections::BTreeSet;

use super::super::nodes::{Build, InnerList, ListAt};
use super::super::{Key, Keys, Rendered, Renderer};
use crate::datastore::Store;
use crate::model::{Model, Touched, TunnelKind, TunnelPort, identity};
use crate::net::Dpid;
use crate::schema::{DataPath, IdentityId, Node, Schema, SchemaId, Value};

/// `oper-state`. Source: itm-state, `tunnel-oper-status`.
const UP: i32 = 0;
const DOWN: i32 = 1;

/// The feature's derived nodes.
pub struct TunnelStates {
    endpoints: ListAt,
    endpoint: InnerList,
    interface_name: SchemaId,
    tunnel: ListAt,
    oper_state: SchemaId,
    source: End,
    destination: End,
    transport_type: SchemaId,
    port_number: SchemaId,
    if_index: SchemaId,
    sources: ListAt,
    source_tunnel_type: SchemaId,
    source_address: SchemaId,
    remotes: InnerList,
    tunnel_name: SchemaId,
    monitored: SchemaId,
    is_internal: SchemaId,
    vxlan: IdentityId,
    geneve: IdentityId,
    gre: IdentityId,
    internal: Option<IdentityId>,
    underlay: DataPath,
    underlay_mtu: SchemaId,
    pod_mtu: SchemaId,
}

/// `src-info` or `dst-info`.
struct End {
    container: SchemaId,
    device_type: SchemaId,
    device_id: SchemaId,
    address: SchemaId,
}

impl TunnelStates {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &Schema) -> TunnelStates {
        const ENDPOINT: &str = "/itm-state:dpn-endpoints/DPN-TEPs-info";
        const TUNNEL: &str = "/itm-state:tunnels_state/state-tunnel-list";
        const SOURCE: &str = "/itm-state:dpn-teps-state/dpns-teps";
        const UNDERLAY: &str = "/coeus-tunnel:underlay";
        let id = |path: String| schema.resolve(&path);
        let tunnel_type = |module: &str, kind: &str| {
            identity(schema, module, &format!("tunnel-type-{kind}")).expect("the models have it")
        };
        let end = |name: &str| End {
            container: id(format!("{TUNNEL}/{name}")),
            device_type: id(format!("{TUNNEL}/{name}/tep-device-type")),
            device_id: id(format!("{TUNNEL}/{name}/tep-device-id")),
            address: id(format!("{TUNNEL}/{name}/tep-ip")),
        };
        TunnelStates {
            endpoints: ListAt::new(schema, ENDPOINT),
            endpoint: InnerList::new(schema, &format!("{ENDPOINT}/tunnel-end-points")),
            interface_name: id(format!("{ENDPOINT}/tunnel-end-points/interface-name")),
            tunnel: ListAt::new(schema, TUNNEL),
            oper_state: id(format!("{TUNNEL}/oper-state")),
            source: end("src-info"),
            destination: end("dst-info"),
            transport_type: id(format!("{TUNNEL}/transport-type")),
            port_number: id(format!("{TUNNEL}/port-number")),
            if_index: id(format!("{TUNNEL}/if-index")),
            sources: ListAt::new(schema, SOURCE),
            source_tunnel_type: id(format!("{SOURCE}/tunnel-type")),
            source_address: id(format!("{SOURCE}/ip-address")),
            remotes: InnerList::new(schema, &format!("{SOURCE}/remote-dpns")),
            tunnel_name: id(format!("{SOURCE}/remote-dpns/tunnel-name")),
            monitored: id(format!("{SOURCE}/remote-dpns/monitoring-enabled")),
            is_internal: id(format!("{SOURCE}/remote-dpns/internal")),
            vxlan: tunnel_type("odl-interface", "vxlan"),
            geneve: tunnel_type("coeus-tunnel", "geneve"),
            gre: tunnel_type("odl-interface", "gre"),
            internal: identity(schema, "itm-state", "tep-type-internal"),
            underlay: DataPath::of_node(schema, Some(id(UNDERLAY.into()))),
            underlay_mtu: id(format!("{UNDERLAY}/mtu")),
            pod_mtu: id(format!("{UNDERLAY}/pod-mtu")),
        }
    }

    /// How large packets between nodes may be, and what is left of that for pods.
    fn underlay(&self, model: &Model, out: &mut Rendered) {
        let Some(mtu) = model.underlay_mtu() else { return };
        let octets = |octets: u16| Value::Uint(octets.into());
        let node = Build::default()
            .leaf(self.underlay_mtu, octets(mtu.octets()))
            .leaf(self.pod_mtu, octets(mtu.within_tunnels()));
        out.node(Store::Operational, self.underlay.clone(), node.node());
    }

    /// What the tunnels through this port are; those of a switch that has none yet will be VXLAN, if nobody says otherwise.
    fn kind(&self, port: Option<&TunnelPort>) -> Value {
        Value::Identity(match port.map_or(TunnelKind::Vxlan, |port| port.kind) {
            TunnelKind::Vxlan => self.vxlan,
            TunnelKind::Geneve => self.geneve,
            TunnelKind::Gre => self.gre,
        })
    }

    /// A switch that has a tunnel address, with one entry for each port behind it. The list of its remote ends stands beside
    /// kind and address, which may change: hence they are nodes apart.
    fn endpoint(&self, dpid: Dpid, model: &Model, out: &mut Rendered) {
        let Some(switch) = model.switch(dpid) else { return };
        let Some(address) = switch.local_ip.map(|address| Value::text(address.to_string())) else { return };
        let (path, build) = self.endpoints.entry([Value::Uint(dpid.0)]);
        let ports = [Some(switch.tunnel.as_ref()), switch.gre.as_ref().map(Some)];
        let endpoints = self.endpoint.each(ports.into_iter().flatten().map(|port| {
            let name = port.map(|port| Value::Text(port.name.clone()));
            let key = [address.clone(), self.kind(port)];
            (key, |endpoint: Build| endpoint.leaf_if(self.interface_name, name))
        }));
        out.node(Store::Config, path, build.child(endpoints).node());
        let (path, build) = self.sources.entry([Value::Uint(dpid.0)]);
        let kind = self.kind(switch.tunnel.as_ref());
        for (leaf, value) in [(self.source_tunnel_type, kind), (self.source_address, address)] {
            out.node(Store::Config, path.clone().child(leaf), Node::Leaf(value));
        }
        out.node(Store::Config, path, build.node());
    }

    /// The tunnel between two endpoints. It is up once both have their port.
    fn tunnel(&self, from: Dpid, to: Dpid, model: &Model, out: &mut Rendered) {
        if !model.is_mesh() {
            return;
        }
        let Some((source, destination)) = model.switch(from).zip(model.switch(to)) else { return };
        let Some(addresses) = source.local_ip.zip(destination.local_ip) else { return };
        let name = Value::text(format!("tun-{}-{}", from.0, to.0));
        let remote = self.sources.inner([Value::Uint(from.0)]);
        let (path, build) = self.remotes.entry(remote, [Value::Uint(to.0)]);
        let node = build
            .leaf(self.tunnel_name, name.clone())
            .leaf(self.monitored, Value::Bool(false))
            .leaf(self.is_internal, Value::Bool(true));
        out.node(Store::Config, path, node.node());
        let end = |end: &End, dpid: Dpid, address: std::net::Ipv4Addr| {
            Build::default()
                .leaf_if(end.device_type, self.internal.map(Value::Identity))
                .leaf(end.device_id, Value::text(dpid.0.to_string()))
                .leaf(end.address, Value::text(address.to_string()))
        };
        let ports = model.tunnel(from).zip(model.tunnel(to));
        let (path, mut build) = self.tunnel.entry([name]);
        build = build
            .leaf(self.oper_state, Value::Enum(if ports.is_some() { UP } else { DOWN }))
            .container(self.source.container, end(&self.source, from, addresses.0))
            .container(self.destination.container, end(&self.destination, to, addresses.1))
            .leaf(self.transport_type, self.kind(source.tunnel.as_ref()));
        if let Some((lport, port)) = model.tunnel(from) {
            build = build
                .leaf(self.port_number, Value::text(port.ofport.to_string()))
                .leaf(self.if_index, Value::Uint(lport.0.into()));
        }
        out.node(Store::Operational, path, build.node());
    }
}

impl Renderer for TunnelStates {
    fn name(&self) -> &'static str {
        "tunnel"
    }

    fn affected(&self, touched: &Touched, model: &Model, keys: &mut Keys) {
        keys.extend(touched.switches.iter().copied().map(Key::Switch));
        keys.extend(touched.underlay.then_some(Key::Underlay));
        let all: BTreeSet<Dpid>;
        let moved = if touched.mesh {
            // With the one that made them few enough, or too many, which may be gone.
            let known = model.switches().map(|(dpid, _)| dpid);
            all = known.chain(touched.switches.iter().copied()).collect();
            &all
        } else if model.is_mesh() {
            &touched.switches
        } else {
            return;
        };
        for dpid in moved {
            let others = model.switches().map(|(other, _)| other).chain(touched.switches.iter().copied());
            for other in others.filter(|other| other != dpid) {
                keys.extend([Key::Tunnel(*dpid, other), Key::Tunnel(other, *dpid)]);
            }
        }
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        match key {
            Key::Switch(dpid) => self.endpoint(*dpid, model, out),
            Key::Underlay => self.underlay(model, out),
            Key::Tunnel(from, to) => self.tunnel(*from, *to, model, out),
            _ => {}
        }
    }
}
