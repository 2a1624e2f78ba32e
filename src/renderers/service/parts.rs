//! The groups of a port: one, or for many endpoints a group of groups, so that an endpoint more or less is a small message.
//!
//! ```text
//! few    group: a bucket an endpoint
//! many   group: a bucket a part, by its size ─► part's group: a bucket an endpoint
//! ```
//! Open vSwitch chooses in a group of few by a hash that the datapath makes once a packet. A second group that looked at
//! the same one would always take the same bucket, so most endpoints would have nothing. It makes another one where 64 values cannot tell the buckets'
//! weights (ovs-ofctl(8), `selection_method`). So one bucket of a part is two, of 99 and of 1 in a hundred.

use std::net::IpAddr;

use xxhash_rust::xxh3::xxh3_64;

use super::flows;
use crate::pipeline::{Action, Group, GroupDraft, actions, service_groups};

/// Endpoints that one group is for; as many as Open vSwitch makes no hash of its own for.
const FEW: usize = 64;
/// About so many endpoints a part has, while there are no more parts than those.
const A_PART: usize = 48;
const PARTS: usize = 16;
/// A part counts as this share of all at least, so that a hash of 64 values can tell parts apart.
const LEAST: usize = 48;
/// A bucket's weight.
const WEIGHT: u16 = 100;

/// An endpoint, and what its bucket does.
pub(super) type Bucket = ((IpAddr, u16), Vec<Action>);

/// The groups of these buckets: those of parts, and the one that chooses among them, which is `id`, last.
pub(super) fn groups(id: u32, buckets: Vec<Bucket>) -> (Vec<GroupDraft>, GroupDraft) {
    let total = buckets.len();
    if total <= FEW {
        let all = buckets.into_iter().map(|(_, actions)| actions);
        return (Vec::new(), Group::select(id).buckets(all));
    }
    let count = (total / A_PART).next_power_of_two().clamp(2, PARTS);
    let mut parts: Vec<Vec<Vec<Action>>> = vec![Vec::new(); count];
    for (endpoint, actions) in buckets {
        parts[part_of(&endpoint, count)].push(actions);
    }
    let mut whole = Group::select(id);
    let mut below = Vec::with_capacity(count);
    for (number, part) in parts.into_iter().enumerate().filter(|(_, part)| !part.is_empty()) {
        let part_id = service_groups::part(id, number as u32);
        let weight = part.len().max(total.div_ceil(LEAST));
        whole = whole.weighed(weight as u16, [actions::group(part_id)]);
        let mut group = Group::select(part_id);
        for (number, actions) in part.into_iter().enumerate() {
            group = if number == 0 {
                group.weighed(WEIGHT - 1, actions.clone()).weighed(1, actions)
            } else {
                group.weighed(WEIGHT, actions)
            };
        }
        below.push(group);
    }
    (below, whole)
}

/// The part of an endpoint, whatever others there are.
fn part_of(endpoint: &(IpAddr, u16), count: usize) -> usize {
    (xxh3_64(flows::endpoint_text(endpoint).as_bytes()) >> 32) as usize % count
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::pipeline::{Owner, owners};

    fn of(numbers: std::ops::Range<u32>) -> BTreeMap<u32, Group> {
        let bucket = |number: u32| {
            let address = IpAddr::from((0x0a00_0000 + number).to_be_bytes());
            ((address, 80), vec![actions::choose_endpoint(number)])
        };
        let (parts, whole) = groups(0x2000_0002, numbers.map(bucket).collect());
        let owner = Owner::<owners::Service>::new("s");
        let all = parts.into_iter().chain([whole]).map(|draft| draft.owned_by(&owner));
        all.map(|group| (group.id, group)).collect()
    }

    /// Each endpoint has its share, whatever part it is in.
    #[test]
    fn every_endpoint_has_its_weight() {
        for count in [1, 64, 65, 500, 1000, 8000] {
            let groups = of(0..count);
            let whole = groups[&0x2000_0002].description();
            let mut seen = BTreeMap::<u64, f64>::new();
            let total: u32 = whole.buckets.iter().map(|bucket| u32::from(bucket.weight)).sum();
            let mut take = |share: f64, actions: &[Action]| {
                let [Action::Load { value, .. }] = actions else { panic!("{actions:?}") };
                *seen.entry(*value).or_default() += share;
            };
            for bucket in &whole.buckets {
                let share = f64::from(bucket.weight) / f64::from(total);
                match bucket.actions.as_slice() {
                    [Action::Group(id)] => {
                        let part = groups[id].description();
                        assert_eq!(part.buckets[1].weight, 1, "another hash than the first");
                        let all: u32 = part.buckets.iter().map(|bucket| u32::from(bucket.weight)).sum();
                        for bucket in &part.buckets {
                            take(share * f64::from(bucket.weight) / f64::from(all), &bucket.actions);
                        }
                        assert!(groups[id].buckets.len() < 60_000, "it fits into a message");
                    }
                    actions => take(share, actions),
                }
            }
            assert_eq!(seen.len(), count as usize);
            let fair = 1.0 / f64::from(count);
            assert!(seen.values().all(|share| (share / fair - 1.0).abs() < 0.01), "{count}");
        }
    }

    /// One endpoint less is two small groups, of which the larger is its part.
    #[test]
    fn an_endpoint_less_is_a_small_message() {
        let (before, after) = (of(0..1000), of(1..1000));
        let changed: Vec<&Group> = before
            .iter()
            .filter(|(id, group)| after.get(id) != Some(group))
            .map(|(_, group)| group)
            .collect();
        assert_eq!(changed.len(), 2);
        let bytes: usize = changed.iter().map(|group| group.buckets.len()).sum();
        let whole: usize = before.values().map(|group| group.buckets.len()).sum();
        assert!(bytes * 10 < whole, "{bytes} of {whole}");
    }
}
