//! Switches that connect by TLS: who is let in, who is refused and why, and whose a datapath is. The switches are clients of rustls here;
//! csit/suites/40_switch_tls.robot does the same with Open vSwitch.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::BytesMut;
use coeus::datastore::journal::MemoryJournal;
use coeus::datastore::{Handle, NullEngine, Transaction, actor};
use coeus::net::Dpid;
use coeus::schema::builtin;
use coeus::southbound::admission::{Admission, Bindings, Files, Tls};
use coeus::southbound::openflow::{self, Connected, Incoming};
use coeus::southbound::ovsdb;
use openflow_rs::{Features, Message, frame_len};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::{TlsAcceptor, TlsConnector, server};

const LONG: Duration = Duration::from_secs(20);

struct Authority {
    folder: PathBuf,
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// Certificate and key, in PEM.
struct Card {
    certificate: String,
    key: String,
}

impl Card {
    fn parts(&self) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        let chain = vec![CertificateDer::from_pem_slice(self.certificate.as_bytes()).unwrap()];
        (chain, PrivateKeyDer::from_pem_slice(self.key.as_bytes()).unwrap())
    }
}

impl Authority {
    fn new(folder: &Path, name: &str) -> Authority {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Authority { folder: folder.to_owned(), pem, issuer: Issuer::new(params, key) }
    }

    /// A certificate that ends so many days from now.
    fn signs(&self, name: &str, days: i64) -> Card {
        let mut params = CertificateParams::new(vec!["switch.example".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let day = Duration::from_secs(24 * 3600);
        params.not_before = (SystemTime::now() - 30 * day).into();
        params.not_after = params.not_before + day * u32::try_from(30 + days).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Card { certificate, key: key.serialize_pem() }
    }

    fn roots(&self) -> rustls::RootCertStore {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.pem.as_bytes()).unwrap()).unwrap();
        roots
    }

    /// The end of a switch that was dialled and shows this: it wants to see a certificate of this authority.
    async fn accepts(
        &self,
        card: &Card,
        version: &'static rustls::SupportedProtocolVersion,
        listener: &TcpListener,
    ) -> std::io::Result<server::TlsStream<TcpStream>> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let roots = Arc::new(self.roots());
        let verifier =
            rustls::server::WebPkiClientVerifier::builder_with_provider(roots, provider.clone()).build();
        let (chain, key) = card.parts();
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .unwrap()
            .with_client_cert_verifier(verifier.unwrap())
            .with_single_cert(chain, key)
            .unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        TlsAcceptor::from(Arc::new(config)).accept(stream).await
    }

    fn tls(&self) -> Tls {
        let card = self.signs("controller", 30);
        let write = |name: &str, text: &str| {
            let path = self.folder.join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let files = Files {
            certificate: write("certificate.pem", &card.certificate),
            key: write("key.pem", &card.key),
            ca: write("ca.pem", &self.pem),
        };
        Tls::load(&files).unwrap()
    }
}

struct Controller {
    address: SocketAddr,
    datastore: Handle,
    admission: Admission,
    connected: mpsc::Receiver<Connected>,
    authority: Authority,
    _folder: tempfile::TempDir,
}

impl Controller {
    async fn start() -> Controller {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new(folder.path(), "authority");
        let journal = Box::new(MemoryJournal::default());
        let datastore = actor::start(builtin(), journal, Box::new(NullEngine)).unwrap().handle;
        let admission = Admission::new(Some(authority.tls()), &datastore);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (connected, switches) = mpsc::channel(8);
        let (packets, _) = mpsc::channel(8);
        let (ended, _) = mpsc::channel(8);
        let settings = openflow::Settings { admission: admission.clone(), ..openflow::Settings::default() };
        let unasked = openflow::Unasked { packets, ended };
        tokio::spawn(openflow::serve(listener, settings, connected, unasked, std::future::pending()));
        Controller { address, datastore, admission, connected: switches, authority, _folder: folder }
    }

    /// TLS as a switch does it: it looks at who signed our certificate, not at names.
    async fn dial(
        &self,
        card: Option<&Card>,
        version: &'static rustls::SupportedProtocolVersion,
    ) -> Option<Tcp> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(self.authority.roots());
        let config = match card {
            None => config.with_no_client_auth(),
            Some(card) => {
                let (chain, key) = card.parts();
                config.with_client_auth_cert(chain, key).unwrap()
            }
        };
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("switch.example").unwrap();
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.ok()?;
        Some(Tcp { stream: Box::new(stream), buffer: BytesMut::new() })
    }

    async fn dial13(&self, card: &Card) -> Option<Tcp> {
        self.dial(Some(card), &rustls::version::TLS13).await
    }

    /// The reasons that were counted, with how often.
    fn refused(&self) -> Vec<(String, u64)> {
        let (mut registry, mut page) = (Registry::default(), String::new());
        self.admission.refusals().register(&mut registry);
        encode(&mut page, &registry).unwrap();
        let line = |line: &str| {
            let (reason, count) = line.split_once("reason=\"")?.1.split_once("\"} ")?;
            Some((reason.to_owned(), count.parse().ok()?))
        };
        let mut all: Vec<_> = page.lines().filter_map(line).collect();
        all.sort();
        all
    }

    /// Nobody was let in, and this is why.
    async fn refuses(&mut self, reason: &str) {
        let end = tokio::time::Instant::now() + LONG;
        while !self.refused().iter().any(|(counted, _)| counted == reason) {
            assert!(tokio::time::Instant::now() < end, "{reason}: {:?}", self.refused());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(self.connected.try_recv().is_err());
    }
}

trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A switch's end of a connection.
struct Tcp {
    stream: Box<dyn Io>,
    buffer: BytesMut,
}

impl Tcp {
    async fn say(&mut self, xid: u32, message: Message) {
        let mut bytes = BytesMut::new();
        message.encode(xid, &mut bytes);
        // A refusal may close the connection at any time.
        let _ = self.stream.write_all(&bytes).await;
        let _ = self.stream.flush().await;
    }

    async fn hear(&mut self) -> Option<(u32, Message)> {
        loop {
            if let Some(length) = frame_len(&self.buffer).unwrap()
                && self.buffer.len() >= length
            {
                let (header, message) = Message::decode(&self.buffer.split_to(length).freeze()).unwrap();
                return Some((header.xid, message));
            }
            match self.stream.read_buf(&mut self.buffer).await {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// Says who it is. `None`: it was hung up on before.
    async fn introduce(&mut self, dpid: u64) -> Option<()> {
        self.say(1, Message::Hello { versions: 1 << 4 }).await;
        loop {
            if let (xid, Message::FeaturesRequest) = self.hear().await? {
                let features = Features { dpid, buffers: 0, tables: 254, auxiliary_id: 0, capabilities: 0 };
                self.say(xid, Message::FeaturesReply(features)).await;
                return Some(());
            }
        }
    }
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, what).await.expect("it takes too long")
}

#[tokio::test(flavor = "multi_thread")]
async fn both_versions_of_tls_carry_a_session_with_much_in_both_directions() {
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let mut controller = Controller::start().await;
        let card = controller.authority.signs("node1", 30);
        let mut switch = soon(controller.dial(Some(&card), version)).await.unwrap();
        soon(switch.introduce(7)).await.unwrap();
        let mut connected = soon(controller.connected.recv()).await.unwrap();
        assert_eq!(connected.dpid, Dpid(7));
        // More than the socket takes, by two senders, while the switch does not read.
        const EACH: u32 = 200;
        for sender in 0..2_u32 {
            let session = connected.session.clone();
            tokio::spawn(async move {
                for number in 0..EACH {
                    let mut bytes = BytesMut::new();
                    Message::EchoRequest(vec![sender as u8; 40_000])
                        .encode(sender << 16 | number, &mut bytes);
                    session.send(bytes.freeze()).await.unwrap();
                }
            });
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        let mut next = [0, 0];
        while next != [EACH, EACH] {
            let (xid, message) = soon(switch.hear()).await.unwrap();
            let Message::EchoRequest(data) = message else { continue };
            let sender = (xid >> 16) as usize;
            assert_eq!((xid & 0xffff, data.len()), (next[sender], 40_000));
            assert!(data.iter().all(|byte| usize::from(*byte) == sender), "torn apart");
            next[sender] += 1;
        }
        for xid in 0..500 {
            switch.say(xid, Message::BarrierReply).await;
        }
        for number in 0..500 {
            let Some(Incoming::Message { xid, message }) = soon(connected.replies.recv()).await else {
                panic!()
            };
            assert_eq!((xid, message), (number, Message::BarrierReply));
        }
        // One small message is not kept back.
        let mut bytes = BytesMut::new();
        Message::BarrierRequest.encode(9, &mut bytes);
        connected.session.send(bytes.freeze()).await.unwrap();
        while soon(switch.hear()).await.unwrap().1 != Message::BarrierRequest {}
        assert!(controller.refused().is_empty(), "{:?}", controller.refused());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_no_good_certificate_is_refused_with_the_reason() {
    let mut controller = Controller::start().await;
    let folder = tempfile::tempdir().unwrap();
    let stranger = Authority::new(folder.path(), "somebody else").signs("node1", 30);
    let expired = controller.authority.signs("node1", -1);
    for (card, reason) in
        [(None, "no-certificate"), (Some(&stranger), "unknown-authority"), (Some(&expired), "expired")]
    {
        for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
            if let Some(mut switch) = soon(controller.dial(card, version)).await {
                assert_eq!(soon(switch.introduce(7)).await, None, "{reason}");
            }
        }
        controller.refuses(reason).await;
    }
    // Without TLS, as a switch with a target tcp: would come.
    let stream = TcpStream::connect(controller.address).await.unwrap();
    let mut plain = Tcp { stream: Box::new(stream), buffer: BytesMut::new() };
    plain.say(1, Message::Hello { versions: 1 << 4 }).await;
    controller.refuses("no-tls").await;
    let counted: u64 = controller.refused().iter().map(|(_, count)| count).sum();
    assert_eq!(counted, 7, "{:?}", controller.refused());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_switch_that_is_dialled_shows_as_good_a_certificate_and_sees_ours() {
    let mut controller = Controller::start().await;
    let folder = tempfile::tempdir().unwrap();
    let stranger = Authority::new(folder.path(), "somebody else").signs("node1", 30);
    let [own, expired] = [30, -1].map(|days| controller.authority.signs("node1", days));
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = format!("ssl:{}", listener.local_addr().unwrap());
        let settings =
            ovsdb::Settings { admission: controller.admission.clone(), ..ovsdb::Settings::default() };
        let dialling = tokio::spawn(ovsdb::connect(target, settings, controller.datastore.clone()));
        for (card, reason) in [(&stranger, "unknown-authority"), (&expired, "expired")] {
            assert!(soon(controller.authority.accepts(card, version, &listener)).await.is_err(), "{reason}");
            controller.refuses(reason).await;
        }
        let mut stream = soon(controller.authority.accepts(&own, version, &listener)).await.unwrap();
        let shown = stream.get_ref().1.peer_certificates().map(<[_]>::len);
        assert_eq!(shown, Some(1), "ours is shown, too");
        let mut heard = vec![0; 8192];
        let count = soon(stream.read(&mut heard)).await.unwrap();
        assert!(String::from_utf8_lossy(&heard[..count]).contains("\"monitor"), "the database is asked");
        dialling.abort();
    }
    let counted: u64 = controller.refused().iter().map(|(_, count)| count).sum();
    assert_eq!(counted, 4, "{:?}", controller.refused());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_datapath_belongs_to_who_came_first_until_it_is_released() {
    let mut controller = Controller::start().await;
    let [first, second] = ["node1", "node2"].map(|name| controller.authority.signs(name, 30));
    let mut switch = soon(controller.dial13(&first)).await.unwrap();
    soon(switch.introduce(7)).await.unwrap();
    let mut session = soon(controller.connected.recv()).await.unwrap();
    let mut thief = soon(controller.dial13(&second)).await.unwrap();
    soon(thief.introduce(7)).await;
    controller.refuses("other-identity").await;
    // The rightful one does not notice.
    switch.say(5, Message::BarrierReply).await;
    let heard = soon(session.replies.recv()).await.unwrap();
    assert!(matches!(heard, Incoming::Message { xid: 5, .. }), "{heard:?}");
    // Another datapath is nobody's yet.
    let mut own = soon(controller.dial13(&second)).await.unwrap();
    soon(own.introduce(8)).await.unwrap();
    assert_eq!(soon(controller.connected.recv()).await.unwrap().dpid, Dpid(8));
    // A renewed certificate changes nothing.
    drop((switch, session));
    let renewed = controller.authority.signs("node1", 60);
    let mut switch = soon(controller.dial13(&renewed)).await.unwrap();
    soon(switch.introduce(7)).await.unwrap();
    assert_eq!(soon(controller.connected.recv()).await.unwrap().dpid, Dpid(7));
    drop(switch);
    let release = Bindings::new(builtin()).release(Dpid(7));
    controller.datastore.commit(Transaction::new("test", vec![release])).await.unwrap();
    let mut heir = soon(controller.dial13(&second)).await.unwrap();
    soon(heir.introduce(7)).await.unwrap();
    assert_eq!(soon(controller.connected.recv()).await.unwrap().dpid, Dpid(7));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_live_sessions_of_one_datapath_are_reported() {
    let mut controller = Controller::start().await;
    let card = controller.authority.signs("node1", 30);
    let mut first = soon(controller.dial13(&card)).await.unwrap();
    soon(first.introduce(7)).await.unwrap();
    let older = soon(controller.connected.recv()).await.unwrap();
    let mut second = soon(controller.dial13(&card)).await.unwrap();
    soon(second.introduce(7)).await.unwrap();
    soon(controller.connected.recv()).await.unwrap();
    controller.refuses("duplicate").await;
    drop(older);
}

#[test]
fn wrong_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path(), "authority");
    authority.tls();
    let path = |name: &str| folder.path().join(name);
    let files = |certificate: &str, key: &str, ca: &str| Files {
        certificate: path(certificate),
        key: path(key),
        ca: path(ca),
    };
    std::fs::write(path("other.pem"), authority.signs("other", 3).key).unwrap();
    for (files, said) in [
        (files("x.pem", "key.pem", "ca.pem"), "x.pem"),
        (files("certificate.pem", "certificate.pem", "ca.pem"), "certificate.pem"),
        (files("certificate.pem", "other.pem", "ca.pem"), "belong together"),
        (files("certificate.pem", "key.pem", "key.pem"), "no certificate"),
    ] {
        let error = Tls::load(&files).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}
