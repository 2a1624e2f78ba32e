//! What must be written to a switch's database: the bridge, its controller, its tunnel port. Nothing, when all is right.

use serde_json::{Value, json};

use super::{Settings, TUNNEL_PORT};
use crate::ovsdb::{Cache, Row, map, named_uuid, set, uuid};

/// Marks the rows that we made, so that those of others are left alone.
const OURS: (&str, &str) = ("coeus", "owner");
/// Milliseconds between attempts to reach a controller that is away.
const BACKOFF: u32 = 1000;
/// Milliseconds of silence before the switch asks the controller for an echo.
const PROBE: u32 = 10_000;
const PROTOCOLS: [&str; 4] = ["OpenFlow10", "OpenFlow13", "OpenFlow14", "OpenFlow15"];

fn at(id: &str) -> Value {
    json!([["_uuid", "==", uuid(id)]])
}

/// Operations that bring the database to what it should be, in one transaction.
pub fn plan(cache: &Cache, settings: &Settings, controller: &str) -> Vec<Value> {
    let Some((root, open_vswitch)) = cache.rows("Open_vSwitch").next() else { return Vec::new() };
    let mut operations = Vec::new();
    match cache.named("Bridge", &settings.bridge) {
        None => new_bridge(root, settings, controller, &mut operations),
        Some((id, bridge)) => {
            mend_bridge(id, bridge, &mut operations);
            controllers(cache, id, bridge, controller, &mut operations);
            let local_ip = open_vswitch.map("other_config").get("local_ip").copied();
            tunnel(cache, id, bridge, local_ip, &mut operations);
        }
    }
    if !operations.is_empty() {
        operations.push(json!({"op": "comment", "comment": "coeus: set up the integration bridge"}));
    }
    operations
}

fn insert_controller(name: &str, target: &str) -> Value {
    json!({"op": "insert", "table": "Controller", "uuid-name": name, "row": {
        "target": target, "max_backoff": BACKOFF, "inactivity_probe": PROBE, "external_ids": map([OURS]),
        "connection_mode": "out-of-band",
    }})
}

fn new_bridge(root: &str, settings: &Settings, controller: &str, operations: &mut Vec<Value>) {
    let name = &settings.bridge;
    operations.push(json!({"op": "insert", "table": "Interface", "uuid-name": "interface", "row": {"name": name, "type": "internal"}}));
    operations.push(json!({"op": "insert", "table": "Port", "uuid-name": "port", "row": {
        "name": name, "interfaces": named_uuid("interface"),
    }}));
    operations.push(insert_controller("controller", controller));
    operations.push(json!({"op": "insert", "table": "Bridge", "uuid-name": "bridge", "row": {
        "name": name, "ports": named_uuid("port"), "fail_mode": "secure", "datapath_type": settings.datapath_type,
        "protocols": set(PROTOCOLS.iter().map(|name| json!(name))),
        "other_config": map([("disable-in-band", "true")]), "controller": named_uuid("controller"),
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

/// Our controller target is there once; targets that we set earlier and that changed are brought up to date.
fn controllers(cache: &Cache, id: &str, bridge: &Row, target: &str, operations: &mut Vec<Value>) {
    let present: Vec<(&str, &Row)> =
        bridge.references("controller").filter_map(|id| Some((id, cache.row("Controller", id)?))).collect();
    if present.iter().any(|(_, row)| row.text("target") == Some(target)) {
        return;
    }
    match present.iter().find(|(_, row)| row.map("external_ids").contains_key(OURS.0)) {
        Some((old, _)) => {
            operations.push(
                json!({"op": "update", "table": "Controller", "where": at(old), "row": {"target": target}}),
            );
        }
        None => {
            operations.push(insert_controller("controller", target));
            operations.push(json!({"op": "mutate", "table": "Bridge", "where": at(id),
                "mutations": [["controller", "insert", set([named_uuid("controller")])]]}));
        }
    }
}

fn tunnel_options(local_ip: &str) -> [(&str, &str); 3] {
    [("key", "flow"), ("local_ip", local_ip), ("remote_ip", "flow")]
}

/// One VXLAN port for all remote nodes, from the moment the node's own endpoint is known.
fn tunnel(cache: &Cache, id: &str, bridge: &Row, local_ip: Option<&str>, operations: &mut Vec<Value>) {
    let port = cache.named("Port", TUNNEL_PORT).map(|(port, _)| port);
    let port = port.filter(|port| bridge.refers("ports", port));
    match (local_ip, port) {
        (None, None) => {}
        (None, Some(port)) => {
            operations.push(json!({"op": "mutate", "table": "Bridge", "where": at(id), "mutations": [["ports", "delete", set([uuid(port)])]]}));
        }
        (Some(local_ip), Some(_)) => {
            let Some((interface, row)) = cache.named("Interface", TUNNEL_PORT) else { return };
            // Further options, such as dst_port or tos, are whose they are.
            let mut options = row.map("options");
            options.extend(tunnel_options(local_ip));
            if row.map("options") != options || row.text("type") != Some("vxlan") {
                operations.push(json!({"op": "update", "table": "Interface", "where": at(interface), "row": {"type": "vxlan", "options": map(options)}}));
            }
        }
        (Some(local_ip), None) => {
            operations.push(json!({"op": "insert", "table": "Interface", "uuid-name": "tunnel", "row": {
                "name": TUNNEL_PORT, "type": "vxlan",
                "options": map(tunnel_options(local_ip)),
            }}));
            operations.push(json!({"op": "insert", "table": "Port", "uuid-name": "tunnelport", "row": {
                "name": TUNNEL_PORT, "interfaces": named_uuid("tunnel"), "external_ids": map([OURS]),
            }}));
            operations.push(json!({"op": "mutate", "table": "Bridge", "where": at(id),
                "mutations": [["ports", "insert", set([named_uuid("tunnelport")])]]}));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::southbound::ovsdb::TABLES;

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
    fn the_tunnel_port_follows_local_ip() {
        let added = plan(&cache(Some(right()), Some("192.0.2.1")), &Settings::default(), TARGET);
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
        assert!(plan(&with_port(Some("192.0.2.1")), &Settings::default(), TARGET).is_empty());
        let moved = plan(&with_port(Some("192.0.2.2")), &Settings::default(), TARGET);
        assert_eq!(moved[0]["op"], "update");
        let options = moved[0]["row"]["options"].to_string();
        assert!(
            options.contains("192.0.2.2") && options.contains("inherit"),
            "what others set stays: {options}"
        );
        assert_eq!(plan(&with_port(None), &Settings::default(), TARGET)[0]["mutations"][0][1], "delete");
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
