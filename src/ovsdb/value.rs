//! OVSDB values (RFC 7047 section 5.1): a set of one may stand bare, a map is a list of pairs behind a tag.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// An element of a set, a key or a value of a map.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Atom {
    Boolean(bool),
    Integer(i64),
    /// As its text: reals are only ever shown.
    Real(Box<str>),
    Text(Box<str>),
    Uuid(Box<str>),
}

/// The value of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Datum {
    /// A scalar is a set of one.
    Set(BTreeSet<Atom>),
    Map(BTreeMap<Atom, Atom>),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an OVSDB value: {0}")]
pub struct ValueError(pub String);

impl ValueError {
    fn of(value: &Value) -> ValueError {
        ValueError(value.to_string().chars().take(120).collect())
    }
}

impl Atom {
    /// # Errors
    /// When the JSON is no atom.
    pub fn parse(value: &Value) -> Result<Atom, ValueError> {
        match value {
            Value::Bool(truth) => Ok(Atom::Boolean(*truth)),
            Value::Number(number) => Ok(match number.as_i64() {
                Some(number) => Atom::Integer(number),
                None => Atom::Real(number.to_string().into()),
            }),
            Value::String(text) => Ok(Atom::Text(text.as_str().into())),
            Value::Array(pair) => match pair.as_slice() {
                [Value::String(tag), Value::String(id)] if tag == "uuid" => {
                    Ok(Atom::Uuid(id.as_str().into()))
                }
                _ => Err(ValueError::of(value)),
            },
            _ => Err(ValueError::of(value)),
        }
    }

    pub fn text(&self) -> Option<&str> {
        if let Atom::Text(text) = self { Some(text) } else { None }
    }

    pub fn uuid(&self) -> Option<&str> {
        if let Atom::Uuid(id) = self { Some(id) } else { None }
    }
}

impl Datum {
    /// # Errors
    /// When the JSON is neither set nor map nor atom.
    pub fn parse(value: &Value) -> Result<Datum, ValueError> {
        match value.as_array().map(Vec::as_slice) {
            Some([Value::String(tag), Value::Array(elements)]) if tag == "set" => {
                Ok(Datum::Set(elements.iter().map(Atom::parse).collect::<Result<_, _>>()?))
            }
            Some([Value::String(tag), Value::Array(pairs)]) if tag == "map" => {
                let pair = |pair: &Value| match pair.as_array().map(Vec::as_slice) {
                    Some([key, value]) => Ok((Atom::parse(key)?, Atom::parse(value)?)),
                    _ => Err(ValueError::of(pair)),
                };
                Ok(Datum::Map(pairs.iter().map(pair).collect::<Result<_, _>>()?))
            }
            _ => Ok(Datum::Set(BTreeSet::from([Atom::parse(value)?]))),
        }
    }

    /// Applies a difference as `update2` sends it: elements of a set change sides; a pair of a map goes when it is there
    /// as it is, and comes or changes otherwise. Source: ovsdb-server(7), section 4.1.14.
    pub fn apply(&mut self, difference: Datum) {
        match (self, difference) {
            (Datum::Set(held), Datum::Set(toggled)) => {
                for element in toggled {
                    if !held.remove(&element) {
                        held.insert(element);
                    }
                }
            }
            (Datum::Map(held), Datum::Map(changed)) => {
                for (key, value) in changed {
                    if held.get(&key) == Some(&value) {
                        held.remove(&key);
                    } else {
                        held.insert(key, value);
                    }
                }
            }
            (held, other) => *held = other,
        }
    }
}

pub fn uuid(id: &str) -> Value {
    json!(["uuid", id])
}

/// Refers to a row that the same transaction inserts.
pub fn named_uuid(name: &str) -> Value {
    json!(["named-uuid", name])
}

pub fn set(elements: impl IntoIterator<Item = Value>) -> Value {
    json!(["set", elements.into_iter().collect::<Vec<_>>()])
}

pub fn map<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Value {
    json!(["map", pairs.into_iter().map(|(key, value)| json!([key, value])).collect::<Vec<_>>()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(text: &str) -> Atom {
        Atom::Text(text.into())
    }

    #[test]
    fn sets_maps_and_references_are_read_in_all_their_spellings() {
        let set_of = |elements: &[Atom]| Ok(Datum::Set(elements.iter().cloned().collect()));
        assert_eq!(Datum::parse(&json!("a")), set_of(&[text("a")]));
        assert_eq!(Datum::parse(&json!(["set", ["b", "a"]])), set_of(&[text("a"), text("b")]));
        assert_eq!(Datum::parse(&json!(["set", []])), set_of(&[]));
        assert_eq!(Datum::parse(&json!(["uuid", "x"])), set_of(&[Atom::Uuid("x".into())]));
        assert_eq!(
            Datum::parse(&set([uuid("x"), uuid("y")])),
            set_of(&[Atom::Uuid("x".into()), Atom::Uuid("y".into())])
        );
        assert_eq!(Datum::parse(&json!(-1)), set_of(&[Atom::Integer(-1)]));
        assert_eq!(Datum::parse(&map([("k", "v")])), Ok(Datum::Map([(text("k"), text("v"))].into())));
        for wrong in [
            json!(null),
            json!({}),
            json!([]),
            json!(["set"]),
            json!(["set", "a"]),
            json!(["map", ["a"]]),
            json!(["map", [["a"]]]),
            json!(["uuid", 1]),
        ] {
            assert!(Datum::parse(&wrong).is_err(), "{wrong}");
        }
    }

    fn maps() -> impl Strategy<Value = BTreeMap<Atom, Atom>> {
        prop::collection::btree_map(
            "[a-d]".prop_map(|key| text(&key)),
            "[xy]".prop_map(|value| text(&value)),
            0..5,
        )
    }

    fn sets() -> impl Strategy<Value = BTreeSet<Atom>> {
        prop::collection::btree_set((0_i64..8).prop_map(Atom::Integer), 0..8)
    }

    proptest! {
        /// A difference leads from the old value to the new one.
        #[test]
        fn differences_lead_to_the_new_value(old in sets(), new in sets(), before in maps(), after in maps()) {
            let mut held = Datum::Set(old.clone());
            held.apply(Datum::Set(old.symmetric_difference(&new).cloned().collect()));
            prop_assert_eq!(held, Datum::Set(new));
            let mut difference = after.clone();
            difference.retain(|key, value| before.get(key) != Some(value));
            difference.extend(before.iter().filter(|(key, _)| !after.contains_key(key)).map(|(key, value)| (key.clone(), value.clone())));
            let mut held = Datum::Map(before);
            held.apply(Datum::Map(difference));
            prop_assert_eq!(held, Datum::Map(after));
        }
    }
}
