//! What the agent has made, or is about to make: one file an attachment, written before the first step, so that whatever ends the
//! agent in between, all of it can be taken down.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use coeus_cni::Attachment;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::ipam::Delegate;
use super::rules::Led;
use super::target::Target;

/// What ADD has written to the datastore, and DEL takes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wrote {
    Nothing,
    /// Addresses of an interface that was there.
    Addresses,
    /// An interface of a pod that was there.
    Interface,
    /// The pod.
    Entry,
}

/// One attachment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub network: String,
    pub container: String,
    pub ifname: String,
    pub netns: String,
    /// The end of the pair that is a port of the switch; empty where there is no pair but a VLAN device.
    pub host: String,
    /// The VLAN of a sub-port.
    #[serde(default)]
    pub tag: Option<u16>,
    /// It was chosen here, and written to the entry.
    #[serde(default)]
    pub is_tag_chosen: bool,
    /// uids of the pod and of its interface, empty while they are not known.
    pub pod: String,
    pub interface: String,
    /// `external_ids:iface-id`.
    pub name: String,
    pub wrote: Wrote,
    pub addresses: Vec<IpAddr>,
    /// What was asked for beside: paths below the interface.
    #[serde(default)]
    pub asked: Vec<String>,
    /// The node's ports that lead here.
    #[serde(default)]
    pub led: Vec<Led>,
    /// The addresses were chosen here, from the node's range.
    pub is_chosen: bool,
    pub delegate: Option<Delegate>,
    /// The runtime has let go of it; what is left waits for the datastore or an IPAM plugin.
    pub is_ended: bool,
}

impl Record {
    /// Whether it tells of what outlives a loss of power: entries of the datastore, and addresses of an IPAM plugin. Devices do not, and
    /// ports say themselves whose they are.
    fn must_last(&self) -> bool {
        self.wrote != Wrote::Nothing || self.delegate.is_some()
    }

    /// Whose it is, once that is known.
    pub fn is_of(&mut self, target: &Target) {
        self.pod.clone_from(&target.entry.uid);
        self.interface.clone_from(&target.interface);
        self.name.clone_from(&target.name);
    }

    pub fn attachment(&self) -> Attachment {
        Attachment { container: self.container.clone(), ifname: self.ifname.clone() }
    }
}

/// A number for an attachment that depends on nothing else.
pub fn number(container: &str, ifname: &str) -> u64 {
    xxh3_64(format!("{container}/{ifname}").as_bytes())
}

/// The name of the host's end: 15 characters, which is what the kernel takes.
pub fn host_name(container: &str, ifname: &str) -> String {
    format!("veth{:011x}", number(container, ifname) >> 20)
}

/// A UUID (RFC 9562, version 8) that depends on a text alone.
pub fn uuid_of(text: &str) -> String {
    let (a, b) = (xxh3_64(text.as_bytes()), xxh3_64(format!("{text}/2").as_bytes()));
    let (a, b) = ((a & !0xf000) | 0x8000, (b & (u64::MAX >> 2)) | (1 << 63));
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        a >> 32,
        (a >> 16) & 0xffff,
        a & 0xffff,
        b >> 48,
        b & 0xffff_ffff_ffff
    )
}

/// The records of a node.
pub struct Records {
    folder: PathBuf,
    all: Mutex<BTreeMap<(String, String), Record>>,
}

impl Records {
    /// # Errors
    /// When the folder cannot be made or read. A file that is no record is left alone, and said.
    pub fn open(folder: &Path) -> io::Result<Records> {
        std::fs::create_dir_all(folder)?;
        let mut all = BTreeMap::new();
        for file in std::fs::read_dir(folder)? {
            let path = file?.path();
            if path.extension().is_some_and(|ending| ending == "new") {
                // The agent ended while it wrote, and before it did anything.
                std::fs::remove_file(&path)?;
                continue;
            }
            if path.extension().is_none_or(|ending| ending != "json") {
                continue;
            }
            match serde_json::from_slice::<Record>(&std::fs::read(&path)?) {
                Ok(record) => drop(all.insert((record.container.clone(), record.ifname.clone()), record)),
                Err(error) => tracing::warn!("{}: it is no record of an attachment: {error}", path.display()),
            }
        }
        Ok(Records { folder: folder.into(), all: Mutex::new(all) })
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<(String, String), Record>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, container: &str, ifname: &str) -> PathBuf {
        self.folder.join(format!("{:016x}.json", number(container, ifname)))
    }

    /// Keeps a record, on the disk if it has to outlive a loss of power.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put(&self, record: &Record) -> io::Result<()> {
        if self.find(&record.container, &record.ifname).as_ref() == Some(record) {
            return Ok(());
        }
        let path = self.file(&record.container, &record.ifname);
        let new = path.with_extension("new");
        let mut file = File::create(&new)?;
        file.write_all(&serde_json::to_vec(record)?)?;
        if record.must_last() {
            file.sync_all()?;
        }
        std::fs::rename(&new, &path)?;
        if record.must_last() {
            // The name is the folder's.
            File::open(&self.folder)?.sync_all()?;
        }
        self.held().insert((record.container.clone(), record.ifname.clone()), record.clone());
        Ok(())
    }

    /// # Errors
    /// When its file cannot be removed.
    pub fn forget(&self, record: &Record) -> io::Result<()> {
        match std::fs::remove_file(self.file(&record.container, &record.ifname)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.held().remove(&(record.container.clone(), record.ifname.clone()));
        Ok(())
    }

    pub fn find(&self, container: &str, ifname: &str) -> Option<Record> {
        self.held().get(&(container.to_owned(), ifname.to_owned())).cloned()
    }

    pub fn number(&self) -> usize {
        self.held().len()
    }

    pub fn all(&self) -> Vec<Record> {
        self.held().values().cloned().collect()
    }

    /// Other attachments of a pod.
    pub fn others_of(&self, record: &Record) -> Vec<Record> {
        let held = self.held();
        let is_other = |other: &&Record| other.pod == record.pod && other.attachment() != record.attachment();
        held.values().filter(is_other).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    pub fn record(container: &str) -> Record {
        Record {
            network: "net".into(),
            container: container.into(),
            ifname: "eth0".into(),
            netns: "/run/netns/x".into(),
            host: host_name(container, "eth0"),
            tag: None,
            is_tag_chosen: false,
            pod: "p".into(),
            interface: String::new(),
            name: String::new(),
            wrote: Wrote::Entry,
            addresses: vec!["10.0.0.5".parse().unwrap()],
            asked: Vec::new(),
            led: Vec::new(),
            is_chosen: true,
            delegate: None,
            is_ended: false,
        }
    }

    #[test]
    fn names_are_as_long_as_the_kernel_takes_and_differ() {
        let names: BTreeSet<String> = (0..100_000).map(|n| host_name(&format!("c{n}"), "eth0")).collect();
        assert_eq!(names.len(), 100_000);
        assert!(names.iter().all(|name| name.len() == 15 && name.starts_with("veth")));
        assert_ne!(host_name("c", "eth0"), host_name("c", "eth1"));
    }

    #[test]
    fn uuids_of_texts_are_uuids() {
        let one = uuid_of("blue/p1");
        assert_eq!(coeus_cni::uuid(&one), Some(one.clone()));
        assert_eq!((one.as_bytes()[14], one.len()), (b'8', 36));
        assert!("89ab".contains(one.as_bytes()[19] as char));
        assert_ne!(one, uuid_of("blue/p2"));
    }

    #[test]
    fn what_is_written_already_is_not_written_again() {
        use std::os::unix::fs::MetadataExt;
        let folder = tempfile::tempdir().unwrap();
        let records = Records::open(folder.path()).unwrap();
        let file = || std::fs::metadata(records.file("a", "eth0")).unwrap().ino();
        records.put(&record("a")).unwrap();
        let before = file();
        records.put(&record("a")).unwrap();
        assert_eq!(file(), before);
        records.put(&Record { is_ended: true, ..record("a") }).unwrap();
        assert_ne!(file(), before);
    }

    #[test]
    fn only_what_a_loss_of_power_would_leave_to_nobody_must_last() {
        let written = record("a");
        let called = crate::node::ipam::Delegate {
            kind: "host-local".into(),
            path: Vec::new(),
            call: coeus_cni::Call::default(),
            patience: 1,
        };
        let before = Record { wrote: Wrote::Nothing, ..written.clone() };
        assert!(written.must_last() && !before.must_last());
        assert!(Record { delegate: Some(called), ..before }.must_last());
    }

    #[test]
    fn records_outlive_the_agent() {
        let folder = tempfile::tempdir().unwrap();
        let records = Records::open(folder.path()).unwrap();
        records.put(&record("a")).unwrap();
        records.put(&record("b")).unwrap();
        records.forget(&record("a")).unwrap();
        records.forget(&record("a")).unwrap();
        std::fs::write(folder.path().join("0.json"), "{").unwrap();
        std::fs::write(folder.path().join("1.new"), "{").unwrap();
        let again = Records::open(folder.path()).unwrap();
        assert_eq!(again.all(), [record("b")]);
        assert!(!folder.path().join("1.new").exists());
        assert_eq!(again.find("b", "eth0"), Some(record("b")));
        assert_eq!(again.others_of(&record("c")), [record("b")]);
    }
}
