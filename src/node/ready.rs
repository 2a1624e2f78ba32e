//! Ports that are there before their containers: Open vSwitch takes tens of milliseconds for one port more among many, and next to
//! nothing for another `iface-id` of one that it has.
//!
//! ```text
//!  the node                        a namespace of the agent's
//!  br-int ── veth3f…, up  ═══════  wait3f…, down                     external_ids:coeus-ready: whose; no iface-id, so no flows
//! ```
//! ADD takes one, sends the inner end to the container, which takes the kernel some time of its own, and gives the port the container's
//! `external_ids`. It is not taken back. The namespace has no name and ends with the agent, and the pairs in it with that; what is left
//! then are rows of the database that say whose they were.
//!
//! Among few containers a new port is there sooner than a device in another namespace. There ADD makes its own, with the inner end where it
//! belongs, while it finds out the rest, and the port becomes the container's the same way.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use coeus_cni::{Code, Error};

use super::Agent;
use super::add::away;
use super::link::{self, Inside};
use super::namespace::Namespace;
use super::netlink::Netlink;
use super::switch::{Bridge, SwitchError};

/// While some are left, more are made when nobody has called for so long: a port more holds up what the switch does for pods.
const QUIET: Duration = Duration::from_millis(300);
/// What did not work is tried again so often.
const AGAIN: Duration = Duration::from_secs(10);

/// What an inner end has until it is known whose it is.
const NOBODY: &str = "0a:00:00:00:00:01";

/// A port that nobody has yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// The end that is a port of the switch.
    pub name: String,
    /// Of that end, if it was there before. Asked for while the other end is on its way, the kernel would answer when that has arrived.
    pub mac: Option<String>,
    pub mtu: u32,
    /// The end that waits.
    inner: String,
    /// Its index where it waits, once that was looked up.
    index: u32,
}

/// What is under way for a container: an inner end that is sent to it, or the whole port.
pub type Sent = JoinHandle<Result<(), Error>>;

/// Where inner ends wait.
struct Berth {
    namespace: Namespace,
    /// Of that namespace: for looking, and for sending. The kernel takes its time for that, one device after the other.
    kernel: Mutex<Netlink>,
    sender: Arc<Mutex<Netlink>>,
}

/// The ports that nobody has yet.
pub struct Pool {
    /// So many are kept,
    size: usize,
    /// once there are so many attachments.
    from: usize,
    /// What marks them as this agent's.
    pub owner: String,
    berth: Option<Berth>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    ports: VecDeque<Ready>,
    /// Calls that are being worked on.
    calls: usize,
    last_call: Instant,
}

/// Why there are none.
#[derive(Debug, thiserror::Error)]
enum Unready {
    #[error(transparent)]
    Switch(#[from] SwitchError),
    #[error("{0}")]
    Controller(String),
    #[error("{name}: {error}")]
    Device { name: String, error: io::Error },
}

/// A call is being worked on while this is held.
pub struct Working<'a>(&'a Pool);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.calls -= 1;
        state.last_call = Instant::now();
        drop(state);
        self.0.changed.notify_all();
    }
}

impl Ready {
    /// One that is only to be made.
    pub fn to_come(name: &str, mtu: u32) -> Ready {
        Ready { name: name.into(), mac: None, mtu, inner: String::new(), index: 0 }
    }
}

impl Pool {
    /// Without a namespace for them there are none, which is logged.
    pub fn new(size: usize, from: usize, owner: String) -> Pool {
        let berth = (size > 0).then(Berth::new).and_then(|berth| {
            berth.inspect_err(|error| tracing::warn!("no port is made ready beforehand: {error}")).ok()
        });
        let state = State { ports: VecDeque::new(), calls: 0, last_call: Instant::now() };
        Pool { size, from, owner, berth, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn working(&self) -> Working<'_> {
        self.state().calls += 1;
        Working(self)
    }

    fn take(&self) -> Option<Ready> {
        self.state().ports.pop_front()
    }

    /// Waits until some are missing and there is time to make them; how many. `attachments`: how many there are.
    fn missing(&self, attachments: impl Fn() -> usize) -> usize {
        let mut state = self.state();
        loop {
            let size = if attachments() < self.from { 0 } else { self.size };
            let there = state.ports.len();
            state = match due(size, there, state.calls, state.last_call.elapsed()) {
                Some(Duration::ZERO) => return size - there,
                Some(rest) => {
                    self.changed.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

/// When more are to be made, if nothing changes until then. `quiet`: for how long nobody has called.
fn due(size: usize, there: usize, calls: usize, quiet: Duration) -> Option<Duration> {
    let rest = if there == 0 { Duration::ZERO } else { QUIET.saturating_sub(quiet) };
    (there < size && calls == 0).then_some(rest)
}

impl Berth {
    fn new() -> io::Result<Berth> {
        let namespace = Namespace::fresh()?;
        let open = || namespace.run(Netlink::open).and_then(|opened| opened).map(Mutex::new);
        let (kernel, sender) = (open()?, Arc::new(open()?));
        Ok(Berth { namespace, kernel, sender })
    }

    /// Makes a pair of which one end waits.
    fn moor(&self, mtu: u32) -> Result<Ready, Unready> {
        let number = rand::random::<u64>();
        let [name, inner] = ["veth", "wait"].map(|word| format!("{word}{:011x}", number >> 20));
        let failed = |error| Unready::Device { name: name.clone(), error };
        let mut kernel = Netlink::open().map_err(failed)?;
        let inside = nobody(&inner, mtu);
        link::make_pair(&mut kernel, &name, self.namespace.raw(), &inside).map_err(failed)?;
        let made = link::device(&mut kernel, &name).map_err(failed)?;
        let made = made.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        Ok(Ready { name, mac: Some(made.mac), mtu, inner, index: 0 })
    }

    /// The index of a device that waits.
    fn find(&self, inner: &str) -> Option<u32> {
        let mut kernel = locked(&self.kernel);
        link::device(&mut kernel, inner).ok().flatten().map(|device| device.index)
    }

    /// Sends an inner end to a container, where it gets a name and a MAC address.
    fn send(&self, ready: &Ready, to: OwnedFd, name: &str, mac: &str) -> io::Result<Sent> {
        let (kernel, index) = (Arc::clone(&self.sender), ready.index);
        let (outer, name, mac) = (ready.name.clone(), name.to_owned(), mac.to_owned());
        let send = move || {
            let sent = link::send(&mut locked(&kernel), index, to.as_raw_fd(), &name, &mac);
            sent.map_err(|error| {
                Error::new(Code::Plug, format!("the inner end of {outer}, on its way: {error}"))
            })
        };
        std::thread::Builder::new().name("to a pod".into()).spawn(send)
    }
}

fn locked(kernel: &Mutex<Netlink>) -> MutexGuard<'_, Netlink> {
    kernel.lock().unwrap_or_else(PoisonError::into_inner)
}

fn nobody(name: &str, mtu: u32) -> Inside {
    Inside {
        name: name.into(),
        mac: NOBODY.into(),
        mtu,
        addresses: Vec::new(),
        routes: Vec::new(),
        makes_checksums: false,
    }
}

impl Agent {
    /// Takes away what an earlier agent had ready, and keeps so many ready as there are to be, for as long as the agent runs.
    pub(super) fn keep_ready(&self) {
        let mut said = String::new();
        let mut told = |why: String| {
            if said != why {
                tracing::warn!("ports that were to be ready: {why}");
                said = why;
            }
            std::thread::park_timeout(AGAIN);
        };
        while let Err(error) = self.clear_ready() {
            told(error.to_string());
        }
        while let Some(berth) = &self.ready.berth {
            let missing = self.ready.missing(|| self.records.number());
            match self.make_ready(berth, missing) {
                Ok(()) => {}
                Err(error) => told(error.to_string()),
            }
        }
    }

    /// One that is there, if one is.
    pub(super) fn take_ready(&self) -> Option<Ready> {
        let berth = self.ready.berth.as_ref()?;
        while let Some(ready) = self.ready.take() {
            if let Some(index) = berth.find(&ready.inner) {
                return Some(Ready { index, ..ready });
            }
            let left = self.unplug(&ready.name).join("; ");
            tracing::warn!("port {} was ready, and its devices have gone {left}", ready.name);
        }
        None
    }

    /// Starts sending the inner end of a port to a container.
    ///
    /// # Errors
    /// When there is no thread or file for it.
    pub(super) fn send(
        &self,
        ready: &Ready,
        namespace: &Namespace,
        name: &str,
        mac: &str,
    ) -> io::Result<Option<Sent>> {
        let Some(berth) = &self.ready.berth else { return Ok(None) };
        berth.send(ready, namespace.file()?, name, mac).map(Some)
    }

    /// Starts making a port for a container, whose it is not yet.
    ///
    /// # Errors
    /// When there is no thread or file for it.
    pub(super) fn start_port(
        &self,
        bridge: &Bridge,
        port: &Ready,
        namespace: &Namespace,
        name: &str,
    ) -> io::Result<Sent> {
        let (switch, bridge, owner) = (self.switch.clone(), bridge.clone(), self.ready.owner.clone());
        let (host, inside, namespace) = (port.name.clone(), nobody(name, port.mtu), namespace.file()?);
        let failed = |host: &str, error: io::Error| Error::new(Code::Plug, format!("{host}: {error}"));
        let make = move || {
            // What an agent that has lost its records may have left: the name says whose it was.
            switch.detach(&host).map_err(|error| away(&error))?;
            let devices = || {
                let mut kernel = Netlink::open()?;
                link::remove(&mut kernel, &host)?;
                link::make_pair(&mut kernel, &host, namespace.as_raw_fd(), &inside)
            };
            devices().map_err(|error| failed(&host, error))?;
            switch.add_ready(&bridge, std::slice::from_ref(&host), &owner).map_err(|error| away(&error))
        };
        std::thread::Builder::new().name("a port".into()).spawn(make)
    }

    /// Those of which a record tells are not touched: an ADD is at work on them, or they are taken down with the rest of what one has left.
    fn clear_ready(&self) -> Result<(), SwitchError> {
        let left = self.switch.ready(&self.ready.owner)?;
        let known: BTreeSet<String> = self.records.all().into_iter().map(|record| record.host).collect();
        let names: Vec<String> =
            left.into_iter().map(|port| port.name).filter(|name| !known.contains(name)).collect();
        self.switch.detach_all(&names)?;
        names.iter().for_each(|name| remove(name));
        Ok(())
    }

    /// All of them in one transaction: the switch then takes the time of one.
    fn make_ready(&self, berth: &Berth, number: usize) -> Result<(), Unready> {
        let bridge = self.switch.bridge(&self.settings.bridge)?;
        let mtu = self
            .datastore
            .mtu()
            .map_err(|trouble| Unready::Controller(coeus_cni::Error::from(trouble).to_string()))?;
        let mut made = Vec::new();
        let moored = (0..number).try_for_each(|_| berth.moor(mtu).map(|one| made.push(one)));
        let names: Vec<String> = made.iter().map(|one| one.name.clone()).collect();
        let known = moored.and_then(|()| Ok(self.switch.make_ready(&bridge, &names, &self.ready.owner)?));
        let good = known.as_ref().map_or_else(|_| Vec::new(), Clone::clone);
        let (good, bad): (Vec<Ready>, Vec<Ready>) =
            made.into_iter().partition(|one| good.contains(&one.name));
        self.ready.state().ports.extend(good);
        let bad: Vec<String> = bad.into_iter().map(|one| one.name).collect();
        let gone = self.switch.detach_all(&bad);
        bad.iter().for_each(|name| remove(name));
        known?;
        gone?;
        match bad.first() {
            Some(name) => {
                let error = io::Error::other("Open vSwitch gives it no ofport");
                Err(Unready::Device { name: name.clone(), error })
            }
            None => Ok(()),
        }
    }
}

fn remove(name: &str) {
    if let Err(error) = Netlink::open().and_then(|mut kernel| link::remove(&mut kernel, name)) {
        tracing::warn!("{name}: {error}");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn more_are_made_when_nobody_is_held_up_by_it() {
        let moment = Duration::from_millis(100);
        assert_eq!(due(8, 8, 0, QUIET), None, "all are there");
        assert_eq!(due(8, 3, 1, QUIET), None, "somebody is being served");
        assert_eq!(due(8, 0, 1, QUIET), None);
        assert_eq!(due(8, 3, 0, moment), Some(QUIET - moment), "somebody has just been, and more may come");
        assert_eq!(due(8, 3, 0, QUIET), Some(Duration::ZERO));
        assert_eq!(due(8, 0, 0, Duration::ZERO), Some(Duration::ZERO), "the next would find none");
        assert_eq!(due(0, 0, 0, QUIET), None);
    }

    #[test]
    fn none_are_made_while_there_are_few_attachments() {
        let pool = Pool::new(2, 3, "here".into());
        assert_eq!(pool.missing(|| 3), 2);
        let attachments = AtomicUsize::new(2);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| pool.missing(|| attachments.load(Ordering::SeqCst)));
            let add = || drop(pool.working());
            add();
            assert!(!waits.is_finished());
            attachments.store(3, Ordering::SeqCst);
            while !waits.is_finished() {
                add();
                std::thread::yield_now();
            }
            assert_eq!(waits.join().unwrap(), 2);
        });
    }

    #[test]
    fn an_inner_end_waits_where_nobody_else_is_and_is_sent() {
        let (Ok(here), Ok(there), Ok(berth)) = (Namespace::fresh(), Namespace::fresh(), Berth::new()) else {
            return;
        };
        let ready = here.run(|| berth.moor(1400)).unwrap().unwrap();
        let is_in = |namespace: &Namespace, name: &str| {
            namespace.run(|| link::device(&mut Netlink::open().unwrap(), name).unwrap().is_some()).unwrap()
        };
        assert!(is_in(&here, &ready.name) && !is_in(&here, &ready.inner));
        let ready = Ready { index: berth.find(&ready.inner).unwrap(), ..ready };
        let mac = "0a:00:00:00:00:2a";
        berth.send(&ready, there.file().unwrap(), "eth0", mac).unwrap().join().unwrap().unwrap();
        assert_eq!(berth.find(&ready.inner), None);
        let arrived = there.run(|| link::device(&mut Netlink::open().unwrap(), "eth0").unwrap()).unwrap();
        assert_eq!(arrived.map(|device| device.mac).as_deref(), Some(mac));
        drop(there);
        let other = here.run(|| berth.moor(1400)).unwrap().unwrap();
        drop(berth);
        // The kernel ends a namespace on its own time.
        let end = Instant::now() + Duration::from_secs(20);
        while is_in(&here, &other.name) {
            assert!(Instant::now() < end, "the pair outlives where it waited");
            std::thread::yield_now();
        }
    }
}
