//! Who reads what: the subscriptions there are, how many each user has, and what becomes of them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::feed::{Order, describe};
use super::notify::Maker;
use crate::datastore::{Edit, Handle, Store, Transaction};
use crate::schema::{DataPath, Key, Node, Value};

/// What readers may cost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Streams and subscriptions of one user.
    pub per_user: usize,
    /// Of all users.
    pub total: usize,
    /// Bytes that wait for one reader; an event that is longer waits alone.
    pub bytes: usize,
    /// Revisions that a reader who takes nothing may be behind.
    pub backlog: u64,
    /// A sign of life when there is nothing to tell.
    pub heartbeat: Duration,
    /// How long a subscription waits for its reader.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::from(&crate::northbound::http::Limits::default())
    }
}

impl From<&crate::northbound::http::Limits> for Limits {
    fn from(limits: &crate::northbound::http::Limits) -> Limits {
        Limits {
            per_user: limits.user_readers,
            total: limits.readers,
            bytes: limits.reader_bytes,
            backlog: limits.reader_backlog,
            heartbeat: Duration::from_secs(limits.heartbeat_seconds),
            grace: Duration::from_secs(limits.reader_seconds),
        }
    }
}

/// Why there is no room or no such thing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    #[error(
        "{user} has {limit} streams and subscriptions, which is the most a user may have; end one of them, or raise the limit user-readers"
    )]
    User { user: String, limit: usize },
    #[error(
        "there are {limit} streams and subscriptions, which is the most there may be; try again later, or raise the limit readers"
    )]
    Total { limit: usize },
    #[error("there is no subscription {id} of {user}; it may have ended, establish it again")]
    Missing { id: u32, user: String },
    #[error(
        "the events of subscription {id} are being read already; end that reader, or establish another one"
    )]
    Taken { id: u32 },
    #[error("the controller stops; connect again later")]
    Closing,
}

/// What the reader of a subscription is told from outside.
#[derive(Clone, Debug)]
pub struct Signal {
    pub order: Arc<Order>,
    /// Grows when the present state is to be sent again.
    pub syncs: u64,
    /// Set once it is over: a reason of RFC 8639, and words for people; without them the reader is not told.
    pub end: Option<(&'static str, &'static str)>,
}

struct Subscription {
    user: String,
    signal: watch::Sender<Signal>,
    is_read: bool,
    /// Counts readers that came and went, for whoever waits for one.
    readers: u64,
}

#[derive(Default)]
struct State {
    last: u32,
    subscriptions: BTreeMap<u32, Subscription>,
    users: HashMap<String, usize>,
    total: usize,
}

/// The readers. Cheap to clone.
#[derive(Clone)]
pub struct Registry {
    state: Arc<Mutex<State>>,
    pub limits: Arc<Limits>,
    pub datastore: Handle,
    closing: Arc<watch::Sender<bool>>,
}

/// Room for one reader; it is given back when this is dropped.
pub struct Slot {
    registry: Registry,
    user: String,
}

/// The one reader of a subscription.
pub struct Reading {
    registry: Registry,
    pub id: u32,
    pub signal: watch::Receiver<Signal>,
}

impl Registry {
    pub fn new(datastore: Handle, limits: Limits) -> Registry {
        Registry {
            state: Arc::default(),
            limits: Arc::new(limits),
            datastore,
            closing: Arc::new(watch::Sender::new(false)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Turns true when the program stops.
    pub fn closing(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }

    /// Has all readers told that the program stops.
    pub fn close(&self) {
        self.closing.send_replace(true);
    }

    /// Streams and subscriptions that there are.
    pub fn count(&self) -> usize {
        self.lock().total
    }

    fn take(&self, state: &mut State, user: &str) -> Result<(), RegistryError> {
        if *self.closing.borrow() {
            return Err(RegistryError::Closing);
        }
        if state.total >= self.limits.total {
            return Err(RegistryError::Total { limit: self.limits.total });
        }
        let count = state.users.entry(user.to_owned()).or_default();
        if *count >= self.limits.per_user {
            return Err(RegistryError::User { user: user.to_owned(), limit: self.limits.per_user });
        }
        *count += 1;
        state.total += 1;
        Ok(())
    }

    fn give_back(state: &mut State, user: &str) {
        state.total = state.total.saturating_sub(1);
        if let Some(count) = state.users.get_mut(user) {
            *count -= 1;
            if *count == 0 {
                state.users.remove(user);
            }
        }
    }

    /// Room for a reader without a subscription.
    ///
    /// # Errors
    /// When there are too many.
    pub fn slot(&self, user: &str) -> Result<Slot, RegistryError> {
        self.take(&mut self.lock(), user)?;
        Ok(Slot { registry: self.clone(), user: user.to_owned() })
    }

    /// Makes a subscription. It waits for its reader as long as the limits say.
    ///
    /// # Errors
    /// When there are too many.
    pub async fn establish(&self, user: &str, order: Order) -> Result<u32, RegistryError> {
        let id = {
            let mut state = self.lock();
            self.take(&mut state, user)?;
            let id = (1..=u32::MAX)
                .map(|step| state.last.wrapping_add(step))
                .find(|id| *id != 0 && !state.subscriptions.contains_key(id))
                .unwrap_or(1);
            state.last = id;
            let signal = Signal { order: Arc::new(order), syncs: 0, end: None };
            let signal = watch::Sender::new(signal);
            let made = Subscription { user: user.to_owned(), signal, is_read: false, readers: 0 };
            state.subscriptions.insert(id, made);
            id
        };
        self.show(id).await;
        self.expect_reader(id);
        Ok(id)
    }

    /// Ends a subscription of this user; `None`: anybody's.
    ///
    /// # Errors
    /// When there is none.
    pub async fn end(&self, id: u32, user: Option<&str>, told: bool) -> Result<(), RegistryError> {
        self.remove(id, user, told)?;
        self.show(id).await;
        Ok(())
    }

    fn remove(&self, id: u32, user: Option<&str>, told: bool) -> Result<(), RegistryError> {
        let mut state = self.lock();
        let missing = || RegistryError::Missing { id, user: user.unwrap_or("anybody").to_owned() };
        let found = state.subscriptions.get(&id).ok_or_else(missing)?;
        if user.is_some_and(|user| user != found.user) {
            return Err(missing());
        }
        let Some(found) = state.subscriptions.remove(&id) else { return Ok(()) };
        let why = if told { "an administrator ended it" } else { "" };
        found.signal.send_modify(|signal| signal.end = Some(("no-such-subscription", why)));
        Registry::give_back(&mut state, &found.user);
        Ok(())
    }

    /// Gives a subscription another order.
    ///
    /// # Errors
    /// When there is none.
    pub async fn modify(
        &self,
        id: u32,
        user: &str,
        change: impl FnOnce(&Order) -> Order,
    ) -> Result<(), RegistryError> {
        self.with(id, user, |signal| signal.order = Arc::new(change(&signal.order)))?;
        self.show(id).await;
        Ok(())
    }

    /// Has the present state sent again.
    ///
    /// # Errors
    /// When there is no such subscription.
    pub fn resync(&self, id: u32, user: &str) -> Result<(), RegistryError> {
        self.with(id, user, |signal| signal.syncs += 1)
    }

    /// What a subscription of this user is about.
    ///
    /// # Errors
    /// When there is none.
    pub fn order(&self, id: u32, user: &str) -> Result<Arc<Order>, RegistryError> {
        let mut order = None;
        self.with(id, user, |signal| order = Some(signal.order.clone()))?;
        order.ok_or_else(|| RegistryError::Missing { id, user: user.to_owned() })
    }

    fn with(&self, id: u32, user: &str, change: impl FnOnce(&mut Signal)) -> Result<(), RegistryError> {
        let state = self.lock();
        let found = state.subscriptions.get(&id).filter(|found| found.user == user);
        let found = found.ok_or_else(|| RegistryError::Missing { id, user: user.to_owned() })?;
        found.signal.send_modify(change);
        Ok(())
    }

    /// Becomes the reader of a subscription.
    ///
    /// # Errors
    /// When there is none, or it has one.
    pub fn read(&self, id: u32, user: &str) -> Result<Reading, RegistryError> {
        let mut state = self.lock();
        let found = state.subscriptions.get_mut(&id).filter(|found| found.user == user);
        let found = found.ok_or_else(|| RegistryError::Missing { id, user: user.to_owned() })?;
        if found.is_read {
            return Err(RegistryError::Taken { id });
        }
        found.is_read = true;
        found.readers += 1;
        let signal = found.signal.subscribe();
        drop(state);
        let registry = self.clone();
        tokio::spawn(async move { registry.show(id).await });
        Ok(Reading { registry: self.clone(), id, signal })
    }

    /// Ends a subscription to which no reader comes.
    fn expect_reader(&self, id: u32) {
        let readers = match self.lock().subscriptions.get(&id) {
            Some(found) => found.readers,
            None => return,
        };
        let registry = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(registry.limits.grace).await;
            let is_left = match registry.lock().subscriptions.get(&id) {
                Some(found) => !found.is_read && found.readers == readers,
                None => false,
            };
            if is_left && registry.remove(id, None, false).is_ok() {
                registry.show(id).await;
            }
        });
    }

    /// Shows a subscription in the operational datastore, or that it is gone.
    async fn show(&self, id: u32) {
        let schema = self.datastore.schema();
        let at = |path: &str| schema.resolve(&format!("/ietf-subscribed-notifications:{path}"));
        let (all, list) = (at("subscriptions"), at("subscriptions/subscription"));
        let path = DataPath::root().child(all).entry(list, Key::one(Value::Uint(id.into())));
        let shown = self.lock().subscriptions.get(&id).map(|found| {
            let order = found.signal.borrow().order.clone();
            let encoding = match order.encoding {
                crate::northbound::restconf::Encoding::Json => "ietf-subscribed-notifications:encode-json",
                crate::northbound::restconf::Encoding::Xml => "ietf-subscribed-notifications:encode-xml",
            };
            let state = if found.is_read { "active" } else { "connecting" };
            let receivers = at("subscriptions/subscription/receivers/receiver");
            let receiver =
                Maker::new(schema, receivers).leaf("name", &found.user).leaf("state", state).fields();
            let entries = [(Key::text(&found.user), receiver)];
            let made = describe(Maker::new(schema, list), schema, id, &order)
                .leaf("transport", "ietf-restconf-subscribed-notifications:restconf")
                .leaf("encoding", encoding)
                .leaf("uri", &uri(id))
                .object("receivers", |made| {
                    made.node("receiver", |id| Node::List(crate::schema::List::of(schema, id, entries)))
                });
            made.fields()
        });
        let edit = match shown {
            Some(fields) => Edit::put(Store::Operational, path, Node::Container(fields)),
            None => Edit::remove(Store::Operational, path),
        };
        if let Err(error) = self.datastore.commit(Transaction::passing("events", vec![edit])).await {
            tracing::warn!(%error, id, "a subscription could not be shown");
        }
    }
}

/// Where the events of a subscription are read.
pub fn uri(id: u32) -> String {
    format!("/rests/subscriptions/{id}")
}

impl Drop for Slot {
    fn drop(&mut self) {
        Registry::give_back(&mut self.registry.lock(), &self.user);
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        let (registry, id) = (self.registry.clone(), self.id);
        if let Some(found) = registry.lock().subscriptions.get_mut(&id) {
            found.is_read = false;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                registry.expect_reader(id);
                registry.show(id).await;
            });
        }
    }
}
