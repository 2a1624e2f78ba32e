//! What one client may ask of us. Every limit has its own error, and each can be set.

use std::time::Duration;

use serde::Deserialize;

use crate::datastore::CandidateLimits;

/// Bounds on requests and connections. Sizes are in bytes, times in seconds.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Limits {
    /// Longest body: 413.
    pub body: usize,
    /// Longest path and query: 414.
    pub uri: usize,
    /// Longest header section: 431.
    pub header: usize,
    /// Deepest nesting of a body: 413.
    pub depth: usize,
    /// Longest key value of a list entry: 400.
    pub key: usize,
    /// Most entries of one list in the datastore, for clients: 409.
    pub entries: usize,
    /// Time for a TLS handshake, and for the header section of a request: 408. Idle connections are closed after it.
    pub header_seconds: u64,
    /// Longest pause within a body: 408.
    pub body_seconds: u64,
    /// Time for a whole request: 408.
    pub request_seconds: u64,
    /// Connections at a time: 503, or closed where TLS is spoken.
    pub connections: usize,
    /// Refused logins of one address within the window: 429.
    pub logins: u32,
    pub login_seconds: u64,
    /// Streams and subscriptions of one user, and of all: 409.
    pub user_readers: usize,
    pub readers: usize,
    /// Bytes of events that wait for one reader, and revisions that one who takes nothing may be behind: he is cut off.
    pub reader_bytes: usize,
    pub reader_backlog: u64,
    /// How long a subscription waits for its reader.
    pub reader_seconds: u64,
    /// A sign of life to readers when there is nothing to tell.
    pub heartbeat_seconds: u64,
    /// Users who have a candidate at a time; edits of one, and bytes that they bring: 409.
    pub candidates: usize,
    pub candidate_edits: usize,
    pub candidate_bytes: usize,
    /// A candidate that lies untouched for so long is dropped.
    pub candidate_seconds: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body: 64 << 20,
            uri: 8 << 10,
            header: 32 << 10,
            depth: 64,
            key: 1024,
            entries: 1_000_000,
            header_seconds: 30,
            body_seconds: 30,
            request_seconds: 120,
            connections: 4096,
            logins: 20,
            login_seconds: 60,
            user_readers: 64,
            readers: 1024,
            reader_bytes: 1 << 20,
            reader_backlog: 1000,
            reader_seconds: 60,
            heartbeat_seconds: 15,
            candidates: 64,
            candidate_edits: 10_000,
            candidate_bytes: 64 << 20,
            candidate_seconds: 3600,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LimitError {
    #[error("limit {0:?}: write NAME=NUMBER, as in body=1048576")]
    Form(String),
    #[error(
        "there is no limit {0:?}; there are body, uri, header, depth, key, entries, header-seconds, body-seconds, request-seconds, connections, logins, login-seconds, user-readers, readers, reader-bytes, reader-backlog, reader-seconds, heartbeat-seconds, candidates, candidate-edits, candidate-bytes and candidate-seconds"
    )]
    Unknown(String),
    #[error("limit {name}: {value:?} is no number from 1 on")]
    Number { name: String, value: String },
}

impl Limits {
    /// Sets one limit from `NAME=NUMBER`.
    ///
    /// # Errors
    /// When there is no such limit, or it is no number.
    pub fn set(&mut self, text: &str) -> Result<(), LimitError> {
        let (name, value) = text.split_once('=').ok_or_else(|| LimitError::Form(text.into()))?;
        let wrong = || LimitError::Number { name: name.into(), value: value.into() };
        let number: u64 = value.trim().parse().ok().filter(|number| *number > 0).ok_or_else(wrong)?;
        let size = usize::try_from(number).map_err(|_| wrong())?;
        match name.trim() {
            "body" => self.body = size,
            "uri" => self.uri = size,
            "header" => self.header = size,
            "depth" => self.depth = size,
            "key" => self.key = size,
            "entries" => self.entries = size,
            "header-seconds" => self.header_seconds = number,
            "body-seconds" => self.body_seconds = number,
            "request-seconds" => self.request_seconds = number,
            "connections" => self.connections = size,
            "logins" => self.logins = u32::try_from(number).map_err(|_| wrong())?,
            "login-seconds" => self.login_seconds = number,
            "user-readers" => self.user_readers = size,
            "readers" => self.readers = size,
            "reader-bytes" => self.reader_bytes = size,
            "reader-backlog" => self.reader_backlog = number,
            "reader-seconds" => self.reader_seconds = number,
            "heartbeat-seconds" => self.heartbeat_seconds = number,
            "candidates" => self.candidates = size,
            "candidate-edits" => self.candidate_edits = size,
            "candidate-bytes" => self.candidate_bytes = size,
            "candidate-seconds" => self.candidate_seconds = number,
            other => return Err(LimitError::Unknown(other.into())),
        }
        Ok(())
    }

    /// Those of them that are about candidates.
    pub fn of_candidates(&self) -> CandidateLimits {
        CandidateLimits {
            candidates: self.candidates,
            edits: self.candidate_edits,
            bytes: self.candidate_bytes,
            idle: Duration::from_secs(self.candidate_seconds),
        }
    }

    pub fn header_time(&self) -> Duration {
        Duration::from_secs(self.header_seconds)
    }

    pub fn body_time(&self) -> Duration {
        Duration::from_secs(self.body_seconds)
    }

    pub fn request_time(&self) -> Duration {
        Duration::from_secs(self.request_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_set_by_its_name() {
        let mut limits = Limits::default();
        for text in ["body=1", "uri=2", "header=3", "depth=4", "key=5", "entries=6", "header-seconds=7"] {
            limits.set(text).unwrap();
        }
        for text in ["body-seconds=8", "request-seconds=9", "connections=10", "logins=11", "login-seconds=12"]
        {
            limits.set(text).unwrap();
        }
        let readers =
            ["user-readers=13", "readers=14", "reader-bytes=15", "reader-backlog=16", "reader-seconds=17"];
        let rest = ["heartbeat-seconds=18", "candidates=19", "candidate-edits=20", "candidate-bytes=21"];
        for text in readers.into_iter().chain(rest).chain(["candidate-seconds=22"]) {
            limits.set(text).unwrap();
        }
        let wanted = Limits {
            body: 1,
            uri: 2,
            header: 3,
            depth: 4,
            key: 5,
            entries: 6,
            header_seconds: 7,
            body_seconds: 8,
            request_seconds: 9,
            connections: 10,
            logins: 11,
            login_seconds: 12,
            user_readers: 13,
            readers: 14,
            reader_bytes: 15,
            reader_backlog: 16,
            reader_seconds: 17,
            heartbeat_seconds: 18,
            candidates: 19,
            candidate_edits: 20,
            candidate_bytes: 21,
            candidate_seconds: 22,
        };
        assert_eq!(limits, wanted);
        for wrong in ["body", "body=", "body=0", "body=-1", "body=x", "boddy=1", "logins=99999999999"] {
            assert!(limits.set(wrong).is_err(), "{wrong}");
        }
        assert_eq!(limits, wanted, "a wrong one sets nothing");
    }
}
