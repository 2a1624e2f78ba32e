//! Requests to etcd from plain threads.
//!
//! The client is of tokio: it has a runtime of one thread here, and whoever asks waits outside of it. So a journal can be used in any
//! thread, also in one of the program's own runtime.

use std::sync::mpsc::{Receiver, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use etcd_client::{
    Certificate, Client, ConnectOptions, Error, GetOptions, GetResponse, Identity, TlsOptions, Txn,
    TxnResponse,
};
use tokio::runtime::{Builder, Runtime};

use super::super::JournalError;
use super::place::{Credentials, Place};

/// How long an answer may take before it counts as none.
const ANSWER: Duration = Duration::from_secs(3);
const CONNECT: Duration = Duration::from_secs(2);
/// How long is asked again before an etcd that does not answer is reported.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(200);
/// Bytes of an answer: a page of the largest values, with room.
const LARGEST: usize = 64 << 20;

/// What is behind the store: one etcd.
pub(super) struct Link {
    pub place: Place,
    client: Client,
    /// `None` while it is dropped.
    runtime: Option<Runtime>,
}

/// A request that was not carried out, or of which that is not known.
#[derive(Debug)]
pub(super) enum Fault {
    /// Etcd said no: nothing happened and nothing will.
    Refused(String),
    /// Whether it happened, or will happen yet, is not known.
    Unanswered(String),
}

/// Options of a client, and what its files hold.
///
/// # Errors
/// When a file cannot be read.
pub fn options(credentials: &Credentials) -> Result<ConnectOptions, JournalError> {
    let read = |path: &std::path::Path| {
        let path = path.to_owned();
        std::fs::read(&path).map_err(|error| JournalError::Io { path, reason: error.to_string() })
    };
    let mut options = ConnectOptions::new()
        .with_connect_timeout(CONNECT)
        .with_keep_alive(Duration::from_secs(5), Duration::from_secs(3))
        .with_keep_alive_while_idle(true)
        .with_require_leader(true)
        .with_auto_token_refresh(true);
    if let Some(ca) = &credentials.ca {
        let mut tls = TlsOptions::new().ca_certificate(Certificate::from_pem(read(ca)?));
        if let Some((certificate, key)) = &credentials.certificate {
            tls = tls.identity(Identity::from_pem(read(certificate)?, read(key)?));
        }
        options = options.with_tls(tls);
    }
    if let Some(user) = &credentials.user {
        let text = String::from_utf8_lossy(&read(&user.password_file)?).into_owned();
        options = options.with_user(&user.name, text.lines().next().unwrap_or_default());
    }
    Ok(options)
}

impl Link {
    /// Without a user, nothing is sent yet.
    ///
    /// # Errors
    /// When a file cannot be read, or etcd does not take the user.
    pub fn open(place: &Place, credentials: &Credentials) -> Result<Link, JournalError> {
        let options = options(credentials)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("etcd")
            .enable_all()
            .build()
            .map_err(|error| JournalError::Io { path: "thread".into(), reason: error.to_string() })?;
        let begun = Instant::now();
        let client = loop {
            let (endpoints, options) = (place.endpoints.clone(), options.clone());
            match run(&runtime, async move { Client::connect(endpoints, Some(options)).await }) {
                Ok(client) => break client,
                Err(Fault::Unanswered(_)) if begun.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
                Err(fault) => {
                    runtime.shutdown_background();
                    return Err(failed(place, "the login", fault));
                }
            }
        };
        Ok(Link { place: place.clone(), client, runtime: Some(runtime) })
    }

    /// Carries a transaction out, once.
    pub fn txn(&self, txn: Txn) -> Result<TxnResponse, Fault> {
        let mut client = self.client.kv_client();
        self.run(async move { client.txn(txn).await })
    }

    pub fn get(&self, key: &[u8], options: Option<GetOptions>) -> Result<GetResponse, Fault> {
        let mut client = self.client.kv_client().max_decoding_message_size(LARGEST);
        let key = key.to_owned();
        self.run(async move { client.get(key, options).await })
    }

    /// Tells whenever a key has changed, or may have. Something can be missed while etcd is away.
    pub fn watch(&self, key: String) -> Receiver<()> {
        let (told, changed) = sync_channel(1);
        let client = self.client.clone();
        let watch = async move {
            loop {
                let mut watching = client.watch_client();
                if let Ok(mut events) = watching.watch(key.as_str(), None).await {
                    while let Ok(Some(_)) = events.message().await {
                        // One that waits to be heard stands for all.
                        if matches!(told.try_send(()), Err(TrySendError::Disconnected(()))) {
                            return;
                        }
                    }
                }
                tokio::time::sleep(PAUSE).await;
                if matches!(told.try_send(()), Err(TrySendError::Disconnected(()))) {
                    return;
                }
            }
        };
        if let Some(runtime) = &self.runtime {
            runtime.spawn(watch);
        }
        changed
    }

    /// Asks until there is an answer, for what may be asked twice.
    ///
    /// # Errors
    /// When etcd refuses, or has not answered for [`PATIENCE`].
    pub fn insist<T>(&self, key: &str, ask: impl Fn() -> Result<T, Fault>) -> Result<T, JournalError> {
        let begun = Instant::now();
        loop {
            match ask() {
                Ok(answer) => return Ok(answer),
                Err(Fault::Unanswered(_)) if begun.elapsed() < PATIENCE => pause(),
                Err(fault) => return Err(self.failed(key, fault)),
            }
        }
    }

    pub fn failed(&self, key: &str, fault: Fault) -> JournalError {
        failed(&self.place, key, fault)
    }

    fn run<T: Send + 'static>(
        &self,
        request: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Fault> {
        match &self.runtime {
            Some(runtime) => run(runtime, request),
            None => Err(Fault::Refused("the connection is closed".into())),
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // Waiting for its thread is not allowed in a runtime's own.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Before the same is asked again.
pub(super) fn pause() {
    std::thread::sleep(PAUSE);
}

fn run<T: Send + 'static>(
    runtime: &Runtime,
    request: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Fault> {
    let (answer, answered) = sync_channel(1);
    runtime.spawn(async move {
        let outcome = match tokio::time::timeout(ANSWER, request).await {
            Ok(outcome) => outcome.map_err(fault),
            Err(_) => Err(Fault::Unanswered(format!("no answer within {} s", ANSWER.as_secs()))),
        };
        let _ = answer.send(outcome);
    });
    answered.recv().unwrap_or_else(|_| Err(Fault::Unanswered("its thread has ended".into())))
}

/// Whether etcd has refused. The numbers are those of gRPC: invalid argument, not found, permission denied, resource exhausted (no space
/// left, too large, too many), failed precondition, out of range (compacted), unimplemented, unauthenticated.
fn fault(error: Error) -> Fault {
    match &error {
        Error::GRpcStatus(status) if matches!(status.code() as i32, 3 | 5 | 7 | 8 | 9 | 11 | 12 | 16) => {
            Fault::Refused(status.message().to_owned())
        }
        Error::InvalidArgs(_) | Error::InvalidUri(_) | Error::InvalidMetadataValue(_) => {
            Fault::Refused(error.to_string())
        }
        Error::GRpcStatus(status) => Fault::Unanswered(with_sources(status)),
        error => Fault::Unanswered(with_sources(error)),
    }
}

/// The words of an error and of what caused it: those of a connection stand in its causes alone.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        source = cause.source();
    }
    text
}

fn failed(place: &Place, key: &str, fault: Fault) -> JournalError {
    let (reason, next) = match fault {
        Fault::Refused(reason) => {
            let next = if reason.contains("space exceeded") {
                "compact and defragment it (etcdctl compact, defrag, alarm disarm), or raise its quota"
            } else {
                "see its log and the rights of the user"
            };
            (reason, next)
        }
        Fault::Unanswered(reason) => (reason, "start it, or correct the address or the TLS files"),
    };
    JournalError::Etcd { endpoints: place.endpoints.join(","), key: key.to_owned(), reason, next }
}
