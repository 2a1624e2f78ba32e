/// Bytes that are not what they claim to be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at byte {offset}: {what}")]
pub struct DecodeError {
    /// Byte offset from the start of what was decoded.
    pub offset: usize,
    pub what: &'static str,
}
