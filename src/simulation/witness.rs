//! A real Open vSwitch among the simulated ones: what it holds is compared line by line with what is desired.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use crate::net::Dpid;
use crate::pipeline::{SwitchTables, printed};

use super::switch::Switch;

/// Lines that only one side has are shown so many at most.
const SHOWN: usize = 8;

pub struct Witness {
    pub dpid: Dpid,
    switch: Switch,
}

impl Witness {
    /// A private switch with a dummy datapath that connects to the controller.
    ///
    /// # Errors
    /// When Open vSwitch is not there or does not start.
    pub fn start(dpid: Dpid, controller: SocketAddr) -> Result<Witness, String> {
        let switch = Switch::start(Some(&dpid.to_string()))
            .map_err(|error| format!("{error}; --witnesses 0 goes without"))?;
        switch.vsctl(&["set-controller", Switch::BRIDGE, &format!("tcp:{controller}")])?;
        Ok(Witness { dpid, switch })
    }

    /// How many lines the switch holds.
    ///
    /// # Errors
    /// Names lines that differ.
    pub fn compare(&self, wanted: &SwitchTables) -> Result<usize, String> {
        let flows = self.switch.ofctl(&["dump-flows", "--no-stats", "--no-names"])?;
        let groups = self.switch.ofctl(&["dump-groups"])?;
        let meters = self.switch.ofctl(&["dump-meters"])?;
        let held = BTreeSet::from_iter(printed::held(&[flows, groups, meters].concat()));
        let wanted = BTreeSet::from_iter(printed::desired(wanted));
        let differ = held.symmetric_difference(&wanted).take(SHOWN);
        let differ: Vec<String> = differ
            .map(|line| format!("{} {line}", if held.contains(line) { "held:   " } else { "desired:" }))
            .collect();
        if differ.is_empty() { Ok(held.len()) } else { Err(format!("{}\n{}", self.dpid, differ.join("\n"))) }
    }
}
