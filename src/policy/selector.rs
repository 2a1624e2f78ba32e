//! Label selectors (`metav1.LabelSelector`).

use std::collections::BTreeMap;

use crate::schema::Text;

/// Labels of a pod or a namespace.
pub type Labels = BTreeMap<Text, Text>;

/// Conditions on labels, all of which have to hold; without any, everything is selected.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Selector {
    /// `matchLabels`.
    pub labels: Vec<(Text, Text)>,
    /// `matchExpressions`.
    pub expressions: Vec<Expression>,
}

/// One of `matchExpressions`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expression {
    pub key: Text,
    pub operator: Operator,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operator {
    In(Vec<Text>),
    /// Holds where the label is absent, too.
    NotIn(Vec<Text>),
    Exists,
    DoesNotExist,
}

impl Selector {
    pub fn selects(&self, labels: &Labels) -> bool {
        self.labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.expressions.iter().all(|expression| expression.holds(labels))
    }
}

impl Expression {
    fn holds(&self, labels: &Labels) -> bool {
        let value = labels.get(&self.key);
        match &self.operator {
            Operator::In(values) => value.is_some_and(|value| values.contains(value)),
            Operator::NotIn(values) => !value.is_some_and(|value| values.contains(value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
        }
    }
}
