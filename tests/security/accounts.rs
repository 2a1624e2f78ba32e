//! Logins: passwords, tokens, client certificates; users that come and go while the controller runs.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use coeus::app::ServeOptions;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use super::client::{Lab, basic};

const PATH: &str = "/rests/yang-library-version";

/// Runs `coeus user …` or `coeus token …` on a data directory; returns what it printed.
pub fn coeus(folder: &Path, arguments: &[&str], password: &str) -> Result<String, String> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_coeus"))
        .args(&arguments[..1])
        .arg("--data-dir")
        .arg(folder)
        .args(&arguments[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _ = writeln!(child.stdin.take().unwrap(), "{password}");
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// The status that a login comes to, once it is the one that is waited for.
fn settles(lab: &Lab, headers: &str, wanted: u16) {
    let until = Instant::now() + Duration::from_secs(10);
    let mut status = 0;
    while status != wanted && Instant::now() < until {
        status = lab.raw(headers, "GET", PATH, "").status;
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(status, wanted);
}

fn generous(_: &Path) -> ServeOptions {
    ServeOptions { limits: vec!["logins=1000".into()], ..ServeOptions::default() }
}

#[test]
fn users_and_tokens_come_and_go_while_the_controller_runs() {
    let lab = Lab::with(generous);
    let folder = lab.folder.path();
    assert_eq!(lab.send("bob:long-enough", "GET", PATH, "").status, 401);
    coeus(folder, &["user", "add", "bob", "--groups", "readers,ops"], "long-enough").unwrap();
    settles(&lab, &basic("bob:long-enough"), 200);
    assert_eq!(lab.send("bob:wrong-enough", "GET", PATH, "").status, 401);
    let list = coeus(folder, &["user", "list"], "").unwrap();
    assert!(list.contains("bob\treaders,ops\tpassword"), "{list}");
    assert!(coeus(folder, &["user", "add", "eve"], "short").unwrap_err().contains("8 characters"));

    let token = coeus(folder, &["token", "create", "--user", "bob", "--ttl", "1h"], "").unwrap();
    let bearer = format!("Authorization: Bearer {token}\r\n");
    settles(&lab, &bearer, 200);
    let id = coeus(folder, &["token", "list"], "").unwrap().split('\t').next().unwrap().to_owned();
    coeus(folder, &["token", "revoke", &id], "").unwrap();
    settles(&lab, &bearer, 401);

    coeus(folder, &["user", "passwd", "bob"], "another-one").unwrap();
    settles(&lab, &basic("bob:another-one"), 200);
    assert_eq!(lab.send("bob:long-enough", "GET", PATH, "").status, 401);
    coeus(folder, &["user", "remove", "bob"], "").unwrap();
    settles(&lab, &basic("bob:another-one"), 401);
    let stored = std::fs::read_to_string(folder.join("users.toml")).unwrap();
    assert!(!stored.contains("bob"), "{stored}");
}

#[test]
fn a_challenge_names_every_way_in() {
    let lab = Lab::start();
    let refused = lab.raw("", "GET", PATH, "");
    assert_eq!(refused.status, 401);
    assert!(
        refused.head.contains("www-authenticate: basic") && refused.head.contains("www-authenticate: bearer")
    );
    for path in ["/livez", "/.well-known/host-meta"] {
        assert_eq!(lab.raw("", "GET", path, "").status, 200, "{path} needs no login");
    }
}

/// A certificate authority, and a certificate of it for a client of this name.
fn client(ca: &Issuer<'_, KeyPair>, name: &str) -> (String, String) {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    let key = KeyPair::generate().unwrap();
    (params.signed_by(&key, ca).unwrap().pem(), key.serialize_pem())
}

fn authority() -> (String, Issuer<'static, KeyPair>) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    (params.self_signed(&key).unwrap().pem(), Issuer::new(params, key))
}

#[test]
fn a_client_certificate_is_a_login() {
    let (pem, ca) = authority();
    let prepare = |folder: &Path| std::fs::write(folder.join("ca.pem"), &pem).unwrap();
    let lab = Lab::prepared(prepare, |folder| ServeOptions {
        tls_client_ca: Some(folder.join("ca.pem")),
        ..ServeOptions::default()
    });
    coeus(lab.folder.path(), &["user", "add", "watcher", "--no-password"], "").unwrap();
    std::thread::sleep(Duration::from_millis(1100));
    let status = |identity: &(String, String), headers: &str| {
        let identity = Some((identity.0.as_str(), identity.1.as_str()));
        lab.as_client(identity, headers, "GET", PATH, "").map(|answer| answer.status)
    };
    let watcher = client(&ca, "watcher");
    assert_eq!(status(&watcher, "").unwrap(), 200);
    assert_eq!(status(&client(&ca, "nobody"), "").unwrap(), 401, "who is no user is not let in");
    assert_eq!(status(&watcher, &basic("admin:wrong")).unwrap(), 401, "a wrong password is not made good");
    assert_eq!(lab.raw("", "GET", PATH, "").status, 401, "a certificate is possible, not needed");
    let (_, stranger) = authority();
    let forged = status(&client(&stranger, "watcher"), "");
    assert!(forged.is_err(), "{forged:?}");
}
