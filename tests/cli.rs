//! The commands against a running controller, over TLS with the certificate that it made.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/program.rs"]
mod program;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use program::Program;

const POD: &str = "pod:coe/pods=00000000-0000-4000-8000-000000000001";
const BODY: &str = r#"{"pod:pods":[{"uid":"00000000-0000-4000-8000-000000000001","name":"web","network-NS":"blue",
    "host-ip-address":"192.0.2.1","interface":[{"uid":"00000000-0000-4000-8000-000000000001","ip-address":"10.1.1.2"}]}]}"#;

struct Controller {
    _program: Program,
    server: String,
    folder: tempfile::TempDir,
}

impl Controller {
    fn start() -> Controller {
        let folder = tempfile::tempdir().unwrap();
        let program = Program::start(folder.path(), &[]);
        let server = program.address("RESTCONF on ").to_owned();
        Controller { _program: program, server, folder }
    }

    /// Exit code, standard output and standard error of a command.
    fn run(&self, words: &[&str], input: &str) -> (i32, String, String) {
        self.run_as("secret", &self.folder.path().join("tls/certificate.pem"), words, input)
    }

    fn run_as(&self, password: &str, trusted: &Path, words: &[&str], input: &str) -> (i32, String, String) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_coeus"))
            .args(words)
            .env("COEUS_SERVER", &self.server)
            .env("COEUS_PASSWORD", password)
            .env("COEUS_CACERT", trusted)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let done = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (done.status.code().unwrap(), text(done.stdout), text(done.stderr))
    }

    fn ok(&self, words: &[&str], input: &str) -> String {
        let (code, out, error) = self.run(words, input);
        assert_eq!(code, 0, "{words:?}: {out}{error}");
        out
    }
}

#[test]
fn a_pod_is_planned_put_explained_deleted_and_brought_back() {
    let controller = Controller::start();
    assert!(controller.ok(&["plan", "put", POD], BODY).contains("derived nodes"));
    assert!(controller.ok(&["pods"], "").lines().count() == 1, "a plan commits nothing");
    controller.ok(&["put", POD], BODY);
    assert!(controller.ok(&["pods", "-n", "blue"], "").contains("web"));
    assert!(controller.ok(&["pods", "web", "-o", "wide"], "").contains("blue:web"));
    assert!(controller.ok(&["get", POD, "-o", "yaml"], "").contains("name: web"));
    assert!(controller.ok(&["get", "pod:coe", "--fields", "pods(name)"], "").contains("web"));
    let chosen =
        ["get", "pod:coe/pods", "--where", "name='web'", "--sort-by", "name", "--limit", "1", "-o", "table"];
    assert!(controller.ok(&chosen, "").contains("web"));
    assert_eq!(controller.run(&["get", "pod:coe/pods", "--where", "nothing"], "").0, 4);
    assert!(controller.ok(&["explain", "object", POD, "-o", "wide"], "").contains("elan-interface"));
    assert!(controller.ok(&["explain", "impact", POD, "-o", "json"], "").contains("removed"));
    let history: serde_json::Value =
        serde_json::from_str(&controller.ok(&["history", "-o", "json"], "")).unwrap();
    let put = history["revision"].as_array().unwrap().last().unwrap()["number"].as_str().unwrap().to_owned();
    controller.ok(&["delete", POD], "");
    assert!(controller.ok(&["diff", &put, "-o", "table"], "").contains("remove"));
    assert!(controller.ok(&["rollback", &put], "").contains("back at revision"));
    assert!(controller.ok(&["pods"], "").contains("web"));
    controller.ok(&["delete", POD, "--confirm", "10m"], "");
    assert_eq!(controller.ok(&["pods"], "").lines().count(), 1);
    controller.ok(&["cancel"], "");
    assert!(controller.ok(&["pods"], "").contains("web"), "taken back");
    controller.ok(&["patch", POD, "--confirm", "10m"], &BODY.replace("10.1.1.2", "10.1.1.3"));
    controller.ok(&["confirm"], "");
    assert!(controller.ok(&["services"], "").starts_with("NAMESPACE"));
    assert!(controller.ok(&["nodes"], "").starts_with("SWITCH"));
    assert!(controller.ok(&["flows"], "").starts_with("SWITCH  TABLE"));
    assert!(controller.ok(&["flows", "-o", "wide"], "").starts_with("SWITCH  OWNER"));
    assert_eq!(
        controller.ok(&["flows", "--table", "51", "-o", "json"], "").trim(),
        "[]",
        "there is no switch"
    );
    assert_eq!(controller.run(&["flows", "--data-dir", "/nowhere", "--table", "51"], "").0, 2);
    assert_eq!(controller.run(&["flows", "--data-dir", "/nowhere"], "").0, 1);
    assert!(controller.ok(&["doctor"], "").contains("none has ever connected"));
}

#[test]
fn edits_gather_in_the_candidate_and_are_committed_together() {
    let controller = Controller::start();
    let other = POD.replace("000000000001", "000000000002");
    let body =
        BODY.replace("000000000001", "000000000002").replace("web", "db").replace("10.1.1.2", "10.1.1.9");
    assert!(controller.ok(&["put", POD, "--candidate"], BODY).contains("candidate commit"));
    controller.ok(&["put", &other, "--candidate"], &body);
    assert_eq!(controller.ok(&["pods"], "").lines().count(), 1, "nothing is committed");
    assert!(controller.ok(&["candidate", "show", "pod:coe"], "").contains("db"));
    assert!(controller.ok(&["candidate", "diff"], "").contains("/pod:coe"));
    assert!(controller.ok(&["candidate", "plan", "-o", "wide"], "").contains("elan-interface"));
    controller.ok(&["candidate", "validate"], "");
    assert!(controller.ok(&["candidate", "commit", "--confirm", "10m"], "").contains("coeus confirm"));
    controller.ok(&["confirm"], "");
    assert_eq!(controller.ok(&["pods"], "").lines().count(), 3);
    controller.ok(&["delete", &other, "--candidate"], "");
    controller.ok(&["candidate", "update"], "");
    assert!(controller.ok(&["candidate", "discard"], "").contains("1 edits"));
    let (nothing, _, error) = controller.run(&["candidate", "commit"], "");
    assert_eq!(nothing, 3, "{error}");
    assert_eq!(controller.run(&["put", POD, "--candidate", "--confirm", "1m"], "").0, 2);
}

#[test]
fn exit_codes_say_what_went_wrong() {
    let controller = Controller::start();
    let code = |words: &[&str], input: &str| controller.run(words, input).0;
    assert_eq!(code(&["get"], ""), 0);
    assert_eq!(code(&["no-such-verb"], ""), 2);
    assert_eq!(code(&["delete", POD], ""), 3);
    assert_eq!(code(&["pods", "nobody"], ""), 3);
    let (refused, _, error) = controller.run(&["put", POD], r#"{"pod:pods":[{"uid":"x"}]}"#);
    assert_eq!(refused, 4);
    assert!(error.contains("uid"), "{error}");
    let certificate = controller.folder.path().join("tls/certificate.pem");
    assert_eq!(controller.run_as("wrong", &certificate, &["nodes"], "").0, 5);
    let (unreachable, _, error) = controller.run(&["nodes", "--server", "https://127.0.0.1:1"], "");
    assert_eq!(unreachable, 6, "{error}");
    assert!(error.contains("--server"), "{error}");
    let other = Controller::start();
    let stranger = other.folder.path().join("tls/certificate.pem");
    let (untrusted, _, error) = controller.run_as("secret", &stranger, &["nodes"], "");
    assert_eq!(untrusted, 6, "{error}");
    assert!(error.contains("--cacert"), "{error}");
}

#[test]
fn a_controller_that_waits_for_its_store_ends_when_it_is_told() {
    use rustix::process::{Pid, Signal, kill_process};
    // It takes connections, and says nothing.
    let store = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let store = format!("etcd://{}/test", store.local_addr().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let any = "127.0.0.1:0";
    let mut controller = Command::new(env!("CARGO_BIN_EXE_coeus"))
        .args(["serve", "--restconf", any, "--openflow", any, "--ovsdb", any, "--store", &store])
        .arg("--data-dir")
        .arg(folder.path())
        .env("COEUS_ADMIN_PASSWORD", "secret")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(controller.stderr.take().unwrap()).lines();
    let begun = log.any(|line| line.unwrap().contains("are shown this certificate"));
    assert!(begun, "it has not come to open its store");
    let told = Instant::now();
    kill_process(Pid::from_raw(controller.id().cast_signed()).unwrap(), Signal::TERM).unwrap();
    assert!(controller.wait().unwrap().success());
    assert!(told.elapsed() < Duration::from_secs(5), "it took {:?}", told.elapsed());
}
