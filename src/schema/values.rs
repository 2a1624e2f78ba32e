//! The values of a leaf-list.

use std::sync::Arc;

use imbl::OrdSet;

use super::value::Value;

/// The values of a leaf-list. Equality is equality of the sequence, whatever the form.
#[derive(Clone, Debug)]
pub enum Values {
    /// As they were given, or few.
    Array(Arc<[Value]>),
    /// Many, ascending: one more does not copy the others.
    Set(OrdSet<Value>),
}

impl Values {
    /// Up to so many values live in an array where they are edited one by one.
    pub const FEW: usize = 16;

    /// A set of values in ascending order.
    pub fn ascending(mut values: Vec<Value>) -> Values {
        values.sort();
        values.dedup();
        if values.len() <= Values::FEW {
            Values::Array(values.into())
        } else {
            Values::Set(values.into_iter().collect())
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Values::Array(values) => values.len(),
            Values::Set(values) => values.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn iter(&self) -> Iter<'_> {
        match self {
            Values::Array(values) => Iter::Array(values.iter()),
            Values::Set(values) => Iter::Set(values.iter()),
        }
    }

    /// The value as it is held here.
    pub fn get(&self, value: &Value) -> Option<&Value> {
        match self {
            Values::Array(values) => values.iter().find(|held| *held == value),
            Values::Set(values) => values.get(value),
        }
    }

    pub fn contains(&self, value: &Value) -> bool {
        self.get(value).is_some()
    }

    /// With one value more, if it is not there: in its place among ascending values, else behind all others.
    #[must_use]
    pub fn with(&self, value: &Value, in_order: bool) -> Values {
        if self.contains(value) {
            return self.clone();
        }
        match self {
            Values::Array(values) if in_order && values.is_sorted_by(|a, b| a < b) => {
                Values::ascending(values.iter().chain([value]).cloned().collect())
            }
            Values::Array(values) => Values::Array(values.iter().chain([value]).cloned().collect()),
            Values::Set(values) => Values::Set(values.update(value.clone())),
        }
    }

    /// Without this value.
    #[must_use]
    pub fn without(&self, value: &Value) -> Values {
        match self {
            Values::Array(values) => {
                Values::Array(values.iter().filter(|held| *held != value).cloned().collect())
            }
            Values::Set(values) => {
                let left = values.without(value);
                if left.len() > Values::FEW {
                    return Values::Set(left);
                }
                Values::Array(left.into_iter().collect())
            }
        }
    }
}

impl PartialEq for Values {
    fn eq(&self, other: &Values) -> bool {
        match (self, other) {
            (Values::Array(a), Values::Array(b)) => a == b,
            (Values::Set(a), Values::Set(b)) => a == b,
            _ => self.iter().eq(other),
        }
    }
}

impl Eq for Values {}

impl Default for Values {
    fn default() -> Values {
        Values::Array(Arc::from([]))
    }
}

impl FromIterator<Value> for Values {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Values {
        Values::Array(values.into_iter().collect())
    }
}

/// Iterates over [`Values`].
pub enum Iter<'a> {
    Array(std::slice::Iter<'a, Value>),
    Set(imbl::ordset::Iter<'a, Value, imbl::shared_ptr::DefaultSharedPtr>),
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a Value;

    fn next(&mut self) -> Option<&'a Value> {
        match self {
            Iter::Array(values) => values.next(),
            Iter::Set(values) => values.next(),
        }
    }
}

impl<'a> IntoIterator for &'a Values {
    type Item = &'a Value;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn numbers(values: &Values) -> Vec<u64> {
        values.iter().filter_map(Value::as_uint).collect()
    }

    proptest! {
        /// Edited one by one, they are a set in ascending order, in one form for one content.
        #[test]
        fn edited_one_by_one_they_are_a_set(edits in prop::collection::vec((0_u64..40, any::<bool>()), 0..120)) {
            let (mut values, mut model) = (Values::default(), BTreeSet::new());
            for (number, goes) in edits {
                let value = Value::Uint(number);
                if goes {
                    values = values.without(&value);
                    model.remove(&number);
                } else {
                    values = values.with(&value, true);
                    model.insert(number);
                }
                prop_assert_eq!(numbers(&values), model.iter().copied().collect::<Vec<_>>());
                prop_assert_eq!(values.len(), model.len());
                prop_assert_eq!(matches!(values, Values::Set(_)), model.len() > Values::FEW);
                prop_assert_eq!(&values, &model.iter().copied().map(Value::Uint).collect::<Values>());
            }
        }
    }

    #[test]
    fn a_given_order_stays() {
        let given: Values = [3, 1].map(Value::Uint).into_iter().collect();
        assert_eq!(numbers(&given.with(&Value::Uint(2), true)), [3, 1, 2]);
        assert_eq!(
            numbers(&Values::default().with(&Value::Uint(3), false).with(&Value::Uint(1), false)),
            [3, 1]
        );
    }
}
