//! What switches drop of what pods may not send: the flows of a class, by the cookie that nothing else has.

use std::collections::BTreeMap;

use super::{antispoof, interface};

/// What the owner of such flows begins with.
const DROP: &str = "drop ";

/// A class of packets that are dropped, and the cookie of its flows on every switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropClass {
    pub name: String,
    pub cookie: u64,
}

/// All classes, by name.
pub fn drop_classes() -> Vec<DropClass> {
    let flows = antispoof::shared().into_iter().chain([interface::tagged_frames()]);
    let named = flows.filter_map(|flow| Some((flow.owner.key().strip_prefix(DROP)?.to_owned(), flow.cookie)));
    let classes: BTreeMap<String, u64> = named.collect();
    classes.into_iter().map(|(name, cookie)| DropClass { name, cookie }).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_class_has_a_cookie_and_all_that_is_dropped_is_of_one() {
        let classes = drop_classes();
        let names: Vec<&str> = classes.iter().map(|class| &*class.name).collect();
        assert_eq!(
            names,
            [
                "arp-sender",
                "dhcp-server",
                "hidden-header",
                "ipv4-source",
                "ipv6-source",
                "link-local",
                "link-protocol",
                "nd-sender",
                "router",
                "source-mac",
                "vlan",
            ]
        );
        let cookies: BTreeSet<u64> = classes.iter().map(|class| class.cookie).collect();
        assert_eq!(cookies.len(), classes.len());
        for flow in antispoof::shared() {
            assert_eq!(flow.instructions().is_empty(), cookies.contains(&flow.cookie), "{flow}");
        }
    }
}
