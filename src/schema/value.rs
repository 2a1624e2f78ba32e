use std::cell::RefCell;

use xxhash_rust::xxh3::xxh3_64;

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

/// Texts that a thread has seen lately, each where its hash puts it.
const SEEN: usize = 512;

/// Longer texts do not come again. Sentences about switches do.
const LONG: usize = 128;

thread_local! {
    static LATELY: RefCell<Box<[Text]>> = RefCell::new(vec![Text::new(); SEEN].into());
}

/// A text that is held once, if the same has been seen lately: names of namespaces, hosts, and keys come again and again.
pub fn shared_text(text: &str) -> Text {
    if text.len() > LONG {
        return Text::from(text);
    }
    let at = xxh3_64(text.as_bytes()) as usize % SEEN;
    LATELY.with_borrow_mut(|seen| {
        if *seen[at] != *text {
            seen[at] = Text::from(text);
        }
        seen[at].clone()
    })
}

impl Value {
    pub fn text(text: impl AsRef<str>) -> Value {
        Value::Text(shared_text(text.as_ref()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_seen_lately_is_the_same_one() {
        let (one, other) = (shared_text("blue"), shared_text("blue"));
        assert!(Text::ptr_eq(&one, &other));
        (0..10 * SEEN).for_each(|number| {
            let text = number.to_string();
            assert_eq!(shared_text(&text), text);
        });
        assert_eq!(shared_text("blue"), "blue");
        assert!(!Text::ptr_eq(&one, &shared_text("blue")), "few are remembered");
    }
}
