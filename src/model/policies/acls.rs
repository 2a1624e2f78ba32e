//! `ietf-access-control-list` and what binds it to interfaces (`aclservice`), as policies whose pods are the interfaces that are bound.
//!
//! ```text
//! acl ─► policy of the group "acl:NAME"     interface, security-groups ─► in the groups "acl:NAME" …
//! ```
//! No namespace has a colon, so groups of interfaces and namespaces of pods are told apart by their names.

use std::collections::BTreeSet;

use super::super::names::identity;
use super::super::netvirt::NetvirtNames;
use super::super::read::{entries, text_key};
use super::PolicyRow;
use super::read::{Faults, prefix};
use crate::datastore::Snapshot;
use crate::policy::{Block, Direction, Peer, Policy, Ports, Protocol, Rule, Scope, Selector};
use crate::schema::{Fields, IdentityId, Key, Schema, SchemaId, Text, Value};

/// `/access-lists/acl`, the entries of all types that have one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AclRow {
    pub row: PolicyRow,
    /// Key of the first entry.
    pub key: Key,
}

/// Each field is the node of that name.
#[derive(Debug)]
pub struct AclNames {
    pub access_lists: SchemaId,
    pub acl: SchemaId,
    log_drops: SchemaId,
    pub(super) entries: SchemaId,
    pub(super) ace: SchemaId,
    matches: SchemaId,
    /// Of IPv4 and IPv6.
    sources: [SchemaId; 2],
    destinations: [SchemaId; 2],
    protocol: SchemaId,
    source_ports: SchemaId,
    destination_ports: SchemaId,
    lower: SchemaId,
    upper: SchemaId,
    /// What a rule may match and switches are not told, with the name that people know it by.
    unknown: Vec<(SchemaId, &'static str)>,
    actions: SchemaId,
    permit: SchemaId,
    remote_group: SchemaId,
    direction: SchemaId,
    directions: [Option<IdentityId>; 2],
    deleted: SchemaId,
    interfaces: SchemaId,
    pub interface: SchemaId,
    groups: SchemaId,
    port_security: SchemaId,
    parent: SchemaId,
}

/// What an access list's interfaces are a group of.
pub(super) fn acl_space(name: &str) -> Text {
    format!("acl:{name}").into()
}

/// An access list that permits nothing.
pub(super) fn empty_acl(space: &Text) -> Policy {
    Policy {
        namespace: space.clone(),
        pods: Selector::default(),
        ingress: Some(Vec::new()),
        egress: Some(Vec::new()),
        keeps_established: false,
        logs_drops: false,
    }
}

impl AclNames {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn of(schema: &Schema) -> AclNames {
        const ACE: &str = "/ietf-access-control-list:access-lists/acl/access-list-entries/ace";
        const INTERFACE: &str = "/ietf-interfaces:interfaces/interface";
        let id = |path: &str| schema.resolve(path);
        let ace = |leaf: &str| id(&format!("{ACE}{leaf}"));
        let matches = |leaf: &str| ace(&format!("/matches/{leaf}"));
        let interface = |leaf: &str| id(&format!("{INTERFACE}{leaf}"));
        let unknown = [
            "flow-label",
            "dscp",
            "source-mac-address",
            "source-mac-address-mask",
            "destination-mac-address",
            "destination-mac-address-mask",
            "input-interface",
        ];
        AclNames {
            access_lists: id("/ietf-access-control-list:access-lists"),
            acl: id("/ietf-access-control-list:access-lists/acl"),
            log_drops: id("/ietf-access-control-list:access-lists/acl/coeus-policy:log-drops"),
            entries: id("/ietf-access-control-list:access-lists/acl/access-list-entries"),
            ace: ace(""),
            matches: ace("/matches"),
            sources: ["source-ipv4-network", "source-ipv6-network"].map(matches),
            destinations: ["destination-ipv4-network", "destination-ipv6-network"].map(matches),
            protocol: matches("protocol"),
            source_ports: matches("source-port-range"),
            destination_ports: matches("destination-port-range"),
            lower: matches("destination-port-range/lower-port"),
            upper: matches("destination-port-range/upper-port"),
            unknown: unknown.map(|name| (matches(name), name)).into(),
            actions: ace("/actions"),
            permit: ace("/actions/permit"),
            remote_group: ace("/aclservice:remote-group-id"),
            direction: ace("/aclservice:direction"),
            directions: ["direction-ingress", "direction-egress"]
                .map(|name| identity(schema, "aclservice", name)),
            deleted: ace("/aclservice:deleted"),
            interfaces: id("/ietf-interfaces:interfaces"),
            interface: interface(""),
            groups: interface("/aclservice:security-groups"),
            port_security: interface("/aclservice:port-security-enabled"),
            parent: interface("/odl-interface:parent-interface"),
        }
    }

    /// The name in an entry's key, which is its type and its name.
    pub fn name_of(key: &Key) -> Option<Text> {
        match key.values() {
            [_, Value::Text(name)] => Some(name.clone()),
            _ => None,
        }
    }

    /// All names of access lists.
    pub fn all(&self, snapshot: &Snapshot) -> BTreeSet<Text> {
        let all = snapshot.config.input.container(self.access_lists);
        let all = all.and_then(|all| all.list(self.acl)).into_iter().flatten();
        all.filter_map(|(key, _)| AclNames::name_of(key)).collect()
    }

    pub fn acl(&self, snapshot: &Snapshot, name: &Text) -> Option<AclRow> {
        let all = snapshot.config.input.container(self.access_lists)?.list(self.acl)?;
        let of_name = || all.iter().filter(|(key, _)| AclNames::name_of(key).as_ref() == Some(name));
        let key = of_name().map(|(key, _)| key.clone()).next()?;
        let (mut policy, mut faults) = (empty_acl(&acl_space(name)), Faults::default());
        policy.logs_drops = of_name().any(|(_, fields)| fields.is_true(self.log_drops));
        let lists = of_name().filter_map(|(_, fields)| fields.container(self.entries));
        for (rule_name, ace) in lists.flat_map(|list| entries(list, self.ace)) {
            faults.context = format!("rule {rule_name}: ");
            if self.is_deleted(ace) {
                continue;
            }
            let Some(direction) = self.direction_of(ace) else {
                faults.add("it has no direction; say aclservice:direction-ingress or -egress".into());
                continue;
            };
            let rule = self.rule(ace, direction == Direction::Ingress, &mut faults);
            let rules = match direction {
                Direction::Ingress => &mut policy.ingress,
                Direction::Egress => &mut policy.egress,
            };
            rules.get_or_insert_default().push(rule);
        }
        Some(AclRow { row: PolicyRow { policy, faults: faults.found }, key })
    }

    /// What a rule is about.
    pub(super) fn direction_of(&self, ace: &Fields) -> Option<Direction> {
        let Some(Value::Identity(direction)) = ace.leaf(self.direction) else { return None };
        let known = self.directions.iter().position(|known| *known == Some(*direction))?;
        Some(if known == 0 { Direction::Ingress } else { Direction::Egress })
    }

    /// It is there and means nothing.
    pub(super) fn is_deleted(&self, ace: &Fields) -> bool {
        ace.is_true(self.deleted)
    }

    fn rule(&self, ace: &Fields, ingress: bool, faults: &mut Faults) -> Rule {
        let mut rule = Rule::default();
        if ace.container(self.actions).is_none_or(|actions| actions.leaf(self.permit).is_none()) {
            faults
                .add("it does not permit; what no rule permits is denied, so leave it out or permit".into());
        }
        let remote = ace.text(self.remote_group).map(acl_space);
        rule.peers.extend(remote.map(|space| Peer::Pods(Scope::Namespace(space), Selector::default())));
        let Some(matches) = ace.container(self.matches) else { return rule };
        for (leaf, name) in &self.unknown {
            if matches.leaf(*leaf).is_some() {
                faults.add(format!("{name} is not matched by switches; leave it out"));
            }
        }
        let (peers, own) =
            if ingress { (self.sources, self.destinations) } else { (self.destinations, self.sources) };
        let networks = |leaves: [SchemaId; 2]| {
            let texts = leaves.into_iter().filter_map(|leaf| matches.text(leaf));
            texts.filter_map(prefix).collect::<Vec<_>>()
        };
        if networks(own).iter().any(|network| network.prefix() > 0) {
            let which = if ingress { "destination" } else { "source" };
            faults.add(format!(
                "its {which} network is the interface's own side, which the binding says; leave it out"
            ));
        }
        for cidr in networks(peers) {
            if !rule.peers.is_empty() {
                faults.add("it has a network and a remote-group-id; write two rules".into());
            }
            rule.peers.push(Peer::Block(Block { cidr, except: Vec::new() }));
        }
        self.ports(matches, &mut rule, faults);
        rule
    }

    fn ports(&self, matches: &Fields, rule: &mut Rule, faults: &mut Faults) {
        if matches.container(self.source_ports).is_some() {
            faults.add("source ports are not matched by switches; leave source-port-range out".into());
        }
        let protocol = matches.leaf(self.protocol).and_then(Value::as_uint).unwrap_or_default();
        let protocol = match protocol {
            0 => None,
            6 => Some(Protocol::Tcp),
            17 => Some(Protocol::Udp),
            132 => Some(Protocol::Sctp),
            other => Some(Protocol::Other(other.try_into().unwrap_or(u8::MAX))),
        };
        let Some(range) = matches.container(self.destination_ports) else {
            rule.ports.extend(protocol.map(Ports::All));
            return;
        };
        let port = |leaf| range.leaf(leaf).and_then(Value::as_uint).and_then(|port| port.try_into().ok());
        let first: u16 = port(self.lower).unwrap_or_default();
        let last = port(self.upper).unwrap_or(first);
        match protocol {
            Some(protocol @ (Protocol::Tcp | Protocol::Udp | Protocol::Sctp)) if first <= last => {
                rule.ports.push(Ports::Range(protocol, first, last));
            }
            Some(Protocol::Tcp | Protocol::Udp | Protocol::Sctp) => {
                faults.add(format!("upper-port {last} is below lower-port {first}; swap the two"));
            }
            _ => faults.add(
                "it has ports without a protocol that has some; say protocol 6 (TCP), 17 (UDP) or 132 (SCTP)"
                    .into(),
            ),
        }
    }

    /// Interfaces about which something is written.
    pub fn all_interfaces(&self, snapshot: &Snapshot) -> Vec<Text> {
        let all = snapshot.config.input.container(self.interfaces);
        all.into_iter().flat_map(|all| entries(all, self.interface)).map(|(name, _)| name).collect()
    }

    /// The groups that an interface is in by its access lists; `None`: none.
    pub fn binding(&self, snapshot: &Snapshot, name: &Text) -> Option<BTreeSet<Text>> {
        let all = snapshot.config.input.container(self.interfaces)?;
        let groups = self.groups_of(all.list(self.interface)?.get(&text_key(name))?);
        (!groups.is_empty()).then_some(groups)
    }

    /// Whether an interface's entry says nothing but which access lists are bound to it: so is that of a pod's.
    pub fn is_binding_alone(&self, snapshot: &Snapshot, name: &Text, netvirt: &NetvirtNames) -> bool {
        let entry = |top, list| snapshot.config.input.container(top)?.list(list)?.get(&text_key(name));
        let [ietf, elan, vpn] = netvirt.interface_lists().map(|(top, list)| entry(top, list));
        let says = |fields: &Fields| {
            let bound =
                fields.leaf_list(self.groups).next().is_some() || fields.leaf(self.port_security).is_some();
            bound && fields.leaf(self.parent).is_none()
        };
        elan.is_none() && vpn.is_none() && ietf.is_some_and(says)
    }

    /// Those of an interface's entry.
    pub fn groups_of(&self, fields: &Fields) -> BTreeSet<Text> {
        if fields.leaf(self.port_security) == Some(&Value::Bool(false)) {
            return BTreeSet::new();
        }
        fields.leaf_list(self.groups).filter_map(Value::as_text).map(acl_space).collect()
    }
}
