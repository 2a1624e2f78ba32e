//! Words of an expression.

#[derive(Debug, Clone, PartialEq)]
pub enum Token {
    /// A name, with prefix where it has one, or `prefix:*`; `and`, `or`, `div` and `mod` too.
    Name(String),
    Literal(String),
    Number(f64),
    /// One of [`SIGNS`].
    Sign(&'static str),
}

const SIGNS: [&str; 20] = [
    "..", "!=", "<=", ">=", "//", "::", "(", ")", "[", "]", ".", "/", ",", "=", "<", ">", "+", "-", "*", "|",
];

/// Splits an expression into words.
pub fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        if first == '"' || first == '\'' {
            let end = rest[1..].find(first).ok_or("a literal does not end")?;
            found.push(Token::Literal(rest[1..=end].to_owned()));
            rest = &rest[end + 2..];
        } else if first.is_ascii_digit()
            || first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())
        {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            let number = rest[..end].parse().map_err(|_| format!("{:?} is not a number", &rest[..end]))?;
            found.push(Token::Number(number));
            rest = &rest[end..];
        } else if first.is_alphabetic() || first == '_' {
            let end = end_of_name(rest);
            found.push(Token::Name(rest[..end].to_owned()));
            rest = &rest[end..];
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            found.push(Token::Sign(sign));
            rest = &rest[sign.len()..];
        } else {
            return Err(format!("{first:?} is not supported"));
        }
        rest = rest.trim_start();
    }
    Ok(found)
}

/// Where a name ends that the text starts with. Colons of an axis are no part of it.
fn end_of_name(text: &str) -> usize {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    let end = text.find(|c: char| !part(c)).unwrap_or(text.len());
    match text[..end].find("::") {
        Some(axis) => axis,
        None if text[..end].ends_with(':') && text[end..].starts_with('*') => end + 1,
        None => end,
    }
}
