//! X.509 certificates as both sides of the program need them: read from PEM, and what they call their owner.

use std::path::{Path, PathBuf};

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

/// A file that is not what it should be.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct FileError {
    pub path: PathBuf,
    pub reason: String,
}

impl FileError {
    pub fn new(path: &Path, reason: impl std::fmt::Display) -> FileError {
        FileError { path: path.to_owned(), reason: reason.to_string() }
    }
}

/// The certificates of a PEM file, at least one.
///
/// # Errors
/// When the file cannot be read, or has none.
pub fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, FileError> {
    let wrong = |error| FileError::new(path, error);
    let chain: Vec<_> =
        CertificateDer::pem_file_iter(path).map_err(wrong)?.collect::<Result<_, _>>().map_err(wrong)?;
    if chain.is_empty() {
        return Err(FileError::new(path, "there is no certificate in it; PEM is expected"));
    }
    Ok(chain)
}

/// The private key of a PEM file.
///
/// # Errors
/// When the file cannot be read, or has none.
pub fn key(path: &Path) -> Result<PrivateKeyDer<'static>, FileError> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| FileError::new(path, error))
}

/// Those of a PEM file who may vouch for others.
///
/// # Errors
/// When the file cannot be read, or a certificate in it cannot be trusted.
pub fn roots(path: &Path) -> Result<RootCertStore, FileError> {
    let mut roots = RootCertStore::empty();
    for certificate in chain(path)? {
        roots.add(certificate).map_err(|error| FileError::new(path, error))?;
    }
    Ok(roots)
}

/// SHA-256 of a certificate, as `openssl x509 -fingerprint -sha256` shows it.
pub fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, certificate);
    digest.as_ref().iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")
}

/// What a client may be called by its certificate: the names in subjectAltName (mail, DNS), then the common names.
pub fn names(certificate: &CertificateDer<'_>) -> Vec<String> {
    let Ok((_, parsed)) = X509Certificate::from_der(certificate) else { return Vec::new() };
    let alternative = parsed.subject_alternative_name().ok().flatten();
    let alternative = alternative.iter().flat_map(|extension| &extension.value.general_names);
    let alternative = alternative.filter_map(|name| match name {
        GeneralName::RFC822Name(name) | GeneralName::DNSName(name) => Some((*name).to_owned()),
        _ => None,
    });
    let common = parsed.subject().iter_common_name().filter_map(|name| name.as_str().ok().map(str::to_owned));
    alternative.chain(common).collect()
}

/// The distinguished name of its subject, as in `C=US, O=Open vSwitch, CN=node1`. `None`: it is empty, or cannot be read.
pub fn subject(certificate: &CertificateDer<'_>) -> Option<String> {
    let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
    Some(parsed.subject().to_string()).filter(|subject| !subject.is_empty())
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair, SanType};

    use super::*;

    #[test]
    fn a_certificate_gives_its_alternative_names_and_then_its_common_name() {
        let mut params = CertificateParams::new(vec!["watcher.example".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, "watcher");
        params.subject_alt_names.push(SanType::Rfc822Name("watcher@example".try_into().unwrap()));
        let made = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        assert_eq!(names(made.der()), ["watcher.example", "watcher@example", "watcher"]);
        assert!(subject(made.der()).unwrap().contains("CN=watcher"));
    }

    #[test]
    fn a_certificate_without_a_subject_has_none() {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        let made = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        assert_eq!(subject(made.der()), None);
        assert_eq!(fingerprint(made.der()).len(), 32 * 3 - 1);
    }
}
