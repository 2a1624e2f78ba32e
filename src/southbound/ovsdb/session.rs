//! One switch's database: monitor it, set the bridge up, keep the operational datastore true.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tracing::{debug, info, warn};

use super::{Facts, Names, Settings, plan};
use crate::datastore::{Handle, Transaction};
use crate::ovsdb::{Cache, FrameError, Framer, Incoming, MessageError, monitor, reply, request, transact};

const DATABASE: &str = "Open_vSwitch";
const TABLES: &[(&str, &[&str])] = &[
    ("Open_vSwitch", &["bridges", "other_config", "external_ids", "ovs_version"]),
    ("Bridge", &["name", "ports", "fail_mode", "protocols", "datapath_id", "controller"]),
    ("Port", &["name", "interfaces"]),
    ("Interface", &["name", "type", "ofport", "external_ids", "options"]),
    ("Controller", &["target", "external_ids"]),
];
const MONITOR: u64 = 1;
/// A transaction of ours that was not answered after this is planned again.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub enum End {
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("{0}")]
    Frame(#[from] FrameError),
    #[error("{0}")]
    Message(#[from] MessageError),
    #[error("the switch closed the connection")]
    Closed,
    #[error("no answer to an echo request")]
    Silent,
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
    let session = Session {
        stream,
        peer,
        controller,
        settings,
        names,
        datastore,
        cache: Cache::default(),
        shown: None,
        next: MONITOR + 1,
        asked: None,
    };
    match session.serve().await {
        Ok(never) => match never {},
        Err(end) => end,
    }
}

struct Session<'a, S> {
    stream: S,
    peer: &'a str,
    controller: &'a str,
    settings: &'a Settings,
    names: &'a Names,
    datastore: &'a Handle,
    cache: Cache,
    /// What the datastore holds of this switch, once it is known.
    shown: Option<Facts>,
    next: u64,
    /// Our transaction that is on its way: its id and when it left.
    asked: Option<(u64, Instant)>,
}

enum Never {}

impl<S: AsyncRead + AsyncWrite + Unpin> Session<'_, S> {
    async fn serve(mut self) -> Result<Never, End> {
        self.stream.write_all(&monitor(MONITOR, DATABASE, TABLES)).await?;
        let mut framer = Framer::default();
        let mut buffer = vec![0; 64 << 10];
        let mut heard = Instant::now();
        loop {
            match tokio::time::timeout(self.settings.probe, self.stream.read(&mut buffer)).await {
                Ok(Ok(0)) => return Err(End::Closed),
                Ok(Ok(count)) => {
                    heard = Instant::now();
                    framer.push(&buffer[..count]);
                }
                Ok(Err(error)) => return Err(error.into()),
                Err(_) if heard.elapsed() > self.settings.probe * 3 => return Err(End::Silent),
                Err(_) => self.stream.write_all(&request(0, "echo", json!([]))).await?,
            }
            let mut changed = false;
            while let Some(message) = framer.next_message()? {
                changed |= self.take(Incoming::parse(&message)?).await?;
            }
            if changed {
                self.show().await;
                self.set_up().await?;
            }
        }
    }

    /// True: the rows changed.
    async fn take(&mut self, message: Incoming) -> Result<bool, End> {
        match message {
            Incoming::Request { id, method, params } if method == "echo" => {
                self.stream.write_all(&reply(&id, &params)).await?;
                Ok(false)
            }
            Incoming::Notification { method, params } if method == "update" => {
                self.cache.update(params.get(1).unwrap_or(&Value::Null));
                Ok(true)
            }
            Incoming::Response { id, result, error } if id == json!(MONITOR) => {
                if !error.is_null() {
                    return Err(End::Refused(error.to_string()));
                }
                self.cache.update(&result);
                Ok(true)
            }
            Incoming::Response { id, result, error } => {
                if self.asked.is_some_and(|(asked, _)| id == json!(asked)) {
                    self.asked = None;
                    let failed = |one: &&Value| one.get("error").is_some();
                    if let Some(reason) = result
                        .as_array()
                        .and_then(|all| all.iter().find(failed))
                        .or((!error.is_null()).then_some(&error))
                    {
                        warn!(peer = self.peer, %reason, "the bridge could not be set up");
                    }
                }
                Ok(false)
            }
            other => {
                debug!(?other, "not for us");
                Ok(false)
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
        self.stream.write_all(&transact(id, DATABASE, &operations)).await?;
        Ok(())
    }

    /// Brings the operational datastore up to date.
    async fn show(&mut self) {
        let facts = self.names.facts(&self.cache, &self.settings.bridge, self.peer);
        let shown = match self.shown.take() {
            Some(shown) => shown,
            None => {
                let Some((root, _)) = self.cache.rows("Open_vSwitch").next() else { return };
                self.names.stored(&self.datastore.snapshot(), root, &self.settings.bridge)
            }
        };
        let edits = self.names.edits(&shown, &facts);
        if edits.is_empty() {
            self.shown = Some(facts);
            return;
        }
        debug!(peer = self.peer, edits = edits.len(), "facts");
        match self.datastore.commit(Transaction::new("ovsdb", edits)).await {
            Ok(_) => self.shown = Some(facts),
            // Nothing was written; the next update compares with the store again.
            Err(error) => warn!(peer = self.peer, %error, "facts could not be recorded"),
        }
    }
}
