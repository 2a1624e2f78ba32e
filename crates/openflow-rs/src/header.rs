use bytes::{BufMut, BytesMut};

use crate::DecodeError;
use crate::wire::Reader;

/// OpenFlow 1.3.
pub const VERSION: u8 = 4;
pub const HEADER_LEN: usize = 8;

/// The header of every message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub version: u8,
    pub kind: u8,
    /// Whole message, header included.
    pub length: u16,
    pub xid: u32,
}

impl Header {
    pub(crate) fn read(input: &mut Reader<'_>) -> Result<Header, DecodeError> {
        let start = *input;
        let header =
            Header { version: input.u8()?, kind: input.u8()?, length: input.u16()?, xid: input.u32()? };
        if usize::from(header.length) < HEADER_LEN {
            return Err(start.error("the header's length is shorter than the header"));
        }
        Ok(header)
    }

    /// Writes a header whose length is patched when the message is complete.
    pub(crate) fn begin(kind: u8, xid: u32, out: &mut BytesMut) -> usize {
        let start = out.len();
        out.put_u8(VERSION);
        out.put_u8(kind);
        out.put_u16(0);
        out.put_u32(xid);
        start
    }
}

/// Length of the first message in `stream`, `None` while that cannot be known yet.
///
/// # Errors
/// When the stream's first bytes are no OpenFlow header: nothing behind them can be trusted.
pub fn frame_len(stream: &[u8]) -> Result<Option<usize>, DecodeError> {
    if stream.len() < HEADER_LEN {
        return Ok(None);
    }
    Header::read(&mut Reader::new(stream)).map(|header| Some(usize::from(header.length)))
}
