//! Which store in which etcd.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

const SCHEME: &str = "etcd://";

/// `etcd://HOST:PORT[,HOST:PORT…]/NAME`: the members of an etcd, and the name of a store in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// `HOST:PORT` of each member that may be asked; one at least.
    pub endpoints: Vec<String>,
    /// Letters, digits, `.`, `_` and `-`.
    pub name: String,
}

/// How etcd is shown who asks, and how it is told from others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// PEM file with who signed etcd's certificate; with it, TLS is spoken.
    pub ca: Option<PathBuf>,
    /// PEM files of the certificate that is shown to etcd, and of its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// A user of etcd.
    pub user: Option<User>,
}

/// A user of etcd, and the file whose first line is the password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub password_file: PathBuf,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{text:?} names no store: {reason}; say etcd://HOST:PORT[,HOST:PORT...]/NAME")]
pub struct PlaceError {
    text: String,
    reason: &'static str,
}

impl FromStr for Place {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Place, PlaceError> {
        let wrong = |reason| PlaceError { text: text.to_owned(), reason };
        let rest = text.strip_prefix(SCHEME).ok_or_else(|| wrong("it does not begin with etcd://"))?;
        let (hosts, name) = rest.split_once('/').ok_or_else(|| wrong("the name of the store is missing"))?;
        let is_fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if name.is_empty() || !name.chars().all(is_fine) {
            return Err(wrong("a name is letters, digits, dots, underscores and hyphens"));
        }
        let endpoints: Vec<String> = hosts.split(',').map(str::to_owned).collect();
        let is_endpoint = |endpoint: &String| {
            endpoint.rsplit_once(':').is_some_and(|(host, port)| {
                let is_host = host.starts_with('[') == host.ends_with(']')
                    && (host.starts_with('[') || !host.contains(':'))
                    && !host.contains(['@', '/', ' ']);
                !host.is_empty() && is_host && port.parse::<u16>().is_ok_and(|port| port > 0)
            })
        };
        if !endpoints.iter().all(is_endpoint) {
            return Err(wrong("a member is HOST:PORT, of IPv6 [ADDRESS]:PORT"));
        }
        Ok(Place { endpoints, name: name.to_owned() })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}", self.endpoints.join(","), self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_written() {
        for text in ["etcd://127.0.0.1:2379/coeus", "etcd://a:1,b.example:2,[::1]:65535/blue_1.x-y"] {
            assert_eq!(text.parse::<Place>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_none_is_told_so() {
        for (text, reason) in [
            ("http://127.0.0.1:2379/coeus", "etcd://"),
            ("etcd://127.0.0.1:2379", "name of the store"),
            ("etcd://127.0.0.1:2379/", "a name is"),
            ("etcd://127.0.0.1:2379/a/b", "a name is"),
            ("etcd://127.0.0.1/a", "a member is"),
            ("etcd://127.0.0.1:0/a", "a member is"),
            ("etcd://a:1,,b:2/a", "a member is"),
            ("etcd://::1:2379/a", "a member is"),
            ("etcd://root:secret@a:1/a", "a member is"),
        ] {
            let error = text.parse::<Place>().unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains("HOST:PORT"), "{text}: {error}");
        }
    }
}
