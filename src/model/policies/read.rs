//! From the datastore's trees to policies, and what is wrong with them.

use std::net::IpAddr;
use std::sync::Arc;

use ipnetwork::IpNetwork;

use super::super::read::{entries, key_text};
use super::RulePaths;
use crate::datastore::Snapshot;
use crate::policy::{
    Block, Direction, Expression, Labels, NamedPort, Operator, Peer, Policy, Ports, Protocol, Rule, Scope,
    Selector, label_key, label_value, port_name,
};
use crate::schema::{DataPath, Fields, Key, Schema, SchemaId, Text, Value};

/// `/k8s:k8s/network-policies/network-policy` as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyRow {
    pub policy: Policy,
    /// What cannot be meant: such a policy is refused, and what of it cannot be read allows nothing.
    pub faults: Vec<String>,
}

/// `/coeus-policy:namespaces/namespace`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Namespace {
    pub labels: Labels,
    pub isolated: bool,
    /// What policies stop at its pods is logged.
    pub logs_drops: bool,
}

/// What a change of policies, pods or namespaces gets wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFault {
    pub at: PolicyObject,
    /// Names object, reason and what to do.
    pub message: String,
}

/// What it is wrong with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyObject {
    Policy(Text),
    Namespace(Text),
    Pod(Text),
    /// By its key; where there is none of the name, all of them.
    Acl(Option<Key>),
}

/// A selector's nodes.
#[derive(Debug)]
struct SelectorNames {
    container: SchemaId,
    match_labels: SchemaId,
    key: SchemaId,
    value: SchemaId,
    match_expressions: SchemaId,
    expression_key: SchemaId,
    operator: SchemaId,
    values: SchemaId,
}

/// The nodes of the rules of one direction.
#[derive(Debug)]
struct RuleNames {
    rules: SchemaId,
    rule: SchemaId,
    ports: SchemaId,
    port: SchemaId,
    protocol: SchemaId,
    number: SchemaId,
    end_port: SchemaId,
    peers: SchemaId,
    peer: SchemaId,
    pods: SelectorNames,
    namespaces: SelectorNames,
    ip_block: SchemaId,
    cidr: SchemaId,
    except: SchemaId,
}

/// Each field is the node of that name.
#[derive(Debug)]
pub struct PolicyNames {
    pub k8s: SchemaId,
    pub network_policies: SchemaId,
    pub network_policy: SchemaId,
    name: SchemaId,
    namespace: SchemaId,
    established_flows: SchemaId,
    log_drops: SchemaId,
    spec: SchemaId,
    pod_selector: SelectorNames,
    policy_types: SchemaId,
    ingress: RuleNames,
    egress: RuleNames,
    pub namespaces: SchemaId,
    pub namespace_entry: SchemaId,
    isolated: SchemaId,
    namespace_log_drops: SchemaId,
    namespace_label: SchemaId,
    namespace_label_value: SchemaId,
    pod_label: SchemaId,
    pod_label_value: SchemaId,
    named_port: SchemaId,
    named_port_number: SchemaId,
}

const POLICY: &str = "/k8s:k8s/network-policies/network-policy";
/// `established-flows`: keep.
const KEEP: i32 = 1;
/// Namespace of a policy that names none. Source: Kubernetes.
const DEFAULT_NAMESPACE: &str = "default";

impl SelectorNames {
    fn of(schema: &Schema, path: &str) -> SelectorNames {
        let id = |leaf: &str| schema.resolve(&format!("{path}{leaf}"));
        SelectorNames {
            container: id(""),
            match_labels: id("/match-labels"),
            key: id("/match-labels/key"),
            value: id("/match-labels/value"),
            match_expressions: id("/coeus-policy:match-expressions"),
            expression_key: id("/coeus-policy:match-expressions/key"),
            operator: id("/coeus-policy:match-expressions/operator"),
            values: id("/coeus-policy:match-expressions/values"),
        }
    }

    /// The selector in a container of it; what is wrong with it goes to `faults`.
    fn read(&self, fields: &Fields, faults: &mut Faults) -> Selector {
        let mut selector = Selector::default();
        for entry in listed(fields, self.match_labels) {
            let (key, value) = (text(entry, self.key), text(entry, self.value));
            faults.label(&key, Some(&value));
            selector.labels.push((key, value));
        }
        for entry in listed(fields, self.match_expressions) {
            let key = text(entry, self.expression_key);
            faults.label(&key, None);
            let values: Vec<Text> =
                entry.leaf_list(self.values).filter_map(Value::as_text).map(Text::from).collect();
            values.iter().for_each(|value| faults.label_value(&key, value));
            let operator = match entry.leaf(self.operator) {
                Some(Value::Enum(0)) => Operator::In(values.clone()),
                Some(Value::Enum(1)) => Operator::NotIn(values.clone()),
                Some(Value::Enum(2)) => Operator::Exists,
                _ => Operator::DoesNotExist,
            };
            let (needs, name) = match &operator {
                Operator::In(_) => (true, "In"),
                Operator::NotIn(_) => (true, "NotIn"),
                Operator::Exists => (false, "Exists"),
                Operator::DoesNotExist => (false, "DoesNotExist"),
            };
            if needs && values.is_empty() {
                faults.add(format!("operator {name} of key {key} has no values; name at least one"));
            }
            if !needs && !values.is_empty() {
                faults.add(format!("operator {name} of key {key} takes no values; leave them out"));
            }
            selector.expressions.push(Expression { key, operator });
        }
        selector.labels.sort();
        selector
    }
}

impl RuleNames {
    fn of(schema: &Schema, direction: &str, peers: &str) -> RuleNames {
        let rules = format!("{POLICY}/network-policy-spec/{direction}");
        let rule = format!("{rules}/network-policy-{direction}-rule");
        let port = format!("{rule}/{direction}-ports/network-policy-port");
        let peer = format!("{rule}/{peers}/network-policy-peer");
        let id = |path: String| schema.resolve(&path);
        RuleNames {
            rules: id(rules),
            ports: id(format!("{rule}/{direction}-ports")),
            protocol: id(format!("{port}/protocol")),
            number: id(format!("{port}/port")),
            end_port: id(format!("{port}/coeus-policy:end-port")),
            port: id(port),
            peers: id(format!("{rule}/{peers}")),
            pods: SelectorNames::of(schema, &format!("{peer}/peer-pod-selector")),
            namespaces: SelectorNames::of(schema, &format!("{peer}/peer-namespace-selector")),
            ip_block: id(format!("{peer}/ip-block")),
            cidr: id(format!("{peer}/ip-block/cidr")),
            except: id(format!("{peer}/ip-block/except")),
            peer: id(peer),
            rule: id(rule),
        }
    }

    fn read(&self, spec: &Fields, namespace: &Text, direction: Direction, faults: &mut Faults) -> Vec<Rule> {
        let mut rules = Vec::new();
        for (at, entry) in listed(spec, self.rules).into_iter().enumerate() {
            faults.context = format!("{direction} rule {}: ", at + 1);
            let mut rule = Rule::default();
            let Some(fields) = entry.container(self.rule) else {
                rules.push(rule);
                continue;
            };
            let (peers, ports) = (listed(fields, self.peers), listed(fields, self.ports));
            let (wanted_peers, wanted_ports) = (peers.len(), ports.len());
            rule.peers = peers.iter().filter_map(|peer| self.read_peer(peer, namespace, faults)).collect();
            rule.ports = ports.iter().filter_map(|port| self.read_port(port, faults)).collect();
            // An entry that cannot be read must not leave an empty list, which would mean everybody.
            if rule.peers.is_empty() && wanted_peers > 0 || rule.ports.is_empty() && wanted_ports > 0 {
                continue;
            }
            rules.push(rule);
        }
        faults.context.clear();
        rules
    }

    fn read_peer(&self, entry: &Fields, namespace: &Text, faults: &mut Faults) -> Option<Peer> {
        let fields = entry.container(self.peer);
        let pods = fields.and_then(|fields| fields.container(self.pods.container));
        let namespaces = fields.and_then(|fields| fields.container(self.namespaces.container));
        let block = fields.and_then(|fields| fields.container(self.ip_block));
        if let Some(block) = block {
            if pods.is_some() || namespaces.is_some() {
                faults.add("a peer has an ip-block and a selector; write two peers".into());
                return None;
            }
            return self.read_block(block, faults).map(Peer::Block);
        }
        if pods.is_none() && namespaces.is_none() {
            faults
                .add("a peer names nobody; give it a selector or an ip-block, or leave out the list".into());
            return None;
        }
        let selector = pods.map(|pods| self.pods.read(pods, faults)).unwrap_or_default();
        let scope = match namespaces {
            Some(namespaces) => Scope::Selected(self.namespaces.read(namespaces, faults)),
            None => Scope::Namespace(namespace.clone()),
        };
        Some(Peer::Pods(scope, selector))
    }

    fn read_block(&self, fields: &Fields, faults: &mut Faults) -> Option<Block> {
        let cidr_text = text(fields, self.cidr);
        let Some(cidr) = prefix(&cidr_text) else {
            faults.add(format!("cidr {cidr_text:?} is no prefix; write it as 10.0.0.0/8"));
            return None;
        };
        let mut except = Vec::new();
        for hole in fields.leaf_list(self.except).filter_map(Value::as_text) {
            match prefix(hole) {
                None => faults.add(format!("except {hole:?} is no prefix; write it as 10.1.0.0/16")),
                Some(found) if found.prefix() <= cidr.prefix() || !cidr.contains(found.network()) => {
                    faults.add(format!(
                        "except {hole} is not strictly within cidr {cidr}; leave it out, or widen the cidr"
                    ));
                }
                Some(found) => except.push(found),
            }
        }
        Some(Block { cidr, except })
    }

    fn read_port(&self, entry: &Fields, faults: &mut Faults) -> Option<Ports> {
        let fields = entry.container(self.port);
        let protocol = protocol(fields.and_then(|fields| fields.leaf(self.protocol)));
        let number = fields.map(|fields| text(fields, self.number)).unwrap_or_default();
        let last = fields.and_then(|fields| fields.leaf(self.end_port)).and_then(Value::as_uint);
        if number.is_empty() {
            if last.is_some() {
                faults.add("end-port without port; name the first port of the range".into());
            }
            return last.is_none().then_some(Ports::All(protocol));
        }
        if number.bytes().all(|byte| byte.is_ascii_digit()) {
            let Some(first) = number.parse::<u16>().ok().filter(|first| *first > 0) else {
                faults.add(format!("port {number} is out of range; choose one of 1 to 65535"));
                return None;
            };
            let last = last.map_or(first, |last| last.try_into().unwrap_or(u16::MAX));
            if last < first {
                faults.add(format!("end-port {last} is below port {first}; swap the two"));
                return None;
            }
            return Some(Ports::Range(protocol, first, last));
        }
        if !port_name(&number) {
            faults.add(format!("port {number:?} is neither a number nor a port's name; names are up to 15 lower-case letters, digits and '-'"));
            return None;
        }
        if last.is_some() {
            faults.add(format!("end-port with port {number}, which is a name; a range begins with a number"));
            return None;
        }
        Some(Ports::Named(protocol, number))
    }
}

/// What is found to be wrong, each with where in the policy it is.
#[derive(Default)]
pub(super) struct Faults {
    pub(super) context: String,
    pub(super) found: Vec<String>,
}

impl Faults {
    pub(super) fn add(&mut self, fault: String) {
        self.found.push(format!("{}{fault}", self.context));
    }

    fn label(&mut self, key: &str, value: Option<&str>) {
        if !label_key(key) {
            self.add(format!("{key:?} is no key of a label; write NAME or DNS-NAME/NAME"));
        }
        if let Some(value) = value {
            self.label_value(key, value);
        }
    }

    fn label_value(&mut self, key: &str, value: &str) {
        if !label_value(value) {
            self.add(format!(
                "{value:?} is no value of label {key}: up to 63 letters, digits, '-', '_' and '.'"
            ));
        }
    }
}

impl PolicyNames {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn of(schema: &Schema) -> PolicyNames {
        let id = |path: &str| schema.resolve(path);
        let policy = |leaf: &str| id(&format!("{POLICY}{leaf}"));
        PolicyNames {
            k8s: id("/k8s:k8s"),
            network_policies: id("/k8s:k8s/network-policies"),
            network_policy: policy(""),
            name: policy("/name"),
            namespace: policy("/coeus-policy:namespace"),
            established_flows: policy("/coeus-policy:established-flows"),
            log_drops: policy("/coeus-policy:log-drops"),
            spec: policy("/network-policy-spec"),
            pod_selector: SelectorNames::of(schema, &format!("{POLICY}/network-policy-spec/pod-selector")),
            policy_types: policy("/network-policy-spec/policy-types"),
            ingress: RuleNames::of(schema, "ingress", "from"),
            egress: RuleNames::of(schema, "egress", "to"),
            namespaces: id("/coeus-policy:namespaces"),
            namespace_entry: id("/coeus-policy:namespaces/namespace"),
            isolated: id("/coeus-policy:namespaces/namespace/isolated"),
            namespace_log_drops: id("/coeus-policy:namespaces/namespace/log-drops"),
            namespace_label: id("/coeus-policy:namespaces/namespace/label"),
            namespace_label_value: id("/coeus-policy:namespaces/namespace/label/value"),
            pod_label: id("/pod:coe/pods/coeus-policy:label"),
            pod_label_value: id("/pod:coe/pods/coeus-policy:label/value"),
            named_port: id("/pod:coe/pods/coeus-policy:named-port"),
            named_port_number: id("/pod:coe/pods/coeus-policy:named-port/port"),
        }
    }

    /// All policies, by uuid.
    pub fn all_policies(&self, snapshot: &Snapshot) -> Vec<Text> {
        let all = snapshot.config.input.container(self.k8s);
        let all = all.and_then(|k8s| k8s.container(self.network_policies));
        all.into_iter().flat_map(|all| entries(all, self.network_policy)).map(|(uuid, _)| uuid).collect()
    }

    pub fn policy(&self, snapshot: &Snapshot, uuid: &Text) -> Option<Arc<PolicyRow>> {
        let all = snapshot.config.input.container(self.k8s)?.container(self.network_policies)?;
        let fields = all.list(self.network_policy)?.get(&Key::text(uuid))?;
        Some(Arc::new(self.read_policy(fields)))
    }

    /// Where the rules of a policy are, and what it is called.
    pub(super) fn rule_paths(&self, snapshot: &Snapshot, uuid: &Text) -> RulePaths {
        let mut paths = RulePaths::default();
        let all = snapshot.config.input.container(self.k8s);
        let all = all.and_then(|k8s| k8s.container(self.network_policies));
        let policy = all.and_then(|all| all.list(self.network_policy)?.get(&Key::text(uuid)));
        let Some(policy) = policy else { return paths };
        paths.name = policy.shared_text(self.name).cloned();
        let at = DataPath::root().child(self.k8s).child(self.network_policies);
        let at = at.entry(self.network_policy, Key::text(uuid)).child(self.spec);
        let directions = [(Direction::Ingress, &self.ingress), (Direction::Egress, &self.egress)];
        for (direction, names) in directions {
            let rules = policy.container(self.spec).and_then(|spec| spec.list(names.rules));
            let mut keys: Vec<&Key> = rules.into_iter().flatten().map(|(key, _)| key).collect();
            keys.sort_by_key(|key| position(key));
            for key in keys {
                paths.push(direction, at.clone().entry(names.rules, key.clone()));
            }
        }
        paths
    }

    fn read_policy(&self, fields: &Fields) -> PolicyRow {
        let mut faults = Faults::default();
        let namespace = fields.shared_text(self.namespace).cloned().unwrap_or(DEFAULT_NAMESPACE.into());
        let nothing = Fields::default();
        let spec = fields.container(self.spec).map_or(&nothing, |spec| spec);
        let pods = spec.container(self.pod_selector.container);
        let pods = pods.map(|pods| self.pod_selector.read(pods, &mut faults)).unwrap_or_default();
        let ingress = self.ingress.read(spec, &namespace, Direction::Ingress, &mut faults);
        let egress = self.egress.read(spec, &namespace, Direction::Egress, &mut faults);
        let types: Vec<&Value> = spec.leaf_list(self.policy_types).collect();
        // Without types: ingress always, egress where there are rules of it. Source: Kubernetes, PolicyTypes.
        let (of_egress, of_ingress) = if types.is_empty() {
            (!listed(spec, self.egress.rules).is_empty(), true)
        } else {
            (types.contains(&&Value::Enum(0)), types.contains(&&Value::Enum(1)))
        };
        let keeps_established = fields.leaf(self.established_flows) == Some(&Value::Enum(KEEP));
        let policy = Policy {
            namespace,
            pods,
            ingress: of_ingress.then_some(ingress),
            egress: of_egress.then_some(egress),
            keeps_established,
            logs_drops: fields.is_true(self.log_drops),
        };
        PolicyRow { policy, faults: faults.found }
    }

    /// All namespaces that something is said of.
    pub fn all_namespaces(&self, snapshot: &Snapshot) -> Vec<Text> {
        let all = snapshot.config.input.container(self.namespaces);
        all.into_iter().flat_map(|all| entries(all, self.namespace_entry)).map(|(name, _)| name).collect()
    }

    pub fn namespace(&self, snapshot: &Snapshot, name: &Text) -> Option<Namespace> {
        let all = snapshot.config.input.container(self.namespaces)?;
        let fields = all.list(self.namespace_entry)?.get(&Key::text(name))?;
        let labels = labels(fields, self.namespace_label, self.namespace_label_value);
        let isolated = fields.is_true(self.isolated);
        Some(Namespace { labels, isolated, logs_drops: fields.is_true(self.namespace_log_drops) })
    }

    /// Labels of a pod's entry.
    pub fn pod_labels(&self, fields: &Fields) -> Labels {
        labels(fields, self.pod_label, self.pod_label_value)
    }

    /// Names of ports of a pod's entry.
    pub fn pod_ports(&self, fields: &Fields) -> Box<[NamedPort]> {
        let all = fields.list(self.named_port).into_iter().flatten();
        let port = |(key, fields): (&Key, &Fields)| {
            let [Value::Text(name), kind] = key.values() else { return None };
            let port = fields.leaf(self.named_port_number)?.as_uint()?.try_into().ok()?;
            Some(NamedPort { name: name.clone(), protocol: protocol(Some(kind)), port })
        };
        all.filter_map(port).collect()
    }
}

/// What is wrong with labels.
pub(super) fn label_fault(labels: &Labels) -> Option<String> {
    let mut faults = Faults::default();
    labels.iter().for_each(|(key, value)| faults.label(key, Some(value)));
    faults.found.into_iter().next()
}

fn labels(fields: &Fields, list: SchemaId, value: SchemaId) -> Labels {
    let entries = fields.list(list).into_iter().flatten();
    entries
        .filter_map(|(key, entry)| {
            Some((key_text(key)?, entry.shared_text(value).cloned().unwrap_or_default()))
        })
        .collect()
}

/// TCP where none is named. Source: Kubernetes.
fn protocol(value: Option<&Value>) -> Protocol {
    match value {
        Some(Value::Enum(1)) => Protocol::Udp,
        Some(Value::Enum(2)) => Protocol::Sctp,
        _ => Protocol::Tcp,
    }
}

/// Entries of a list by position.
fn listed(fields: &Fields, list: SchemaId) -> Vec<&Fields> {
    let mut entries: Vec<_> = fields.list(list).into_iter().flatten().collect();
    entries.sort_by_key(|(key, _)| position(key));
    entries.into_iter().map(|(_, entry)| entry).collect()
}

fn position(key: &Key) -> u64 {
    key.values().first().and_then(Value::as_uint).unwrap_or_default()
}

fn text(fields: &Fields, leaf: SchemaId) -> Text {
    fields.shared_text(leaf).cloned().unwrap_or_default()
}

/// A prefix with its length, its host bits cleared.
pub(super) fn prefix(text: &str) -> Option<IpNetwork> {
    let (address, bits) = text.split_once('/')?;
    let (address, bits): (IpAddr, u8) = (address.parse().ok()?, bits.parse().ok()?);
    let given = IpNetwork::new(address, bits).ok()?;
    IpNetwork::new(given.network(), bits).ok()
}
