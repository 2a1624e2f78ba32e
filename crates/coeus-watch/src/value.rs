//! Members of JSON as RFC 7951 writes it: with or without their modules.

use serde_json::Value;

/// The name without its module.
pub fn plain(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// A member by its name, whether its module is said or not.
pub fn member<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let fields = value.as_object()?;
    fields
        .get(name)
        .or_else(|| fields.iter().find(|(key, _)| plain(key) == plain(name)).map(|(_, value)| value))
}

/// The entries of a list; none if it is not there.
pub fn items<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    member(value, name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
