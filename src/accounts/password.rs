//! Passwords are kept as argon2id hashes in the PHC form (RFC 9106; 19 MiB, two passes).

use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use argon2::{Argon2, password_hash};

/// # Errors
/// When the system has no random numbers.
pub fn hash(password: &str) -> Result<String, String> {
    let mut salt = [0; 16];
    super::secret::fill(&mut salt)?;
    let hashed = SaltString::encode_b64(&salt)
        .and_then(|salt| Ok(Argon2::default().hash_password(password.as_bytes(), &salt)?.to_string()));
    hashed.map_err(|error: password_hash::Error| error.to_string())
}

/// Takes some ten milliseconds, whether or not there is a hash: an unknown name is not told from a wrong password by time.
pub fn verify(password: &str, hash: Option<&str>) -> bool {
    const NOBODY: &str =
        "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let Ok(parsed) = PasswordHash::new(hash.unwrap_or(NOBODY)) else { return false };
    Argon2::default().verify_password(password.as_bytes(), &parsed).is_ok() && hash.is_some()
}

/// Whether a text is a hash that [`verify`] can read.
pub fn is_hash(text: &str) -> bool {
    PasswordHash::new(text).is_ok_and(|hash| hash.algorithm.as_str().starts_with("argon2"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_fits_its_password_only() {
        let hash = hash("secret").unwrap();
        assert!(hash.starts_with("$argon2id$") && is_hash(&hash) && !is_hash("secret"));
        assert!(verify("secret", Some(&hash)));
        assert!(!verify("Secret", Some(&hash)) && !verify("secret", None) && !verify("secret", Some("x")));
        assert_ne!(hash, super::hash("secret").unwrap(), "salted");
    }
}
