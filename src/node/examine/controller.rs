//! Whether the controller answers, lets this account do what an agent does, and has the switch.

use std::net::{IpAddr, Ipv4Addr};

use serde_json::{Value, json};

use super::Found;
use super::switch::Seen;
use crate::node::datastore::{Controller, Trouble};
use crate::node::entry::{list, text};

/// A pod that nobody has (RFC 9562, version 8), which is planned and not written.
const NOBODY: &str = "d0c70200-0000-8000-8000-000000000001";

/// Plans the pod's entry that an agent would write.
pub(super) fn rights(controller: &dyn Controller, node: Option<IpAddr>) -> Found {
    // An address for documentation (RFC 5737) while the node has none.
    let host = node.unwrap_or(Ipv4Addr::new(192, 0, 2, 1).into());
    let pod = json!({
        "uid": NOBODY, "name": "doctor", "network-NS": "coeus-doctor", "host-ip-address": host,
        "interface": [{"uid": NOBODY, "network-type": "VXLAN"}],
    });
    let (path, query) = (format!("pod:coe/pods={NOBODY}"), [("dry-run", "flows".to_owned())]);
    match controller.write("PUT", &path, &query, Some(&json!({ "pod:pods": [pod] }))) {
        Ok(_) => Found::Good("this account may write pods".into()),
        Err(Trouble::Away(why)) => Found::fault(
            why,
            "is the controller running, and are --server, --user and the password those of the agent?",
        ),
        Err(Trouble::Missing(why) | Trouble::Conflict(why) | Trouble::Refused(why)) => {
            Found::fault(why, "permit the account to write pod:coe (docs/guide/kubernetes.md, access rules)")
        }
    }
}

/// Whether the controller has this node's switch.
pub(super) fn switch(controller: &dyn Controller, seen: &Seen) -> Found {
    let Some(dpid) = &seen.dpid else { return Found::fault("the bridge is not there", "see above") };
    match controller.read("coeus-status:switches", &[]) {
        Ok(switches) => judge(&switches, dpid),
        Err(Trouble::Away(why)) => Found::fault(why, "see above"),
        Err(Trouble::Missing(why) | Trouble::Conflict(why) | Trouble::Refused(why)) => Found::fault(
            why,
            "permit the account to read coeus-status (docs/guide/kubernetes.md, access rules)",
        ),
    }
}

fn judge(switches: &Value, dpid: &str) -> Found {
    let switches = switches.get("coeus-status:switches").unwrap_or(&Value::Null);
    let own = list(switches, "switch").find(|switch| text(switch, "dpid").as_deref() == Some(dpid));
    match own {
        Some(switch) if switch.get("connected") == Some(&Value::Bool(true)) => {
            Found::Good(format!("{dpid} is connected"))
        }
        Some(_) => Found::fault(
            format!("{dpid} was connected and is not any more"),
            "is ovs-vswitchd running? (ovs-vsctl show)",
        ),
        None => Found::fault(
            format!("{dpid} has never connected to this controller"),
            "is its manager this controller, and the bridge the one of `coeus serve` --bridge?",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_is_found_by_its_datapath_id() {
        let switches = json!({"coeus-status:switches": {"switch": [{"dpid": "a", "connected": true}, {"dpid": "b", "connected": false}]}});
        assert!(matches!(judge(&switches, "a"), Found::Good(_)));
        let text = |dpid: &str| match judge(&switches, dpid) {
            Found::Fault { text, .. } => text,
            other => panic!("{other:?}"),
        };
        assert!(text("b").contains("not any more") && text("c").contains("never"));
    }
}
