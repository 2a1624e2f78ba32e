//! Typed rows read from the datastore, and the indices the renderers ask for.
//!
//! ```text
//! Change ─► rows (pod, node, pool, lease, bridge, port) ─► Interface (resolved) ─► segments, VPNs, gateways
//!           parsed once, bad ones keep a reason              one per pod interface    who is where
//! ```
//! [`Model::apply`] re-reads only the rows that a commit touched and answers with [`Touched`]: everything that may
//! look different now. What the model holds is a function of the input layers and of the ids in force, so that
//! the same data reached by another way give the same model.

mod apply;
mod asks;
mod bandwidth;
mod claims;
mod conflict;
mod external;
mod host_ports;
mod ids;
mod instances;
mod interface;
mod join;
mod lookup;
mod members;
mod names;
mod netvirt;
mod next_hops;
mod node_side;
mod pod_mtu;
mod policies;
mod pools;
mod prefixes;
mod read;
mod resolve;
mod routes;
mod rows;
mod services;
mod source_nat;
mod source_told;
mod spans;
mod status;
mod systems;
mod touched;
mod underlay;
mod view;
mod wanted;

pub use apply::Model;
pub use asks::{Asks, Bandwidth, HostPort, Rate};
pub use bandwidth::{Limit, Limits};
pub use claims::{Claim, Claimant, HostPlace, Strength};
pub use conflict::{Claimer, Conflict};
pub use external::{
    ExtRouter, ExternalNetwork, ExternalSubnet, FaultPlace, Floating, FloatingFault, FloatingReason,
    FloatingRouter, Mapping, Napt, Outlet, PortMac, external_vpn_key, floating_mac,
};
pub use host_ports::{Door, ServedHostPort};
pub use ids::{Allocator, FIRST_VPN_ID, IdKey, POOL_VNIS, Pool, TUNNEL_LPORT_KEY, l3_vni_key};
pub use interface::{Address, Attachment, Gateway, GatewaySource, Identity, Interface, InterfaceId};
pub use lookup::{Found, Lookup};
pub use names::identity;
pub use next_hops::next_hop_key;
pub use node_side::{NODE_LPORT_KEY, NODE_VPN};
pub use pod_mtu::PodMtu;
pub use policies::{
    AclNames, AclRow, Clause, GroupKey, Namespace, Peers, PolicyFault, PolicyItem, PolicyNames, PolicyObject,
    PolicyRow, PolicyState, RulePaths, Stance,
};
pub use pools::{AllocationPool, Network, PoolFault, PoolOptions, Reservation, ReservedFor, Times, number};
pub use read::{NODE_PORT_MARK, PHYSICAL_NETWORK, Reader, UNDERLAY_MTU};
pub use routes::Route;
pub use rows::{
    Beyond, Bridge, ElanInstance, HandMade, K8sNode, LINK_LOCAL_GATEWAY, Lease, NetworkType, Pod,
    PodInterface, Port, PortId, Row, SubPort, VpnInstance, WantedAddress, WantedRoute,
};
pub use services::{
    EndpointPort, SERVICE_ANSWERS, SERVICE_REQUESTS, ServedPort, Service, ServiceEndpoints, ServiceFault,
    ServicePool, ServicePort, ServiceSubject, Target,
};
pub use source_nat::{NodeSources, Source, SourceNat};
pub use source_told::NodeSourceState;
pub use spans::{
    CHUNK_BITS, Chunk, Elan, NodePort, SHARES, Switch, TunnelKind, TunnelPort, Vpn, gateway_mac, share_of,
};
pub use status::Reason;
pub use systems::{System, Systems};
pub use touched::Touched;
pub use underlay::{GRE_LPORT_KEY, Segment, Uplink, uplink_lport_key};
pub use view::{MESH, Remote};
