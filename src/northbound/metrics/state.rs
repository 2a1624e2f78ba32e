//! What the datastore knows of switches, objects and leases, as numbers.

use std::collections::BTreeMap;
use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::datastore::{Handle, Snapshot, Store};
use crate::schema::{DataPath, Fields, Node, SchemaId, lexical};

/// Reads the newest snapshot when it is asked.
pub struct State {
    datastore: Handle,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("State")
    }
}

/// Leafs of `coeus-status:switches/switch` that only grow: name of the metric, leaf, help.
const COUNTERS: [(&str, &str, &str); 6] = [
    ("coeus_switch_flow_mods", "flow-mods", "Flow-mods sent to a switch"),
    ("coeus_switch_group_mods", "group-mods", "Group-mods sent to a switch"),
    ("coeus_switch_meter_mods", "meter-mods", "Meter-mods sent to a switch"),
    ("coeus_switch_bundles", "bundles", "Bundles committed on a switch"),
    ("coeus_switch_barriers", "barriers", "Barriers that a switch has answered"),
    ("coeus_switch_connects", "connects", "OpenFlow sessions of a switch since the controller started"),
];

/// The same of what goes up and down.
const GAUGES: [(&str, &str, &str); 5] = [
    ("coeus_switch_flows_desired", "desired-flows", "Flows that a switch should hold"),
    ("coeus_switch_groups_desired", "desired-groups", "Groups that a switch should hold"),
    ("coeus_switch_meters_desired", "desired-meters", "Meters that a switch should hold"),
    ("coeus_switch_flows_foreign", "foreign-flows", "Flows of others found on a switch"),
    (
        "coeus_switch_programmed_revision",
        "programmed-revision",
        "Revision up to which a switch has confirmed everything",
    ),
];

impl State {
    pub fn new(datastore: Handle) -> State {
        State { datastore }
    }
}

impl Collector for State {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let snapshot = self.datastore.snapshot();
        let mut page = Page { encoder: &mut encoder, snapshot: &snapshot };
        page.plain("coeus_datastore_revision", "Newest revision", snapshot.revision.0)?;
        page.switches()?;
        page.objects()?;
        page.next_hops()?;
        page.dhcp()
    }
}

struct Page<'a, 'b> {
    encoder: &'a mut DescriptorEncoder<'b>,
    snapshot: &'a Snapshot,
}

impl Page<'_, '_> {
    fn plain(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let gauge = ConstGauge::new(value as i64);
        let metric = self.encoder.encode_descriptor(name, help, None, gauge.metric_type())?;
        gauge.encode(metric)
    }

    fn counters(&mut self, name: &str, help: &str, label: &str, values: &[(String, u64)]) -> fmt::Result {
        let mut metric =
            self.encoder.encode_descriptor(name, help, None, ConstCounter::new(0_u64).metric_type())?;
        for (of, value) in values {
            ConstCounter::new(*value).encode(metric.encode_family(&[(label, of.as_str())])?)?;
        }
        Ok(())
    }

    fn gauges(&mut self, name: &str, help: &str, label: &str, values: &[(String, u64)]) -> fmt::Result {
        let mut metric =
            self.encoder.encode_descriptor(name, help, None, ConstGauge::new(0_i64).metric_type())?;
        for (of, value) in values {
            ConstGauge::new(*value as i64).encode(metric.encode_family(&[(label, of.as_str())])?)?;
        }
        Ok(())
    }

    fn id(&self, path: &str) -> SchemaId {
        self.snapshot.schema.resolve(path)
    }

    fn container(&self, path: &str) -> Option<Fields> {
        match self.snapshot.read(Store::Operational, &DataPath::root().child(self.id(path)))? {
            Node::Container(fields) => Some(fields),
            _ => None,
        }
    }

    fn switches(&mut self) -> fmt::Result {
        const SWITCH: &str = "/coeus-status:switches/switch";
        let switches = self.container("/coeus-status:switches").unwrap_or_default();
        let list = switches.list(self.id(SWITCH));
        let leaf = |page: &Self, name: &str| page.id(&format!("{SWITCH}/{name}"));
        let dpid = leaf(self, "dpid");
        let values = |of: &dyn Fn(&Fields) -> Option<u64>| -> Vec<(String, u64)> {
            let entries = list.into_iter().flat_map(|list| list.iter());
            entries.filter_map(|(_, entry)| Some((entry.text(dpid)?.to_owned(), of(entry)?))).collect()
        };
        let number = |id: SchemaId| move |entry: &Fields| entry.leaf(id)?.as_uint();
        let connected = leaf(self, "connected");
        let up = values(&|entry| Some(u64::from(entry.leaf(connected)?.as_bool()?)));
        self.gauges("coeus_switch_connected", "Whether a switch's OpenFlow session is up", "dpid", &up)?;
        for (name, from, help) in COUNTERS {
            let id = leaf(self, from);
            self.counters(name, help, "dpid", &values(&number(id)))?;
        }
        let (drift, mended) = (leaf(self, "drift"), leaf(self, "drift/mended"));
        let drifted = values(&|entry| entry.container(drift)?.leaf(mended)?.as_uint());
        let help =
            "Flows, groups and meters that somebody else had changed on a switch and that were put right";
        self.counters("coeus_switch_drift_mended", help, "dpid", &drifted)?;
        for (name, from, help) in GAUGES {
            let id = leaf(self, from);
            self.gauges(name, help, "dpid", &values(&number(id)))?;
        }
        let (error, flows) = (leaf(self, "error"), leaf(self, "desired-flows"));
        let refused = |entry: &Fields| entry.list(error).map_or(0, |list| list.len()) as u64;
        let all = values(&|entry| Some(refused(entry)));
        self.gauges("coeus_switch_refused", "Flows, groups and meters that a switch refuses", "dpid", &all)?;
        let held = values(&|entry| Some(entry.leaf(flows)?.as_uint()?.saturating_sub(refused(entry))));
        self.gauges("coeus_switch_flows_programmed", "Flows that a switch has confirmed", "dpid", &held)
    }

    /// Pods and the like by how far they are.
    fn objects(&mut self) -> fmt::Result {
        const OBJECT: &str = "/coeus-status:objects/object";
        let objects = self.container("/coeus-status:objects").unwrap_or_default();
        let state = self.id(&format!("{OBJECT}/state"));
        let counted = self.count(&objects, OBJECT, state);
        self.gauges(
            "coeus_objects",
            "Objects of the network by state; pending ones wait for something",
            "state",
            &counted,
        )
    }

    /// Next hops that share a route by whether they answer.
    fn next_hops(&mut self) -> fmt::Result {
        const NEXT_HOP: &str = "/coeus-next-hop:next-hops/next-hop";
        let all = self.container("/coeus-next-hop:next-hops").unwrap_or_default();
        let state = self.id(&format!("{NEXT_HOP}/state"));
        // Of both kinds, so that an alert need not tell none from no answer.
        let mut counted: BTreeMap<String, u64> =
            ["answering", "silent"].map(|state| (state.to_owned(), 0)).into();
        counted.extend(self.count(&all, NEXT_HOP, state));
        let counted: Vec<(String, u64)> = counted.into_iter().collect();
        self.gauges(
            "coeus_next_hops",
            "Next hops that share a route by whether they answer",
            "state",
            &counted,
        )
    }

    fn dhcp(&mut self) -> fmt::Result {
        let counters = self.container("/coeus-dhcp:counters").unwrap_or_default();
        let schema = self.snapshot.schema;
        let all = self.id("/coeus-dhcp:counters");
        let values: Vec<(String, u64)> = schema
            .node(all)
            .children
            .iter()
            .filter_map(|id| Some((schema.node(*id).name.to_string(), counters.leaf(*id)?.as_uint()?)))
            .collect();
        self.counters(
            "coeus_dhcp_messages",
            "DHCP messages, and what became of those without an answer",
            "type",
            &values,
        )?;
        const LEASE: &str = "/coeus-dhcp:leases/lease";
        let leases = self.container("/coeus-dhcp:leases").unwrap_or_default();
        let state = self.id(&format!("{LEASE}/state"));
        let mut counted = self.count(&leases, LEASE, state);
        let of_v6 =
            leases.list(self.id("/coeus-dhcp:leases/ipv6-lease")).map_or(0, |list| list.iter().count());
        if of_v6 > 0 {
            match counted.iter_mut().find(|(state, _)| state == "bound") {
                Some((_, number)) => *number += of_v6 as u64,
                None => counted.push(("bound".into(), of_v6 as u64)),
            }
        }
        self.gauges("coeus_dhcp_leases", "DHCP leases of both versions by state", "state", &counted)
    }

    /// Entries of a list by the value of one leaf.
    fn count(&self, parent: &Fields, list: &str, by: SchemaId) -> Vec<(String, u64)> {
        let schema = self.snapshot.schema;
        let mut counted: BTreeMap<String, u64> = BTreeMap::new();
        for (_, entry) in parent.list(self.id(list)).into_iter().flat_map(|list| list.iter()) {
            if let Some(value) = entry.leaf(by) {
                *counted.entry(lexical::value_text(schema, by, value)).or_default() += 1;
            }
        }
        counted.into_iter().collect()
    }
}
