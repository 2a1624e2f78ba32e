//! The comparison: what follows from the data, computed from scratch from a copy of the journal, and what switches hold, as ovs-ofctl prints it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::str::FromStr;
use std::time::{Duration, Instant, SystemTime};

use super::SoakError;
use crate::datastore::journal::SledJournal;
use crate::datastore::recover;
use crate::net::Dpid;
use crate::pipeline::{SwitchTables, printed};
use crate::renderers::Engine;
use crate::schema;

/// A copy that was taken while the journal was written is taken again, so often.
const COPIES: u32 = 5;
/// Lines that are named of what differs.
const SHOWN: usize = 20;

/// A node by its address, and the socket by which its bridge is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    pub address: String,
    pub socket: String,
}

impl FromStr for Switch {
    type Err = SoakError;

    fn from_str(text: &str) -> Result<Switch, SoakError> {
        match text.split_once('=') {
            Some((address, socket)) if !address.is_empty() && !socket.is_empty() => {
                Ok(Switch { address: address.into(), socket: socket.into() })
            }
            _ => Err(SoakError::Switch(text.into())),
        }
    }
}

/// Waits until all switches hold what they should; how many flows, groups and meters that is. Nothing is written meanwhile.
pub fn compare(data_dir: &Path, switches: &[Switch], patience: Duration) -> Result<usize, SoakError> {
    let wanted = from_scratch(data_dir)?;
    let end = Instant::now() + patience;
    let mut all = 0;
    for switch in switches {
        let dpid = ofctl(&switch.socket, &["show"])?;
        let dpid =
            dpid.split("dpid:").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap_or_default();
        let should = wanted.get(dpid).map_or(&[][..], Vec::as_slice);
        loop {
            let held = held(&switch.socket)?;
            if held == should {
                all += held.len();
                break;
            }
            if Instant::now() > end {
                let only = |one: &[String], other: &[String]| {
                    let lines: Vec<_> =
                        one.iter().filter(|line| !other.contains(line)).take(SHOWN).cloned().collect();
                    lines.join("\n")
                };
                let (missing, extra) = (only(should, &held), only(&held, should));
                return Err(SoakError::Differs { address: switch.address.clone(), missing, extra });
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }
    Ok(all)
}

/// By datapath id, the lines of a switch, sorted.
fn from_scratch(data_dir: &Path) -> Result<BTreeMap<String, Vec<String>>, SoakError> {
    let aside = data_dir.join("oracle");
    let mut last = String::new();
    for _ in 0..COPIES {
        let computed = copy(&data_dir.join("store"), &aside.join("store"))
            .map_err(|error| error.to_string())
            .and_then(|()| computed(&aside));
        let _ = std::fs::remove_dir_all(&aside);
        match computed {
            Ok(tables) => {
                let lines = |(dpid, tables): (Dpid, _)| (dpid.to_string(), printed::desired(&tables));
                return Ok(tables.into_iter().map(lines).collect());
            }
            Err(error) => last = error,
        }
    }
    Err(SoakError::Oracle(last))
}

/// What each switch should hold by the data of a controller that does not write now.
///
/// # Errors
/// When its journal cannot be read or does not fit the models.
pub fn computed(data_dir: &Path) -> Result<BTreeMap<Dpid, SwitchTables>, String> {
    let schema = schema::load().map_err(|error| error.to_string())?;
    let mut journal = SledJournal::open(data_dir).map_err(|error| error.to_string())?;
    let recovered = recover(schema, &mut journal, 0).map_err(|error| error.to_string())?;
    Ok(Engine::from_scratch(&recovered.snapshot, &recovered.ids, SystemTime::now()))
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn ofctl(socket: &str, words: &[&str]) -> Result<String, SoakError> {
    let target = format!("unix:{socket}");
    let (command, options) = words.split_last().unwrap_or((&"show", &[]));
    let done =
        Command::new("ovs-ofctl").args(["-O", "OpenFlow13"]).args(options).args([*command, &target]).output();
    let wrong = |said: String| SoakError::Switches { socket: socket.into(), said };
    let done = done.map_err(|error| wrong(error.to_string()))?;
    if !done.status.success() {
        return Err(wrong(String::from_utf8_lossy(&done.stderr).into()));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into())
}

/// All that a switch holds.
fn held(socket: &str) -> Result<Vec<String>, SoakError> {
    let flows = ofctl(socket, &["--no-stats", "dump-flows"])?;
    let groups = ofctl(socket, &["dump-groups"])?;
    Ok(printed::held(&[flows, groups, ofctl(socket, &["dump-meters"])?].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_is_an_address_and_a_socket() {
        let switch: Switch = "192.0.2.1=/run/br-int.mgmt".parse().unwrap();
        assert_eq!((switch.address.as_str(), switch.socket.as_str()), ("192.0.2.1", "/run/br-int.mgmt"));
        for wrong in ["192.0.2.1", "=x", "192.0.2.1="] {
            assert!(wrong.parse::<Switch>().is_err(), "{wrong}");
        }
    }
}
