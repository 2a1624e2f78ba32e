//! What a switch answers, in the shape of `opendaylight-inventory:nodes/node`.

use std::collections::BTreeMap;

use openflow_rs::flow::SEND_FLOW_REMOVED;
use openflow_rs::stats::{GroupStats, MeterStats, PortStats};
use openflow_rs::{FlowMod, FlowStats, GroupType, MultipartReply, ports};
use serde_json::{Map, Value, json};

use crate::net::Dpid;
use crate::pipeline::{Flow, OwnerName, row};
use crate::schema::{DataPath, Node, Schema, json as yang_json};

/// The node at this path. `None`: what the switch says does not fit the models, which is logged.
pub(super) fn of(schema: &Schema, at: &DataPath, dpid: Dpid, answers: Vec<MultipartReply>) -> Option<Node> {
    let body = json!({ "opendaylight-inventory:node": [shape(dpid, answers)] }).to_string();
    match yang_json::parse_resource(schema, at, body.as_bytes(), yang_json::Mode::Lenient) {
        Ok(node) => Some(node),
        Err(errors) => {
            tracing::warn!(switch = %dpid, %errors, "counters do not fit their model");
            None
        }
    }
}

fn shape(dpid: Dpid, answers: Vec<MultipartReply>) -> Value {
    let mut node = Map::new();
    node.insert("id".into(), json!(dpid.node_id()));
    let mut tables: BTreeMap<u8, Map<String, Value>> = BTreeMap::new();
    let mut groups: BTreeMap<u32, Map<String, Value>> = BTreeMap::new();
    let (mut meters, mut connectors, mut drops) = (Vec::new(), Vec::new(), Vec::new());
    for answer in answers {
        match answer {
            MultipartReply::Description(found) => {
                for (name, text) in [
                    ("manufacturer", found.manufacturer),
                    ("hardware", found.hardware),
                    ("software", found.software),
                    ("serial-number", found.serial),
                    ("description", found.datapath),
                ] {
                    node.insert(format!("flow-node-inventory:{name}"), json!(text));
                }
            }
            // Open vSwitch has 254 tables; those that nobody uses tell nothing.
            MultipartReply::Table(found) => {
                for table in found.into_iter().filter(|table| table.active > 0) {
                    let counters = json!({
                        "active-flows": table.active,
                        "packets-looked-up": text(table.lookups),
                        "packets-matched": text(table.matched),
                    });
                    let entry = tables.entry(table.table).or_default();
                    entry.insert("opendaylight-flow-table-statistics:flow-table-statistics".into(), counters);
                }
            }
            MultipartReply::Flow(found) => {
                for flow in found {
                    if flow.instructions.is_empty() {
                        drops.push(dropped(&flow, drops.len() + 1));
                    }
                    let entry = tables.entry(flow.table).or_default();
                    let flows = entry.entry("flow").or_insert_with(|| json!([]));
                    if let Some(flows) = flows.as_array_mut() {
                        flows.push(counted_flow(flow));
                    }
                }
            }
            MultipartReply::GroupDesc(found) => {
                for group in found {
                    let kind = match group.kind {
                        GroupType::All => "group-all",
                        GroupType::Select => "group-select",
                        GroupType::Indirect => "group-indirect",
                        GroupType::FastFailover => "group-ff",
                    };
                    groups.entry(group.group).or_default().insert("group-type".into(), json!(kind));
                }
            }
            MultipartReply::GroupStats(found) => {
                for group in found {
                    let entry = groups.entry(group.group).or_default();
                    let name = "opendaylight-group-statistics:group-statistics";
                    entry.insert(name.into(), counted_group(&group));
                }
            }
            MultipartReply::MeterStats(found) => meters.extend(found.iter().map(counted_meter)),
            MultipartReply::PortStats(found) => {
                connectors.extend(found.iter().map(|port| counted_port(dpid, port)));
            }
            _ => {}
        }
    }
    let tables = tables.into_iter().map(|(id, mut table)| {
        table.insert("id".into(), json!(id));
        Value::Object(table)
    });
    node.insert("flow-node-inventory:table".into(), tables.collect());
    let groups = groups.into_iter().map(|(id, mut group)| {
        group.insert("group-id".into(), json!(id));
        Value::Object(group)
    });
    node.insert("flow-node-inventory:group".into(), groups.collect());
    node.insert("flow-node-inventory:meter".into(), meters.into());
    node.insert("node-connector".into(), connectors.into());
    node.insert("coeus-statistics:drop".into(), drops.into());
    Value::Object(node)
}

/// 64-bit numbers are strings (RFC 7951 section 6.1).
fn text(number: u64) -> String {
    number.to_string()
}

fn duration(seconds: u32, nanoseconds: u32) -> Value {
    json!({ "second": seconds, "nanosecond": nanoseconds })
}

/// The flow as `ovs-ofctl` prints it.
fn line(flow: &FlowStats) -> String {
    let mut line = FlowMod::add(flow.table, flow.priority, flow.match_.clone());
    line.cookie = flow.cookie;
    line.flags = flow.flags & SEND_FLOW_REMOVED;
    line.instructions = flow.instructions.clone();
    line.to_string()
}

fn counted_flow(flow: FlowStats) -> Value {
    let line = line(&flow);
    // The same for the same table, priority and match, in every run.
    let key = Flow::new(
        flow.table,
        flow.priority,
        flow.cookie,
        flow.match_,
        flow.instructions,
        OwnerName::nobody(),
    )
    .key_hash();
    json!({
        "id": format!("{}.{}.{key:016x}", flow.table, flow.priority),
        "table_id": flow.table,
        "priority": flow.priority,
        "cookie": text(flow.cookie),
        "idle-timeout": flow.idle_timeout,
        "hard-timeout": flow.hard_timeout,
        "coeus-statistics:line": line,
        "opendaylight-flow-statistics:flow-statistics": {
            "packet-count": text(flow.packets),
            "byte-count": text(flow.bytes),
            "duration": duration(flow.duration_sec, flow.duration_nsec),
        },
    })
}

fn dropped(flow: &FlowStats, number: usize) -> Value {
    json!({
        "number": number,
        "table": flow.table,
        "table-name": row(flow.table).map_or("", |row| row.name),
        "miss": flow.priority == 0,
        "line": line(flow),
        "packet-count": text(flow.packets),
        "byte-count": text(flow.bytes),
    })
}

fn counted_group(group: &GroupStats) -> Value {
    let bucket = |(number, count): (usize, &openflow_rs::stats::Count)| {
        json!({
            "bucket-id": number,
            "packet-count": text(count.packets),
            "byte-count": text(count.bytes),
        })
    };
    json!({
        "group-id": group.group,
        "ref-count": group.references,
        "packet-count": text(group.count.packets),
        "byte-count": text(group.count.bytes),
        "duration": duration(group.seconds, group.nanoseconds),
        "buckets": { "bucket-counter": group.buckets.iter().enumerate().map(bucket).collect::<Vec<_>>() },
    })
}

fn counted_meter(meter: &MeterStats) -> Value {
    let band = |(number, count): (usize, &openflow_rs::stats::Count)| {
        json!({
            "band-id": number,
            "packet-band-count": text(count.packets),
            "byte-band-count": text(count.bytes),
        })
    };
    json!({
        "meter-id": meter.meter,
        "opendaylight-meter-statistics:meter-statistics": {
            "meter-id": meter.meter,
            "flow-count": meter.flows,
            "packet-in-count": text(meter.count.packets),
            "byte-in-count": text(meter.count.bytes),
            "duration": duration(meter.seconds, meter.nanoseconds),
            "meter-band-stats": { "band-stat": meter.bands.iter().enumerate().map(band).collect::<Vec<_>>() },
        },
    })
}

/// What a port does not count is all ones (OpenFlow 1.3, section A.3.5.6), and not shown.
fn counted_port(dpid: Dpid, port: &PortStats) -> Value {
    let number = if port.port == ports::LOCAL { "LOCAL".to_owned() } else { port.port.to_string() };
    let mut counters = Map::new();
    let mut put = |name: &str, value: u64| {
        if value != u64::MAX {
            counters.insert(name.into(), json!(text(value)));
        }
    };
    put("receive-drops", port.rx_dropped);
    put("transmit-drops", port.tx_dropped);
    put("receive-errors", port.rx_errors);
    put("transmit-errors", port.tx_errors);
    put("receive-frame-error", port.rx_frame_errors);
    put("receive-over-run-error", port.rx_over_errors);
    put("receive-crc-error", port.rx_crc_errors);
    put("collision-count", port.collisions);
    let both = |received: u64, transmitted: u64| json!({ "received": text(received), "transmitted": text(transmitted) });
    counters.insert("packets".into(), both(port.rx_packets, port.tx_packets));
    counters.insert("bytes".into(), both(port.rx_bytes, port.tx_bytes));
    counters.insert("duration".into(), duration(port.seconds, port.nanoseconds));
    json!({
        "id": format!("{}:{number}", dpid.node_id()),
        "opendaylight-port-statistics:flow-capable-node-connector-statistics": counters,
    })
}
