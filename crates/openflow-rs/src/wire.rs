//! A cursor that cannot run past the end, and the few writers that `BytesMut` lacks.

use bytes::{BufMut, BytesMut};

use crate::DecodeError;

/// Reads big-endian numbers; every read is checked and knows its offset.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    data: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    pub fn new(data: &'a [u8]) -> Self {
        Reader { data, offset: 0 }
    }

    pub fn error(&self, what: &'static str) -> DecodeError {
        DecodeError { offset: self.offset, what }
    }

    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    pub fn remaining(&self) -> usize {
        self.data.len()
    }

    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        if count > self.data.len() {
            return Err(self.error("the data ends too early"));
        }
        let (head, tail) = self.data.split_at(count);
        self.data = tail;
        self.offset += count;
        Ok(head)
    }

    pub fn rest(&mut self) -> &'a [u8] {
        let all = self.data;
        self.offset += all.len();
        self.data = &[];
        all
    }

    /// A reader over the next `count` bytes; this one goes on behind them.
    pub fn sub(&mut self, count: usize) -> Result<Reader<'a>, DecodeError> {
        let offset = self.offset;
        Ok(Reader { data: self.bytes(count)?, offset })
    }

    pub fn skip(&mut self, count: usize) -> Result<(), DecodeError> {
        self.bytes(count).map(|_| ())
    }

    /// Skips padding that may be missing at the very end.
    pub fn skip_up_to(&mut self, count: usize) {
        let there = count.min(self.data.len());
        self.data = &self.data[there..];
        self.offset += there;
    }

    pub fn number(&mut self, bytes: usize) -> Result<u128, DecodeError> {
        Ok(self.bytes(bytes)?.iter().fold(0, |n, byte| n << 8 | u128::from(*byte)))
    }

    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        Ok(self.bytes(1)?[0])
    }

    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        let b = self.bytes(2)?;
        Ok(u16::from_be_bytes([b[0], b[1]]))
    }

    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        let b = self.bytes(4)?;
        Ok(u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
    }

    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        Ok(u64::from(self.u32()?) << 32 | u64::from(self.u32()?))
    }

    /// A fixed-size text field: up to the first NUL.
    pub fn text(&mut self, size: usize) -> Result<String, DecodeError> {
        let raw = self.bytes(size)?;
        let end = raw.iter().position(|byte| *byte == 0).unwrap_or(size);
        Ok(String::from_utf8_lossy(&raw[..end]).into_owned())
    }
}

/// Writes the lowest bytes of a number. To write what stands side by side as one number takes a fraction of the time of writing its parts.
pub fn put_number(out: &mut BytesMut, value: u128, bytes: usize) {
    out.put_slice(&value.to_be_bytes()[16 - bytes..]);
}

pub fn put_zeros(out: &mut BytesMut, count: usize) {
    out.put_bytes(0, count);
}

/// Pads what was written since `start` to a multiple of eight.
pub fn pad8(out: &mut BytesMut, start: usize) {
    let length = out.len() - start;
    if !length.is_multiple_of(8) {
        put_zeros(out, length.next_multiple_of(8) - length);
    }
}

/// Writes the 16-bit length of what was written since `start` at `start + at`.
pub fn patch_len(out: &mut BytesMut, start: usize, at: usize) {
    let length = (out.len() - start) as u16;
    out[start + at..start + at + 2].copy_from_slice(&length.to_be_bytes());
}
