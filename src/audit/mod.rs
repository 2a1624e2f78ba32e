//! Who did what: one record for each write of a user and each refused login, as the tracing target `audit` and as a line of
//! JSON in `audit.jsonl`, which only its owner reads and which is set aside when it is long.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;

/// Files that are kept beside the one that is written: `audit.jsonl.1` is the youngest of them.
const KEPT: u32 = 5;

pub struct Audit {
    log: Mutex<Option<Log>>,
}

struct Log {
    path: PathBuf,
    file: File,
    written: u64,
    most: u64,
}

impl Audit {
    /// Writes to the tracing target only.
    pub fn untold() -> Audit {
        Audit { log: Mutex::new(None) }
    }

    /// Appends to `audit.jsonl` of a directory; a file longer than `most` bytes is set aside.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(folder: &Path, most: u64) -> std::io::Result<Audit> {
        let path = folder.join("audit.jsonl");
        let file = append(&path)?;
        let written = file.metadata()?.len();
        Ok(Audit { log: Mutex::new(Some(Log { path, file, written, most })) })
    }

    /// A write: what it was about, and the revision or the reason why there is none.
    pub fn write(
        &self,
        user: &str,
        from: Option<SocketAddr>,
        paths: &[String],
        outcome: Result<u64, String>,
    ) {
        let from = from.map_or("here".to_owned(), |from| from.to_string());
        let (revision, result) = match outcome {
            Ok(revision) => (Some(revision), "done".to_owned()),
            Err(reason) => (None, reason),
        };
        let first = paths.first().map_or("", String::as_str);
        tracing::info!(target: "audit", user, from, path = first, paths = paths.len(), revision, result, "write");
        self.append(json!({
            "time": now(), "event": "write", "user": user, "from": from, "paths": paths, "revision": revision,
            "result": result,
        }));
    }

    /// An edit of the user's candidate, or what became of it; its commit is a write.
    pub fn candidate(
        &self,
        user: &str,
        from: Option<SocketAddr>,
        paths: &[String],
        outcome: Result<(), String>,
    ) {
        let from = from.map_or("here".to_owned(), |from| from.to_string());
        let result = outcome.err().unwrap_or_else(|| "done".to_owned());
        let first = paths.first().map_or("", String::as_str);
        tracing::info!(target: "audit", user, from, path = first, paths = paths.len(), result, "candidate");
        self.append(json!({
            "time": now(), "event": "candidate", "user": user, "from": from, "paths": paths, "result": result,
        }));
    }

    /// A login that was refused; the name is what was claimed.
    pub fn refused(&self, name: Option<&str>, from: SocketAddr, reason: &str) {
        tracing::warn!(target: "audit", user = name, %from, reason, "login refused");
        self.append(json!({
            "time": now(), "event": "login-refused", "user": name, "from": from.to_string(), "result": reason,
        }));
    }

    fn append(&self, record: serde_json::Value) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(log) = &mut *log else { return };
        let line = format!("{record}\n");
        if let Err(error) = log.append(line.as_bytes()) {
            tracing::error!(%error, path = %log.path.display(), record = line.trim(), "an audit record could not be written");
        }
    }
}

impl Log {
    fn append(&mut self, line: &[u8]) -> std::io::Result<()> {
        if self.written > 0 && self.written + line.len() as u64 > self.most {
            self.set_aside()?;
        }
        self.file.write_all(line)?;
        self.written += line.len() as u64;
        Ok(())
    }

    fn set_aside(&mut self) -> std::io::Result<()> {
        let aside = |number: u32| self.path.with_extension(format!("jsonl.{number}"));
        for number in (1..KEPT).rev() {
            if aside(number).exists() {
                std::fs::rename(aside(number), aside(number + 1))?;
            }
        }
        std::fs::rename(&self.path, aside(1))?;
        self.file = append(&self.path)?;
        self.written = 0;
        Ok(())
    }
}

fn append(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

/// Milliseconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_millis() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_lines_of_json_and_long_files_are_set_aside() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let audit = Audit::open(folder.path(), 400).unwrap();
        let from = Some("192.0.2.1:5".parse().unwrap());
        for revision in 0..40 {
            audit.write("bob\n", from, &["/pod:coe".to_owned()], Ok(revision));
        }
        audit.refused(Some("eve\"}"), "192.0.2.2:6".parse().unwrap(), "wrong");
        let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap()).collect();
        assert_eq!(files.len(), 1 + KEPT as usize);
        for file in files {
            let metadata = file.metadata().unwrap();
            assert!(metadata.len() <= 400 && metadata.permissions().mode() & 0o777 == 0o600);
            for line in std::fs::read_to_string(file.path()).unwrap().lines() {
                let record: serde_json::Value = serde_json::from_str(line).unwrap();
                assert!(record["from"].as_str().unwrap().starts_with("192.0.2."), "{line}");
            }
        }
        let newest = std::fs::read_to_string(folder.path().join("audit.jsonl")).unwrap();
        assert!(newest.trim_end().ends_with(r#""user":"eve\"}"}"#), "{newest}");
        Audit::open(folder.path(), 400).unwrap().refused(None, "192.0.2.2:6".parse().unwrap(), "none");
        let appended = std::fs::read_to_string(folder.path().join("audit.jsonl")).unwrap();
        assert!(appended.starts_with(&newest) && appended.len() > newest.len());
    }
}
