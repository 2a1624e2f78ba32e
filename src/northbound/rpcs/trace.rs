//! A packet on its way: one walk a switch, from the source's to those at the ends of the tunnels.

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::Arc;

use openflow_rs::{Field, Match};
use serde_json::{Map, Value, json};

use super::explain::no_network;
use super::{Asked, behind};
use crate::datastore::{Handle, Snapshot, Store};
use crate::net::{Dpid, OfPort};
use crate::northbound::restconf::{Problem, Problems};
use crate::pipeline::evaluate::{Cause, Outcome, Packet, Tables, Walk, What, evaluate};
use crate::pipeline::{Flow, row};
use crate::renderers::{Engine, Exit, Protocol, Start, TraceError, TraceQuery};
use crate::schema::{DataPath, Key, Value as YangValue};

/// Switches that one trace walks through: a flood in a large network reaches more.
const HOPS: usize = 16;
/// Objects that are shown behind a flow.
const OBJECTS: usize = 3;

pub async fn packet(asked: Asked) -> Result<Value, Problems> {
    let datastore = &asked.call.datastore;
    let query = query(&asked)?;
    let start = on_engine(datastore, move |engine| engine.trace_start(&query)).await?.map_err(refused)?;
    let mut trace = Trace { datastore, hops: Vec::new(), ends: Vec::new(), notes: start.notes.clone() };
    let mut coming = VecDeque::from([(start.dpid, start.packet.clone())]);
    while let Some((dpid, packet)) = coming.pop_front() {
        if trace.hops.len() == HOPS {
            trace
                .notes
                .push(format!("{} more switches get a copy; they are not walked through", coming.len() + 1));
            break;
        }
        coming.extend(trace.hop(dpid, packet).await?);
    }
    let (verdict, reason) = trace.verdict(&start);
    let mut out = json!({
        "verdict": verdict,
        "reason": reason,
        "from": *start.from,
        "note": trace.notes,
        "hop": trace.hops,
    });
    if let Some((to, ..)) = &start.to {
        out["to"] = json!(**to);
    }
    Ok(out)
}

fn query(asked: &Asked) -> Result<TraceQuery, Problems> {
    let protocol = match asked.text("protocol").unwrap_or("icmp") {
        "tcp" => Protocol::Tcp,
        "udp" => Protocol::Udp,
        "sctp" => Protocol::Sctp,
        "arp" => Protocol::Arp,
        "nd" => Protocol::Nd,
        "dhcp" => Protocol::Dhcp,
        _ => Protocol::Icmp,
    };
    let to = asked.text("to").unwrap_or_default().to_owned();
    if to.is_empty() && protocol != Protocol::Dhcp {
        let message = "say where to: a pod, or an IP address";
        return Err(Problem::new("missing-element", message).into());
    }
    Ok(TraceQuery {
        from: asked.text("from").unwrap_or_default().to_owned(),
        to,
        protocol,
        port: asked.number("port").and_then(|port| u16::try_from(port).ok()).unwrap_or(80),
        by_v6: false,
    })
}

pub(super) fn refused(error: TraceError) -> Problems {
    let problem = Problem::new("invalid-value", error.to_string());
    match error {
        TraceError::NoPod(_) => problem.with_status(axum::http::StatusCode::NOT_FOUND),
        _ => problem,
    }
    .into()
}

pub(super) async fn on_engine<T: Send + 'static>(
    datastore: &Handle,
    question: impl FnOnce(&Engine) -> T + Send + 'static,
) -> Result<T, Problems> {
    datastore.ask(question).await.ok_or_else(no_network)
}

/// Where a copy ended.
enum End {
    /// And the interface there, if it is one's.
    Port(Exit, Option<String>),
    Controller(Dpid),
    Dropped(Dpid, u8, Cause),
    /// In a tunnel, with nobody at its end.
    Lost(Dpid, Ipv4Addr),
}

struct Trace<'a> {
    datastore: &'a Handle,
    hops: Vec<Value>,
    ends: Vec<End>,
    notes: Vec<String>,
}

/// What the engine knows of the ends of one walk.
struct Ends {
    /// For each outcome of the walk: the interface at the port, or the switch at the end of the tunnel.
    names: Vec<Option<String>>,
    next: Vec<Next>,
    /// Paths behind each flow that was hit.
    behind: Vec<Vec<DataPath>>,
    address: Option<Ipv4Addr>,
}

/// What is behind a port.
pub(super) enum Next {
    /// No switch.
    No,
    /// One, at which the packet comes in here.
    Switch(Dpid, OfPort),
    /// A tunnel with nobody at this end.
    Nobody(Ipv4Addr),
}

impl Next {
    pub(super) fn of(engine: &Engine, dpid: Dpid, port: OfPort, packet: &Packet) -> Next {
        if !engine.is_tunnel(dpid, port) {
            return Next::No;
        }
        let address = Ipv4Addr::from(packet.get(Field::TunDst) as u32);
        match engine.tunnel_end(dpid, port, address.into()) {
            Some((to, port)) => Next::Switch(to, port),
            None => Next::Nobody(address),
        }
    }
}

/// A packet that left through a tunnel, as it comes in at the other end.
pub(super) fn arriving(packet: &Packet, from: Option<Ipv4Addr>, port: OfPort) -> Packet {
    packet
        .headers()
        .with(Field::InPort, port.0)
        .with(Field::TunnelId, packet.get(Field::TunnelId))
        .with(Field::TunSrc, from.map_or(0, Ipv4Addr::to_bits))
        .with(Field::TunDst, packet.get(Field::TunDst))
}

impl Trace<'_> {
    /// Walks through one switch; packets that go on to others.
    async fn hop(&mut self, dpid: Dpid, packet: Packet) -> Result<Vec<(Dpid, Packet)>, Problems> {
        let (flows, groups) = on_engine(self.datastore, move |engine| engine.held_by(dpid)).await?;
        let walk = Arc::new(evaluate(packet.clone(), &Tables::new(flows, groups)));
        let walked = walk.clone();
        let ends = on_engine(self.datastore, move |engine| ends(engine, dpid, &walked)).await?;
        let snapshot = self.datastore.snapshot();
        self.notes.extend(doubts(&snapshot, dpid));
        let mut going = Vec::new();
        for ((outcome, next), name) in walk.outcomes.iter().zip(&ends.next).zip(&ends.names) {
            match (outcome, next) {
                (Outcome::Output { packet, .. }, Next::Switch(to, port)) => {
                    going.push((*to, arriving(packet, ends.address, *port)));
                }
                (Outcome::Output { .. }, Next::Nobody(address)) => self.ends.push(End::Lost(dpid, *address)),
                (Outcome::Output { port, packet }, Next::No) => {
                    self.ends.push(End::Port(Exit::of(dpid, OfPort(*port), packet), name.clone()));
                }
                (Outcome::Punt { .. }, _) => self.ends.push(End::Controller(dpid)),
                (Outcome::Drop { table, cause }, _) => self.ends.push(End::Dropped(dpid, *table, *cause)),
            }
        }
        let steps = steps(&walk, &ends, self.datastore, &snapshot);
        let mut hop = json!({
            "number": self.hops.len() + 1,
            "dpid": dpid.to_string(),
            "packet": Match { fields: packet.fields() }.to_string(),
            "step": steps,
        });
        if let Some(address) = ends.address {
            hop["address"] = json!(address.to_string());
        }
        self.hops.push(hop);
        Ok(going)
    }

    fn verdict(&self, start: &Start) -> (&'static str, String) {
        let at =
            |wanted: Exit| self.ends.iter().any(|end| matches!(end, End::Port(exit, _) if *exit == wanted));
        if let Some((name, exit)) = &start.to
            && at(*exit)
        {
            let vlan = exit.vlan.map_or_else(String::new, |vlan| format!("VLAN {vlan} of "));
            let Exit { port, dpid, .. } = exit;
            return ("delivered", format!("it reaches {name}, {vlan}port {port} of switch {dpid}"));
        }
        let came = OfPort(start.packet.get(Field::InPort) as u32);
        if at(Exit::of(start.dpid, came, &start.packet)) {
            return ("answered", format!("switch {} answers it itself, back to {}", start.dpid, start.from));
        }
        if let Some(End::Controller(dpid)) = self.ends.iter().find(|end| matches!(end, End::Controller(_))) {
            return ("punted", format!("switch {dpid} hands it to the controller"));
        }
        let ports: Vec<_> = self
            .ends
            .iter()
            .filter_map(|end| if let End::Port(exit, name) = end { Some((exit, name)) } else { None })
            .collect();
        // Of an address that is no interface's own (a node's, a service's, one behind a route, one outside) the way is the target.
        if let ([(Exit { dpid, port, .. }, name)], None, true) = (&ports[..], &start.to, start.is_routed) {
            let who = name.as_ref().map_or_else(|| "leaves by".to_owned(), |name| format!("reaches {name},"));
            return ("delivered", format!("it {who} port {port} of switch {dpid}"));
        }
        if !ports.is_empty() {
            let of = start.to.as_ref().map_or(String::new(), |(to, ..)| format!(", but not {to}"));
            let many = if ports.len() == 1 { "a copy reaches 1 port" } else { "copies reach" };
            let count = if ports.len() == 1 { String::new() } else { format!(" {} ports", ports.len()) };
            return ("flooded", format!("{many}{count}{of}"));
        }
        let reason = self.ends.iter().rev().find_map(|end| match end {
            End::Dropped(dpid, table, cause) => {
                let name = row(*table).map_or("", |row| row.name);
                Some(format!("dropped by switch {dpid} in table {table} ({name}): {cause}"))
            }
            End::Lost(dpid, address) => Some(format!(
                "switch {dpid} sends it through the tunnel to {address}, where no switch is known"
            )),
            _ => None,
        });
        ("dropped", reason.unwrap_or_else(|| "nothing is done with it".into()))
    }
}

fn ends(engine: &Engine, dpid: Dpid, walk: &Walk) -> Ends {
    let mut found = Ends {
        names: Vec::new(),
        next: Vec::new(),
        behind: Vec::new(),
        address: engine.tunnel_address(dpid),
    };
    for outcome in &walk.outcomes {
        let (mut name, mut next) = (None, Next::No);
        if let Outcome::Output { port, packet } = outcome {
            let port = OfPort(*port);
            next = Next::of(engine, dpid, port, packet);
            name = match &next {
                Next::Switch(to, _) => Some(format!("switch {to}")),
                Next::Nobody(_) => None,
                Next::No => engine.interface_at(Exit::of(dpid, port, packet)).map(|name| name.to_string()),
            };
        }
        found.names.push(name);
        found.next.push(next);
    }
    for (_, flow) in walk.hits() {
        found.behind.push(flow.map(|flow| engine.paths_behind(dpid, &flow.owner)).unwrap_or_default());
    }
    found
}

/// Why a switch may not do what it should.
fn doubts(snapshot: &Snapshot, dpid: Dpid) -> Vec<String> {
    let schema = snapshot.schema;
    const SWITCH: &str = "/coeus-status:switches/switch";
    let at = DataPath::root()
        .child(schema.resolve("/coeus-status:switches"))
        .entry(schema.resolve(SWITCH), Key::text(dpid.to_string()));
    let read = |leaf: &str| {
        snapshot.read(Store::Operational, &at.clone().child(schema.resolve(&format!("{SWITCH}/{leaf}"))))
    };
    let connected = read("connected").and_then(|node| node.as_leaf().and_then(YangValue::as_bool));
    let mut doubts = Vec::new();
    if connected != Some(true) {
        doubts.push(format!("switch {dpid} is not connected: this is what it should hold, not what it does"));
    }
    if read("error").is_some() {
        doubts.push(format!("switch {dpid} refused some flows or groups; coeus doctor lists them"));
    }
    doubts
}

fn steps(walk: &Walk, ends: &Ends, datastore: &Handle, snapshot: &Snapshot) -> Vec<Value> {
    let mut lookups = 0;
    let mut before: Option<&Packet> = None;
    let mut steps = Vec::new();
    for step in &walk.steps {
        let mut out = Map::new();
        let mut put = |name: &str, value: Value| drop(out.insert(name.into(), value));
        put("number", json!(steps.len() + 1));
        put("depth", json!(step.depth));
        match &step.what {
            What::Lookup { table, flow, packet } => {
                put("kind", json!("table"));
                put("table", json!(table));
                if let Some(row) = row(*table) {
                    put("name", json!(row.name));
                    put("purpose", json!(row.purpose));
                }
                let changed = before.map(|before| packet.changes(before)).unwrap_or_default();
                if !changed.is_empty() {
                    put("changed", json!(Match { fields: changed }.to_string()));
                }
                before = Some(packet);
                match flow {
                    Some(flow) => of_flow(flow, &ends.behind[lookups], datastore, snapshot, &mut put),
                    None => put("text", json!("no flow matches")),
                }
                lookups += 1;
            }
            What::Action(action) => {
                put("kind", json!("action"));
                put("text", json!(action.to_string()));
            }
            What::Group { id, kind, buckets } => {
                put("kind", json!("group"));
                let kind = format!("{kind:?}").to_lowercase();
                put("text", json!(format!("group {id}, {kind} of {buckets} buckets")));
            }
            What::Bucket { number } => {
                put("kind", json!("bucket"));
                put("text", json!(format!("bucket {number}")));
            }
            What::Note(note) => {
                put("kind", json!("note"));
                put("text", json!(note));
            }
            What::Outcome(at) => of_outcome(&walk.outcomes[*at], ends.names[*at].as_deref(), &mut put),
        }
        steps.push(Value::Object(out));
    }
    steps
}

fn of_flow(
    flow: &Flow,
    paths: &[DataPath],
    datastore: &Handle,
    snapshot: &Snapshot,
    put: &mut impl FnMut(&str, Value),
) {
    put("text", json!(flow.to_string()));
    put("cookie", json!(format!("{:#x}", flow.cookie)));
    put("feature", json!(flow.owner.feature()));
    put("key", json!(flow.owner.key()));
    // The miss of a table is nobody's configuration.
    if flow.priority > 0 {
        let shown = &paths[..paths.len().min(OBJECTS)];
        put("objects", json!(paths.len()));
        put("object", json!(behind::objects(snapshot.schema, datastore.history(), shown)));
    }
}

fn of_outcome(outcome: &Outcome, name: Option<&str>, put: &mut impl FnMut(&str, Value)) {
    match outcome {
        Outcome::Output { port, packet } => {
            put("kind", json!("output"));
            put("port", json!(port));
            let tunnel = packet.get(Field::TunDst);
            let text = match name {
                Some(name) if tunnel != 0 && name.starts_with("switch ") => {
                    let address = Ipv4Addr::from(tunnel as u32);
                    format!("through the tunnel to {name} at {address}, VNI {}", packet.get(Field::TunnelId))
                }
                Some(name) => format!("leaves by port {port}: {name}"),
                None => format!("leaves by port {port}"),
            };
            put("text", json!(text));
            if let Some(name) = name {
                put("port-name", json!(name));
            }
        }
        Outcome::Punt { max_len, userdata, meter, .. } => {
            put("kind", json!("punt"));
            let what = String::from_utf8_lossy(userdata);
            let meter = meter.map_or_else(|| "no meter".into(), |meter| format!("meter {meter}"));
            put("text", json!(format!("to the controller ({what}), at most {max_len} bytes, {meter}")));
        }
        Outcome::Drop { table, cause } => {
            put("kind", json!("drop"));
            put("table", json!(table));
            put("text", json!(format!("dropped: {cause}")));
        }
    }
}
