use bytes::{BufMut, BytesMut};

use crate::field::EXPERIMENTER;
use crate::wire::{Reader, pad8, put_number};
use crate::{DecodeError, Field};

/// One condition: `field & mask == value`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct MatchField {
    pub field: Field,
    pub value: u128,
    /// [`Field::full_mask`] for an exact match.
    pub mask: u128,
}

/// Conditions that must all hold. Empty: everything matches.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Match {
    pub fields: Vec<MatchField>,
}

impl MatchField {
    pub fn exact(field: Field, value: impl Into<u128>) -> MatchField {
        MatchField { field, value: value.into() & field.full_mask(), mask: field.full_mask() }
    }

    pub fn masked(field: Field, value: impl Into<u128>, mask: impl Into<u128>) -> MatchField {
        let mask = mask.into() & field.full_mask();
        MatchField { field, value: value.into() & mask, mask }
    }

    pub fn is_exact(&self) -> bool {
        self.mask == self.field.full_mask()
    }

    /// Writes the TLV.
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        let bytes = self.field.bytes();
        let header = self.field.oxm_header();
        let is_exact = self.is_exact();
        let header = if is_exact { header } else { header & !0xff | 0x100 | (2 * bytes) as u32 };
        if bytes <= 12 {
            let value = self.value & ((1 << (8 * bytes)) - 1);
            put_number(out, u128::from(header) << (8 * bytes) | value, 4 + bytes);
        } else {
            out.put_u32(header);
            put_number(out, self.value, bytes);
        }
        if !is_exact {
            put_number(out, self.mask, bytes);
        }
    }

    /// Reads one TLV. `None`: a field that this library does not know, skipped.
    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Option<MatchField>, DecodeError> {
        let start = *input;
        let header = input.u32()?;
        let length = (header & 0xff) as usize;
        let mut body = input.sub(length)?;
        let experimenter = if header >> 16 == EXPERIMENTER { body.u32().ok() } else { None };
        let Some(field) = Field::from_headers(header, experimenter) else { return Ok(None) };
        let has_mask = header & 0x100 != 0;
        let length = length - experimenter.map_or(0, |_| 4);
        if length != field.bytes() * if has_mask { 2 } else { 1 } {
            return Err(start.error("a match field has the wrong length"));
        }
        let value = body.number(field.bytes())?;
        let mask = if has_mask { body.number(field.bytes())? } else { field.full_mask() };
        Ok(Some(MatchField::masked(field, value, mask)))
    }
}

impl Match {
    pub fn new() -> Match {
        Match::default()
    }

    pub fn with(mut self, field: Field, value: impl Into<u128>) -> Match {
        self.fields.push(MatchField::exact(field, value));
        self
    }

    pub fn with_masked(mut self, field: Field, value: impl Into<u128>, mask: impl Into<u128>) -> Match {
        self.fields.push(MatchField::masked(field, value, mask));
        self
    }

    pub fn get(&self, field: Field) -> Option<&MatchField> {
        self.fields.iter().find(|condition| condition.field == field)
    }

    /// The same conditions in one fixed order, without those that match everything.
    pub fn canonical(mut self) -> Match {
        self.fields.retain(|condition| condition.mask != 0);
        self.fields.sort_unstable();
        self.fields.dedup();
        self
    }

    /// The TLVs alone, without the header of the match structure and without padding.
    pub fn encode_fields(&self, out: &mut BytesMut) {
        for condition in &self.fields {
            condition.encode(out);
        }
    }

    /// # Errors
    /// When a TLV is cut short or has a wrong length.
    pub fn decode_fields(bytes: &[u8]) -> Result<Match, DecodeError> {
        Self::read_fields(&mut Reader::new(bytes))
    }

    pub(crate) fn read_fields(input: &mut Reader<'_>) -> Result<Match, DecodeError> {
        let mut fields = Vec::new();
        while !input.is_empty() {
            fields.extend(MatchField::decode(input)?);
        }
        Ok(Match { fields })
    }

    /// The match structure (type OXM), padded to eight bytes.
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        let mut fields = BytesMut::new();
        self.encode_fields(&mut fields);
        encode_raw(&fields, out);
    }

    pub(crate) fn read(input: &mut Reader<'_>) -> Result<Match, DecodeError> {
        let start = *input;
        if input.u16()? != 1 {
            return Err(start.error("the match is not of type OXM"));
        }
        let length = usize::from(input.u16()?);
        let Some(body) = length.checked_sub(4) else {
            return Err(start.error("the match is shorter than its header"));
        };
        let found = Self::read_fields(&mut input.sub(body)?)?;
        input.skip(length.next_multiple_of(8) - length)?;
        Ok(found)
    }
}

/// The match structure around TLVs that are encoded already.
pub(crate) fn encode_raw(fields: &[u8], out: &mut BytesMut) {
    let start = out.len();
    out.put_u16(1);
    out.put_u16((4 + fields.len()) as u16);
    out.put_slice(fields);
    pad8(out, start);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes by which Open vSwitch 3.1 reports `ct_state=+new+trk,tcp,tcp_flags=-syn` over OpenFlow 1.3.
    #[test]
    fn tcp_flags_are_read_as_open_vswitch_reports_them() {
        let reported = [
            0x80, 0x00, 0x0a, 0x02, 0x08, 0x00, 0x80, 0x00, 0x14, 0x01, 0x06, 0xff, 0xff, 0x55, 0x08, 0x4f,
            0x4e, 0x46, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x01, 0xd3, 0x08, 0x00, 0x00, 0x00, 0x21, 0x00,
            0x00, 0x00, 0x21,
        ];
        let read = Match::decode_fields(&reported).unwrap();
        assert_eq!(read.get(Field::TcpFlags), Some(&MatchField::masked(Field::TcpFlags, 0_u8, 2_u8)));
        assert_eq!(read.fields.len(), 4);
        // What others say of theirs is skipped.
        let other = [0xff, 0xff, 0x54, 0x06, 0, 0, 0, 1, 0, 2, 0x80, 0x00, 0x14, 0x01, 0x06];
        let read = Match::decode_fields(&other).unwrap();
        assert_eq!((read.fields.len(), read.get(Field::TcpFlags)), (1, None));
    }
}
