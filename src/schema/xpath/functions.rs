//! The functions: XPath 1.0 section 4 but `id()` and `lang()`, which data have nothing for, and RFC 7950 section 10.

use std::ops::RangeInclusive;

/// A function; `current()`, `deref()` and `re-match()` are expressions of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    Not,
    True,
    False,
    Boolean,
    Count,
    Sum,
    Last,
    Position,
    Number,
    Floor,
    Ceiling,
    Round,
    StringLength,
    EnumValue,
    String,
    Concat,
    Contains,
    StartsWith,
    Substring,
    SubstringBefore,
    SubstringAfter,
    NormalizeSpace,
    Translate,
    LocalName,
    Name,
    NamespaceUri,
    DerivedFrom,
    DerivedFromOrSelf,
    BitIsSet,
}

/// Name, function, how many arguments.
const ALL: &[(&str, Function, RangeInclusive<usize>)] = &[
    ("not", Function::Not, 1..=1),
    ("true", Function::True, 0..=0),
    ("false", Function::False, 0..=0),
    ("boolean", Function::Boolean, 1..=1),
    ("count", Function::Count, 1..=1),
    ("sum", Function::Sum, 1..=1),
    ("last", Function::Last, 0..=0),
    ("position", Function::Position, 0..=0),
    ("number", Function::Number, 0..=1),
    ("floor", Function::Floor, 1..=1),
    ("ceiling", Function::Ceiling, 1..=1),
    ("round", Function::Round, 1..=1),
    ("string-length", Function::StringLength, 0..=1),
    ("enum-value", Function::EnumValue, 1..=1),
    ("string", Function::String, 0..=1),
    ("concat", Function::Concat, 2..=64),
    ("contains", Function::Contains, 2..=2),
    ("starts-with", Function::StartsWith, 2..=2),
    ("substring", Function::Substring, 2..=3),
    ("substring-before", Function::SubstringBefore, 2..=2),
    ("substring-after", Function::SubstringAfter, 2..=2),
    ("normalize-space", Function::NormalizeSpace, 0..=1),
    ("translate", Function::Translate, 3..=3),
    ("local-name", Function::LocalName, 0..=1),
    ("name", Function::Name, 0..=1),
    ("namespace-uri", Function::NamespaceUri, 0..=1),
    ("derived-from", Function::DerivedFrom, 2..=2),
    ("derived-from-or-self", Function::DerivedFromOrSelf, 2..=2),
    ("bit-is-set", Function::BitIsSet, 2..=2),
];

impl Function {
    /// The function of this name, and how many arguments it takes.
    pub fn named(name: &str) -> Option<(Function, RangeInclusive<usize>)> {
        let (_, function, counts) = ALL.iter().find(|(known, _, _)| *known == name)?;
        Some((*function, counts.clone()))
    }

    pub fn gives_number(self) -> bool {
        matches!(
            self,
            Function::Count
                | Function::Sum
                | Function::Last
                | Function::Position
                | Function::Number
                | Function::Floor
                | Function::Ceiling
                | Function::Round
                | Function::StringLength
                | Function::EnumValue
        )
    }

    /// Its first argument, where there is one, is a set of nodes.
    pub fn takes_nodes(self) -> bool {
        matches!(
            self,
            Function::Count
                | Function::Sum
                | Function::EnumValue
                | Function::LocalName
                | Function::Name
                | Function::NamespaceUri
                | Function::DerivedFrom
                | Function::DerivedFromOrSelf
                | Function::BitIsSet
        )
    }

    /// Without arguments it is about the context node.
    pub fn means_context(self) -> bool {
        matches!(
            self,
            Function::Number
                | Function::StringLength
                | Function::String
                | Function::NormalizeSpace
                | Function::LocalName
                | Function::Name
                | Function::NamespaceUri
        )
    }
}

/// `substring()`: characters from the one that `from` says, the first being 1, as many as `count` says (section 4.2).
pub fn substring(text: &str, from: f64, count: Option<f64>) -> String {
    let first = round(from);
    let end = count.map_or(f64::INFINITY, |count| first + round(count));
    let within = |(at, letter)| {
        let position = at as f64;
        (position >= first && position < end).then_some(letter)
    };
    (1..).zip(text.chars()).filter_map(|(at, letter): (u32, char)| within((at, letter))).collect()
}

/// `round()`: to the nearest integer, of two the greater (section 4.4).
pub fn round(number: f64) -> f64 {
    (number + 0.5).floor()
}

/// `translate()`: letters of `from` become those of `to` at the same place, or nothing (section 4.2).
pub fn translate(text: &str, from: &str, to: &str) -> String {
    let letter = |letter: char| match from.chars().position(|known| known == letter) {
        Some(at) => to.chars().nth(at),
        None => Some(letter),
    };
    text.chars().filter_map(letter).collect()
}

/// Text as a number: digits with or without a point, perhaps after a minus; all else is none (section 4.4).
pub fn number_of(text: &str) -> f64 {
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = digits.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
    if plain { text.parse().unwrap_or(f64::NAN) } else { f64::NAN }
}

/// A number as text (section 4.2).
pub fn text_of(number: f64) -> String {
    if number.is_infinite() {
        return if number > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    }
    // There is one zero.
    (number + 0.0).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of XPath 1.0 section 4.2, and the edges of 4.4.
    #[test]
    fn texts_and_numbers_are_as_the_standard_says() {
        let cases = [
            (1.5, Some(2.6), "234"),
            (0.0, Some(3.0), "12"),
            (f64::NAN, Some(3.0), ""),
            (1.0, Some(f64::NAN), ""),
            (-42.0, Some(f64::INFINITY), "12345"),
            (f64::NEG_INFINITY, Some(f64::INFINITY), ""),
            (2.0, None, "2345"),
        ];
        for (from, count, wanted) in cases {
            assert_eq!(substring("12345", from, count), wanted, "{from} {count:?}");
        }
        assert_eq!(translate("bar", "abc", "ABC"), "BAr");
        assert_eq!(translate("--aaa--", "abc-", "ABC"), "AAA");
        assert_eq!([round(2.5), round(-2.5), round(-0.2).abs()], [3.0, -2.0, 0.0]);
        assert_eq!([number_of(" -1.5 "), number_of(".5"), number_of("3.")], [-1.5, 0.5, 3.0]);
        for text in ["", "-", ".", "1e3", "+1", "inf", "NaN", "1 2", "--1"] {
            assert!(number_of(text).is_nan(), "{text:?}");
        }
        let texts = [3.0, -0.0, 0.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e21].map(text_of);
        assert_eq!(texts, ["3", "0", "0.5", "NaN", "Infinity", "-Infinity", "1000000000000000000000"]);
    }
}
