//! How long switches take.

use std::time::Duration;

use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

/// Numbers of all programmers. Cheap to clone, all clones count together.
#[derive(Clone, Debug)]
pub struct Timings {
    programming: Histogram,
}

impl Default for Timings {
    fn default() -> Timings {
        // From 0.2 ms to 52 s, each four times the one before.
        Timings { programming: Histogram::new(exponential_buckets(2e-4, 4.0, 10)) }
    }
}

impl Timings {
    /// Shows them under their names.
    pub fn register(&self, registry: &mut Registry) {
        registry.register_with_unit(
            "coeus_switch_programming_duration",
            "Time from a durable commit until a connected switch has confirmed all that it changed there; of commits that went to a \
             switch together, the oldest",
            Unit::Seconds,
            self.programming.clone(),
        );
    }

    /// A switch has confirmed what came this long ago.
    pub(super) fn confirmed(&self, took: Duration) {
        self.programming.observe(took.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;

    use super::*;

    #[test]
    fn seconds_are_counted_under_a_name_of_the_convention() {
        let (timings, mut registry, mut text) = (Timings::default(), Registry::default(), String::new());
        timings.register(&mut registry);
        timings.clone().confirmed(Duration::from_millis(3));
        timings.confirmed(Duration::from_secs(2));
        encode(&mut text, &registry).unwrap();
        for line in [
            "# TYPE coeus_switch_programming_duration_seconds histogram",
            "# UNIT coeus_switch_programming_duration_seconds seconds",
            "coeus_switch_programming_duration_seconds_sum 2.003",
            "coeus_switch_programming_duration_seconds_count 2",
            r#"coeus_switch_programming_duration_seconds_bucket{le="0.0032"} 1"#,
        ] {
            assert!(text.lines().any(|said| said == line), "{line} is not in\n{text}");
        }
    }
}
