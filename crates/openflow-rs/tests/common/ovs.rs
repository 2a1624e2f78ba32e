//! A private Open vSwitch for tests: that of `coeus sim`, whose faults are panics here.
#![allow(dead_code, reason = "each test file uses its part")]

#[path = "../../../../src/simulation/switch.rs"]
mod private;

use std::path::Path;

pub struct Switch(private::Switch);

impl Switch {
    pub fn start() -> Switch {
        Switch(private::Switch::start(None).unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn vsctl(&self, words: &[&str]) -> String {
        self.0.vsctl(words).unwrap()
    }

    /// ovs-ofctl on the bridge.
    pub fn ofctl(&self, words: &[&str]) -> String {
        self.0.ofctl(words).unwrap()
    }
}
