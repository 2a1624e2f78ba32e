//! The comparison: what follows from the data, computed from scratch from a copy of the journal, and what switches hold, as ovs-ofctl prints it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::str::FromStr;
use std::time::{Duration, Instant, SystemTime};

use super::SoakError;
use crate::datastore::journal::SledJournal;
use crate::datastore::recover;
use crate::pipeline::golden;
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
            Ok(tables) => return Ok(tables),
            Err(error) => last = error,
        }
    }
    Err(SoakError::Oracle(last))
}

fn computed(folder: &Path) -> Result<BTreeMap<String, Vec<String>>, String> {
    let schema = schema::load().map_err(|error| error.to_string())?;
    let mut journal = SledJournal::open(folder).map_err(|error| error.to_string())?;
    let recovered = recover(schema, &mut journal, 0).map_err(|error| error.to_string())?;
    let tables = Engine::from_scratch(&recovered.snapshot, &recovered.ids, SystemTime::now());
    let lines = |text: String| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    Ok(tables.iter().map(|(dpid, tables)| (dpid.to_string(), lines(golden::print(tables)))).collect())
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

/// All that a switch holds, in the form in which flows, groups and meters are printed here, sorted.
fn held(socket: &str) -> Result<Vec<String>, SoakError> {
    let mut lines = flows(&ofctl(socket, &["--no-stats", "dump-flows"])?);
    lines.extend(groups(&ofctl(socket, &["dump-groups"])?));
    lines.extend(meters(&ofctl(socket, &["dump-meters"])?));
    lines.sort_unstable();
    Ok(lines)
}

fn flows(text: &str) -> Vec<String> {
    let with_table = |line: &str| {
        if line.contains(", table=") {
            line.to_owned()
        } else {
            line.replacen(", priority=", ", table=0, priority=", 1)
        }
    };
    text.lines().map(str::trim).filter(|line| line.contains("actions=")).map(with_table).collect()
}

fn groups(text: &str) -> Vec<String> {
    let without_ids = |line: &str| {
        let mut parts = line.split("bucket_id:");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |whole, part| whole + part.split_once(',').map_or(part, |(_, rest)| rest))
    };
    text.lines().map(str::trim).filter(|line| line.contains("group_id=")).map(without_ids).collect()
}

fn meters(text: &str) -> Vec<String> {
    let joined = text.replace("bands=\n", "bands=");
    joined.lines().map(str::trim).filter(|line| line.contains("meter=")).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ovs_ofctl_prints_is_brought_into_our_form() {
        let text = "OFPST_FLOW reply:\n cookie=0xc0, priority=9,in_port=1 actions=drop\n cookie=0xc0, table=17, priority=0 actions=drop\n";
        assert_eq!(
            flows(text),
            [
                "cookie=0xc0, table=0, priority=9,in_port=1 actions=drop",
                "cookie=0xc0, table=17, priority=0 actions=drop"
            ]
        );
        let text = "OFPST_GROUP_DESC reply (OF1.3):\n group_id=7,type=all,bucket=bucket_id:0,actions=output:1,bucket=bucket_id:1,actions=output:2\n";
        assert_eq!(groups(text), ["group_id=7,type=all,bucket=actions=output:1,bucket=actions=output:2"]);
        let text = "OFPST_METER_CONFIG reply:\nmeter=1 pktps burst bands=\ntype=drop rate=100 burst_size=9\n";
        assert_eq!(meters(text), ["meter=1 pktps burst bands=type=drop rate=100 burst_size=9"]);
    }

    #[test]
    fn a_switch_is_an_address_and_a_socket() {
        let switch: Switch = "192.0.2.1=/run/br-int.mgmt".parse().unwrap();
        assert_eq!((switch.address.as_str(), switch.socket.as_str()), ("192.0.2.1", "/run/br-int.mgmt"));
        for wrong in ["192.0.2.1", "=x", "192.0.2.1="] {
            assert!(wrong.parse::<Switch>().is_err(), "{wrong}");
        }
    }
}
