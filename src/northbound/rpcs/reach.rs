//! Who reaches whom: a matrix of packets, each as policies mean it and as the flows treat it that switches should hold.

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

use openflow_rs::Field;
use serde_json::{Value, json};

use super::Asked;
use super::trace::{Next, arriving, on_engine, refused};
use crate::datastore::Handle;
use crate::net::{Dpid, OfPort};
use crate::northbound::restconf::{Problem, Problems};
use crate::pipeline::evaluate::{Cause, Outcome, Packet, Tables, evaluate};
use crate::pipeline::row;
use crate::renderers::{Engine, Exit, Protocol, Start, TraceQuery};

/// Packets that one request may ask about.
const CELLS: usize = 20_000;
/// Switches that one packet is followed through.
const HOPS: usize = 16;

pub async fn reachability(asked: Asked) -> Result<Value, Problems> {
    let (probes, queries) = queries(&asked)?;
    let named: Vec<(String, String)> =
        queries.iter().map(|query| (query.from.clone(), query.to.clone())).collect();
    let datastore = &asked.call.datastore;
    let starts = on_engine(datastore, move |engine| engine.judged(&queries)).await?.map_err(refused)?;
    let mut survey = Survey { datastore, switches: BTreeMap::new(), behind: BTreeMap::new() };
    let (mut cells, mut disagree) = (Vec::new(), 0);
    for (number, ((from, to), (start, allowed))) in named.iter().zip(&starts).enumerate() {
        let ends = survey.follow(start).await?;
        disagree += usize::from(ends.arrives != *allowed);
        let mut cell = json!({
            "number": number + 1,
            "from": from,
            "to": to,
            "probe": probes[number % probes.len()],
            "policy": if *allowed { "allowed" } else { "denied" },
            "flows": if ends.arrives { "delivered" } else { "dropped" },
        });
        if let Some((dpid, table, cause)) = ends.dropped {
            let name = row(table).map_or("", |row| row.name);
            cell["reason"] = json!(format!("dropped by switch {dpid} in table {table} ({name}): {cause}"));
        }
        cells.push(cell);
    }
    Ok(json!({ "cells": cells.len(), "disagree": disagree, "cell": cells }))
}

/// The probes, and a query for each two that are not the same and each probe.
fn queries(asked: &Asked) -> Result<(Vec<String>, Vec<TraceQuery>), Problems> {
    let texts = |name: &str| -> Vec<String> {
        let all = asked.input.get(name).and_then(Value::as_array).into_iter().flatten();
        all.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let (from, mut to, mut probes) = (texts("from"), texts("to"), texts("probe"));
    if to.is_empty() {
        to.clone_from(&from);
    }
    if probes.is_empty() {
        probes.push("icmp".into());
    }
    let read = probes.iter().map(|text| probe(text)).collect::<Result<Vec<_>, _>>()?;
    if from.len() * to.len() * read.len() > CELLS {
        let message = format!(
            "{} times {} times {} packets are more than {CELLS}; ask for a part of them",
            from.len(),
            to.len(),
            read.len()
        );
        return Err(Problem::new("invalid-value", message).into());
    }
    let mut queries = Vec::new();
    for one in &from {
        for other in to.iter().filter(|other| *other != one) {
            queries.extend(read.iter().map(|(protocol, port, by_v6)| TraceQuery {
                from: one.clone(),
                to: other.clone(),
                protocol: *protocol,
                port: *port,
                by_v6: *by_v6,
            }));
        }
    }
    Ok((probes, queries))
}

/// `tcp/80`, or `icmp`, and whether it is by IPv6, as `tcp6/80` is. The model sees to the protocol's name.
fn probe(text: &str) -> Result<(Protocol, u16, bool), Problems> {
    let Some((protocol, port)) = text.split_once('/') else {
        return Ok((Protocol::Icmp, 0, text.ends_with('6')));
    };
    let port = port.parse().map_err(|_| {
        Problem::new(
            "invalid-value",
            format!("probe {text}: there is no port {port}; choose one up to 65535"),
        )
    })?;
    let (name, by_v6) = protocol.strip_suffix('6').map_or((protocol, false), |name| (name, true));
    let protocol = match name {
        "tcp" => Protocol::Tcp,
        "udp" => Protocol::Udp,
        _ => Protocol::Sctp,
    };
    Ok((protocol, port, by_v6))
}

/// What became of one packet.
#[derive(Default)]
struct Ends {
    arrives: bool,
    dropped: Option<(Dpid, u8, Cause)>,
}

/// What is known of switches so far, each asked for once.
struct Survey<'a> {
    datastore: &'a Handle,
    switches: BTreeMap<Dpid, (Tables, Option<Ipv4Addr>)>,
    behind: BTreeMap<(Dpid, u32, u128), Next>,
}

impl Survey<'_> {
    async fn follow(&mut self, start: &Start) -> Result<Ends, Problems> {
        let mut ends = Ends::default();
        let mut coming = VecDeque::from([(start.dpid, start.packet.clone())]);
        for _ in 0..HOPS {
            let Some((dpid, packet)) = coming.pop_front() else { break };
            if !self.switches.contains_key(&dpid) {
                let held = move |engine: &Engine| (engine.held_by(dpid), engine.tunnel_address(dpid));
                let ((flows, groups), address) = on_engine(self.datastore, held).await?;
                self.switches.insert(dpid, (Tables::new(flows, groups), address));
            }
            let Some((tables, address)) = self.switches.get(&dpid) else { break };
            let (address, outcomes) = (*address, evaluate(packet, tables).outcomes);
            for outcome in outcomes {
                match outcome {
                    Outcome::Output { port, packet } => {
                        let wanted = start.to.as_ref().map(|(_, exit)| *exit);
                        ends.arrives |= wanted == Some(Exit::of(dpid, OfPort(port), &packet));
                        if let Next::Switch(to, port) = self.behind(dpid, port, &packet).await? {
                            coming.push_back((*to, arriving(&packet, address, *port)));
                        }
                    }
                    Outcome::Drop { table, cause } => ends.dropped = Some((dpid, table, cause)),
                    Outcome::Punt { .. } => {}
                }
            }
        }
        if ends.arrives {
            ends.dropped = None;
        }
        Ok(ends)
    }

    async fn behind(&mut self, dpid: Dpid, port: u32, packet: &Packet) -> Result<&Next, Problems> {
        let key = (dpid, port, packet.get(Field::TunDst));
        if !self.behind.contains_key(&key) {
            let packet = packet.clone();
            let next = on_engine(self.datastore, move |engine| Next::of(engine, dpid, OfPort(port), &packet));
            self.behind.insert(key, next.await?);
        }
        Ok(self.behind.get(&key).unwrap_or(&Next::No))
    }
}
