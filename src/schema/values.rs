//! The values of a leaf-list.

use smallvec::SmallVec;
use triomphe::Arc;

use super::map::{self, Map};
use super::value::Value;

/// The values of a leaf-list. Equality is equality of the sequence, whatever the form.
#[derive(Clone, Debug)]
pub struct Values(Arc<Form>);

#[derive(Clone, Debug)]
enum Form {
    /// The most frequent number of values.
    One(Value),
    /// As they were given, or few.
    Array(Box<[Value]>),
    /// Many, ascending: one more does not copy the others.
    Set(Box<Map<Value, ()>>),
}

impl Values {
    /// Up to so many values live in an array where they are edited one by one.
    pub const FEW: usize = 16;

    /// A set of values in ascending order.
    pub fn ascending(mut values: Vec<Value>) -> Values {
        values.sort();
        values.dedup();
        if values.len() <= Values::FEW {
            values.into_iter().collect()
        } else {
            Values(Arc::new(Form::Set(Box::new(values.into_iter().map(|value| (value, ())).collect()))))
        }
    }

    pub fn len(&self) -> usize {
        match &*self.0 {
            Form::One(_) => 1,
            Form::Array(values) => values.len(),
            Form::Set(values) => values.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn iter(&self) -> Iter<'_> {
        match self.array() {
            Ok(values) => Iter::Array(values.iter()),
            Err(values) => Iter::Set(values.iter()),
        }
    }

    /// The values in an array, or as a set.
    fn array(&self) -> Result<&[Value], &Map<Value, ()>> {
        match &*self.0 {
            Form::One(value) => Ok(std::slice::from_ref(value)),
            Form::Array(values) => Ok(values),
            Form::Set(values) => Err(values),
        }
    }

    /// Bytes that are not those of the values.
    pub(super) fn own_size(&self) -> usize {
        if matches!(*self.0, Form::One(_)) {
            size_of::<Form>() - size_of::<Value>()
        } else {
            size_of::<Form>()
        }
    }

    /// The value as it is held here.
    pub fn get(&self, value: &Value) -> Option<&Value> {
        match self.array() {
            Ok(values) => values.iter().find(|held| *held == value),
            Err(values) => values.get_key_value(value).map(|(held, ())| held),
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
        match self.array() {
            Ok(values) if in_order && values.is_sorted_by(|a, b| a < b) => {
                Values::ascending(values.iter().chain([value]).cloned().collect())
            }
            Ok(values) => values.iter().chain([value]).cloned().collect(),
            Err(values) => {
                let mut all = values.clone();
                all.insert(value.clone(), ());
                Values(Arc::new(Form::Set(Box::new(all))))
            }
        }
    }

    /// Without this value.
    #[must_use]
    pub fn without(&self, value: &Value) -> Values {
        match self.array() {
            Ok(values) => values.iter().filter(|held| *held != value).cloned().collect(),
            Err(values) => {
                let mut left = values.clone();
                left.remove(value);
                if left.len() > Values::FEW {
                    return Values(Arc::new(Form::Set(Box::new(left))));
                }
                left.keys().cloned().collect()
            }
        }
    }
}

impl PartialEq for Values {
    fn eq(&self, other: &Values) -> bool {
        match (self.array(), other.array()) {
            _ if Arc::ptr_eq(&self.0, &other.0) => true,
            (Ok(a), Ok(b)) => a == b,
            (Err(a), Err(b)) => a == b,
            _ => self.iter().eq(other),
        }
    }
}

impl Eq for Values {}

impl Default for Values {
    fn default() -> Values {
        Values::from_iter([])
    }
}

impl FromIterator<Value> for Values {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Values {
        let mut values: SmallVec<[Value; 1]> = values.into_iter().collect();
        let form = match values.len() {
            1 => values.pop().map(Form::One),
            _ => None,
        };
        Values(Arc::new(form.unwrap_or_else(|| Form::Array(values.into_vec().into()))))
    }
}

/// Iterates over [`Values`].
pub enum Iter<'a> {
    Array(std::slice::Iter<'a, Value>),
    Set(map::Iter<'a, Value, ()>),
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a Value;

    fn next(&mut self) -> Option<&'a Value> {
        match self {
            Iter::Array(values) => values.next(),
            Iter::Set(values) => values.next().map(|(value, ())| value),
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
                prop_assert_eq!(matches!(&*values.0, Form::Set(_)), model.len() > Values::FEW);
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
