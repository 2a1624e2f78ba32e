//! The numbers in the text format of OpenMetrics.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::registry::Registry;

use crate::net::Dpid;
use crate::renderers::DropClass;

/// What switches dropped.
#[derive(Debug)]
pub(super) struct Dropped {
    pub classes: Arc<[DropClass]>,
    /// Packets, in the order of the classes.
    pub found: BTreeMap<Dpid, Arc<[u64]>>,
}

impl Collector for Dropped {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let kind = ConstCounter::new(0_u64).metric_type();
        let help = "Packets of pods that a switch dropped because no pod may send them, by class";
        let mut metric = encoder.encode_descriptor("coeus_switch_dropped_packets", help, None, kind)?;
        for (dpid, counts) in &self.found {
            let dpid = dpid.to_string();
            for (class, packets) in self.classes.iter().zip(counts.iter()) {
                let labels = [("dpid", dpid.as_str()), ("class", class.name.as_str())];
                ConstCounter::new(*packets).encode(metric.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

/// A page of these alone.
pub(super) fn text(dropped: Dropped) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(dropped));
    let mut text = String::new();
    // Writing to a string does not fail.
    if encode(&mut text, &registry).is_err() {
        tracing::warn!("the numbers of what is dropped are not complete");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_has_a_number_a_class() {
        let class = |name: &str| DropClass { name: name.to_owned(), cookie: 1 };
        let classes = [class("router"), class("vlan")].into();
        let found = [(Dpid(1), [3, 0].into()), (Dpid(0xa), [0, u64::MAX].into())].into();
        let text = text(Dropped { classes, found });
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("# HELP")).collect();
        assert_eq!(
            lines,
            [
                "# TYPE coeus_switch_dropped_packets counter",
                r#"coeus_switch_dropped_packets_total{dpid="0000000000000001",class="router"} 3"#,
                r#"coeus_switch_dropped_packets_total{dpid="0000000000000001",class="vlan"} 0"#,
                r#"coeus_switch_dropped_packets_total{dpid="000000000000000a",class="router"} 0"#,
                r#"coeus_switch_dropped_packets_total{dpid="000000000000000a",class="vlan"} 18446744073709551615"#,
                "# EOF",
            ]
        );
    }
}
