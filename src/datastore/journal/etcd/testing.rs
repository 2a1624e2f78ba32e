//! A real etcd for tests: on loopback, in a folder of its own, ended with the value.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{Credentials, EtcdJournal, EtcdReplica, Place};

pub struct Etcd {
    folder: tempfile::TempDir,
    port: u16,
    peer: u16,
    /// Further options of `etcd`.
    options: Vec<String>,
    tls: bool,
    process: Option<Child>,
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Etcd {
    pub fn start() -> Etcd {
        let mut etcd = Etcd::prepare();
        etcd.run();
        etcd
    }

    /// One that does not run yet.
    pub fn prepare() -> Etcd {
        let folder = tempfile::tempdir().unwrap();
        Etcd { folder, port: free_port(), peer: free_port(), options: Vec::new(), tls: false, process: None }
    }

    /// With TLS: files of its certificate and key, and of who signed its clients'.
    pub fn with_tls(mut self, certificate: &str, key: &str, client_ca: &str) -> Etcd {
        self.options = [
            format!("--cert-file={certificate}"),
            format!("--key-file={key}"),
            format!("--trusted-ca-file={client_ca}"),
            "--client-cert-auth".to_owned(),
        ]
        .into();
        self.tls = true;
        self
    }

    pub fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    pub fn place(&self) -> Place {
        format!("etcd://127.0.0.1:{}/test", self.port).parse().unwrap()
    }

    pub fn open(&self) -> EtcdJournal {
        EtcdJournal::open(&self.place(), &Credentials::default()).unwrap()
    }

    pub fn follow(&self) -> EtcdReplica {
        EtcdReplica::open(&self.place(), &Credentials::default()).unwrap()
    }

    /// Has it forget what was before a revision of its own.
    pub fn compact(&self, revision: i64) {
        let endpoint = format!("127.0.0.1:{}", self.port);
        let done = Command::new("etcdctl")
            .env("ETCDCTL_API", "3")
            .args(["--endpoints", &endpoint, "compact", &revision.to_string()])
            .output();
        assert!(done.is_ok_and(|done| done.status.success()), "etcd was not compacted");
    }

    pub fn run(&mut self) {
        let scheme = if self.tls { "https" } else { "http" };
        let (client, peer) =
            (format!("{scheme}://127.0.0.1:{}", self.port), format!("http://127.0.0.1:{}", self.peer));
        let log =
            std::fs::File::options().create(true).append(true).open(self.folder.path().join("log")).unwrap();
        let process = Command::new("etcd")
            .args(["--name", "one", "--data-dir"])
            .arg(self.folder.path().join("data"))
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &format!("one={peer}")])
            .args(&self.options)
            .stdout(Stdio::null())
            .stderr(log)
            .stdin(Stdio::null())
            .spawn()
            .expect("etcd starts (Debian: apt-get install etcd-server)");
        self.process = Some(process);
        let begun = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(20), "etcd does not listen: {}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    pub fn signal(&self, signal: Signal) {
        let id = self.process.as_ref().unwrap().id();
        kill_process(Pid::from_raw(id.try_into().unwrap()).unwrap(), signal).unwrap();
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.kill();
    }
}
