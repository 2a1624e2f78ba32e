//! JSON-RPC 1.0 as OVSDB uses it.

use serde_json::{Value, json};

/// A message from the peer.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    Request { id: Value, method: String, params: Value },
    Notification { method: String, params: Value },
    Response { id: Value, result: Value, error: Value },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an OVSDB message that is neither request, notification nor response: {0}")]
pub struct MessageError(pub String);

impl Incoming {
    /// # Errors
    /// When the text is no JSON-RPC message.
    pub fn parse(text: &[u8]) -> Result<Incoming, MessageError> {
        let wrong = || MessageError(String::from_utf8_lossy(text).chars().take(120).collect());
        let mut message: Value = serde_json::from_slice(text).map_err(|_| wrong())?;
        let mut take = |name: &str| message.get_mut(name).map(Value::take);
        let (id, method) = (take("id").unwrap_or(Value::Null), take("method"));
        match method {
            Some(Value::String(method)) => {
                let params = take("params").unwrap_or(Value::Null);
                Ok(if id.is_null() {
                    Incoming::Notification { method, params }
                } else {
                    Incoming::Request { id, method, params }
                })
            }
            None => {
                let (result, error) = (take("result"), take("error"));
                if result.is_none() && error.is_none() {
                    return Err(wrong());
                }
                Ok(Incoming::Response {
                    id,
                    result: result.unwrap_or(Value::Null),
                    error: error.unwrap_or(Value::Null),
                })
            }
            Some(_) => Err(wrong()),
        }
    }
}

pub fn request(id: u64, method: &str, params: Value) -> Vec<u8> {
    json!({"id": id, "method": method, "params": params}).to_string().into_bytes()
}

/// The answer to a request, an echo for one.
pub fn reply(id: &Value, result: &Value) -> Vec<u8> {
    json!({"id": id, "result": result, "error": null}).to_string().into_bytes()
}

/// The answer to a request that cannot be served.
pub fn refusal(id: &Value, reason: &str) -> Vec<u8> {
    json!({"id": id, "result": null, "error": reason}).to_string().into_bytes()
}

/// Operations that happen together or not at all.
pub fn transact(id: u64, database: &str, operations: &[Value]) -> Vec<u8> {
    let mut params = vec![json!(database)];
    params.extend_from_slice(operations);
    request(id, "transact", Value::Array(params))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_kinds_are_told_apart() {
        let parse = |text: &str| Incoming::parse(text.as_bytes());
        assert!(matches!(
            parse(r#"{"id":"echo","method":"echo","params":[]}"#),
            Ok(Incoming::Request { .. })
        ));
        assert!(matches!(
            parse(r#"{"id":null,"method":"update","params":[]}"#),
            Ok(Incoming::Notification { .. })
        ));
        assert!(matches!(parse(r#"{"id":1,"result":{},"error":null}"#), Ok(Incoming::Response { .. })));
        assert!(parse(r#"{"id":1}"#).is_err() && parse("[]").is_err() && parse("{").is_err());
    }
}
