//! Whose certificate it is.

use rustls::pki_types::CertificateDer;

use crate::certificates;

/// Who showed a certificate. Two are the same when their names are: a renewed certificate changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The subject's distinguished name; without one the names in subjectAltName, joined by commas; without those the fingerprint.
    pub name: String,
    /// SHA-256 of the certificate.
    pub fingerprint: String,
}

impl Identity {
    pub fn of(certificate: &CertificateDer<'_>) -> Identity {
        let fingerprint = certificates::fingerprint(certificate);
        let names = || Some(certificates::names(certificate).join(",")).filter(|names| !names.is_empty());
        let name = certificates::subject(certificate).or_else(names).unwrap_or_else(|| fingerprint.clone());
        Identity { name, fingerprint }
    }

    /// Whether what somebody wrote down means this one: its name, or the fingerprint of just this certificate.
    pub fn is_meant_by(&self, written: &str) -> bool {
        self.name == written || self.fingerprint.eq_ignore_ascii_case(written)
    }
}
