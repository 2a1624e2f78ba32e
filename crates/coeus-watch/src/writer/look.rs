//! Looks how far the pods are, and has the cluster told.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use tracing::debug;

use super::{Datastore, Trouble, Writer};
use crate::report::{self, Known, Say, State};
use crate::value::member;
use crate::{List, Object, Place, allocate, amend};

/// Between two looks: after something was written, and the longest while something is awaited; and while nothing is.
const PAUSES: (Duration, Duration, Duration) =
    (Duration::from_millis(300), Duration::from_secs(15), Duration::from_secs(30));

/// When it looks next.
#[derive(Default)]
pub(super) struct Looks {
    pub(super) at: Option<Instant>,
    pause: Duration,
}

impl Looks {
    /// Something was written, and will come to be soon.
    pub(super) fn soon(&mut self) {
        self.pause = PAUSES.0;
        let soon = Instant::now() + self.pause;
        self.at = Some(self.at.map_or(soon, |at| at.min(soon)));
    }

    /// Nothing can be told now; it looks as soon as something can.
    pub(super) fn rest(&mut self) {
        self.at = None;
    }

    fn next(&mut self, now: Instant, is_awaited: bool) {
        self.pause = if is_awaited { (self.pause * 3 / 2).clamp(PAUSES.0, PAUSES.1) } else { PAUSES.2 };
        self.at = Some(now + self.pause);
    }
}

impl<D: Datastore> Writer<D> {
    pub(super) fn look_if_due(&mut self) {
        let now = Instant::now();
        if self.tell.is_none() || self.looks.at.is_some_and(|at| now < at) {
            return;
        }
        let is_awaited = self.look(now, Timestamp::now()).unwrap_or_else(|trouble| {
            debug!(%trouble, "it is not known how far the pods are");
            true
        });
        self.looks.next(now, is_awaited);
    }

    /// Has said what is to be said now. Answers whether more is to come.
    pub(super) fn look(&mut self, now: Instant, clock: Timestamp) -> Result<bool, Trouble> {
        let objects = self.datastore.state("coeus-status:objects")?;
        let known = report::known(&objects, &self.datastore.state("coeus-status:switches")?);
        let waiting = match self.cluster.entries().keys().any(|place| place.list == List::Services) {
            true => report::waiting(&self.datastore.state("coeus-service:service-states")?),
            false => BTreeMap::new(),
        };
        let mtu = if self.given.gives { self.datastore.state("coeus-tunnel:underlay")? } else { Value::Null };
        let mtu = member(member(&mtu, "underlay").unwrap_or(&mtu), "pod-mtu").and_then(Value::as_u64);
        let (mut says, mut is_awaited) = self.to_say(&known, mtu, clock);
        says.extend(self.of_services(&waiting));
        let there: BTreeSet<_> = self.abouts().collect();
        let waits: BTreeSet<_> =
            says.iter().filter(|say| matches!(say, Say::Event(..))).map(|say| say.about().clone()).collect();
        self.desk.keep(|about| there.contains(&about.uid), |about| waits.contains(about));
        let Some(tell) = &mut self.tell else { return Ok(false) };
        for say in says {
            if !self.desk.admits(&say, now) {
                is_awaited |= self.desk.ripens(&say);
                continue;
            }
            is_awaited = true;
            if !tell(say.clone()) {
                break;
            }
            self.desk.note(&say, now);
        }
        Ok(is_awaited)
    }

    /// What is to be said of all, and whether something is awaited.
    fn to_say(
        &self,
        known: &BTreeMap<String, Known>,
        mtu: Option<u64>,
        clock: Timestamp,
    ) -> (Vec<Say>, bool) {
        let (mut says, mut is_awaited) = (Vec::new(), false);
        for place in self.cluster.entries().keys().filter(|place| place.list == List::Pods) {
            let Some(Object::Pod(pod)) = self.cluster.object_of(place) else { continue };
            let at = known.get(&place.key);
            let refused = self.refused.get(place).map(|reason| State::Refused(reason.clone()));
            let lacking = || self.given.lacking.get(place).map(|reason| State::Pending(reason.clone()));
            let state = refused.or_else(lacking).or_else(|| at.map(|known| known.state.clone()));
            is_awaited |= state != Some(State::Programmed);
            if let Some(state) = state {
                let given =
                    at.filter(|_| self.given.gives).and_then(|at| self.annotation(pod, place, at, mtu));
                says.extend(report::plan(pod, &state, given.as_ref(), clock));
            }
        }
        for (place, reason) in self.refused.iter().filter(|(place, _)| place.list != List::Pods) {
            let about = self.cluster.object_of(place).and_then(report::about);
            says.extend(about.map(|about| Say::Event(about, "NetworkRefused", report::note(reason))));
        }
        (says, is_awaited)
    }

    /// Why services wait, of which the datastore took all that the cluster says.
    fn of_services(&self, waiting: &BTreeMap<String, String>) -> Vec<Say> {
        let places = self.cluster.entries().keys().filter(|place| place.list == List::Services);
        let waits = places.filter_map(|place| {
            let reason = waiting.get(&place.key).filter(|_| !self.refused.contains_key(place))?;
            let about = self.cluster.object_of(place).and_then(report::about)?;
            Some(Say::Event(about, "ServiceWaiting", report::note(reason)))
        });
        waits.collect()
    }

    /// What a pod was given, as its node reads it; `None`: it was not yet.
    fn annotation(&self, pod: &Pod, place: &Place, known: &Known, mtu: Option<u64>) -> Option<Value> {
        let entry = self.held.as_ref()?.get(place)?;
        let addresses = amend::addresses(place, entry);
        let first = *addresses.first()?;
        let ranges = self.ranges(pod);
        let with_length = addresses.iter().map(|address| {
            let range = ranges.iter().find(|range| range.contains(*address));
            let length = range.map_or(if address.is_ipv4() { 32 } else { 128 }, |range| range.length);
            format!("{address}/{length}")
        });
        let network = pod.metadata.namespace.as_deref().unwrap_or_default();
        let mtu = allocate::mtu_of_pools(&self.given.pools, network, first).or(mtu);
        let mut fields = json!({"port-id": place.key, "addresses": with_length.collect::<Vec<_>>()});
        let mac = member(entry, "port-mac-address").cloned();
        for (name, value) in [
            ("mac-address", mac),
            ("gateway", known.gateway.clone().map(Value::from)),
            ("mtu", mtu.map(Value::from)),
        ] {
            if let Some(value) = value {
                fields[name] = value;
            }
        }
        Some(fields)
    }

    /// Uids of all objects that something may be said of.
    fn abouts(&self) -> impl Iterator<Item = String> {
        let spoken_of = [List::Pods, List::Services];
        let places = self.cluster.entries().keys().filter(move |place| spoken_of.contains(&place.list));
        let objects = places.chain(self.refused.keys()).filter_map(|place| self.cluster.object_of(place));
        objects.filter_map(|object| object.meta().uid.clone())
    }
}
