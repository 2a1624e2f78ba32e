//! Which of several controllers on one etcd is the active one: who holds the key `leader`, as long as its lease lasts.
//!
//! The lease decides who tries; that a store has one writer is what the journal's compare guarantees (docs/decisions/0103, 0104).

use std::time::Duration;

use etcd_client::{
    Client, Compare, CompareOp, ConnectOptions, GetOptions, PutOptions, Txn, TxnOp, TxnOpResponse,
};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::datastore::journal::JournalError;
use crate::datastore::journal::etcd::{Credentials, Place, leader_key, options};
use crate::net::host_name;

/// Seconds that a lease outlives its last renewal.
const TTL: i64 = 12;
/// Who has not renewed it for so long does as if it were lost: a second before it can be.
const GIVEN_UP: Duration = Duration::from_secs(TTL as u64 - 1);
const RENEWAL: Duration = Duration::from_secs(1);
/// After one that failed.
const AGAIN: Duration = Duration::from_millis(500);
/// How long an answer of etcd may take.
const ANSWER: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
pub enum LeadError {
    #[error(transparent)]
    Credentials(#[from] JournalError),
    #[error("{place}: {reason}; start etcd, or correct the address, the TLS files or the user")]
    Etcd { place: String, reason: String },
}

/// The active controller as the key tells of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leader {
    /// Its name, for people.
    pub who: String,
    /// `HOST:PORT` of its RESTCONF over TLS, for the others; empty: it has none.
    #[serde(default)]
    pub address: String,
    /// SHA-256 of its certificate.
    #[serde(default)]
    pub certificate: String,
    /// By which it knows the other controllers: whoever may read the store.
    #[serde(default)]
    pub secret: String,
}

impl Leader {
    /// Who cannot be read is named as it is written.
    fn of(value: &[u8]) -> Leader {
        let unread = || Leader { who: String::from_utf8_lossy(value).into_owned(), ..Leader::default() };
        serde_json::from_slice(value).unwrap_or_else(|_| unread())
    }
}

impl std::fmt::Display for Leader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.who)
    }
}

/// A controller that wants to have a key of the store: that of the active one.
pub struct Campaign {
    place: Place,
    options: ConnectOptions,
    key: String,
    /// What is told of it to others.
    told: Vec<u8>,
    client: Option<Client>,
}

/// It has the key: it is the active one.
pub struct Lease {
    client: Client,
    id: i64,
    generation: u64,
    renewed: watch::Receiver<Instant>,
    lost: watch::Receiver<Option<String>>,
    keeper: JoinHandle<()>,
}

impl Campaign {
    /// # Errors
    /// When a file of the credentials cannot be read.
    pub fn new(place: &Place, credentials: &Credentials, what: &str) -> Result<Campaign, LeadError> {
        Campaign::telling(place, credentials, &Leader { who: this_process(what), ..Leader::default() })
    }

    /// The same, of one that others can reach.
    ///
    /// # Errors
    /// As [`Campaign::new`].
    pub fn telling(place: &Place, credentials: &Credentials, told: &Leader) -> Result<Campaign, LeadError> {
        Campaign::of_key(place, credentials, leader_key(place), told)
    }

    /// For another key, which whoever has it tells something by.
    ///
    /// # Errors
    /// As [`Campaign::new`].
    pub fn of_key(
        place: &Place,
        credentials: &Credentials,
        key: String,
        told: &impl Serialize,
    ) -> Result<Campaign, LeadError> {
        let told = serde_json::to_vec(told).unwrap_or_default();
        Ok(Campaign { place: place.clone(), options: options(credentials)?, key, told, client: None })
    }

    /// Becomes the active one, or says who is.
    ///
    /// # Errors
    /// When etcd does not answer, or refuses.
    pub async fn try_once(&mut self) -> Result<Result<Lease, Leader>, LeadError> {
        let outcome = match timeout(2 * ANSWER, self.attempt()).await {
            Ok(outcome) => outcome.map_err(|error| error.to_string()),
            Err(_) => Err(format!("no answer within {} s", 2 * ANSWER.as_secs())),
        };
        outcome.map_err(|reason| {
            self.client = None;
            LeadError::Etcd { place: self.place.to_string(), reason }
        })
    }

    async fn attempt(&mut self) -> Result<Result<Lease, Leader>, etcd_client::Error> {
        let mut client = match &self.client {
            Some(client) => client.clone(),
            None => {
                let client = Client::connect(&self.place.endpoints, Some(self.options.clone())).await?;
                self.client.insert(client).clone()
            }
        };
        let key = self.key.clone();
        if let Some(found) = client.get(key.as_str(), None).await?.kvs().first() {
            return Ok(Err(Leader::of(found.value())));
        }
        let granted = Instant::now();
        let id = client.lease_grant(TTL, None).await?.id();
        let put = TxnOp::put(key.as_str(), self.told.clone(), Some(PutOptions::new().with_lease(id)));
        let claim = Txn::new()
            .when([Compare::create_revision(key.as_str(), CompareOp::Equal, 0)])
            .and_then([put])
            .or_else([TxnOp::get(key.as_str(), None)]);
        let done = client.txn(claim).await?;
        if !done.succeeded() {
            // It would end by itself, too.
            let _ = client.lease_revoke(id).await;
            let who = done.op_responses().into_iter().find_map(|response| match response {
                TxnOpResponse::Get(found) => found.kvs().first().map(|kv| Leader::of(kv.value())),
                _ => None,
            });
            return Ok(Err(
                who.unwrap_or_else(|| Leader { who: "somebody else".into(), ..Leader::default() })
            ));
        }
        let generation = done.header().map_or(0, |header| header.revision().unsigned_abs());
        let (said, lost) = watch::channel(None);
        let (again, renewed) = watch::channel(granted);
        let keeper = tokio::spawn(keep(client.clone(), id, key, again, said));
        Ok(Ok(Lease { client, id, generation, renewed, lost, keeper }))
    }
}

/// What a program calls itself, for people.
pub fn this_process(what: &str) -> String {
    format!("{what} on {}, process {}", host_name(), std::process::id())
}

impl Lease {
    /// Etcd's number of it.
    pub fn id(&self) -> i64 {
        self.id
    }

    /// A way to the same etcd.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Etcd's revision of the key: who becomes the active one later has a higher one.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Tells whether nobody else can be the active one at the moment of the call.
    pub fn holds(&self) -> impl Fn() -> bool + Send + Sync + use<> {
        let (renewed, lost) = (self.renewed.clone(), self.lost.clone());
        move || renewed.borrow().elapsed() < GIVEN_UP && lost.borrow().is_none()
    }

    /// Says why, when the lease is lost or may be.
    pub fn lost(&self) -> impl Future<Output = String> + Send + use<> {
        let mut lost = self.lost.clone();
        async move {
            let reason = lost.wait_for(Option::is_some).await.ok().and_then(|reason| reason.clone());
            reason.unwrap_or_else(|| "nobody renews it".into())
        }
    }

    /// Gives it back, so that another takes over at once.
    pub async fn resign(mut self) {
        self.keeper.abort();
        if !matches!(timeout(ANSWER, self.client.lease_revoke(self.id)).await, Ok(Ok(_))) {
            tracing::warn!("the lease could not be given back; another controller takes over when it ends");
        }
    }
}

/// Renews a lease until it is lost.
async fn keep(
    client: Client,
    id: i64,
    key: String,
    again: watch::Sender<Instant>,
    said: watch::Sender<Option<String>>,
) {
    let (mut renewed, mut pause) = (*again.borrow(), RENEWAL);
    loop {
        let left = || GIVEN_UP.saturating_sub(renewed.elapsed());
        sleep(pause.min(left())).await;
        if left().is_zero() {
            said.send_replace(Some(format!("it could not be renewed for {} s", GIVEN_UP.as_secs())));
            return;
        }
        let begun = Instant::now();
        let reason = match timeout(ANSWER.min(left()), renew(client.clone(), id, &key)).await {
            Ok(Ok(true)) => {
                (renewed, pause) = (begun, RENEWAL);
                again.send_replace(begun);
                continue;
            }
            Ok(Ok(false)) => {
                said.send_replace(Some("etcd says that it has ended".into()));
                return;
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer".into(),
        };
        pause = AGAIN;
        tracing::warn!(reason, key, "a lease could not be renewed");
    }
}

/// Whether it is there still, and the key with it.
async fn renew(mut client: Client, id: i64, key: &str) -> Result<bool, etcd_client::Error> {
    let (mut keeper, mut answers) = client.lease_keep_alive(id).await?;
    keeper.keep_alive().await?;
    let lives = answers.message().await?.is_some_and(|answer| answer.ttl() > 0);
    if !lives {
        return Ok(false);
    }
    let found = client.get(key, Some(GetOptions::new().with_limit(1))).await?;
    Ok(found.kvs().first().is_some_and(|found| found.lease() == id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datastore::journal::etcd::testing::Etcd;

    async fn lead(etcd: &Etcd, who: &str) -> Result<Lease, Leader> {
        Campaign::new(&etcd.place(), &Credentials::default(), who).unwrap().try_once().await.unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn one_leads_and_gives_it_back() {
        let etcd = Etcd::start();
        let first = lead(&etcd, "first").await.unwrap();
        let waiting = lead(&etcd, "second").await.err().unwrap();
        assert!(waiting.who.starts_with("first on ") && first.holds()(), "{waiting}");
        let generation = first.generation();
        first.resign().await;
        let second = lead(&etcd, "second").await.unwrap();
        assert!(second.generation() > generation && generation > 0);
        // It lasts longer than a lease that is not renewed.
        assert!(timeout(Duration::from_secs(18), second.lost()).await.is_err());
        assert!(lead(&etcd, "third").await.is_err());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn who_cannot_renew_knows_before_another_leads() {
        let mut etcd = Etcd::start();
        let first = lead(&etcd, "first").await.unwrap();
        etcd.kill();
        let (begun, holds) = (Instant::now(), first.holds());
        timeout(Duration::from_secs(20), first.lost()).await.unwrap();
        assert!(!holds());
        assert!(begun.elapsed() < Duration::from_secs(TTL as u64), "{:?}", begun.elapsed());
        etcd.run();
        let removed = lead(&etcd, "second").await;
        assert!(removed.is_err(), "etcd lets leases live on after its restart");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_key_that_was_taken_away_is_a_lease_lost() {
        let etcd = Etcd::start();
        let first = lead(&etcd, "first").await.unwrap();
        let mut client = Client::connect(etcd.place().endpoints, None).await.unwrap();
        client.delete(leader_key(&etcd.place()), None).await.unwrap();
        let reason = timeout(Duration::from_secs(8), first.lost()).await.unwrap();
        assert!(reason.contains("ended"), "{reason}");
    }
}
