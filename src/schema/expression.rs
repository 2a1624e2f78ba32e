//! Regular expressions of `pattern` statements.

use std::fmt;
use std::sync::{Arc, OnceLock};

use regex::Regex;

/// A regular expression that whole texts are held against. It is compiled when the first one is: a compiled one takes up to hundreds of
/// kilobytes, and most leafs of the models are never written. Cheap to clone; all clones share what was compiled.
#[derive(Clone)]
pub struct Expression(Arc<Inner>);

struct Inner {
    text: Arc<str>,
    compiled: OnceLock<Result<Regex, regex::Error>>,
}

impl Expression {
    pub fn new(text: impl Into<Arc<str>>) -> Expression {
        Expression(Arc::new(Inner { text: text.into(), compiled: OnceLock::new() }))
    }

    /// As it stands in the model, without anchors.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Whether the whole text is of it.
    ///
    /// # Errors
    /// When it is none that this program can use. Of the models of `yang/` a test says that there is no such.
    pub fn is_match(&self, text: &str) -> Result<bool, &regex::Error> {
        let compiled = self.0.compiled.get_or_init(|| Regex::new(&format!("^(?:{})$", self.0.text)));
        compiled.as_ref().map(|regex| regex.is_match(text))
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.text()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_compiled_once_and_at_first_use() {
        let digits = Expression::new("[0-9]+|none");
        let other = digits.clone();
        assert!(digits.0.compiled.get().is_none());
        assert_eq!(other.is_match("123"), Ok(true));
        assert!(digits.0.compiled.get().is_some());
        for (text, fits) in [("none", true), ("123x", false), ("x123", false), ("nonesuch", false)] {
            assert_eq!(digits.is_match(text), Ok(fits), "{text}");
        }
        assert!(Expression::new("[").is_match("x").is_err());
    }
}
