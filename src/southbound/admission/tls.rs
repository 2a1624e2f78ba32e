//! TLS 1.2 and 1.3 for switches: our certificate, and the authority whose certificates they must show.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig,
    SignatureScheme, SupportedProtocolVersion,
};

use super::{Identity, Reason};
use crate::certificates::{self, FileError};

/// Where certificates are, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// Certificate chain, ours first.
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// Those who may vouch for switches.
    pub ca: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{certificate} and {key} do not work: {reason}; do they belong together?")]
    Pair { certificate: PathBuf, key: PathBuf, reason: Error },
    #[error("TLS for switches cannot be set up: {0}")]
    Config(#[from] Error),
}

const VERSIONS: [&SupportedProtocolVersion; 2] = [&rustls::version::TLS13, &rustls::version::TLS12];

/// What connections with switches need, whoever dials.
#[derive(Debug)]
pub struct Tls {
    provider: Arc<CryptoProvider>,
    certificate: Arc<SingleCertAndKey>,
    verifier: Arc<dyn ClientCertVerifier>,
}

/// Who showed a certificate, good or not.
pub(super) type Shown = Arc<Mutex<Option<Identity>>>;

impl Tls {
    /// # Errors
    /// Names the file that is wrong.
    pub fn load(files: &Files) -> Result<Tls, TlsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let (chain, key) = (certificates::chain(&files.certificate)?, certificates::key(&files.key)?);
        let pair = CertifiedKey::from_der(chain, key, &provider).map_err(|reason| TlsError::Pair {
            certificate: files.certificate.clone(),
            key: files.key.clone(),
            reason,
        })?;
        let roots = Arc::new(certificates::roots(&files.ca)?);
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider.clone())
            .build()
            .map_err(|error| FileError::new(&files.ca, error))?;
        let tls = Tls { provider, certificate: Arc::new(SingleCertAndKey::from(pair)), verifier };
        tls.config(&Shown::default())?;
        Ok(tls)
    }

    /// For one connection; who shows a certificate is noted in `shown`. Every connection shows one: none resumes an earlier session,
    /// whose certificate may have expired since.
    pub(super) fn config(&self, shown: &Shown) -> Result<Arc<ServerConfig>, Error> {
        let noting = Noting { verifier: self.verifier.clone(), shown: shown.clone() };
        let mut config = ServerConfig::builder_with_provider(self.provider.clone())
            .with_protocol_versions(&VERSIONS)?
            .with_client_cert_verifier(Arc::new(noting))
            .with_cert_resolver(self.certificate.clone());
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Arc::new(config))
    }

    /// The same for a connection that we dial: the switch's certificate has to be as good as that of one that dials in.
    pub(super) fn dialling(&self, shown: &Shown) -> Result<Arc<ClientConfig>, Error> {
        let noting = Noting { verifier: self.verifier.clone(), shown: shown.clone() };
        let mut config = ClientConfig::builder_with_provider(self.provider.clone())
            .with_protocol_versions(&VERSIONS)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(noting))
            .with_client_cert_resolver(self.certificate.clone());
        config.resumption = Resumption::disabled();
        // Switches are not known by names of hosts.
        config.enable_sni = false;
        Ok(Arc::new(config))
    }
}

/// Why a handshake failed, for people and for counters.
pub(super) fn reason_of(error: &std::io::Error) -> (Reason, String) {
    use CertificateError as Wrong;
    let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) else {
        return (Reason::Handshake, error.to_string());
    };
    let reason = match tls {
        Error::NoCertificatesPresented => Reason::NoCertificate,
        Error::InvalidCertificate(wrong) => match wrong {
            Wrong::UnknownIssuer | Wrong::BadSignature => Reason::UnknownAuthority,
            Wrong::Expired | Wrong::ExpiredContext { .. } => Reason::Expired,
            Wrong::NotValidYet | Wrong::NotValidYetContext { .. } => Reason::NotYetValid,
            _ => Reason::InvalidCertificate,
        },
        Error::InvalidMessage(_) => Reason::NoTls,
        _ => Reason::Handshake,
    };
    (reason, tls.to_string())
}

/// Verifies as another does, and notes whom it was asked about.
#[derive(Debug)]
struct Noting {
    verifier: Arc<dyn ClientCertVerifier>,
    shown: Shown,
}

impl ClientCertVerifier for Noting {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.verifier.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = Some(Identity::of(end_entity));
        self.verifier.verify_client_cert(end_entity, intermediates, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}

impl ServerCertVerifier for Noting {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.verify_client_cert(end_entity, intermediates, now).map(|_| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}
