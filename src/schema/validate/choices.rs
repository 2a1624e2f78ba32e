//! Mandatory choices (RFC 7950 section 7.9.4).

use super::super::fields::Fields;
use super::super::ir::{Choice, SchemaId};
use super::super::xpath::Place;
use super::{ValidationErrorKind, Validator};

impl<'a> Validator<'a> {
    /// The mandatory choices of a node of which no case is chosen.
    pub(super) fn choices(&mut self, place: &Place<'a>, fields: &Fields, parent: SchemaId) {
        let (schema, rules) = (self.schema, self.rules);
        for number in rules.mandatory_choices.get(&parent).into_iter().flatten() {
            let choice = &schema.choices[*number as usize];
            let there = || fields.iter().flat_map(|(id, _)| &schema.node(*id).cases);
            let wanted = choice.within.iter().all(|case| there().any(|other| other == case));
            let chosen = there().any(|case| case.choice == *number);
            if wanted && !chosen && self.choice_possible(place, choice, *number) {
                let message = format!(
                    "none of the alternatives of choice {} is there; send one of {}",
                    choice.name,
                    choice.cases.join(", ")
                );
                self.fault(place, ValidationErrorKind::MissingChoice, message);
            }
        }
    }

    fn choice_possible(&self, place: &Place<'a>, choice: &Choice, number: u32) -> bool {
        let exprs = self.rules.choice_whens.get(&number).into_iter().flatten();
        exprs.into_iter().all(|expr| self.choice_when(place, choice, expr))
    }
}
