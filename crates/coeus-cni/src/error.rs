//! What a runtime is told when something is wrong (CNI specification, section 5, "Error").

use serde_json::{Value, json};

/// Error codes of the specification, and our own from 100 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// 1: `cniVersion` is none that we speak.
    Version,
    /// 2: a field that we do not support; the message names key and value.
    Field,
    /// 3: the container is unknown: nothing has to be cleaned up.
    Unknown,
    /// 4: an environment variable is missing or wrong; the message names it.
    Environment,
    /// 5: reading or writing failed.
    Io,
    /// 6: what came is not JSON.
    Decode,
    /// 7: the network configuration is invalid; the message names the key.
    Config,
    /// 11: something is not there yet or not there now: the runtime should try again.
    Again,
    /// 50: STATUS: ADD cannot be served.
    NotAvailable,
    /// 51: STATUS: ADD cannot be served, and containers that are there may have lost their network.
    Limited,
    /// 101: the IPAM plugin failed.
    Ipam,
    /// 102: the interface could not be made or configured.
    Plug,
    /// 103: CHECK found that something is not as it was made.
    Drift,
    /// What another plugin said.
    Other(u32),
}

impl Code {
    pub fn number(self) -> u32 {
        match self {
            Code::Version => 1,
            Code::Field => 2,
            Code::Unknown => 3,
            Code::Environment => 4,
            Code::Io => 5,
            Code::Decode => 6,
            Code::Config => 7,
            Code::Again => 11,
            Code::NotAvailable => 50,
            Code::Limited => 51,
            Code::Ipam => 101,
            Code::Plug => 102,
            Code::Drift => 103,
            Code::Other(number) => number,
        }
    }
}

/// A call that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub code: Code,
    /// What is wrong, with the name of the thing.
    pub message: String,
    /// What to do about it, or what was seen; may be empty.
    pub details: String,
}

impl Error {
    pub fn new(code: Code, message: impl Into<String>) -> Error {
        Error { code, message: message.into(), details: String::new() }
    }

    pub fn with(mut self, details: impl Into<String>) -> Error {
        self.details = details.into();
        self
    }

    /// The document on standard output.
    pub fn json(&self, version: &str) -> Value {
        json!({"cniVersion": version, "code": self.code.number(), "msg": self.message, "details": self.details})
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (code {})", self.message, self.code.number())?;
        if self.details.is_empty() { Ok(()) } else { write!(f, ": {}", self.details) }
    }
}

impl std::error::Error for Error {}
