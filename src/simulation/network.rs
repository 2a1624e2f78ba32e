//! The network that is simulated: which nodes, namespaces, pods and ports there are, and how each is written.

use std::fmt::Write as _;

use crate::datastore::{Edit, Store, Transaction};
use crate::net::Dpid;
use crate::schema::{DataPath, builtin, json};

/// Sizes. Namespaces are spread evenly over the nodes, each on so many of them.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    pub switches: u32,
    pub namespaces: u32,
    /// Nodes that a namespace has pods on.
    pub spread: u32,
}

/// One pod's place.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub namespace: u32,
    pub node: u32,
}

impl Network {
    /// Pods go round their namespaces, and within one round its nodes.
    pub fn place(&self, pod: u32) -> Place {
        let namespace = pod % self.namespaces;
        let turn = pod / self.namespaces % self.spread;
        // The nodes of a namespace lie side by side, and namespaces start evenly apart.
        let start = u64::from(namespace) * u64::from(self.switches) / u64::from(self.namespaces);
        Place { namespace, node: ((start + u64::from(turn)) % u64::from(self.switches)) as u32 }
    }

    pub fn dpid(node: u32) -> Dpid {
        Dpid(0x0000_5e00_0000_0000 + u64::from(node) + 1)
    }

    fn tunnel_address(node: u32) -> String {
        format!("172.{}.{}.{}", 16 + node / 62_500, node / 250 % 250, node % 250 + 1)
    }

    fn system(node: u32) -> String {
        format!("ovsdb://uuid/00000000-0000-4000-8000-{node:012x}")
    }

    /// What Kubernetes says of a node: its address and its prefix, a /24 of 10/8.
    fn k8s_node(node: u32) -> String {
        format!(
            r#"{{"uid":"00000000-0000-4000-9000-{node:012x}","internal-ip-address":"{}","pod-cidr":"10.{}.{}.0/24"}}"#,
            Network::tunnel_address(node),
            node / 250,
            node % 250
        )
    }

    /// The `number`th pod of its node.
    fn pod(&self, pod: u32, number: u32) -> String {
        let Place { namespace, node } = self.place(pod);
        let uid = format!("00000000-0000-4000-8000-{pod:012x}");
        format!(
            r#"{{"uid":"{uid}","name":"p{pod}","network-NS":"ns{namespace}","host-ip-address":"{}","interface":[{{"uid":"{uid}","ip-address":"10.{}.{}.{}","network-type":"VXLAN"}}]}}"#,
            Network::tunnel_address(node),
            node / 250,
            node % 250,
            number + 2
        )
    }

    /// All nodes as Kubernetes knows them.
    pub fn nodes(&self) -> Transaction {
        let nodes: Vec<String> = (0..self.switches).map(Network::k8s_node).collect();
        let text = format!(r#"{{"k8s-node:k8s-nodes-info":{{"k8s-nodes":[{}]}}}}"#, nodes.join(","));
        transaction("kube", Store::Config, "k8s-node:k8s-nodes-info", &text)
    }

    /// What a switch's database says: tunnel address, bridge, tunnel port, and the ports of these pods, each with its
    /// number on the node.
    pub fn switch(&self, node: u32, pods: &[(u32, u32)]) -> Transaction {
        let system = Network::system(node);
        let dpid = Network::dpid(node).to_string();
        let colons: Vec<&str> = (0..dpid.len() / 2).map(|pair| &dpid[2 * pair..2 * pair + 2]).collect();
        let mut ports = String::from(
            r#"{"tp-id":"tun0","ovsdb:name":"tun0","ovsdb:ofport":1,"ovsdb:interface-type":"ovsdb:interface-type-vxlan","ovsdb:options":[{"option":"remote_ip","value":"flow"}]}"#,
        );
        for (pod, number) in pods {
            let namespace = self.place(*pod).namespace;
            let _ = write!(
                ports,
                r#",{{"tp-id":"veth{pod:08x}","ovsdb:name":"veth{pod:08x}","ovsdb:ofport":{},"ovsdb:interface-external-ids":[
                {{"external-id-key":"iface-id","external-id-value":"ns{namespace}:p{pod}"}},
                {{"external-id-key":"attached-mac","external-id-value":"0a:00:{:02x}:{:02x}:{:02x}:{:02x}"}}]}}"#,
                number + 10,
                pod >> 24,
                pod >> 16 & 255,
                pod >> 8 & 255,
                pod & 255
            );
        }
        let text = format!(
            r#"{{"network-topology:network-topology":{{"topology":[{{"topology-id":"ovsdb:1","node":[
            {{"node-id":"{system}","ovsdb:openvswitch-other-configs":[{{"other-config-key":"local_ip","other-config-value":"{}"}}]}},
            {{"node-id":"{system}/bridge/br-int","ovsdb:bridge-name":"br-int","ovsdb:datapath-id":"{}",
              "ovsdb:managed-by":"/network-topology:network-topology/topology[topology-id='ovsdb:1']/node[node-id='{system}']",
              "termination-point":[{ports}]}}]}}]}}}}"#,
            Network::tunnel_address(node),
            colons.join(":")
        );
        transaction("ovsdb", Store::Operational, "network-topology:network-topology", &text)
    }

    /// Pods, each with its number on its node, as a watcher sends them.
    pub fn pods(&self, pods: &[(u32, u32)]) -> Transaction {
        let rows: Vec<String> = pods.iter().map(|(pod, number)| self.pod(*pod, *number)).collect();
        let text = format!(r#"{{"pod:coe":{{"pods":[{}]}}}}"#, rows.join(","));
        transaction("kube", Store::Config, "pod:coe", &text)
    }
}

/// Merges a JSON body.
fn transaction(author: &str, store: Store, path: &str, text: &str) -> Transaction {
    let schema = builtin();
    let path = DataPath::parse_rfc8040(schema, path).expect("a path of the models");
    let node = json::parse_resource(schema, &path, text.as_bytes(), json::Mode::Lenient)
        .expect("a body of the models");
    Transaction::new(author, vec![Edit::merge(store, path, node)])
}
