//! Limits of interfaces: a meter for each direction, which is of one switch but numbered for all.

use super::apply::Model;
use super::asks::Rate;
use super::claims::Claim;
use super::ids::{Allocator, Pool};
use super::interface::{Interface, InterfaceId};
use super::status::Reason;
use super::wanted::Wanted;
use crate::schema::Text;

/// From this burst on none is meant. Source: kubelet and container runtimes write the largest number of 31 or 32 bits.
const NO_BURST: u64 = i32::MAX as u64;
/// Kilobits that may come at once at least: twice the largest packet that a kernel hands over (64 KiB).
const LEAST_BURST: u32 = 1049;
/// Bits that may come at once at least where nobody says how many: with less a slow TCP does not come near its rate (decision 0085).
const LEAST_USUAL: u64 = 2_000_000;

/// The limits of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Limits {
    /// What the pod sends.
    pub from_pod: Option<Limit>,
    /// What it receives.
    pub to_pod: Option<Limit>,
}

/// A limit in the units of a meter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    pub meter: u32,
    /// Kilobits a second.
    pub rate: u32,
    /// Kilobits at once.
    pub burst: u32,
}

impl Limit {
    fn new(meter: u32, rate: Rate) -> Limit {
        let kilobits = |bits: u64| u32::try_from(bits.div_ceil(1000)).unwrap_or(u32::MAX);
        let usual = rate.bits.max(LEAST_USUAL);
        let burst = rate.burst.filter(|burst| (1..NO_BURST).contains(burst)).unwrap_or(usual);
        Limit { meter, rate: kilobits(rate.bits), burst: kilobits(burst).max(LEAST_BURST) }
    }
}

/// Key of the meter of one direction.
fn meter_key(name: &str, is_from: bool) -> Text {
    format!("{} {name}", if is_from { "from" } else { "to" }).into()
}

/// The meters that an interface holds, by their keys.
fn meters_of(interface: &Interface) -> impl Iterator<Item = Text> {
    let limits = interface.identity.as_ref().zip(interface.limits.as_deref());
    limits.into_iter().flat_map(|(identity, limits)| {
        let both = [(limits.from_pod, true), (limits.to_pod, false)];
        both.into_iter().filter(|(limit, _)| limit.is_some()).map(|(_, from)| meter_key(&identity.name, from))
    })
}

impl Model {
    /// Gives an interface of that name the meters that it needs.
    pub(super) fn draft_limits(
        &mut self,
        interface: &mut Interface,
        name: &Text,
        wanted: &Wanted,
        allocator: &mut dyn Allocator,
    ) {
        let Some(asks) = &wanted.asks else { return };
        let mut limit = |rate: Option<Rate>, is_from| {
            let rate = rate?;
            let meter = self.ids.acquire(allocator, Pool::Meters, &meter_key(name, is_from));
            if meter.is_none() {
                interface.pending.push(Reason::PoolExhausted("meters"));
            }
            Some(Limit::new(meter?, rate))
        };
        let from_pod = limit(asks.bandwidth.egress, true);
        let limits = Limits { from_pod, to_pod: limit(asks.bandwidth.ingress, false) };
        interface.limits = (limits != Limits::default()).then(|| Box::new(limits));
    }

    /// An interface has other meters now.
    pub(super) fn leave_limits(&mut self, before: Option<&Interface>, after: &Interface) {
        for key in before.into_iter().flat_map(meters_of) {
            if !meters_of(after).any(|kept| kept == key) {
                self.ids.leave(Pool::Meters, &key);
            }
        }
    }

    /// The interface that has the name in the key of a meter.
    pub(super) fn limited_by(&self, key: &str) -> Option<&InterfaceId> {
        let (_, name) = key.split_once(' ')?;
        self.claims.owner(&Claim::Name(name.into()))
    }

    /// Whether an interface has, or waits for, the meter of this key.
    pub(super) fn needs_meter(&self, key: &str) -> bool {
        let bandwidth = self.limited_by(key).and_then(|id| self.wanted(id)?.asks).map(|asks| asks.bandwidth);
        let of =
            |rate: fn(&super::asks::Bandwidth) -> Option<Rate>| bandwidth.as_ref().and_then(rate).is_some();
        if key.starts_with("from ") { of(|both| both.egress) } else { of(|both| both.ingress) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_bursts_are_those_of_meters() {
        let of = |bits, burst| {
            let limit = Limit::new(1, Rate { bits, burst });
            (limit.rate, limit.burst)
        };
        assert_eq!(of(10_000_000, Some(4_000_000)), (10_000, 4_000));
        assert_eq!(of(1, Some(1)), (1, LEAST_BURST), "never none, and never less than a packet");
        assert_eq!(of(100_000_000, None), (100_000, 100_000));
        assert_eq!(of(1_000_000, None), (1_000, 2_000));
        for none in [0, 0x7fff_ffff, 0xffff_ffff, u64::MAX] {
            assert_eq!(of(100_000_000, Some(none)), (100_000, 100_000), "{none}");
        }
        assert_eq!(of(u64::MAX, None), (u32::MAX, u32::MAX));
    }
}
