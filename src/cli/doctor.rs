//! `coeus doctor`: what is wrong, why, and what to do about it; `node`: of the node that this runs on.

mod node;

use serde_json::Value;

use super::nouns::{entries, state};
use super::output::{Format, show};
use super::table::plain;
use super::{Client, Failure, Table};
use crate::net::UnderlayMtu;

/// `coeus doctor`.
#[derive(clap::Args, Debug, Clone)]
pub struct Doctor {
    #[command(flatten)]
    here: node::Here,
    #[arg(short, long, value_enum, default_value = "table")]
    output: Format,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Ok,
    Warning,
    Fault,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    level: Level,
    what: String,
    text: String,
    /// What to do; empty when nothing is to be done.
    next: String,
}

/// Looks at everything that can be seen from here, or at this node.
///
/// # Errors
/// When something is at fault, after all findings were printed.
pub fn doctor(client: &Client, asked: &Doctor) -> Result<(), Failure> {
    let findings = if asked.here.node { node::look(client, &asked.here) } else { of_network(client)? };
    print(&findings, asked.output)
}

fn of_network(client: &Client) -> Result<Vec<Finding>, Failure> {
    let mut findings = vec![probe(client, "/livez", "alive"), probe(client, "/readyz", "ready")];
    match client.data_if_any("coeus-status:switches") {
        Ok(switches) => {
            findings.extend(of_switches(&switches));
            findings.extend(of_refusals(&client.data_if_any("coeus-switch:refusals")?));
            let objects = client.data_if_any("coeus-status:objects")?;
            findings.extend(of_pods(&entries(&objects, "coeus-status:objects", "object"), &switches));
            findings.extend(of_sources(&client.data_if_any("coeus-north-south:source-nat-states")?));
            findings.extend(of_tunnels(&client.data_if_any("itm-state:tunnels_state")?));
            findings.extend(of_nodes(&systems(client)?));
        }
        Err(failure) => findings.push(Finding {
            level: Level::Fault,
            what: "access".into(),
            text: failure.to_string(),
            next: "check --server, --user and the password".into(),
        }),
    }
    Ok(findings)
}

fn print(findings: &[Finding], output: Format) -> Result<(), Failure> {
    let data = |finding: &Finding| {
        let level = level(finding.level);
        serde_json::json!({"level": level, "what": finding.what, "text": finding.text, "next": finding.next})
    };
    show(&Value::Array(findings.iter().map(data).collect()), output, |_| {
        let mut table = Table::new(["", "WHAT", "FOUND", "NEXT STEP"]);
        for finding in findings {
            let level = level(finding.level).to_owned();
            table.row([level, finding.what.clone(), finding.text.clone(), finding.next.clone()]);
        }
        table
    })?;
    match findings.iter().filter(|finding| finding.level == Level::Fault).count() {
        0 => Ok(()),
        faults => Err(Failure::Failed(format!("{faults} of {} checks found a fault", findings.len()))),
    }
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Ok => "ok",
        Level::Warning => "warning",
        Level::Fault => "FAULT",
    }
}

fn probe(client: &Client, path: &str, what: &str) -> Finding {
    let (level, text) = match client.request("GET", path, &[], None) {
        Ok(answer) if answer.status == 200 => (Level::Ok, format!("{} says yes", client.server())),
        Ok(answer) => {
            let body = String::from_utf8_lossy(&answer.body).trim().to_owned();
            (Level::Fault, format!("{}: {body}", answer.status))
        }
        Err(failure) => (Level::Fault, failure.to_string()),
    };
    let next = if level == Level::Ok { "" } else { "see the controller's log" };
    Finding { level, what: what.into(), text, next: next.into() }
}

fn of_switches(switches: &Value) -> Vec<Finding> {
    let switches = entries(switches, "coeus-status:switches", "switch");
    if switches.is_empty() {
        return vec![Finding {
            level: Level::Warning,
            what: "switches".into(),
            text: "none has ever connected".into(),
            next: "on each node: ovs-vsctl set-manager tcp:CONTROLLER:6640".into(),
        }];
    }
    let mut findings = Vec::new();
    for switch in &switches {
        let cell = |name: &str| switch.get(name).map(plain).unwrap_or_default();
        let what = format!("switch {}", cell("dpid"));
        let errors = switch.get("error").and_then(Value::as_array).cloned().unwrap_or_default();
        if cell("connected") != "true" {
            findings.push(Finding {
                level: Level::Fault,
                what,
                text: "is not connected; it forwards by what it was told before".into(),
                next: "is ovs-vswitchd running, and does its controller address lead here? (ovs-vsctl show)"
                    .into(),
            });
        } else if let Some(error) = errors.first() {
            let text = |name: &str| error.get(name).map(plain).unwrap_or_default();
            findings.push(Finding {
                level: Level::Fault,
                what,
                text: format!("refused {} of {}: {}", text("subject"), text("owner"), text("message")),
                next: "compare the versions of Open vSwitch and Coeus; it is sent again by itself".into(),
            });
        } else if let Some((mended, last)) = drifted(switch) {
            findings.push(Finding {
                level: Level::Warning,
                what,
                text: format!("{mended} flows, groups and meters of ours were changed by somebody else and put right, last at {last}"),
                next: "who else programs it? (ovs-vsctl get-controller; coeus get coeus-status:switches says what it was)".into(),
            });
        } else if !matches!(cell("foreign-flows").as_str(), "" | "0") {
            findings.push(Finding {
                level: Level::Warning,
                what,
                text: format!("holds {} flows that are not ours", cell("foreign-flows")),
                next: "they are left alone; ovs-ofctl dump-flows shows them".into(),
            });
        } else {
            let text = format!(
                "{} flows, confirmed up to revision {}",
                cell("desired-flows"),
                cell("programmed-revision")
            );
            findings.push(Finding { level: Level::Ok, what, text, next: String::new() });
        }
    }
    findings
}

/// How much was put right on a switch, and when last, if anything.
fn drifted(switch: &Value) -> Option<(String, String)> {
    let drift = switch.get("drift")?;
    Some((plain(drift.get("mended")?), plain(drift.get("last")?)))
}

/// Switches that were refused in the last hour, and those that are one datapath together.
fn of_refusals(refusals: &Value) -> Vec<Finding> {
    let finding = |refusal: &Value| {
        let cell = |name: &str| refusal.get(name).map(plain).unwrap_or_default();
        let times: u64 = cell("times").parse().unwrap_or_default();
        let next = match cell("reason").as_str() {
            // A switch that lost its connection comes back at once, too.
            "duplicate" if times < 3 => return None,
            "duplicate" => "two switches take turns: give one of them another datapath id",
            "no-tls" => "on that node: ovs-vsctl set-manager ssl:CONTROLLER:6640",
            "no-certificate" => "on that node: ovs-vsctl set-ssl KEY CERTIFICATE CA",
            "unknown-authority" => "have its certificate signed by an authority of --switch-tls-ca",
            "expired" => "renew its certificate: ovs-vsctl set-ssl KEY CERTIFICATE CA",
            "not-yet-valid" => "compare the clocks of both machines",
            "other-identity" => "if the switch was replaced: POST /rests/operations/coeus-switch:release",
            "too-many-datapaths" => "release those that are gone (coeus-switch:release)",
            _ => "does it trust our certificate? See the controller's log, and ovs-vswitchd.log there",
        };
        let which = Some(cell("dpid")).filter(|dpid| !dpid.is_empty());
        let which =
            which.map_or_else(|| format!("peer {}", cell("address")), |dpid| format!("switch {dpid}"));
        let verb = if cell("reason") == "duplicate" { "came twice" } else { "was refused" };
        let text = format!(
            "{} {verb} by {}, {times} times, last at {}: {}",
            cell("address"),
            cell("protocol"),
            cell("last"),
            cell("detail")
        );
        Some(Finding { level: Level::Fault, what: which, text, next: next.into() })
    };
    entries(refusals, "coeus-switch:refusals", "refusal").iter().filter_map(finding).collect()
}

fn of_pods(objects: &[Value], switches: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut fine = 0;
    for object in objects {
        let name = object.get("name").map(plain).unwrap_or_default();
        let reason = object.get("reason").map(plain).unwrap_or_default();
        let what = format!("pod {name}");
        match state(object, switches).as_str() {
            "pending" => findings.push(Finding {
                level: Level::Warning,
                what,
                text: format!("waits: {reason}"),
                next: "give it what it waits for".into(),
            }),
            "failed" => findings.push(Finding {
                level: Level::Fault,
                what,
                text: format!("refused by its switch: {reason}"),
                next: "see the switch above".into(),
            }),
            _ => fine += 1,
        }
    }
    if fine > 0 || findings.is_empty() {
        let text = format!("{fine} of {} are as they should be", objects.len());
        findings.insert(0, Finding { level: Level::Ok, what: "pods".into(), text, next: String::new() });
    }
    findings
}

/// Nodes whose source addresses lead nowhere.
fn of_sources(states: &Value) -> Vec<Finding> {
    let nodes = entries(states, "coeus-north-south:source-nat-states", "node");
    let told = nodes.iter().filter_map(|node| Some((node, node.get("reason")?)));
    let finding = |(node, reason): (&Value, &Value)| Finding {
        level: Level::Warning,
        what: format!("source-nat of node {}", node.get("address").map(plain).unwrap_or_default()),
        text: plain(reason),
        next: "change coeus-north-south:source-nat, or the node".into(),
    };
    told.map(finding).collect()
}

fn of_tunnels(tunnels: &Value) -> Vec<Finding> {
    let tunnels = entries(tunnels, "itm-state:tunnels_state", "state-tunnel-list");
    tunnels
        .iter()
        .filter(|tunnel| tunnel.get("oper-state").map(plain).as_deref() == Some("down"))
        .map(|tunnel| Finding {
            level: Level::Fault,
            what: format!("tunnel {}", tunnel.get("tunnel-interface-name").map(plain).unwrap_or_default()),
            text: "one of its ends has no address or no tunnel port".into(),
            next: "ovs-vsctl set open_vswitch . other_config:local_ip=ADDRESS on that node".into(),
        })
        .collect()
}

/// What nodes say of themselves in their `Open_vSwitch` tables.
fn systems(client: &Client) -> Result<Value, Failure> {
    let fields = [("fields", "node(node-id;ovsdb:openvswitch-other-configs)".to_owned())];
    match client.data("network-topology:network-topology/topology=ovsdb%3A1", &fields) {
        Err(Failure::NotFound(_)) => Ok(Value::Null),
        other => other,
    }
}

/// Nodes whose `underlay_mtu` cannot be meant: it is as if they had none.
fn of_nodes(systems: &Value) -> Vec<Finding> {
    let text = |value: &Value, name: &str| value.get(name).map(plain).unwrap_or_default();
    let list =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let nodes =
        list(systems, "network-topology:topology").into_iter().flat_map(|topology| list(&topology, "node"));
    let mut findings = Vec::new();
    for node in nodes {
        let configs = list(&node, "ovsdb:openvswitch-other-configs");
        let said = |key: &str| {
            let entry = configs.iter().find(|entry| text(entry, "other-config-key") == key);
            entry.map(|entry| text(entry, "other-config-value"))
        };
        let Some(mtu) = said("underlay_mtu") else { continue };
        let why = match mtu.parse::<u16>() {
            Err(_) => "is no number of octets",
            Ok(octets) if UnderlayMtu::new(octets).is_none() => {
                "is too small: IPv6 needs 1280 octets within a tunnel"
            }
            Ok(_) => continue,
        };
        let name = said("local_ip").unwrap_or_else(|| text(&node, "node-id"));
        let octets = UnderlayMtu::default().octets();
        findings.push(Finding {
            level: Level::Fault,
            what: format!("node {name}"),
            text: format!("other_config:underlay_mtu {mtu:?} {why}; {octets} is used"),
            next: "ovs-vsctl set open_vswitch . other_config:underlay_mtu=OCTETS on that node, or remove it"
                .into(),
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn levels(findings: &[Finding]) -> Vec<Level> {
        findings.iter().map(|finding| finding.level).collect()
    }

    #[test]
    fn each_kind_of_trouble_is_found() {
        let switches = json!({"coeus-status:switches": {"switch": [
            {"dpid": "a", "connected": true, "desired-flows": 9, "programmed-revision": "4"},
            {"dpid": "b", "connected": false},
            {"dpid": "c", "connected": true, "error": [{"subject": "a flow", "owner": "elan x", "message": "no"}]},
            {"dpid": "d", "connected": true, "foreign-flows": 3},
            {"dpid": "e", "connected": true, "drift": {"mended": "0"}},
            {"dpid": "f", "connected": true, "drift": {"mended": "3", "last": "2026-11-22T20:00:00Z"}}]}});
        let found = [Level::Ok, Level::Fault, Level::Fault, Level::Warning, Level::Ok, Level::Warning];
        assert_eq!(levels(&of_switches(&switches)), found);
        assert_eq!(levels(&of_switches(&Value::Null)), [Level::Warning]);
        let pods = [
            json!({"name": "blue:a", "state": "desired"}),
            json!({"name": "blue:b", "state": "pending", "reason": ["no port"]}),
            json!({"name": "blue:c", "state": "failed"}),
        ];
        assert_eq!(levels(&of_pods(&pods, &switches)), [Level::Ok, Level::Warning, Level::Fault]);
        assert_eq!(levels(&of_pods(&[], &switches)), [Level::Ok]);
        let sources = json!({"coeus-north-south:source-nat-states": {"node": [
            {"address": "192.168.200.1", "state": "desired"},
            {"address": "192.168.200.2", "state": "pending", "reason": ["no node has it"]}]}});
        let found = of_sources(&sources);
        assert_eq!(levels(&found), [Level::Warning]);
        assert!(found[0].what.contains("192.168.200.2") && found[0].text.contains("no node"), "{found:?}");
        let tunnels = json!({"itm-state:tunnels_state": {"state-tunnel-list": [
            {"tunnel-interface-name": "t", "oper-state": "down"}, {"oper-state": "up"}]}});
        assert_eq!(levels(&of_tunnels(&tunnels)), [Level::Fault]);
    }

    #[test]
    fn who_was_refused_is_a_fault_and_a_single_reconnection_is_none() {
        let refusal = |reason: &str, times: &str, dpid: Option<&str>| {
            json!({"protocol": "openflow", "address": "192.0.2.1", "reason": reason, "times": times, "dpid": dpid,
                "detail": "it belongs to CN=a", "last": "2026-11-22T20:00:00Z"})
        };
        let all = json!({"coeus-switch:refusals": {"refusal": [
            refusal("other-identity", "2", Some("0000000000000001")), refusal("duplicate", "1", None),
            refusal("duplicate", "3", Some("0000000000000002")), refusal("expired", "1", None)]}});
        let found = of_refusals(&all);
        assert_eq!(levels(&found), [Level::Fault; 3]);
        assert_eq!(found[0].what, "switch 0000000000000001");
        assert!(found[0].text.contains("CN=a") && found[0].next.contains("release"));
        assert!(found[2].next.contains("set-ssl"));
        assert!(of_refusals(&Value::Null).is_empty());
    }

    #[test]
    fn an_underlay_mtu_that_cannot_be_is_a_fault() {
        let node = |id: &str, mtu: &str| {
            let config =
                |key: &str, value: &str| json!({"other-config-key": key, "other-config-value": value});
            let mut configs = vec![config("local_ip", id)];
            configs.extend((!mtu.is_empty()).then(|| config("underlay_mtu", mtu)));
            json!({"node-id": format!("ovsdb://uuid/{id}"), "ovsdb:openvswitch-other-configs": configs})
        };
        let nodes = [
            ("a", ""),
            ("b", "9000"),
            ("c", "1330"),
            ("d", "1329"),
            ("e", "jumbo"),
            ("f", "-1"),
            ("g", "90000"),
        ];
        let nodes: Vec<Value> = nodes.into_iter().map(|(id, mtu)| node(id, mtu)).collect();
        let found =
            of_nodes(&json!({"network-topology:topology": [{"topology-id": "ovsdb:1", "node": nodes}]}));
        let who: Vec<&str> = found.iter().map(|finding| finding.what.as_str()).collect();
        assert_eq!(who, ["node d", "node e", "node f", "node g"]);
        assert!(found[0].text.contains("too small") && found[1].text.contains("no number"));
        assert!(found.iter().all(|finding| finding.level == Level::Fault && finding.text.contains("1500")));
        assert!(of_nodes(&Value::Null).is_empty());
    }
}
