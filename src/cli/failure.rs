//! Why a command failed, and the exit code that says so to scripts.

use std::process::ExitCode;

use serde_json::Value;

/// A command that failed. Its text names the object, the reason and the next step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    #[error("{0}")]
    Failed(String),
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    NotAllowed(String),
    #[error("{0}")]
    Unreachable(String),
    #[error("{0}")]
    TimedOut(String),
}

/// The exit codes, as the manual and the help list them. 2 is clap's, for a wrong command line.
pub const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  failed; also a finding of `doctor` that needs somebody, and a packet of `trace` that does not get there
  2  the command line is wrong
  3  there is no such object
  4  refused: invalid, in conflict, or a precondition does not hold
  5  not allowed: no or wrong credentials, or access denied
  6  the controller cannot be reached
  7  the time for waiting is over";

impl Failure {
    pub fn code(&self) -> u8 {
        match self {
            Failure::Failed(_) => 1,
            Failure::NotFound(_) => 3,
            Failure::Refused(_) => 4,
            Failure::NotAllowed(_) => 5,
            Failure::Unreachable(_) => 6,
            Failure::TimedOut(_) => 7,
        }
    }

    /// From an answer of the controller: its status, and the errors in its body (RFC 8040 section 7.1).
    pub fn of_answer(what: &str, status: u16, body: &[u8]) -> Failure {
        let text = messages(body).unwrap_or_else(|| {
            let body = String::from_utf8_lossy(body);
            let line = body.lines().next().unwrap_or_default().trim().to_owned();
            if line.is_empty() { format!("the controller answered {status}") } else { line }
        });
        let text = format!("{what}: {text}");
        match status {
            401 => Failure::NotAllowed(format!(
                "{text}; give --user and --password-file, --token-file, or COEUS_PASSWORD or COEUS_TOKEN"
            )),
            403 => Failure::NotAllowed(text),
            404 => Failure::NotFound(text),
            400 | 405 | 406 | 409 | 412 | 413 | 414 | 415 => Failure::Refused(text),
            _ => Failure::Failed(text),
        }
    }
}

impl From<Failure> for ExitCode {
    fn from(failure: Failure) -> ExitCode {
        ExitCode::from(failure.code())
    }
}

/// The messages of an `ietf-restconf:errors` document, each with its path; or those of a YANG Patch's status, of all of it and of its edits (RFC 8072
/// section 2.3).
fn messages(body: &[u8]) -> Option<String> {
    let document: Value = serde_json::from_slice(body).ok()?;
    let patch = document.get("ietf-yang-patch:yang-patch-status");
    let edits =
        patch.and_then(|status| status.get("edit-status")?.get("edit")?.as_array()).into_iter().flatten();
    let places = [
        document.get("ietf-restconf:errors"),
        document.get("errors"),
        patch.and_then(|status| status.get("errors")),
    ];
    let places = places.into_iter().flatten().chain(edits.filter_map(|edit| edit.get("errors")));
    let lines: Vec<String> = places
        .filter_map(|errors| errors.get("error")?.as_array())
        .flatten()
        .map(|error| {
            let text = |name: &str| error.get(name).and_then(Value::as_str);
            let message = text("error-message").or(text("error-tag")).unwrap_or("refused");
            match text("error-path") {
                Some(path) if !message.contains(path) => format!("{message} ({path})"),
                _ => message.to_owned(),
            }
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n  "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_become_exit_codes_and_messages_are_kept() {
        let body = br#"{"ietf-restconf:errors":{"error":[
            {"error-tag":"invalid-value","error-path":"/pod:coe/pods","error-message":"no such leaf"},
            {"error-tag":"data-missing"}]}}"#;
        let failure = Failure::of_answer("PUT pod:coe", 400, body);
        assert_eq!(failure.code(), 4);
        assert_eq!(failure.to_string(), "PUT pod:coe: no such leaf (/pod:coe/pods)\n  data-missing");
        let body = br#"{"ietf-yang-patch:yang-patch-status":{"patch-id":"p","edit-status":{"edit":[
            {"edit-id":"0","ok":[null]},{"edit-id":"1","errors":{"error":[{"error-tag":"in-use","error-message":"a has it"}]}}]}}}"#;
        assert_eq!(Failure::of_answer("PATCH", 409, body).to_string(), "PATCH: a has it");
        for (status, code) in [(401, 5), (403, 5), (404, 3), (409, 4), (412, 4), (500, 1), (503, 1)] {
            assert_eq!(Failure::of_answer("GET x", status, b"").code(), code, "{status}");
        }
        assert_eq!(Failure::of_answer("GET x", 500, b"<html>").to_string(), "GET x: <html>");
    }
}
