//! What must be written to a switch's database: the bridge, its controller, its tunnel port. Nothing, when all is right.

use serde_json::{Value, json};

use super::node_port::node_port;
use super::{GRE_PORT, Overlay, Settings, physical};
use crate::ovsdb::{Cache, Row, map, named_uuid, set, uuid};

/// Marks the rows that we made, so that those of others are left alone.
pub(super) const OURS: (&str, &str) = ("coeus", "owner");
/// Milliseconds between attempts to reach a controller that is away.
const BACKOFF: u32 = 1000;
/// Milliseconds of silence before the switch asks the controller for an echo.
const PROBE: u32 = 10_000;
const HELD_BACK: &str = "flow-restore-wait";
const PROTOCOLS: [&str; 4] = ["OpenFlow10", "OpenFlow13", "OpenFlow14", "OpenFlow15"];

pub(super) fn at(id: &str) -> Value {
    json!([["_uuid", "==", uuid(id)]])
}

/// Operations that bring the database to what it should be, in one transaction.
pub fn plan(cache: &Cache, settings: &Settings, controller: &str) -> Vec<Value> {
    let others = settings.others.borrow();
    let others = others.iter().map(String::as_str).filter(|other| *other != controller);
    let targets: Vec<&str> = std::iter::once(controller).chain(others).collect();
    let Some((root, open_vswitch)) = cache.rows("Open_vSwitch").next() else { return Vec::new() };
    let mut operations = Vec::new();
    match cache.named("Bridge", &settings.bridge) {
        None => new_bridge(root, settings, &targets, &mut operations),
        Some((id, bridge)) => {
            mend_bridge(id, bridge, &mut operations);
            controllers(cache, id, bridge, &targets, &mut operations);
            let local_ip = open_vswitch.map("other_config").get("local_ip").copied();
            tunnels(cache, settings, id, bridge, local_ip, &mut operations);
            // From the moment the node is known by its address: by that its pods reach it.
            node_port(cache, id, bridge, settings.node_port && local_ip.is_some(), &mut operations);
            physical::patches(cache, id, open_vswitch, &mut operations);
        }
    }
    if !operations.is_empty() {
        operations.push(json!({"op": "comment", "comment": "coeus: set up the integration bridge"}));
    }
    operations
}

/// Operations that take back what [`plan`] did to bridges, but for the bridge itself: pods are plugged into it.
pub fn withdraw(cache: &Cache) -> Vec<Value> {
    let ours = |row: &Row| row.map("external_ids").contains_key(OURS.0);
    let of = |table: &'static str, ids: Vec<&str>| -> Vec<Value> {
        ids.into_iter().filter(|id| cache.row(table, id).is_some_and(ours)).map(uuid).collect()
    };
    let mut operations = Vec::new();
    for (id, bridge) in cache.rows("Bridge") {
        let mut mutations = Vec::new();
        for (column, rows) in [
            ("controller", of("Controller", bridge.references("controller").collect())),
            ("ports", of("Port", bridge.references("ports").collect())),
        ] {
            if !rows.is_empty() {
                mutations.push(json!([column, "delete", set(rows)]));
            }
        }
        if !mutations.is_empty() {
            operations
                .push(json!({"op": "mutate", "table": "Bridge", "where": at(id), "mutations": mutations}));
        }
    }
    operations
}

/// Whether the switch neither forwards anew nor connects to controllers until somebody ends that (`flow-restore-wait` in
/// ovs-vswitchd.conf.db(5)).
pub(super) fn is_held_back(cache: &Cache) -> bool {
    let root = cache.rows("Open_vSwitch").next();
    root.is_some_and(|(_, row)| row.map("other_config").get(HELD_BACK) == Some(&"true"))
}

/// Lets the switch go on.
pub(super) fn release(cache: &Cache) -> Vec<Value> {
    let Some((root, _)) = cache.rows("Open_vSwitch").next().filter(|_| is_held_back(cache)) else {
        return Vec::new();
    };
    let key = set([json!(HELD_BACK)]);
    let mutations = json!([["other_config", "delete", key], ["next_cfg", "+=", 1]]);
    vec![
        json!({"op": "mutate", "table": "Open_vSwitch", "where": at(root), "mutations": mutations}),
        json!({"op": "comment", "comment": "coeus: flow-restore-wait was left behind"}),
    ]
}

fn insert_controller(name: &str, target: &str) -> Value {
    json!({"op": "insert", "table": "Controller", "uuid-name": name, "row": {
        "target": target, "max_backoff": BACKOFF, "inactivity_probe": PROBE, "external_ids": map([OURS]),
        "connection_mode": "out-of-band",
    }})
}

fn new_bridge(root: &str, settings: &Settings, targets: &[&str], operations: &mut Vec<Value>) {
    let name = &settings.bridge;
    let controllers: Vec<String> = (0..targets.len()).map(|number| format!("controller{number}")).collect();
    operations.push(json!({"op": "insert", "table": "Interface", "uuid-name": "interface", "row": {"name": name, "type": "internal"}}));
    operations.push(json!({"op": "insert", "table": "Port", "uuid-name": "port", "row": {
        "name": name, "interfaces": named_uuid("interface"),
    }}));
    operations.extend(controllers.iter().zip(targets).map(|(name, target)| insert_controller(name, target)));
    operations.push(json!({"op": "insert", "table": "Bridge", "uuid-name": "bridge", "row": {
        "name": name, "ports": named_uuid("port"), "fail_mode": "secure", "datapath_type": settings.datapath_type,
        "protocols": set(PROTOCOLS.iter().map(|name| json!(name))),
        "other_config": map([("disable-in-band", "true")]), "controller": set(controllers.iter().map(|name| named_uuid(name))),
        "external_ids": map([OURS]),
    }}));
    operations.push(json!({"op": "mutate", "table": "Open_vSwitch", "where": at(root),
        "mutations": [["bridges", "insert", set([named_uuid("bridge")])], ["next_cfg", "+=", 1]]}));
}

fn mend_bridge(id: &str, bridge: &Row, operations: &mut Vec<Value>) {
    if bridge.text("fail_mode") != Some("secure") {
        operations.push(
            json!({"op": "update", "table": "Bridge", "where": at(id), "row": {"fail_mode": "secure"}}),
        );
    }
    // An empty set means "all versions but the newest"; whoever set some kept others out on purpose.
    let protocols: Vec<&str> = bridge.strings("protocols").collect();
    if !protocols.is_empty() && !protocols.contains(&"OpenFlow13") {
        operations.push(json!({"op": "mutate", "table": "Bridge", "where": at(id), "mutations": [["protocols", "insert", set([json!("OpenFlow13")])]]}));
    }
    // In-band control would add hidden flows that carry the pods' own ARP; who set it knows why.
    if !bridge.map("other_config").contains_key("disable-in-band") {
        let set = map([("disable-in-band", "true")]);
        operations.push(json!({"op": "mutate", "table": "Bridge", "where": at(id), "mutations": [["other_config", "insert", set]]}));
    }
}

/// Each target is there once; those that we set earlier and that are none any more are brought up to date, or taken away.
fn controllers(cache: &Cache, id: &str, bridge: &Row, targets: &[&str], operations: &mut Vec<Value>) {
    let present: Vec<(&str, &Row)> =
        bridge.references("controller").filter_map(|id| Some((id, cache.row("Controller", id)?))).collect();
    let is_there = |target: &str| present.iter().any(|(_, row)| row.text("target") == Some(target));
    let is_left = |row: &Row| {
        row.map("external_ids").contains_key(OURS.0)
            && !row.text("target").is_some_and(|target| targets.contains(&target))
    };
    let mut left = present.iter().filter(|(_, row)| is_left(row)).map(|(old, _)| *old);
    let mut added = Vec::new();
    for (number, target) in targets.iter().enumerate().filter(|(_, target)| !is_there(target)) {
        if let Some(old) = left.next() {
            operations.push(
                json!({"op": "update", "table": "Controller", "where": at(old), "row": {"target": target}}),
            );
        } else {
            let name = format!("controller{number}");
            operations.push(insert_controller(&name, target));
            added.push(named_uuid(&name));
        }
    }
    let left: Vec<Value> = left.map(uuid).collect();
    for (rows, how) in [(added, "insert"), (left, "delete")] {
        if !rows.is_empty() {
            operations.push(json!({"op": "mutate", "table": "Bridge", "where": at(id),
                "mutations": [["controller", how, set(rows)]]}));
        }
    }
}

fn tunnel_options(local_ip: &str) -> [(&str, &str); 3] {
    [("key", "flow"), ("local_ip", local_ip), ("remote_ip", "flow")]
}

/// One flow-based port a kind of tunnel for all remote nodes, from the moment the node's own endpoint is known.
fn tunnels(
    cache: &Cache,
    settings: &Settings,
    id: &str,
    bridge: &Row,
    local_ip: Option<&str>,
    operations: &mut Vec<Value>,
) {
    let overlay = settings.overlay;
    let kinds =
        [Overlay::Vxlan, Overlay::Geneve].map(|kind| (kind.port(), kind.interface_type(), kind == overlay));
    for (name, kind, wanted) in kinds.into_iter().chain([(GRE_PORT, "gre", settings.gre)]) {
        tunnel(cache, id, bridge, name, kind, local_ip.filter(|_| wanted), operations);
    }
}

fn tunnel(
    cache: &Cache,
    id: &str,
    bridge: &Row,
    name: &str,
    kind: &str,
    local_ip: Option<&str>,
    operations: &mut Vec<Value>,
) {
    let port = cache.named("Port", name).map(|(port, _)| port);
    let port = port.filter(|port| bridge.refers("ports", port));
    match (local_ip, port) {
        (None, None) => {}
        (None, Some(port)) => {
            operations.push(json!({"op": "mutate", "table": "Bridge", "where": at(id), "mutations": [["ports", "delete", set([uuid(port)])]]}));
        }
        (Some(local_ip), Some(_)) => {
            let Some((interface, row)) = cache.named("Interface", name) else { return };
            // Further options, such as dst_port or tos, are whose they are.
            let mut options = row.map("options");
            options.extend(tunnel_options(local_ip));
            if row.map("options") != options || row.text("type") != Some(kind) {
                operations.push(json!({"op": "update", "table": "Interface", "where": at(interface), "row": {"type": kind, "options": map(options)}}));
            }
        }
        (Some(local_ip), None) => {
            let row = json!({"type": kind, "options": map(tunnel_options(local_ip))});
            insert_port(id, name, row, operations);
        }
    }
}

/// A port of ours on a bridge. `row` says what its interface is.
pub(super) fn insert_port(bridge: &str, name: &str, mut row: Value, operations: &mut Vec<Value>) {
    // Names of rows within a transaction are identifiers (RFC 7047 section 3.1).
    let number = operations.len();
    let (interface, port) = (format!("interface{number}"), format!("port{number}"));
    row["name"] = json!(name);
    operations.push(json!({"op": "insert", "table": "Interface", "uuid-name": interface, "row": row}));
    operations.push(json!({"op": "insert", "table": "Port", "uuid-name": port, "row": {
        "name": name, "interfaces": named_uuid(&interface), "external_ids": map([OURS]),
    }}));
    operations.push(json!({"op": "mutate", "table": "Bridge", "where": at(bridge),
        "mutations": [["ports", "insert", set([named_uuid(&port)])]]}));
}

#[cfg(test)]
mod tests {
    use tokio::sync::watch;

    use super::*;
    use crate::southbound::ovsdb::TABLES;

    const TUNNEL_PORT: &str = "vxlan-coeus";

    /// Only VXLAN.
    fn vxlan() -> Settings {
        Settings { gre: false, node_port: false, ..Settings::default() }
    }

    const TARGET: &str = "tcp:10.0.0.1:6653";

    fn cache(bridge: Option<Value>, local_ip: Option<&str>) -> Cache {
        let mut cache = Cache::new(TABLES);
        let config = local_ip.map_or_else(|| map([]), |ip| map([("local_ip", ip)]));
        cache.update(&json!({"Open_vSwitch": {"root": {"new": {"other_config": config}}}})).unwrap();
        if let Some(bridge) = bridge {
            let controller = json!({"target": TARGET, "external_ids": map([OURS])});
            let update = json!({"Bridge": {"b": {"new": bridge}}, "Controller": {"c": {"new": controller}}});
            cache.update(&update).unwrap();
        }
        cache
    }

    fn right() -> Value {
        json!({"name": "br-int", "fail_mode": "secure", "protocols": set([json!("OpenFlow13")]), "controller": uuid("c"), "ports": set([]),
            "other_config": map([("disable-in-band", "false")])})
    }

    #[test]
    fn a_bare_switch_gets_its_bridge_in_one_transaction() {
        let operations = plan(&cache(None, None), &Settings::default(), TARGET);
        let tables: Vec<_> = operations.iter().filter_map(|operation| operation["table"].as_str()).collect();
        assert_eq!(tables, ["Interface", "Port", "Controller", "Bridge", "Open_vSwitch"]);
        assert_eq!(operations[3]["row"]["fail_mode"], "secure");
    }

    #[test]
    fn nothing_is_written_when_all_is_right() {
        assert!(plan(&cache(Some(right()), None), &Settings::default(), TARGET).is_empty());
    }

    #[test]
    fn fail_mode_and_controller_are_mended() {
        let mut bridge = right();
        bridge["fail_mode"] = json!("standalone");
        let operations = plan(&cache(Some(bridge), None), &Settings::default(), "tcp:10.0.0.2:6653");
        assert_eq!(operations[0]["row"]["fail_mode"], "secure");
        assert_eq!(
            operations[1]["row"]["target"], "tcp:10.0.0.2:6653",
            "our own old target is updated, not added to"
        );
    }

    #[test]
    fn a_switch_knows_all_controllers_of_the_store() {
        let with = |others: &[&str]| {
            let (told, others) = watch::channel(others.iter().map(|&other| other.to_owned()).collect());
            drop(told);
            Settings { others, ..Settings::default() }
        };
        let others = ["tcp:10.0.0.2:6653", "tcp:10.0.0.3:6653"];
        let fresh = plan(&cache(None, None), &with(&others), TARGET);
        let targets: Vec<_> = fresh.iter().filter_map(|one| one["row"]["target"].as_str()).collect();
        assert_eq!(targets, [TARGET, others[0], others[1]]);
        let joined = plan(&cache(Some(right()), None), &with(&others), TARGET);
        assert_eq!(joined[0]["row"]["target"], others[0]);
        assert_eq!(joined[2]["mutations"][0][1], "insert");
        assert_eq!(joined[2]["mutations"][0][2][1].as_array().map(Vec::len), Some(2));
        // Another one is the active controller now, and the first is gone; what somebody else has set stays.
        let mut bridge = right();
        bridge["controller"] = set([uuid("c"), uuid("d"), uuid("e"), uuid("f")]);
        let mut cache = cache(Some(bridge), None);
        let row = |target: &str, ids: Value| json!({"new": {"target": target, "external_ids": ids}});
        let rows = json!({"Controller": {
            "d": row(others[0], map([OURS])), "e": row(others[1], map([OURS])), "f": row("tcp:192.0.2.1:6653", map([])),
        }});
        cache.update(&rows).unwrap();
        let left = plan(&cache, &with(&others[1..]), others[0]);
        assert_eq!(left[0]["mutations"], json!([["controller", "delete", set([uuid("c")])]]));
        assert_eq!(left.len(), 2, "{left:?}");
        assert!(plan(&cache, &with(&[others[1], TARGET]), others[0]).is_empty());
    }

    #[test]
    fn what_holds_a_switch_back_is_taken_away() {
        let with = |config: Value| {
            let mut cache = cache(Some(right()), None);
            cache.update(&json!({"Open_vSwitch": {"root": {"new": {"other_config": config}}}})).unwrap();
            cache
        };
        let held = with(map([("flow-restore-wait", "true"), ("local_ip", "192.0.2.1")]));
        let operations = release(&held);
        assert_eq!(
            operations[0]["mutations"][0],
            json!(["other_config", "delete", set([json!("flow-restore-wait")])])
        );
        for free in [map([("flow-restore-wait", "false")]), map([("local_ip", "192.0.2.1")])] {
            assert!(release(&with(free)).is_empty());
        }
    }

    #[test]
    fn the_tunnel_port_follows_local_ip() {
        let added = plan(&cache(Some(right()), Some("192.0.2.1")), &vxlan(), TARGET);
        assert!(added.iter().any(|operation| operation["row"]["type"] == "vxlan"));
        let mut bridge = right();
        bridge["ports"] = uuid("t");
        let with_port = |local_ip| {
            let mut cache = cache(Some(bridge.clone()), local_ip);
            let options =
                map([("key", "flow"), ("local_ip", "192.0.2.1"), ("remote_ip", "flow"), ("tos", "inherit")]);
            let port = json!({"name": TUNNEL_PORT, "interfaces": uuid("i")});
            let interface = json!({"name": TUNNEL_PORT, "type": "vxlan", "options": options});
            let update = json!({"Port": {"t": {"new": port}}, "Interface": {"i": {"new": interface}}});
            cache.update(&update).unwrap();
            cache
        };
        assert!(plan(&with_port(Some("192.0.2.1")), &vxlan(), TARGET).is_empty());
        let moved = plan(&with_port(Some("192.0.2.2")), &vxlan(), TARGET);
        assert_eq!(moved[0]["op"], "update");
        let options = moved[0]["row"]["options"].to_string();
        assert!(
            options.contains("192.0.2.2") && options.contains("inherit"),
            "what others set stays: {options}"
        );
        assert_eq!(plan(&with_port(None), &vxlan(), TARGET)[0]["mutations"][0][1], "delete");
    }

    #[test]
    fn geneve_takes_the_place_of_vxlan_and_gre_stands_beside() {
        let mut bridge = right();
        bridge["ports"] = uuid("t");
        let mut cache = cache(Some(bridge), Some("192.0.2.1"));
        let port = json!({"name": TUNNEL_PORT, "interfaces": uuid("i"), "external_ids": map([OURS])});
        cache.update(&json!({"Port": {"t": {"new": port}}})).unwrap();
        let settings = Settings { overlay: Overlay::Geneve, node_port: false, ..Settings::default() };
        let operations = plan(&cache, &settings, TARGET);
        assert_eq!(operations[0]["mutations"][0], json!(["ports", "delete", set([uuid("t")])]));
        let made: Vec<_> =
            operations.iter().filter_map(|operation| operation["row"]["type"].as_str()).collect();
        assert_eq!(made, ["geneve", "gre"]);
        let names: std::collections::BTreeSet<_> =
            operations.iter().filter_map(|operation| operation["uuid-name"].as_str()).collect();
        assert_eq!(names.len(), 4, "each new row has a name of its own");
    }

    #[test]
    fn what_was_set_up_is_taken_back_and_nothing_else() {
        let mut bridge = right();
        bridge["ports"] = set([uuid("t"), uuid("p")]);
        let mut cache = cache(Some(bridge), Some("192.0.2.1"));
        let ours = json!({"name": TUNNEL_PORT, "interfaces": uuid("i"), "external_ids": map([OURS])});
        let update =
            json!({"Port": {"t": {"new": ours}, "p": {"new": {"name": "veth1", "interfaces": uuid("j")}}}});
        cache.update(&update).unwrap();
        let operations = withdraw(&cache);
        assert_eq!(
            operations[0]["mutations"],
            json!([["controller", "delete", set([uuid("c")])], ["ports", "delete", set([uuid("t")])]])
        );
        assert_eq!(operations.len(), 1);
    }

    #[test]
    fn in_band_control_is_off_unless_somebody_decided() {
        let mut bridge = right();
        bridge["other_config"] = map([]);
        let operations = plan(&cache(Some(bridge), None), &Settings::default(), TARGET);
        assert_eq!(operations[0]["mutations"][0][0], "other_config");
        assert_eq!(operations.len(), 2, "and the comment");
    }
}
