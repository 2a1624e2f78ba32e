//! What the northbound hears of the programmers.

use tokio::sync::watch;

use crate::net::{Dpid, timestamp};
use crate::northbound::restconf::Switches;
use crate::programmer::Programmers;

pub struct Confirmations(pub Programmers);

impl Switches for Confirmations {
    fn told(&self, revision: u64) -> Vec<Dpid> {
        self.0.told(revision)
    }

    fn confirmed(&self, dpid: Dpid) -> watch::Receiver<u64> {
        self.0.confirmed(dpid)
    }

    fn absence(&self, dpid: Dpid) -> Option<String> {
        let status = self.0.status(dpid);
        match status.lost {
            _ if status.connected => None,
            Some((at, reason)) => Some(format!("not connected since {}: {reason}", timestamp(at))),
            None => Some("it has not connected yet; its bridge's controller should be this program".into()),
        }
    }

    fn refused(&self, dpid: Dpid) -> Vec<(String, String)> {
        let failures = self.0.status(dpid).failures.into_iter();
        let told = |message, subject, owner| format!("{message}: {subject}, for {owner}");
        failures.map(|one| (one.key, told(one.message, one.subject, one.owner))).collect()
    }
}
