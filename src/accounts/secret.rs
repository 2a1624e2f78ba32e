//! Random numbers and digests.

use ring::rand::{SecureRandom, SystemRandom};

/// # Errors
/// When the system has no random numbers.
pub fn fill(bytes: &mut [u8]) -> Result<(), String> {
    SystemRandom::new().fill(bytes).map_err(|_| "the system gives no random numbers".to_owned())
}

/// Random text of so many bytes, in the base64 of URLs.
///
/// # Errors
/// As [`fill`].
pub fn text<const BYTES: usize>() -> Result<String, String> {
    use base64::Engine as _;
    let mut bytes = [0; BYTES];
    fill(&mut bytes)?;
    Ok(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes))
}

/// SHA-256 in hexadecimal: a token of 256 random bits needs no slower one.
pub fn sha256(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
