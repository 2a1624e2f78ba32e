//! A cluster as its lists and watches tell of it, and the entries that follow from it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use k8s_openapi::api::core::v1::{Endpoints, Namespace, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use crate::mapping::{self, Serving};
use crate::{Entries, Place};

/// Kinds of objects that something follows from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    Namespace,
    Node,
    Pod,
    Service,
    Slice,
    Endpoints,
    Policy,
}

impl Kind {
    pub const ALL: [Kind; 7] =
        [Kind::Namespace, Kind::Node, Kind::Pod, Kind::Service, Kind::Slice, Kind::Endpoints, Kind::Policy];
}

/// Namespace and name; the namespace is empty where the kind has none.
pub type Name = (String, String);

/// An object of one of the kinds.
#[derive(Clone, PartialEq, Debug)]
pub enum Object {
    Namespace(Box<Namespace>),
    Node(Box<Node>),
    Pod(Box<Pod>),
    Service(Box<Service>),
    Slice(Box<EndpointSlice>),
    Endpoints(Box<Endpoints>),
    Policy(Box<NetworkPolicy>),
}

macro_rules! objects {
    ($($variant:ident: $type:ty),*) => {
        $(impl From<$type> for Object {
            fn from(one: $type) -> Object {
                Object::$variant(Box::new(one))
            }
        })*
    };
}

objects!(Namespace: Namespace, Node: Node, Pod: Pod, Service: Service, Slice: EndpointSlice, Endpoints: Endpoints, Policy: NetworkPolicy);

impl Object {
    pub fn kind(&self) -> Kind {
        match self {
            Object::Namespace(_) => Kind::Namespace,
            Object::Node(_) => Kind::Node,
            Object::Pod(_) => Kind::Pod,
            Object::Service(_) => Kind::Service,
            Object::Slice(_) => Kind::Slice,
            Object::Endpoints(_) => Kind::Endpoints,
            Object::Policy(_) => Kind::Policy,
        }
    }

    pub fn meta(&self) -> &ObjectMeta {
        match self {
            Object::Namespace(one) => &one.metadata,
            Object::Node(one) => &one.metadata,
            Object::Pod(one) => &one.metadata,
            Object::Service(one) => &one.metadata,
            Object::Slice(one) => &one.metadata,
            Object::Endpoints(one) => &one.metadata,
            Object::Policy(one) => &one.metadata,
        }
    }

    /// Its kind and apiVersion, as references name them.
    pub fn type_meta(&self) -> (&'static str, &'static str) {
        match self {
            Object::Namespace(_) => ("Namespace", "v1"),
            Object::Node(_) => ("Node", "v1"),
            Object::Pod(_) => ("Pod", "v1"),
            Object::Service(_) => ("Service", "v1"),
            Object::Slice(_) => ("EndpointSlice", "discovery.k8s.io/v1"),
            Object::Endpoints(_) => ("Endpoints", "v1"),
            Object::Policy(_) => ("NetworkPolicy", "networking.k8s.io/v1"),
        }
    }

    /// Its resourceVersion as a number: of one kind, the greater is the later.
    pub fn version(&self) -> Option<u64> {
        self.meta().resource_version.as_deref()?.parse().ok()
    }

    pub fn name(&self) -> Name {
        let meta = self.meta();
        (meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default())
    }
}

type Id = (Kind, Name);

/// So many objects that went last are remembered, in case that something older is said of them.
const GONE: usize = 1_000;

/// What is known of a cluster. The same objects make the same entries, whatever came before and in whichever order.
#[derive(Clone, Debug)]
pub struct Cluster {
    id: String,
    objects: BTreeMap<Id, Object>,
    /// Where the entries of an object stand.
    places: BTreeMap<Id, Vec<Place>>,
    /// Whose entry stands there.
    whose: BTreeMap<Place, Id>,
    entries: Entries,
    /// By node or service, known or not: the pods that were given to it, the slices and endpoints that belong to it.
    hanging: BTreeMap<Id, BTreeSet<Id>>,
    changed: BTreeSet<Place>,
    /// The versions at which objects went, since their kind was listed.
    gone: BTreeMap<Id, u64>,
    gone_last: VecDeque<Id>,
}

impl Cluster {
    /// `id`: the uuid that its entries are told from others' by.
    pub fn new(id: impl Into<String>) -> Cluster {
        Cluster {
            id: id.into(),
            objects: BTreeMap::new(),
            places: BTreeMap::new(),
            whose: BTreeMap::new(),
            entries: Entries::new(),
            hanging: BTreeMap::new(),
            changed: BTreeSet::new(),
            gone: BTreeMap::new(),
            gone_last: VecDeque::new(),
        }
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// What the datastore should hold of it.
    pub fn entries(&self) -> &Entries {
        &self.entries
    }

    /// The object that an entry follows from.
    pub fn object_of(&self, place: &Place) -> Option<&Object> {
        self.objects.get(self.whose.get(place)?)
    }

    /// The node that a pod was given to.
    pub fn node_of(&self, pod: &Pod) -> Option<&Node> {
        let name = pod.spec.as_ref()?.node_name.clone()?;
        match self.objects.get(&(Kind::Node, (String::new(), name)))? {
            Object::Node(node) => Some(node),
            _ => None,
        }
    }

    /// Entries that are others since the last time.
    pub fn take_changes(&mut self) -> BTreeSet<Place> {
        std::mem::take(&mut self.changed)
    }

    /// An object is there, as it is now; unless something later is known of it.
    pub fn put(&mut self, object: Object) {
        let id = (object.kind(), object.name());
        if !self.is_outdated(&id, object.version()) {
            self.set(id, Some(object));
        }
    }

    /// An object is gone, with this version; unless something later is known of it.
    pub fn remove(&mut self, kind: Kind, name: Name, version: Option<u64>) {
        let id = (kind, name);
        if self.is_outdated(&id, version) {
            return;
        }
        self.set(id.clone(), None);
        if let Some(version) = version {
            self.gone.insert(id.clone(), version);
            self.gone_last.push_back(id);
            if self.gone_last.len() > GONE
                && let Some(oldest) = self.gone_last.pop_front()
                && !self.gone_last.contains(&oldest)
            {
                self.gone.remove(&oldest);
            }
        }
    }

    fn is_outdated(&self, id: &Id, version: Option<u64>) -> bool {
        let known = self.objects.get(id).and_then(Object::version).max(self.gone.get(id).copied());
        known.zip(version).is_some_and(|(known, version)| version < known)
    }

    fn set(&mut self, id: Id, object: Option<Object>) {
        let before = match object {
            Some(object) => self.objects.insert(id.clone(), object),
            None => self.objects.remove(&id),
        };
        self.follow(&id, before);
    }

    /// These are all objects of the kind: others are gone. A list counts as it is, however old: what came later is told by the watch behind it.
    pub fn replace(&mut self, kind: Kind, objects: impl IntoIterator<Item = Object>) {
        let objects: Vec<_> = objects.into_iter().filter(|object| object.kind() == kind).collect();
        let there: BTreeSet<_> = objects.iter().map(Object::name).collect();
        let gone = self.objects.keys().filter(|(of, name)| *of == kind && !there.contains(name));
        for id in gone.cloned().collect::<Vec<_>>() {
            self.set(id, None);
        }
        self.gone.retain(|(of, _), _| *of != kind);
        self.gone_last.retain(|(of, _)| *of != kind);
        for object in objects {
            self.set((kind, object.name()), Some(object));
        }
    }

    /// The entries that hang on an object become what they should be.
    fn follow(&mut self, id: &Id, before: Option<Object>) {
        let was_on = before.as_ref().and_then(hangs_on);
        let is_on = self.objects.get(id).and_then(hangs_on);
        if was_on != is_on {
            if let Some(was_on) = &was_on
                && let Some(hanging) = self.hanging.get_mut(was_on)
            {
                hanging.remove(id);
                if hanging.is_empty() {
                    self.hanging.remove(was_on);
                }
            }
            if let Some(is_on) = &is_on {
                self.hanging.entry(is_on.clone()).or_default().insert(id.clone());
            }
        }
        let mut concerned = BTreeSet::from([id.clone()]);
        match id.0 {
            Kind::Node => concerned.extend(self.hanging.get(id).into_iter().flatten().cloned()),
            Kind::Slice => {
                let services = [&was_on, &is_on].into_iter().flatten();
                concerned.extend(services.filter_map(|service| self.hanging.get(service)).flatten().cloned());
            }
            _ => {}
        }
        concerned.iter().for_each(|id| self.map(id));
    }

    /// The entries of an object become what they should be.
    fn map(&mut self, id: &Id) {
        let entries = self.objects.get(id).map(|object| self.made_of(object)).unwrap_or_default();
        let places: Vec<_> = entries.iter().map(|(place, _)| place.clone()).collect();
        let before = self.places.remove(id).unwrap_or_default();
        for before in before.into_iter().filter(|before| !places.contains(before)) {
            self.entries.remove(&before);
            if self.whose.get(&before) == Some(id) {
                self.whose.remove(&before);
            }
            self.changed.insert(before);
        }
        for (place, value) in entries {
            self.whose.insert(place.clone(), id.clone());
            if self.entries.get(&place) != Some(&value) {
                self.entries.insert(place.clone(), value);
                self.changed.insert(place);
            }
        }
        if !places.is_empty() {
            self.places.insert(id.clone(), places);
        }
    }

    fn made_of(&self, object: &Object) -> Vec<(Place, Value)> {
        let one = match object {
            Object::Namespace(one) => mapping::namespace(&self.id, one),
            Object::Node(one) => mapping::node(&self.id, one),
            Object::Pod(one) => {
                let node = self.node_of(one).and_then(mapping::internal_address);
                mapping::pod(&self.id, one, node)
            }
            Object::Service(one) => mapping::service(&self.id, one),
            Object::Slice(one) => mapping::slice(&self.id, one, self.serving(object)),
            // Kubernetes mirrors Endpoints to slices, which say all that they do and more.
            Object::Endpoints(_) if self.beside(object).any(|other| matches!(other, Object::Slice(_))) => {
                None
            }
            Object::Endpoints(one) => return mapping::endpoints(&self.id, one),
            Object::Policy(one) => mapping::policy(&self.id, one),
        };
        one.into_iter().collect()
    }

    /// What hangs on the same object as this one, itself included.
    fn beside(&self, object: &Object) -> impl Iterator<Item = &Object> {
        let ids = hangs_on(object).and_then(|on| self.hanging.get(&on)).into_iter().flatten();
        ids.filter_map(|id| self.objects.get(id))
    }

    /// Which endpoints of a slice's service serve: that depends on all its slices of that version of IP.
    fn serving(&self, slice: &Object) -> Serving {
        let is_ready = self.beside(slice).any(|other| match (slice, other) {
            (Object::Slice(slice), Object::Slice(other)) => {
                let is_ready = |endpoint| mapping::serves(endpoint, Serving::Ready);
                slice.address_type == other.address_type && other.endpoints.iter().any(is_ready)
            }
            _ => false,
        });
        if is_ready { Serving::Ready } else { Serving::Leaving }
    }
}

/// The object whose changes bear on this one: a pod's node, the service of a slice or of endpoints.
fn hangs_on(object: &Object) -> Option<Id> {
    match object {
        Object::Pod(pod) => Some((Kind::Node, (String::new(), pod.spec.as_ref()?.node_name.clone()?))),
        Object::Slice(slice) => {
            let namespace = slice.metadata.namespace.clone().unwrap_or_default();
            Some((Kind::Service, (namespace, mapping::service_of(slice)?.clone())))
        }
        Object::Endpoints(_) => Some((Kind::Service, object.name())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn uid(number: u8) -> String {
        format!("aaaaaaaa-0000-4000-8000-0000000000{number:02x}")
    }

    fn pod(number: u8, generation: u8, node: u8) -> Object {
        let read = json!({
            "metadata": {"name": format!("p{number}"), "namespace": "blue", "uid": uid(number << 4 | generation)},
            "spec": {"nodeName": format!("n{node}"), "containers": []}, "status": {"podIP": format!("10.0.0.{number}")}
        });
        serde_json::from_value::<Pod>(read).unwrap().into()
    }

    fn node(number: u8, address: u8) -> Object {
        let addresses = json!([{"type": "InternalIP", "address": format!("192.168.0.{address}")}]);
        let read = json!({"metadata": {"name": format!("n{number}"), "uid": uid(0xf0 | number)}, "status": {"addresses": addresses}});
        serde_json::from_value::<Node>(read).unwrap().into()
    }

    fn slice(number: u8, service: u8, ready: bool) -> Object {
        let endpoint = json!({"addresses": [format!("10.0.0.{number}")], "conditions": {"ready": ready, "serving": true, "terminating": !ready}});
        let read = json!({
            "metadata": {"name": format!("s{number}"), "namespace": "blue", "uid": uid(0xc0 | number),
                         "labels": {"kubernetes.io/service-name": format!("svc{service}")}},
            "addressType": "IPv4", "endpoints": [endpoint]
        });
        serde_json::from_value::<EndpointSlice>(read).unwrap().into()
    }

    fn endpoints(service: u8, address: u8) -> Object {
        let subset = |address: u8| json!({"addresses": [{"ip": format!("10.0.0.{address}")}], "ports": [{"port": address}]});
        let read = json!({"metadata": {"name": format!("svc{service}"), "namespace": "blue", "uid": uid(0xe0 | service)},
            "subsets": (0..address).map(subset).collect::<Vec<_>>()});
        serde_json::from_value::<Endpoints>(read).unwrap().into()
    }

    fn object() -> impl Strategy<Value = Object> {
        prop_oneof![
            (0..4_u8, 0..2_u8, 0..2_u8).prop_map(|(number, generation, node)| pod(number, generation, node)),
            (0..2_u8, 0..3_u8).prop_map(|(number, address)| node(number, address)),
            (0..4_u8, 0..2_u8, any::<bool>())
                .prop_map(|(number, service, ready)| slice(number, service, ready)),
            (0..2_u8, 0..4_u8).prop_map(|(service, address)| endpoints(service, address)),
        ]
    }

    proptest! {
        /// Whatever came before, in whichever order and however often: the entries are those of the objects that are there in the end.
        #[test]
        fn entries_follow_from_the_objects(steps in prop::collection::vec((object(), 0..4_u8), 0..40)) {
            let mut cluster = Cluster::new("c1");
            let mut held = Entries::new();
            for (object, what) in steps {
                match what {
                    0 => cluster.remove(object.kind(), object.name(), None),
                    1 => cluster.replace(object.kind(), [object]),
                    _ => cluster.put(object),
                }
                for place in cluster.take_changes() {
                    match cluster.entries().get(&place) {
                        Some(entry) => drop(held.insert(place, entry.clone())),
                        None => drop(held.remove(&place)),
                    }
                }
            }
            let mut afresh = Cluster::new("c1");
            for object in cluster.objects.values().rev() {
                afresh.put(object.clone());
                afresh.put(object.clone());
            }
            prop_assert_eq!(cluster.entries(), afresh.entries());
            prop_assert_eq!(&held, cluster.entries());
        }
    }

    #[test]
    fn a_pod_is_where_its_node_is() {
        let mut cluster = Cluster::new("c1");
        cluster.put(pod(1, 0, 1));
        let of_pod = |cluster: &Cluster| {
            cluster
                .entries()
                .values()
                .find_map(|entry| entry.get("network-NS").map(|_| entry["host-ip-address"].clone()))
        };
        assert_eq!(of_pod(&cluster), Some(Value::Null));
        cluster.put(node(1, 7));
        assert_eq!(of_pod(&cluster), Some(json!("192.168.0.7")));
    }

    #[test]
    fn who_leaves_serves_as_long_as_nobody_of_the_service_is_ready() {
        let mut cluster = Cluster::new("c1");
        cluster.put(slice(1, 0, false));
        let first = |cluster: &Cluster| {
            cluster.entries().values().next().unwrap().get("endpoint-addresses").is_some()
        };
        assert!(first(&cluster));
        cluster.put(slice(2, 0, true));
        assert!(!first(&cluster));
    }

    #[test]
    fn endpoints_count_as_long_as_there_is_no_slice() {
        let mut cluster = Cluster::new("c1");
        cluster.put(endpoints(0, 3));
        cluster.put(slice(1, 1, true));
        assert_eq!(cluster.entries().len(), 4, "a subset each, and another service's slice");
        cluster.put(slice(2, 0, true));
        assert_eq!(cluster.entries().len(), 2, "the slice says it");
        cluster.remove(Kind::Slice, slice(2, 0, true).name(), None);
        assert_eq!(cluster.entries().len(), 4);
        cluster.put(endpoints(0, 1));
        assert_eq!(cluster.entries().len(), 2);
    }

    #[test]
    fn what_is_older_than_what_is_known_is_not_believed() {
        let at = |version: u64, node: u8| {
            let Object::Pod(mut pod) = pod(1, 0, node) else { unreachable!() };
            pod.metadata.resource_version = Some(version.to_string());
            Object::Pod(pod)
        };
        let host = |cluster: &Cluster| cluster.objects.values().next().cloned();
        let name = at(0, 0).name();
        let mut cluster = Cluster::new("c1");
        cluster.put(at(9, 1));
        cluster.put(at(8, 0));
        cluster.remove(Kind::Pod, name.clone(), Some(7));
        assert_eq!(host(&cluster), Some(at(9, 1)));
        cluster.remove(Kind::Pod, name.clone(), Some(10));
        cluster.put(at(9, 1));
        assert_eq!(host(&cluster), None, "it is not there again");
        cluster.put(at(11, 0));
        assert_eq!(host(&cluster), Some(at(11, 0)));
        cluster.replace(Kind::Pod, [at(9, 1)]);
        assert_eq!(host(&cluster), Some(at(9, 1)), "a list counts as it is");
    }

    #[test]
    fn a_pod_of_the_same_name_is_another() {
        let mut cluster = Cluster::new("c1");
        cluster.put(pod(1, 0, 1));
        cluster.take_changes();
        cluster.put(pod(1, 1, 1));
        assert_eq!(cluster.entries().len(), 1);
        assert_eq!(cluster.take_changes().len(), 2);
    }
}
