use super::ir::IdentityId;

/// Text that many hold. A word where it is held: with two, every leaf of every tree would be half as large again.
pub use arcstr::ArcStr as Text;

/// A leaf value in canonical form (RFC 7950 section 9).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Value {
    /// string and its kin, binary as base64, instance-identifier in its canonical JSON form, anydata as JSON text.
    Text(Text),
    Int(i64),
    Uint(u64),
    Bool(bool),
    Empty,
    /// The enum's value (not its position).
    Enum(i32),
    /// Bit positions, as a mask.
    Bits(u64),
    Identity(IdentityId),
    /// Scaled by 10^fraction-digits.
    Decimal(i64),
}

impl Value {
    pub fn text(text: impl AsRef<str>) -> Value {
        Value::Text(Text::from(text.as_ref()))
    }

    pub fn as_text(&self) -> Option<&str> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }

    pub fn as_uint(&self) -> Option<u64> {
        match self {
            Value::Uint(number) => Some(*number),
            Value::Int(number) => u64::try_from(*number).ok(),
            _ => None,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(value) = self { Some(*value) } else { None }
    }
}
