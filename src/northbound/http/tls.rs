//! TLS 1.3: the certificate we show, one made by ourselves where none is given, and the ones that clients show.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rcgen::{CertificateParams, DnType, KeyPair, SanType};
use rustls::pki_types::CertificateDer;
use rustls::server::WebPkiClientVerifier;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::certificates::{self, FileError, chain, fingerprint};

/// The name of HTTP/2 in ALPN (RFC 9113 section 3.2).
pub const H2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";
/// How long a certificate of our own making is good.
const YEARS: i64 = 10;

/// Where certificates are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    /// Certificate chain in PEM, ours first.
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
    /// Those who may vouch for clients, in PEM.
    pub client_ca: Option<PathBuf>,
}

/// What a TLS listener needs.
pub struct Tls {
    pub config: Arc<rustls::ServerConfig>,
    /// SHA-256 of the certificate, as hexadecimal pairs with colons.
    pub fingerprint: String,
    /// Where the certificate is.
    pub certificate: PathBuf,
    /// It was made just now.
    pub made: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(
        "tls-certificate and tls-key go together; give both, or none for a certificate made by the program"
    )]
    Half,
    #[error("no certificate could be made: {0}")]
    Make(#[from] rcgen::Error),
    #[error("certificate and key do not work: {0}; do they belong together?")]
    Config(#[from] rustls::Error),
}

/// Reads certificate and key, or makes them in `data_dir/tls`. `names` are what clients may call us by.
///
/// # Errors
/// Names the file that is wrong.
pub fn load(data_dir: &Path, files: &Files, names: &[String], now: SystemTime) -> Result<Tls, TlsError> {
    let (certificate, key, made) = match (&files.certificate, &files.key) {
        (Some(certificate), Some(key)) => (certificate.clone(), key.clone(), false),
        (None, None) => own(&data_dir.join("tls"), names, now)?,
        _ => return Err(TlsError::Half),
    };
    let chain = chain(&certificate)?;
    let fingerprint = fingerprint(&chain[0]);
    let private = certificates::key(&key)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])?;
    let config = match &files.client_ca {
        None => config.with_no_client_auth(),
        Some(path) => {
            let roots = certificates::roots(path)?;
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .allow_unauthenticated()
                .build()
                .map_err(|error| failed(path, error))?;
            config.with_client_cert_verifier(verifier)
        }
    };
    let mut config = config.with_single_cert(chain, private)?;
    config.alpn_protocols = vec![H2.to_vec(), HTTP1.to_vec()];
    Ok(Tls { config: Arc::new(config), fingerprint, certificate, made })
}

fn failed(path: &Path, error: impl std::fmt::Display) -> TlsError {
    FileError::new(path, error).into()
}

/// Our own certificate: the one of an earlier start unless it is no longer good, else a new one.
fn own(folder: &Path, names: &[String], now: SystemTime) -> Result<(PathBuf, PathBuf, bool), TlsError> {
    let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
    let good = |chain: &[CertificateDer<'_>]| {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
        X509Certificate::from_der(&chain[0])
            .is_ok_and(|(_, parsed)| parsed.validity().not_after.timestamp() > now)
    };
    if key.exists() && certificate.exists() && good(&chain(&certificate)?) {
        return Ok((certificate, key, false));
    }
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "coeus");
    params.distinguished_name.push(DnType::OrganizationName, "made at the first start");
    for name in names {
        params.subject_alt_names.push(match name.parse::<IpAddr>() {
            Ok(address) => SanType::IpAddress(address),
            Err(_) => SanType::DnsName(name.as_str().try_into()?),
        });
    }
    params.not_before = now.into();
    params.not_before -= std::time::Duration::from_secs(24 * 3600);
    params.not_after = params.not_before + std::time::Duration::from_secs((YEARS * 365 * 24 * 3600) as u64);
    let pair = KeyPair::generate()?;
    let made = params.self_signed(&pair)?;
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    write_private(&key, pair.serialize_pem().as_bytes()).map_err(|error| failed(&key, error))?;
    write_private(&certificate, made.pem().as_bytes()).map_err(|error| failed(&certificate, error))?;
    Ok((certificate, key, true))
}

/// Writes a file that only its owner reads; what was there is replaced as a whole.
fn write_private(path: &Path, text: &[u8]) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let new = path.with_extension("new");
    let _ = std::fs::remove_file(&new);
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(text)?;
    file.sync_all()?;
    std::fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_in(folder: &Path, files: &Files, now: SystemTime) -> Result<Tls, TlsError> {
        load(folder, files, &["localhost".into(), "127.0.0.1".into()], now)
    }

    #[test]
    fn a_certificate_is_made_once_and_its_key_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let first = load_in(folder.path(), &Files::default(), now).unwrap();
        assert!(first.made);
        let mode = |name: &str| {
            let path = folder.path().join("tls").join(name);
            std::fs::metadata(path).unwrap().permissions().mode() & 0o777
        };
        assert_eq!(mode("key.pem"), 0o600);
        let second = load_in(folder.path(), &Files::default(), now).unwrap();
        assert_eq!((second.made, &second.fingerprint), (false, &first.fingerprint));
        let much_later = now + std::time::Duration::from_secs(11 * 365 * 24 * 3600);
        let third = load_in(folder.path(), &Files::default(), much_later).unwrap();
        assert!(third.made && third.fingerprint != first.fingerprint, "one that ran out is made anew");
        assert_eq!(first.fingerprint.len(), 32 * 3 - 1);
    }

    #[test]
    fn wrong_files_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        load_in(folder.path(), &Files::default(), now).unwrap();
        let path = |name: &str| Some(folder.path().join(name));
        let half = Files { certificate: path("tls/certificate.pem"), ..Files::default() };
        assert!(matches!(load_in(folder.path(), &half, now), Err(TlsError::Half)));
        let absent = Files { certificate: path("x.pem"), key: path("tls/key.pem"), client_ca: None };
        let error = load_in(folder.path(), &absent, now).err().unwrap().to_string();
        assert!(error.contains("x.pem"), "{error}");
        let no_ca = Files { client_ca: path("tls/key.pem"), ..Files::default() };
        assert!(load_in(folder.path(), &no_ca, now).err().unwrap().to_string().contains("no certificate"));
    }
}
