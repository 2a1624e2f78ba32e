//! One switch's database: monitor it, set the bridge up, keep the operational datastore true.

use std::net::SocketAddr;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tracing::{debug, info, warn};

use super::facts::{Facts, Liveness};
use super::plan::{is_held_back, release, withdraw};
use super::presence::Guard;
use super::track::Shown;
use super::{Names, Settings, TABLES, plan};
use crate::datastore::{Handle, Transaction};
use crate::model::System;
use crate::net::Dpid;
use crate::ovsdb::{
    Cache, Changes, FrameError, Framer, Incoming, MessageError, Monitor, UpdateError, notified, refusal,
    reply, request, transact,
};
use crate::southbound::admission::{Identity, Protocol};

const DATABASE: &str = "Open_vSwitch";
const MONITOR: u64 = 1;
/// A transaction of ours that was not answered after this is planned again.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause before something that was refused, here or there, is tried again.
const PAUSE: Duration = Duration::from_secs(5);
/// So long a switch may be held back by `flow-restore-wait`: whoever set it puts its flows back in less.
const RESTORING: Duration = Duration::from_secs(30);
/// How far what is shown of a live session may be behind.
const SEEN: Duration = Duration::from_secs(60);

#[derive(Debug, thiserror::Error)]
pub enum End {
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("{0}")]
    Frame(#[from] FrameError),
    #[error("{0}")]
    Message(#[from] MessageError),
    #[error("{0}")]
    Update(#[from] UpdateError),
    #[error("the switch closed the connection")]
    Closed,
    #[error("no answer to an echo request")]
    Silent,
    #[error("the switch takes nothing that is sent to it")]
    Deaf,
    #[error("the monitor was refused: {0}")]
    Refused(String),
    #[error("{0}")]
    NotAdmitted(String),
}

/// Where a session comes from.
pub struct From<'a> {
    /// As it is shown.
    pub peer: &'a str,
    /// Of a switch that dialled in, or was dialled by TLS.
    pub address: Option<SocketAddr>,
    /// With TLS: whose it is.
    pub identity: Option<Identity>,
}

/// Runs a session to its end.
pub async fn run<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    from: From<'_>,
    controller: &str,
    settings: &Settings,
    names: &Names,
    datastore: &Handle,
) -> End {
    let From { peer, address, identity } = from;
    info!(peer, "ovsdb session");
    let mut session = Session {
        stream,
        peer,
        who: address.zip(identity),
        admitted: None,
        controller,
        settings,
        names,
        datastore,
        cache: Cache::new(TABLES),
        monitor: Monitor::Since,
        shown: None,
        next: MONITOR + 1,
        asked: None,
        retry: None,
        guard: None,
        held_back: None,
        identity: None,
        out: false,
        since: SystemTime::now(),
        heard: Instant::now(),
        told: None,
    };
    let end = match session.serve().await {
        Ok(never) => match never {},
        Err(end) => end,
    };
    if matches!(end, End::NotAdmitted(_)) {
        return end; // of the switch that it wants to be it has nothing to say
    }
    // A newer session of the same database has more to say.
    let live = |guard: Guard| {
        let uuid = guard.uuid.clone();
        drop(guard);
        settings.presence.is_live(&uuid)
    };
    if !session.guard.take().is_some_and(live) {
        session.tell(Some(&end)).await;
    }
    end
}

struct Session<'a, S> {
    stream: S,
    peer: &'a str,
    /// With TLS: from where, and whose.
    who: Option<(SocketAddr, Identity)>,
    /// The system that it was let be, and how many sessions had ended then: others are there no more.
    admitted: Option<(System, u64)>,
    controller: &'a str,
    settings: &'a Settings,
    names: &'a Names,
    datastore: &'a Handle,
    cache: Cache,
    monitor: Monitor,
    /// What the datastore holds of this switch, once it is known.
    shown: Option<Shown>,
    next: u64,
    /// Our transaction that is on its way: its id and when it left.
    asked: Option<(u64, Instant)>,
    /// When what was refused is tried again.
    retry: Option<Instant>,
    /// Tells the other sessions that this database is connected.
    guard: Option<Guard>,
    /// Since when the switch waits for its flows to be put back.
    held_back: Option<Instant>,
    /// Who the switch was when older selves of it were looked for, and how many sessions had ended then.
    identity: Option<(System, u64)>,
    /// The switch has left: it is neither set up nor shown.
    out: bool,
    since: SystemTime,
    heard: Instant,
    /// The datapath id under which this session is shown, and when it last was.
    told: Option<(String, Instant)>,
}

enum Never {}

/// What a message means for the work.
enum News {
    Nothing,
    /// There may be something to do although no row changed.
    Due,
    Changed(Changes),
}

impl<S: AsyncRead + AsyncWrite + Unpin> Session<'_, S> {
    async fn serve(&mut self) -> Result<Never, End> {
        self.send(&self.monitor.request(MONITOR, DATABASE, TABLES)).await?;
        let mut framer = Framer::default();
        let mut buffer = vec![0; 64 << 10];
        let mut others = self.settings.others.clone();
        loop {
            let (mut changes, mut due) = (Changes::default(), false);
            tokio::select! {
                read = tokio::time::timeout(self.settings.probe, self.stream.read(&mut buffer)) => match read {
                    Ok(Ok(0)) => return Err(End::Closed),
                    Ok(Ok(count)) => {
                        self.heard = Instant::now();
                        framer.push(&buffer[..count]);
                    }
                    Ok(Err(error)) => return Err(error.into()),
                    Err(_) if self.heard.elapsed() > self.settings.probe * 3 => return Err(End::Silent),
                    Err(_) => {
                        self.send(&request(0, "echo", json!([]))).await?;
                        due = self.asked.is_some_and(|(_, since)| since.elapsed() >= PATIENCE);
                    }
                },
                Ok(()) = others.changed() => due = true,
            }
            while let Some(message) = framer.next_message()? {
                match self.take(Incoming::parse(&message)?).await? {
                    News::Nothing => {}
                    News::Due => due = true,
                    News::Changed(more) => changes.extend(more),
                }
            }
            due |= self.retry.take_if(|at| *at <= Instant::now()).is_some();
            let system = self.names.system(&self.cache, &self.settings.bridge);
            self.admit(system.as_ref()).await?;
            let was_out = self.out;
            self.out = system.as_ref().is_some_and(|system| self.departed(system));
            if self.out {
                self.leave().await?;
                continue;
            }
            self.guard(system.as_ref());
            let ended = self.settings.presence.ended();
            due |= was_out || self.identity.as_ref().is_some_and(|(_, then)| *then != ended);
            if due || !changes.is_empty() {
                self.show(&changes, system).await;
                self.set_up().await?;
            }
            self.release().await?;
            self.tell(None).await;
        }
    }

    /// With TLS, a switch is only what is its own: its datapath, the one that was shown of its database before, and
    /// those of the earlier selves that it would replace.
    async fn admit(&mut self, system: Option<&System>) -> Result<(), End> {
        let (Some((peer, identity)), Some(system)) = (&self.who, system) else { return Ok(()) };
        let now = (system.clone(), self.settings.presence.ended());
        if self.admitted.as_ref() == Some(&now) {
            return Ok(());
        }
        let all = self.names.systems.all(&self.datastore.snapshot());
        let known = all.iter().filter(|known| {
            known.node_id == system.node_id
                || (known.is_same_node(system) && !self.settings.presence.is_live(&known.node_id))
        });
        for dpid in known.chain([system]).filter_map(|system| system.dpid) {
            let claim = self.settings.admission.claim(Protocol::Ovsdb, *peer, dpid, Some(identity));
            claim.await.map_err(End::NotAdmitted)?;
        }
        self.admitted = Some(now);
        Ok(())
    }

    /// The database has a name as soon as it was read.
    fn guard(&mut self, system: Option<&System>) {
        let Some(uuid) = system.and_then(|system| system.node_id.rsplit('/').next()) else { return };
        if self.guard.as_ref().is_none_or(|guard| guard.uuid != uuid) {
            self.guard = Some(self.settings.presence.enter(uuid));
        }
    }

    fn departed(&self, system: &System) -> bool {
        self.names.systems.is_departed(&self.datastore.snapshot(), &system.node_id)
    }

    /// Takes back what was set up, and what came to be shown while the switch left.
    async fn leave(&mut self) -> Result<(), End> {
        self.shown = None;
        self.identity = None;
        self.told = None;
        let Some((root, _)) = self.cache.rows("Open_vSwitch").next() else { return Ok(()) };
        let stored = self.names.stored(&self.datastore.snapshot(), root, &self.settings.bridge);
        let edits = self.names.edits(&stored, &Facts::new());
        if !edits.is_empty()
            && let Err(error) = self.datastore.commit(Transaction::new("ovsdb", edits)).await
        {
            warn!(peer = self.peer, %error, "what is shown of a switch that left could not be removed");
        }
        let operations = withdraw(&self.cache);
        self.transact(operations, "the switch has left: taking back what was set up").await
    }

    /// Switches that are this one under an earlier database: it is theirs no more.
    fn older(&self, system: &System) -> Vec<System> {
        let all = self.names.systems.all(&self.datastore.snapshot());
        all.into_iter()
            .filter(|old| old.node_id != system.node_id && old.is_same_node(system))
            .filter(|old| !self.settings.presence.is_live(&old.node_id))
            .collect()
    }

    /// Sends a message, unless the peer has stopped reading.
    async fn send(&mut self, bytes: &[u8]) -> Result<(), End> {
        let sending = async {
            self.stream.write_all(bytes).await?;
            self.stream.flush().await
        };
        match tokio::time::timeout(self.settings.probe * 3, sending).await {
            Ok(sent) => Ok(sent?),
            Err(_) => Err(End::Deaf),
        }
    }

    /// Tries again after a pause, with what is known then.
    fn again(&mut self) {
        self.retry.get_or_insert_with(|| Instant::now() + PAUSE);
    }

    async fn take(&mut self, message: Incoming) -> Result<News, End> {
        match message {
            Incoming::Request { id, method, params } if method == "echo" => {
                self.send(&reply(&id, &params)).await?;
                Ok(News::Nothing)
            }
            Incoming::Request { id, method, .. } => {
                debug!(peer = self.peer, method, "a request that nobody serves");
                self.send(&refusal(&id, "unknown method")).await?;
                Ok(News::Nothing)
            }
            Incoming::Notification { method, params } => {
                Ok(notified(&mut self.cache, &method, &params)?.map_or(News::Nothing, News::Changed))
            }
            Incoming::Response { id, result, error } if id == json!(MONITOR) => {
                if error.is_null() {
                    let mut changes = self.monitor.answer(&mut self.cache, &result)?;
                    changes.extend(self.remember_datapath()?);
                    return Ok(News::Changed(changes));
                }
                self.monitor = self.monitor.older().ok_or_else(|| End::Refused(error.to_string()))?;
                self.send(&self.monitor.request(MONITOR, DATABASE, TABLES)).await?;
                Ok(News::Nothing)
            }
            Incoming::Response { id, result, error } => {
                if self.asked.take_if(|(asked, _)| id == json!(*asked)).is_none() {
                    return Ok(News::Nothing);
                }
                let failed = |one: &&Value| one.get("error").is_some();
                let refused = result.as_array().and_then(|all| all.iter().find(failed));
                if let Some(reason) = refused.or((!error.is_null()).then_some(&error)) {
                    warn!(peer = self.peer, %reason, "the bridge could not be set up");
                    self.again();
                    return Ok(News::Nothing);
                }
                // Its update came first; there may be more to do.
                Ok(News::Due)
            }
        }
    }

    /// A bridge keeps the datapath id that it had. The database forgets it when its server is started again (the column is ephemeral), and
    /// vswitchd, which forwards all the time, connects to it and says it again seconds later.
    fn remember_datapath(&mut self) -> Result<Changes, End> {
        let root = self.cache.rows("Open_vSwitch").next().map(|(root, _)| root);
        let bridge = self.cache.named("Bridge", &self.settings.bridge);
        let (Some(root), Some((row, bridge))) = (root, bridge) else { return Ok(Changes::default()) };
        if bridge.text("datapath_id").is_some() {
            return Ok(Changes::default());
        }
        let known = self.names.datapath_of(&self.datastore.snapshot(), root, &self.settings.bridge, row);
        let Some(dpid) = known else { return Ok(Changes::default()) };
        debug!(peer = self.peer, dpid, "the database has forgotten the datapath id of its bridge");
        let update = json!({"Bridge": {row: {"modify": {"datapath_id": dpid}}}});
        Ok(self.cache.update2(&update)?)
    }

    /// Writes what is not right yet into the switch's database.
    async fn set_up(&mut self) -> Result<(), End> {
        let operations = plan(&self.cache, self.settings, self.controller);
        self.transact(operations, "setting the bridge up").await
    }

    /// A switch whose restart was not finished forwards nothing new and connects to nobody, for ever.
    async fn release(&mut self) -> Result<(), End> {
        if !is_held_back(&self.cache) {
            self.held_back = None;
            return Ok(());
        }
        if self.held_back.get_or_insert_with(Instant::now).elapsed() < RESTORING {
            return Ok(());
        }
        let operations = release(&self.cache);
        self.transact(operations, "flow-restore-wait was left behind and is taken away").await
    }

    async fn transact(&mut self, operations: Vec<Value>, what: &str) -> Result<(), End> {
        if self.asked.is_some_and(|(_, since)| since.elapsed() < PATIENCE) {
            return Ok(()); // its update will come first
        }
        if operations.is_empty() {
            return Ok(());
        }
        info!(peer = self.peer, operations = operations.len(), "{what}");
        let id = self.next;
        self.next += 1;
        self.asked = Some((id, Instant::now()));
        self.send(&transact(id, DATABASE, &operations)).await
    }

    /// Brings the operational datastore up to date. Facts of the same switch under an earlier database go in the same step.
    async fn show(&mut self, changes: &Changes, system: Option<System>) {
        let (names, bridge) = (self.names, &self.settings.bridge);
        let (shown, mut edits) = match self.shown.take() {
            Some(mut shown) => {
                let edits = shown.follow(names, &self.cache, changes, bridge, self.peer);
                (shown, edits)
            }
            None => {
                let snapshot = self.datastore.snapshot();
                let Some(first) = Shown::first(names, &self.cache, bridge, self.peer, &snapshot) else {
                    return;
                };
                first
            }
        };
        let identity = system.map(|system| (system, self.settings.presence.ended()));
        let mut older = Vec::new();
        if let Some((system, _)) = identity.as_ref().filter(|_| identity != self.identity) {
            older = self.older(system);
            edits.extend(older.iter().flat_map(|old| names.systems.forget(old)));
        }
        if edits.is_empty() {
            (self.shown, self.identity) = (Some(shown), identity);
            return;
        }
        debug!(peer = self.peer, edits = edits.len(), "facts");
        match self.datastore.commit(Transaction::new("ovsdb", edits)).await {
            Ok(_) => {
                self.forget_reports(&older, identity.as_ref().and_then(|(system, _)| system.dpid)).await;
                (self.shown, self.identity) = (Some(shown), identity);
            }
            // Nothing was written; the next attempt compares with the store again.
            Err(error) => {
                warn!(peer = self.peer, %error, "facts could not be recorded");
                self.again();
            }
        }
    }

    /// What was reported of earlier selves under other datapath ids goes, too.
    async fn forget_reports(&self, older: &[System], dpid: Option<Dpid>) {
        for old in older {
            info!(peer = self.peer, replaced = %old.node_id, "the switch has a new database");
        }
        let gone = older.iter().filter_map(|old| old.dpid).filter(|old| Some(*old) != dpid);
        let edits: Vec<_> = gone.map(|dpid| self.names.systems.forget_report(dpid)).collect();
        if !edits.is_empty()
            && let Err(error) = self.datastore.commit(Transaction::passing("ovsdb", edits)).await
        {
            debug!(peer = self.peer, %error, "reports of a replaced switch stay");
        }
    }

    /// Shows whether this switch's database is connected: when it comes, when it ends, and now and then between.
    async fn tell(&mut self, end: Option<&End>) {
        let bridge =
            self.cache.rows("Bridge").find(|(_, row)| row.text("name") == Some(&self.settings.bridge));
        let Some(dpid) = bridge.and_then(|(_, row)| row.text("datapath_id")) else { return };
        let fresh = |(told, at): &(String, Instant)| told == dpid && at.elapsed() < SEEN;
        if self.out || (end.is_none() && self.told.as_ref().is_some_and(fresh)) {
            return;
        }
        let now = SystemTime::now();
        let state = Liveness {
            connected: end.is_none(),
            peer: self.peer.to_owned(),
            since: if end.is_none() { self.since } else { now },
            seen: now.checked_sub(self.heard.elapsed()).unwrap_or(now),
            lost: end.map(|end| (now, end.to_string())),
        };
        let Some(edit) = self.names.session(dpid, &state) else { return };
        let dpid = dpid.to_owned();
        match self.datastore.commit(Transaction::passing("ovsdb", vec![edit])).await {
            Ok(_) => self.told = Some((dpid, Instant::now())),
            Err(error) => debug!(peer = self.peer, %error, "the connection could not be shown"),
        }
    }
}
