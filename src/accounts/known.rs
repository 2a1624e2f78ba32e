//! Credentials that were verified: argon2 is paid once for each, not with every request.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use ring::hmac;

use crate::access::Identity;

/// Credentials remembered at most.
const REMEMBERED: usize = 1024;

/// A digest of a credential under a key that only this process has: nothing that is worth stealing.
pub type Digest = [u8; 32];

pub struct Known {
    key: hmac::Key,
    verified: RwLock<HashMap<Digest, Arc<Identity>>>,
}

impl Known {
    /// # Errors
    /// When the system has no random numbers.
    pub fn new() -> Result<Known, String> {
        let mut key = [0; 32];
        super::secret::fill(&mut key)?;
        Ok(Known { key: hmac::Key::new(hmac::HMAC_SHA256, &key), verified: RwLock::default() })
    }

    /// Of `NAME:PASSWORD`.
    pub fn digest(&self, credential: &[u8]) -> Digest {
        let mut digest = Digest::default();
        digest.copy_from_slice(hmac::sign(&self.key, credential).as_ref());
        digest
    }

    pub fn get(&self, digest: &Digest) -> Option<Arc<Identity>> {
        self.verified.read().unwrap_or_else(PoisonError::into_inner).get(digest).cloned()
    }

    pub fn insert(&self, digest: Digest, identity: Arc<Identity>) {
        let mut verified = self.verified.write().unwrap_or_else(PoisonError::into_inner);
        if verified.len() >= REMEMBERED {
            verified.clear();
        }
        verified.insert(digest, identity);
    }

    pub fn forget(&self) {
        self.verified.write().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
