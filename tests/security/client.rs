//! A controller in this process, and clients that speak TLS as they are told.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use coeus::app::{self, Controller, ServeOptions, Settings};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

pub const PATIENCE: Duration = Duration::from_secs(20);

/// A controller on ports of its own.
pub struct Lab {
    runtime: tokio::runtime::Runtime,
    controller: Option<Controller>,
    pub folder: tempfile::TempDir,
    /// What is asked for on the command line, beside ports and directory.
    options: fn(&Path) -> ServeOptions,
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Lab {
    pub fn start() -> Lab {
        Lab::with(|_| ServeOptions::default())
    }

    /// The function gets the data directory.
    pub fn with(options: fn(&Path) -> ServeOptions) -> Lab {
        Lab::prepared(|_| {}, options)
    }

    /// As [`Lab::with`], with files put into the data directory first.
    pub fn prepared(prepare: impl FnOnce(&Path), options: fn(&Path) -> ServeOptions) -> Lab {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path());
        let mut lab = Lab { runtime, controller: None, folder, options };
        lab.begin();
        lab
    }

    fn begin(&mut self) {
        let any = || Some("127.0.0.1:0".to_owned());
        let settings = Settings::from(
            ServeOptions {
                data_dir: Some(self.folder.path().to_owned()),
                restconf: any(),
                restconf_plain: any(),
                openflow: any(),
                ovsdb: any(),
                ..(self.options)(self.folder.path())
            },
            Some("secret".into()),
        );
        self.controller = Some(self.runtime.block_on(app::start(&settings.unwrap())).unwrap());
    }

    pub fn restart(&mut self) {
        self.stop();
        self.begin();
    }

    fn stop(&mut self) {
        if let Some(controller) = self.controller.take() {
            self.runtime.block_on(controller.stop());
        }
    }

    pub fn controller(&self) -> &Controller {
        self.controller.as_ref().unwrap()
    }

    pub fn tls(&self) -> SocketAddr {
        self.controller().restconf
    }

    pub fn plain(&self) -> SocketAddr {
        self.controller().restconf_plain.unwrap()
    }

    /// One request over TLS 1.3, with the login given as `NAME:PASSWORD`.
    pub fn send(&self, login: &str, method: &str, path: &str, body: &str) -> Answer {
        self.raw(&basic(login), method, path, body)
    }

    /// The same with header lines instead of a login.
    pub fn raw(&self, headers: &str, method: &str, path: &str, body: &str) -> Answer {
        self.as_client(None, headers, method, path, body).unwrap()
    }

    /// The same with a certificate and its key, in PEM.
    pub fn as_client(
        &self,
        identity: Option<(&str, &str)>,
        headers: &str,
        method: &str,
        path: &str,
        body: &str,
    ) -> std::io::Result<Answer> {
        let mut stream = connect(self.tls(), self.folder.path(), identity, &[])?;
        exchange(&mut stream, &request(method, path, headers, body))
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.stop();
    }
}

pub fn basic(login: &str) -> String {
    format!("Authorization: Basic {}\r\n", base64::engine::general_purpose::STANDARD.encode(login))
}

pub fn request(method: &str, path: &str, headers: &str, body: &str) -> String {
    let kind = if body.is_empty() { "" } else { "Content-Type: application/yang-data+json\r\n" };
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{kind}{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// What the client trusts: the certificate that the controller of this directory made.
fn config(folder: &Path, identity: Option<(&str, &str)>, alpn: &[&[u8]]) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(folder.join("tls/certificate.pem")).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_protocol_versions(&[&rustls::version::TLS13]);
    let config = config.unwrap().with_root_certificates(roots);
    let mut config = match identity {
        None => config.with_no_client_auth(),
        Some((certificate, key)) => config
            .with_client_auth_cert(
                vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()],
                PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
            )
            .unwrap(),
    };
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    config
}

pub type Tls = StreamOwned<ClientConnection, TcpStream>;

pub fn connect(
    address: SocketAddr,
    folder: &Path,
    identity: Option<(&str, &str)>,
    alpn: &[&[u8]],
) -> std::io::Result<Tls> {
    let config = Arc::new(config(folder, identity, alpn));
    let session = ClientConnection::new(config, ServerName::try_from("localhost").unwrap())
        .map_err(std::io::Error::other)?;
    let socket = TcpStream::connect(address)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let mut stream = StreamOwned::new(session, socket);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock)?;
    }
    Ok(stream)
}

/// Sends a text and reads until the other side is done.
pub fn exchange(stream: &mut (impl Read + Write), text: &str) -> std::io::Result<Answer> {
    // A server that refuses early may close while the rest is still on its way.
    let _ = stream.write_all(text.as_bytes());
    let _ = stream.flush();
    let mut answer = Vec::new();
    let ended = stream.read_to_end(&mut answer);
    if answer.is_empty() {
        ended?;
    }
    let text = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Ok(Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() })
}

pub fn plain(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}
