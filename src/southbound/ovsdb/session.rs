//! One switch's database: monitor it, set the bridge up, keep the operational datastore true.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tracing::{debug, info, warn};

use super::track::Shown;
use super::{Names, Settings, TABLES, plan};
use crate::datastore::{Handle, Transaction};
use crate::ovsdb::{
    Cache, Changes, FrameError, Framer, Incoming, MessageError, Monitor, UpdateError, notified, refusal,
    reply, request, transact,
};

const DATABASE: &str = "Open_vSwitch";
const MONITOR: u64 = 1;
/// A transaction of ours that was not answered after this is planned again.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause before something that was refused, here or there, is tried again.
const PAUSE: Duration = Duration::from_secs(5);

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
}

/// Runs a session to its end.
pub async fn run<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    peer: &str,
    controller: &str,
    settings: &Settings,
    names: &Names,
    datastore: &Handle,
) -> End {
    info!(peer, "ovsdb session");
    let mut session = Session {
        stream,
        peer,
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
    };
    let end = match session.serve().await {
        Ok(never) => match never {},
        Err(end) => end,
    };
    session.tell(false).await;
    end
}

struct Session<'a, S> {
    stream: S,
    peer: &'a str,
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
        let mut heard = Instant::now();
        loop {
            let (mut changes, mut due) = (Changes::default(), false);
            match tokio::time::timeout(self.settings.probe, self.stream.read(&mut buffer)).await {
                Ok(Ok(0)) => return Err(End::Closed),
                Ok(Ok(count)) => {
                    heard = Instant::now();
                    framer.push(&buffer[..count]);
                }
                Ok(Err(error)) => return Err(error.into()),
                Err(_) if heard.elapsed() > self.settings.probe * 3 => return Err(End::Silent),
                Err(_) => {
                    self.send(&request(0, "echo", json!([]))).await?;
                    due = self.asked.is_some_and(|(_, since)| since.elapsed() >= PATIENCE);
                    self.tell(true).await;
                }
            }
            while let Some(message) = framer.next_message()? {
                match self.take(Incoming::parse(&message)?).await? {
                    News::Nothing => {}
                    News::Due => due = true,
                    News::Changed(more) => changes.extend(more),
                }
            }
            due |= self.retry.take_if(|at| *at <= Instant::now()).is_some();
            if due || !changes.is_empty() {
                self.show(&changes).await;
                self.set_up().await?;
            }
        }
    }

    /// Sends a message, unless the peer has stopped reading.
    async fn send(&mut self, bytes: &[u8]) -> Result<(), End> {
        match tokio::time::timeout(self.settings.probe * 3, self.stream.write_all(bytes)).await {
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
                    return Ok(News::Changed(self.monitor.answer(&mut self.cache, &result)?));
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

    /// Writes what is not right yet into the switch's database.
    async fn set_up(&mut self) -> Result<(), End> {
        if self.asked.is_some_and(|(_, since)| since.elapsed() < PATIENCE) {
            return Ok(()); // its update will come first
        }
        let operations = plan(&self.cache, self.settings, self.controller);
        if operations.is_empty() {
            return Ok(());
        }
        info!(peer = self.peer, operations = operations.len(), "setting the bridge up");
        let id = self.next;
        self.next += 1;
        self.asked = Some((id, Instant::now()));
        self.send(&transact(id, DATABASE, &operations)).await
    }

    /// Brings the operational datastore up to date.
    async fn show(&mut self, changes: &Changes) {
        let (names, bridge) = (self.names, &self.settings.bridge);
        let (shown, edits) = match self.shown.take() {
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
        if edits.is_empty() {
            self.shown = Some(shown);
            self.tell(true).await;
            return;
        }
        debug!(peer = self.peer, edits = edits.len(), "facts");
        match self.datastore.commit(Transaction::new("ovsdb", edits)).await {
            Ok(_) => self.shown = Some(shown),
            // Nothing was written; the next attempt compares with the store again.
            Err(error) => {
                warn!(peer = self.peer, %error, "facts could not be recorded");
                self.again();
            }
        }
        self.tell(true).await;
    }

    /// Shows whether this switch's database is connected. Told again when another session of the same switch ended later.
    async fn tell(&self, connected: bool) {
        let bridge =
            self.cache.rows("Bridge").find(|(_, row)| row.text("name") == Some(&self.settings.bridge));
        let Some(dpid) = bridge.and_then(|(_, row)| row.text("datapath_id")) else { return };
        let Some(edit) = self.names.connected(&self.datastore.snapshot(), dpid, connected) else { return };
        if let Err(error) = self.datastore.commit(Transaction::passing("ovsdb", vec![edit])).await {
            debug!(peer = self.peer, %error, "the connection could not be shown");
        }
    }
}
