//! What is said to a switch and what it answers: reading back, bundles, single messages with a barrier.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use openflow_rs::{
    BundleControl, BundleFlags, FlowStats, Message, MultipartReply, MultipartRequest, error_name,
};
use tokio::time::timeout;
use tracing::{debug, warn};

use super::actor::locked;
use super::diff::{Actual, Glance, Item, Sum, each_of_ours};
use super::mandate::{displaced, is_slave};
use super::report::Failure;
use super::send;
use super::task::{End, Task};
use crate::southbound::openflow::Incoming;

/// Messages of one bundle; much larger ones stall the switch.
const BUNDLE: usize = 9_000;
/// Bytes handed to the session at once.
const CHUNK: usize = 48 << 10;
/// Longest wait for an answer of the switch.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

impl Task {
    /// What the switch holds.
    pub(super) async fn read_back(&mut self) -> Result<Actual, End> {
        let mut actual = Actual::default();
        self.read(&mut actual, Actual::add_flows).await?;
        Ok(actual)
    }

    /// The same, and of its flows no more than it takes to tell whether they are right: there may be a hundred thousand.
    pub(super) async fn glance(&mut self) -> Result<Glance, End> {
        let (mut rest, mut flows) = (Actual::default(), Sum::default());
        let add = |rest: &mut Actual, reported| {
            rest.foreign_flows += each_of_ours(reported, |flow| flows.add(&flow));
        };
        self.read(&mut rest, add).await?;
        Ok(Glance { flows, rest })
    }

    async fn read(
        &mut self,
        actual: &mut Actual,
        mut add_flows: impl FnMut(&mut Actual, Vec<FlowStats>),
    ) -> Result<(), End> {
        for request in
            [MultipartRequest::all_flows(), MultipartRequest::GroupDesc, MultipartRequest::MeterConfig]
        {
            let xid = self.session.xids(1);
            let mut bytes = BytesMut::new();
            Message::MultipartRequest(request).encode(xid, &mut bytes);
            self.session.send(bytes.freeze()).await?;
            loop {
                match self.reply("a multipart request").await? {
                    (answered, Message::MultipartReply { more, body }) if answered == xid => {
                        match body {
                            MultipartReply::Flow(flows) => add_flows(actual, flows),
                            MultipartReply::GroupDesc(groups) => actual.add_groups(groups),
                            MultipartReply::MeterConfig(meters) => actual.add_meters(meters),
                            _ => {}
                        }
                        if !more {
                            break;
                        }
                    }
                    (answered, Message::Error(error)) if answered == xid => {
                        warn!(switch = %self.slot.dpid, error = error_name(error.kind, error.code), "cannot be read back");
                        break;
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Sends items in order and waits until the switch has confirmed or refused each.
    pub(super) async fn deliver(&mut self, items: Vec<Item>) -> Result<(), End> {
        if items.is_empty() {
            return Ok(());
        }
        debug!(switch = %self.slot.dpid, messages = items.len(), "programming");
        let bundled = items.iter().position(|item| !item.is_meter()).unwrap_or(items.len());
        let end = items.iter().rposition(|item| !item.is_meter()).map_or(bundled, |last| last + 1);
        let mut out = BytesMut::with_capacity(CHUNK + 4096);
        // What needs the meters follows them at once: the switch takes up one message after the other, and answers so.
        let mut before = Some(self.send_each(&items[..bundled], &mut out).await?);
        let (mut waiting, mut left) = (None, Vec::new());
        for part in items[bundled..end].chunks(BUNDLE) {
            let sent = self.send_bundle(part, &mut out).await?;
            self.push(&mut out, 0).await?;
            if let Some(first) = before.take() {
                self.settle_each(&items[..bundled], first).await?;
            }
            if let Some((earlier, sent)) = waiting.replace((part, sent)) {
                left.extend(self.settle_bundle(earlier, sent).await?);
            }
        }
        if let Some((last, sent)) = waiting {
            left.extend(self.settle_bundle(last, sent).await?);
        }
        // One by one, only what is wrong stays out.
        self.one_by_one(&left).await?;
        if let Some(first) = before {
            self.push(&mut out, 0).await?;
            self.settle_each(&items[..bundled], first).await?;
        }
        self.one_by_one(&items[end..]).await
    }

    /// Sends one atomic bundle, but for the last bytes. Returns its first transaction id.
    async fn send_bundle(&mut self, items: &[Item], out: &mut BytesMut) -> Result<u32, End> {
        self.bundle = self.bundle.wrapping_add(1);
        let bundle = self.bundle;
        let first = self.session.xids(items.len() as u32 + 2);
        let commit = first + items.len() as u32 + 1;
        let control = |control| Message::BundleControl { bundle, control, flags: BundleFlags::BOTH };
        control(BundleControl::OpenRequest).encode(first, out);
        for (number, item) in items.iter().enumerate() {
            send::encode_bundled(item, bundle, first + 1 + number as u32, out);
            self.push(out, CHUNK).await?;
        }
        control(BundleControl::CommitRequest).encode(commit, out);
        Ok(first)
    }

    /// Waits for the end of a bundle. Returns what did not get in: all, if the switch refused the commit; or what it would not even
    /// take into the bundle, since Open vSwitch commits the rest then.
    async fn settle_bundle(&mut self, items: &[Item], first: u32) -> Result<Vec<Item>, End> {
        let commit = first + items.len() as u32 + 1;
        let mut refused = BTreeMap::new();
        let committed = loop {
            match self.reply("a bundle").await? {
                (xid, Message::BundleControl { control: BundleControl::CommitReply, .. })
                    if xid == commit =>
                {
                    break true;
                }
                (xid, Message::Error(error)) if (first..=commit).contains(&xid) => {
                    if is_slave(&error) {
                        return Err(displaced());
                    }
                    refused.insert(xid, error_name(error.kind, error.code));
                    if xid == commit {
                        break false;
                    }
                }
                _ => {}
            }
        };
        self.count(items, true);
        if let Some(error) = refused.values().next() {
            warn!(switch = %self.slot.dpid, error, messages = items.len(), committed, "a bundle was refused; sending what is missing one by one");
        }
        let mut left = Vec::new();
        for (xid, item) in (first + 1..).zip(items) {
            if committed && !refused.contains_key(&xid) {
                self.hold(item);
            } else {
                left.push(item.clone());
            }
        }
        Ok(left)
    }

    /// Single messages and a barrier; each may be refused by itself.
    async fn one_by_one(&mut self, items: &[Item]) -> Result<(), End> {
        let mut out = BytesMut::new();
        let first = self.send_each(items, &mut out).await?;
        self.push(&mut out, 0).await?;
        self.settle_each(items, first).await
    }

    /// Sends single messages and a barrier, but for the last bytes. Returns the first transaction id.
    async fn send_each(&mut self, items: &[Item], out: &mut BytesMut) -> Result<u32, End> {
        if items.is_empty() {
            return Ok(0);
        }
        let first = self.session.xids(items.len() as u32 + 1);
        for (number, item) in items.iter().enumerate() {
            send::encode(item, first + number as u32, out);
            self.push(out, CHUNK).await?;
        }
        Message::BarrierRequest.encode(first + items.len() as u32, out);
        Ok(first)
    }

    /// Waits for the barrier behind single messages.
    async fn settle_each(&mut self, items: &[Item], first: u32) -> Result<(), End> {
        if items.is_empty() {
            return Ok(());
        }
        let barrier = first + items.len() as u32;
        let mut refused = BTreeMap::new();
        loop {
            match self.reply("a barrier").await? {
                (xid, Message::BarrierReply) if xid == barrier => break,
                (xid, Message::Error(error)) if (first..barrier).contains(&xid) => {
                    if is_slave(&error) {
                        return Err(displaced());
                    }
                    refused.insert((xid - first) as usize, error_name(error.kind, error.code));
                }
                _ => {}
            }
        }
        self.count(items, false);
        locked(&self.slot.status).barriers += 1;
        for (number, item) in items.iter().enumerate() {
            match refused.remove(&number) {
                None => self.hold(item),
                Some(message) => {
                    let (owner, subject) = item.describe();
                    let key = owner.map(|owner| owner.key().to_owned()).unwrap_or_default();
                    let owner = owner.map_or_else(|| "nobody any more".to_owned(), ToString::to_string);
                    warn!(switch = %self.slot.dpid, owner, subject, message, "refused by the switch");
                    self.failed.insert(item.id(), Failure { owner, key, subject, message });
                }
            }
        }
        Ok(())
    }

    /// Hands over what is encoded, if it is more than `least` bytes. Answers are taken meanwhile: a switch that cannot get rid of
    /// them stops reading.
    pub(super) async fn push(&mut self, bytes: &mut BytesMut, least: usize) -> Result<(), End> {
        if bytes.len() <= least {
            return Ok(());
        }
        let full = Bytes::from(std::mem::replace(bytes, BytesMut::with_capacity(CHUNK + 4096)));
        loop {
            tokio::select! {
                biased;
                sent = self.session.send(full.clone()) => return Ok(sent?),
                answer = self.replies.recv() => match answer {
                    Some(answer) => self.early.push_back(answer),
                    None => return Err(End::Closed("the session ended".into())),
                },
            }
        }
    }

    /// The next message that answers something.
    pub(super) async fn reply(&mut self, to: &'static str) -> Result<(u32, Message), End> {
        let next = async {
            match self.early.pop_front() {
                Some(early) => Some(early),
                None => self.replies.recv().await,
            }
        };
        match timeout(PATIENCE, next).await {
            Err(_) => Err(End::Silent(to)),
            Ok(Some(Incoming::Message { xid, message })) => Ok((xid, message)),
            Ok(Some(Incoming::Closed { reason })) => Err(End::Closed(reason)),
            Ok(None) => Err(End::Closed("the session ended".into())),
        }
    }

    /// Remembers what the switch has confirmed.
    fn hold(&mut self, item: &Item) {
        self.failed.remove(&item.id());
        match item {
            Item::GroupPut { group, .. } => drop(self.groups.insert(group.id)),
            Item::GroupGone(id) => drop(self.groups.remove(id)),
            Item::MeterPut { meter, .. } => drop(self.meters.insert(meter.id)),
            Item::MeterGone(id) => drop(self.meters.remove(id)),
            Item::FlowPut(_) | Item::FlowGone(_) => {}
        }
    }

    fn count(&self, items: &[Item], bundle: bool) {
        let mut status = locked(&self.slot.status);
        status.bundles += u64::from(bundle);
        for item in items {
            match item {
                Item::FlowPut(_) | Item::FlowGone(_) => status.flow_mods += 1,
                Item::GroupPut { .. } | Item::GroupGone(_) => status.group_mods += 1,
                Item::MeterPut { .. } | Item::MeterGone(_) => status.meter_mods += 1,
            }
        }
    }
}
