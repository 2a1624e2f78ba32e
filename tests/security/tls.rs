//! TLS 1.3 by default, plain HTTP only where it was asked for.

use std::io::Write;
use std::process::Command;

use super::client::{Lab, basic, connect, exchange, plain, request};

#[test]
fn a_login_over_tls_13_works_with_the_certificate_made_at_the_first_start() {
    let mut lab = Lab::start();
    assert_eq!(lab.send("admin:secret", "GET", "/rests/data/pod:coe", "").status, 404);
    let body = r#"{"pod:pods":[{"uid":"00000000-0000-4000-8000-000000000001","name":"a"}]}"#;
    assert_eq!(lab.send("admin:secret", "POST", "/rests/data/pod:coe", body).status, 201);
    let certificate = std::fs::read(lab.folder.path().join("tls/certificate.pem")).unwrap();
    lab.restart();
    assert_eq!(lab.send("admin:secret", "GET", "/rests/data/pod:coe", "").status, 200);
    let after = std::fs::read(lab.folder.path().join("tls/certificate.pem")).unwrap();
    assert_eq!(certificate, after, "clients may pin it");
}

/// OpenSSL's own client, since ours cannot speak older versions.
fn openssl(lab: &Lab, version: &str) -> String {
    let address = lab.tls().to_string();
    let mut child = Command::new("openssl")
        .args(["s_client", version, "-connect", &address])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let _ = child.stdin.take().unwrap().write_all(b"Q\n");
    let output = child.wait_with_output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn older_versions_of_tls_are_refused() {
    let lab = Lab::start();
    let newest = openssl(&lab, "-tls1_3");
    assert!(newest.contains("TLSv1.3, Cipher is TLS_"), "{newest}");
    let older = openssl(&lab, "-tls1_2");
    assert!(older.contains("alert protocol version"), "{older}");
}

#[test]
fn alpn_chooses_between_http_1_1_and_http_2() {
    let lab = Lab::start();
    let chosen = |offered: &[&[u8]]| {
        let stream = connect(lab.tls(), lab.folder.path(), None, offered);
        stream.map(|stream| stream.conn.alpn_protocol().map(<[u8]>::to_vec))
    };
    assert_eq!(chosen(&[b"h2", b"http/1.1"]).unwrap().as_deref(), Some(&b"h2"[..]));
    assert_eq!(chosen(&[b"http/1.1"]).unwrap().as_deref(), Some(&b"http/1.1"[..]));
    assert_eq!(chosen(&[]).unwrap(), None);
    assert!(chosen(&[b"gopher"]).is_err());
    for (version, wanted) in [("--http2", "2"), ("--http1.1", "1.1")] {
        let output = Command::new("curl")
            .args([
                "-s",
                "--max-time",
                "20",
                version,
                "-o",
                "/dev/null",
                "-w",
                "%{http_version} %{http_code}",
            ])
            .args(["-u", "admin:secret", "--cacert"])
            .arg(lab.folder.path().join("tls/certificate.pem"))
            .arg(format!("https://localhost:{}/rests/yang-library-version", lab.tls().port()))
            .args(["--resolve", &format!("localhost:{}:127.0.0.1", lab.tls().port())])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{wanted} 200"));
    }
}

#[test]
fn plain_http_is_served_only_where_it_was_asked_for() {
    let lab = Lab::start();
    let text = request("GET", "/rests/data/pod:coe", &basic("admin:secret"), "");
    assert_eq!(exchange(&mut plain(lab.plain()), &text).unwrap().status, 404);
    let to_tls = exchange(&mut plain(lab.tls()), &text);
    assert!(to_tls.is_err() || to_tls.as_ref().is_ok_and(|answer| answer.status == 0), "{to_tls:?}");
}
