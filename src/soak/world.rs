//! What is written: pods, services and policies that come, change and go, drawn from a seed.

use std::collections::BTreeSet;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

/// Services and policies that there are at most.
const SERVICES: u32 = 12;
const POLICIES: u32 = 6;
const ROLES: [&str; 3] = ["web", "store", "client"];

/// One request of RESTCONF below `/rests/data`.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    pub path: String,
    /// Nothing: the resource is deleted.
    pub body: Option<Value>,
}

/// What there is, and the chance that decides what comes next.
#[derive(Debug)]
pub struct World {
    chance: StdRng,
    addresses: Vec<String>,
    ports: u32,
    pods: BTreeSet<(usize, u32)>,
    services: BTreeSet<u32>,
    policies: BTreeSet<u32>,
}

impl World {
    /// `addresses` of the nodes, and how many ports each has.
    pub fn new(seed: u64, addresses: &[String], ports: u32) -> World {
        World {
            chance: StdRng::seed_from_u64(seed),
            addresses: addresses.to_vec(),
            ports: ports.max(1),
            pods: BTreeSet::new(),
            services: BTreeSet::new(),
            policies: BTreeSet::new(),
        }
    }

    /// The nodes, with which everything begins.
    pub fn nodes(&self) -> Vec<Write> {
        let node = |(number, address): (usize, &String)| {
            let uid = uid(1, number, 0);
            let body = json!({"k8s-node:k8s-nodes": [{"uid": uid, "host-name": format!("soak{number}"),
                "internal-ip-address": address, "pod-cidr": format!("10.{}.0.0/16", 200 + number)}]});
            Write { path: format!("k8s-node:k8s-nodes-info/k8s-nodes={uid}"), body: Some(body) }
        };
        self.addresses.iter().enumerate().map(node).collect()
    }

    pub fn heads(&mut self) -> bool {
        self.chance.random()
    }

    /// The next change: the writes of one object.
    pub fn step(&mut self) -> Vec<Write> {
        match self.chance.random_range(0..10) {
            0..=5 => self.pod(),
            6..=7 => self.service(),
            _ => self.policy(),
        }
    }

    /// A pod comes, goes, or gets another label.
    fn pod(&mut self) -> Vec<Write> {
        let node = self.chance.random_range(0..self.addresses.len());
        let pod = (node, self.chance.random_range(0..self.ports));
        let uid = uid(2, pod.0, pod.1);
        let path = format!("pod:coe/pods={uid}");
        if self.pods.contains(&pod) && self.chance.random_bool(0.7) {
            self.pods.remove(&pod);
            return vec![Write { path, body: None }];
        }
        self.pods.insert(pod);
        let body = json!({"pod:pods": [{
            "uid": uid, "name": format!("{}-{}", pod.0, pod.1), "network-NS": "soak", "host-ip-address": self.addresses[pod.0],
            "coeus-policy:label": [{"key": "role", "value": self.role()}],
            "interface": [{"uid": uid, "network-id": "00000000-0000-0000-0000-000000000000", "network-type": "VXLAN",
                "ip-address": address(pod)}],
        }]});
        vec![Write { path, body: Some(body) }]
    }

    /// A service comes or goes with its endpoints, or gets others.
    fn service(&mut self) -> Vec<Write> {
        let number = self.chance.random_range(0..SERVICES);
        let uid = uid(3, 0, number);
        let (service, endpoints) = (
            format!("service:service-information/services={uid}"),
            format!("service:endpoints-info/endpoints={uid}"),
        );
        if self.services.contains(&number) && self.chance.random_bool(0.5) {
            self.services.remove(&number);
            return [endpoints, service].map(|path| Write { path, body: None }).into();
        }
        self.services.insert(number);
        let name = format!("s{number}");
        let pods: Vec<_> = self.pods.iter().copied().collect();
        let count = self.chance.random_range(0..5);
        let behind: Vec<Value> = pods
            .choose_multiple(&mut self.chance, count)
            .map(|pod| json!({"ip-address": address(*pod)}))
            .collect();
        let of_service = json!({"service:services": [{"uid": uid, "name": name, "network-NS": "soak",
            "cluster-ip-address": format!("10.199.0.{}", number + 1),
            "service-ports": [{"name": "p", "port": 80, "target-port": "8080"}]}]});
        let of_endpoints = json!({"service:endpoints": [{"uid": uid, "name": name, "network-NS": "soak",
            "endpoint-addresses": behind, "endpoint-ports": [{"name": "p", "port": 8080}]}]});
        vec![
            Write { path: service, body: Some(of_service) },
            Write { path: endpoints, body: Some(of_endpoints) },
        ]
    }

    /// A policy comes, changes or goes.
    fn policy(&mut self) -> Vec<Write> {
        let number = self.chance.random_range(0..POLICIES);
        let uid = uid(4, 0, number);
        let path = format!("k8s:k8s/network-policies/network-policy={uid}");
        if self.policies.contains(&number) && self.chance.random_bool(0.6) {
            self.policies.remove(&number);
            return vec![Write { path, body: None }];
        }
        self.policies.insert(number);
        let [of, from] = [self.role(), self.role()];
        let labels = |role: &str| json!({"match-labels": [{"key": "role", "value": role}]});
        let port = self.chance.random_range(1..5) * 1000;
        let body = json!({"k8s:network-policy": [{"uuid": uid, "name": format!("n{number}"), "coeus-policy:namespace": "soak",
            "network-policy-spec": {"pod-selector": labels(of), "policy-types": ["ingress"],
                "ingress": [{"network-policy-ingress-rule": {
                    "from": [{"network-policy-peer": {"peer-pod-selector": labels(from)}}],
                    "ingress-ports": [{"network-policy-port": {"protocol": "TCP", "port": port.to_string()}}]}}]}}]});
        vec![Write { path, body: Some(body) }]
    }

    fn role(&mut self) -> &'static str {
        ROLES.choose(&mut self.chance).copied().unwrap_or(ROLES[0])
    }
}

/// The same for the same thing, and another for any other.
fn uid(kind: u32, node: usize, number: u32) -> String {
    format!("{kind:08x}-{node:04x}-4000-8000-{number:012x}")
}

fn address((node, port): (usize, u32)) -> String {
    format!("10.{}.{}.{}", 200 + node, 1 + port / 200, 10 + port % 200)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(seed: u64) -> Vec<Write> {
        let mut world = World::new(seed, &["192.0.2.1".to_owned(), "192.0.2.2".to_owned()], 5);
        (0..500).flat_map(|_| world.step()).collect()
    }

    #[test]
    fn a_seed_repeats_a_run() {
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
    }

    #[test]
    fn only_what_is_there_is_deleted_and_everything_comes_and_goes() {
        let mut there = BTreeSet::new();
        let mut gone = BTreeSet::new();
        for write in of(7) {
            if write.body.is_some() {
                there.insert(write.path);
            } else {
                assert!(there.remove(&write.path), "{} is not there", write.path);
                gone.insert(write.path.split(['/', ':']).next().unwrap_or_default().to_owned());
            }
        }
        assert_eq!(gone.into_iter().collect::<Vec<_>>(), ["k8s", "pod", "service"]);
    }
}
