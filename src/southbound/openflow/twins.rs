//! Two sessions of one datapath id that are alive at the same time: a switch has one, so there are two switches.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use super::Heard;
use crate::net::Dpid;
use crate::southbound::admission::{Protocol, Reason, Refused};

/// Sessions by datapath id. Cheap to clone; all clones are one.
#[derive(Clone, Debug, Default)]
pub(super) struct Twins {
    live: Arc<Mutex<Live>>,
}

#[derive(Debug, Default)]
struct Live {
    sessions: HashMap<Dpid, BTreeMap<u64, (SocketAddr, Arc<Heard>)>>,
    next: u64,
}

/// Holds a session's place.
#[derive(Debug)]
pub(super) struct Place {
    twins: Twins,
    dpid: Dpid,
    number: u64,
}

/// The session that was there before.
#[derive(Debug)]
pub(super) struct Twin {
    peer: SocketAddr,
    heard: SystemTime,
}

impl Twins {
    /// A session of this datapath is up until the place is dropped; and the one that came before it, if that is up still.
    pub fn enter(&self, dpid: Dpid, peer: SocketAddr, heard: Arc<Heard>) -> (Place, Option<Twin>) {
        let mut live = self.locked();
        let number = live.next;
        live.next += 1;
        let sessions = live.sessions.entry(dpid).or_default();
        let newest = sessions.last_key_value();
        let twin = newest.map(|(_, (peer, heard))| Twin { peer: *peer, heard: heard.time() });
        sessions.insert(number, (peer, heard));
        (Place { twins: self.clone(), dpid, number }, twin)
    }

    fn locked(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Twin {
    /// Whether it was heard so lately that it is there: a switch that is silent for `probe` is asked for an echo. Without that, the
    /// connection is one that the switch has given up already.
    pub fn is_alive(&self, probe: Duration) -> bool {
        self.heard.elapsed().unwrap_or_default() < probe + probe / 2
    }

    pub fn reported(&self, dpid: Dpid, newer: SocketAddr, identity: Option<String>) -> Refused {
        Refused {
            protocol: Protocol::OpenFlow,
            address: newer.ip().to_canonical(),
            reason: Reason::Duplicate,
            dpid: Some(dpid),
            identity,
            detail: format!(
                "datapath {dpid} connected from {newer} while its session from {} was alive; the newer one counts; if they are two \
                 switches, give one another id (ovs-vsctl set bridge BRIDGE other-config:datapath-id=…)",
                self.peer
            ),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut live = self.twins.locked();
        if let Some(sessions) = live.sessions.get_mut(&self.dpid) {
            sessions.remove(&self.number);
            if sessions.is_empty() {
                live.sessions.remove(&self.dpid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROBE: Duration = Duration::from_secs(5);

    #[test]
    fn a_second_session_finds_the_first_while_that_is_alive() {
        let twins = Twins::default();
        let peer = |last: u8| SocketAddr::from(([192, 0, 2, last], 4000));
        let (first, none) = twins.enter(Dpid(1), peer(1), Arc::new(Heard::now()));
        assert!(none.is_none());
        assert!(twins.enter(Dpid(2), peer(2), Arc::new(Heard::now())).1.is_none());
        let (second, twin) = twins.enter(Dpid(1), peer(2), Arc::new(Heard::now()));
        let twin = twin.unwrap();
        assert!(twin.is_alive(PROBE));
        let said = twin.reported(Dpid(1), peer(2), None);
        assert_eq!((said.address, said.reason), (peer(2).ip(), Reason::Duplicate));
        assert!(said.detail.contains("192.0.2.1:4000"), "{}", said.detail);
        drop((first, second));
        assert!(twins.enter(Dpid(1), peer(3), Arc::new(Heard::now())).1.is_none());
    }

    #[test]
    fn a_connection_that_was_silent_for_long_is_no_twin() {
        let silent = Twin { peer: ([192, 0, 2, 1], 1).into(), heard: SystemTime::now() - 2 * PROBE };
        assert!(!silent.is_alive(PROBE));
    }
}
