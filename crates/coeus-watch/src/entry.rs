//! Where entries stand in the datastore.

use std::collections::BTreeMap;
use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

/// What need not be encoded in a key (RFC 3986 section 2.3).
const KEY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The lists that a cluster's objects are written to. Who is named by others comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum List {
    Namespaces,
    Nodes,
    Pods,
    Endpoints,
    Services,
    Policies,
}

impl List {
    pub const ALL: [List; 6] =
        [List::Namespaces, List::Nodes, List::Pods, List::Endpoints, List::Services, List::Policies];

    /// The container of the list, as a path below the root of the data.
    pub fn container(self) -> &'static str {
        match self {
            List::Namespaces => "coeus-policy:namespaces",
            List::Nodes => "k8s-node:k8s-nodes-info",
            List::Pods => "pod:coe",
            List::Endpoints => "service:endpoints-info",
            List::Services => "service:service-information",
            List::Policies => "k8s:k8s/network-policies",
        }
    }

    /// The list's name in there.
    pub fn name(self) -> &'static str {
        match self {
            List::Namespaces => "namespace",
            List::Nodes => "k8s-nodes",
            List::Pods => "pods",
            List::Endpoints => "endpoints",
            List::Services => "services",
            List::Policies => "network-policy",
        }
    }

    /// The module of the list.
    pub fn module(self) -> &'static str {
        self.container().split(':').next().unwrap_or_default()
    }

    /// The leaf that is its key.
    pub fn key(self) -> &'static str {
        match self {
            List::Namespaces => "name",
            List::Policies => "uuid",
            _ => "uid",
        }
    }

    /// The leaf that names the cluster that wrote an entry.
    pub fn owner(self) -> &'static str {
        match self {
            List::Namespaces | List::Policies => "coeus-kube:cluster-id",
            _ => "cluster-id",
        }
    }
}

/// An entry of a list.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    pub list: List,
    pub key: String,
}

impl Place {
    pub fn new(list: List, key: impl Into<String>) -> Place {
        Place { list, key: key.into() }
    }
}

/// As a data resource's path (RFC 8040 section 3.5.3), from a slash on.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = key_text(&self.key);
        write!(f, "/{}/{}={key}", self.list.container(), self.list.name())
    }
}

/// A key's value as a path writes it.
pub(crate) fn key_text(value: &str) -> String {
    utf8_percent_encode(value, KEY).to_string()
}

/// A UUID (RFC 9562 section 4) in lower case, as the datastore writes them; `None`: it is none.
pub fn uuid(text: &str) -> Option<String> {
    let fits = text.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    let is_one = fits && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    is_one.then(|| text.to_ascii_lowercase())
}

/// Entries, as RFC 7951 writes them.
pub type Entries = BTreeMap<Place, Value>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_path() {
        let place = Place::new(List::Policies, "a b/ü");
        assert_eq!(place.to_string(), "/k8s:k8s/network-policies/network-policy=a%20b%2F%C3%BC");
        assert_eq!(List::Policies.module(), "k8s");
    }
}
