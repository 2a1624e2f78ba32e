//! The controller under test: a process of this program that is started, asked, stopped and killed.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::SoakError;
use super::figures::Used;
use super::status::field;
use super::world::Write;
use crate::cli::{Client, Connection};

/// How long a start, a stop, and the switches' coming may take.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

pub struct Process {
    child: Child,
    client: Client,
    started: Instant,
    folder: PathBuf,
    port: u16,
    words: Vec<String>,
}

impl Process {
    /// Starts it and waits until it is ready.
    pub fn start(folder: &Path, port: u16, words: &[String]) -> Result<Process, SoakError> {
        std::fs::create_dir_all(folder).map_err(SoakError::io(folder.display()))?;
        let password = folder.join("soak-password");
        std::fs::write(&password, format!("{:032x}\n", rand::random::<u128>()))
            .map_err(SoakError::io(password.display()))?;
        let connection = Connection {
            server: format!("http://127.0.0.1:{port}"),
            user: "admin".into(),
            password_file: Some(password),
            token_file: None,
            cacert: None,
            insecure: false,
        };
        let client = connection.open()?;
        let child = spawn(folder, port, words)?;
        let mut process = Process {
            child,
            client,
            started: Instant::now(),
            folder: folder.into(),
            port,
            words: words.into(),
        };
        process.ready()?;
        Ok(process)
    }

    /// Since it was started.
    pub fn life(&self) -> Duration {
        self.started.elapsed()
    }

    fn log(&self) -> PathBuf {
        self.folder.join("soak.log")
    }

    fn ready(&mut self) -> Result<(), SoakError> {
        let begin = Instant::now();
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(SoakError::Ended(status, self.log()));
            }
            if self.client.request("GET", "/readyz", &[], None).is_ok_and(|answer| answer.status == 200) {
                return Ok(());
            }
            if begin.elapsed() > PATIENCE {
                return Err(SoakError::NotReady(PATIENCE.as_secs(), self.log()));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Carries a write out; any refusal is an error.
    pub fn write(&mut self, write: &Write) -> Result<(), SoakError> {
        let method = if write.body.is_some() { "PUT" } else { "DELETE" };
        let body = write.body.as_ref().map(Value::to_string);
        let headers = [("Content-Type", "application/yang-data+json")];
        let path = format!("/rests/data/{}", write.path);
        let answer = self.client.request(method, &path, &headers, body.as_deref().map(str::as_bytes))?;
        if (200..300).contains(&answer.status) {
            return Ok(());
        }
        let what = format!("{method} {path} {}", body.unwrap_or_default());
        Err(SoakError::Refused {
            what,
            status: answer.status,
            said: String::from_utf8_lossy(&answer.body).into(),
        })
    }

    /// Stops it, or kills it, and starts it again.
    pub fn restart(&mut self, kill: bool) -> Result<(), SoakError> {
        self.end(kill)?;
        self.child = spawn(&self.folder, self.port, &self.words)?;
        self.started = Instant::now();
        self.ready()
    }

    pub fn stop(&mut self) -> Result<(), SoakError> {
        self.end(false)
    }

    fn end(&mut self, kill: bool) -> Result<(), SoakError> {
        let ending = |error| SoakError::Io { what: "ending the controller".into(), error };
        if kill {
            self.child.kill().map_err(ending)?;
        } else if let Some(pid) = rustix::process::Pid::from_raw(self.child.id().cast_signed()) {
            rustix::process::kill_process(pid, rustix::process::Signal::TERM)
                .map_err(|error| ending(error.into()))?;
        }
        let begin = Instant::now();
        while self.child.try_wait().map_err(ending)?.is_none() {
            if begin.elapsed() > PATIENCE {
                return Err(ending(std::io::ErrorKind::TimedOut.into()));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Waits until the switches are there again after a restart: none of them was told anything.
    pub fn sent(&mut self, switches: usize) -> Result<(), SoakError> {
        let begin = Instant::now();
        loop {
            let status = self.client.data_if_any("coeus-status:switches")?;
            let all = status["coeus-status:switches"]["switch"].as_array().cloned().unwrap_or_default();
            let there = |one: &&Value| one["connected"] == true && number(&one["programmed-revision"]) > 0;
            if all.iter().filter(there).count() >= switches {
                let kinds = ["flow-mods", "group-mods", "meter-mods"];
                let sent = all.iter().flat_map(|one| kinds.map(|kind| number(&one[kind]))).sum();
                return if sent == 0 { Ok(()) } else { Err(SoakError::Sent(sent)) };
            }
            if begin.elapsed() > PATIENCE {
                return Err(SoakError::NotReady(PATIENCE.as_secs(), self.log()));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// What the process uses now (proc(5)).
    pub fn used(&self) -> Result<Used, SoakError> {
        let folder = PathBuf::from(format!("/proc/{}", self.child.id()));
        let status = folder.join("status");
        let text = std::fs::read_to_string(&status).map_err(SoakError::io(status.display()))?;
        let open = folder.join("fd");
        let descriptors = std::fs::read_dir(&open).map_err(SoakError::io(open.display()))?.count() as u64;
        Ok(Used { memory: field(&text, "VmRSS"), descriptors, threads: field(&text, "Threads") })
    }
}

impl Drop for Process {
    /// A run that fails leaves nobody behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A number, as JSON has it (RFC 7951 section 6.1: long ones are strings).
fn number(value: &Value) -> u64 {
    value.as_u64().or_else(|| value.as_str()?.parse().ok()).unwrap_or(0)
}

fn spawn(folder: &Path, port: u16, words: &[String]) -> Result<Child, SoakError> {
    let starting = |error| SoakError::Io { what: "starting the controller".into(), error };
    let path = folder.join("soak.log");
    let log =
        OpenOptions::new().create(true).append(true).open(&path).map_err(SoakError::io(path.display()))?;
    let errors = log.try_clone().map_err(SoakError::io(path.display()))?;
    Command::new(std::env::current_exe().map_err(starting)?)
        .arg("serve")
        .args(["--restconf-plain", &format!("127.0.0.1:{port}")])
        .arg("--data-dir")
        .arg(folder)
        .arg("--admin-password-file")
        .arg(folder.join("soak-password"))
        .args(words)
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(errors)
        .spawn()
        .map_err(starting)
}
