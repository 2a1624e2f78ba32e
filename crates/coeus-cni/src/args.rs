//! `CNI_ARGS`: pairs `KEY=VALUE`, joined by semicolons.

use std::collections::BTreeMap;

use crate::error::{Code, Error};

/// What we know. Others are refused unless `IgnoreUnknown` is set.
const KNOWN: [&str; 12] = [
    "IgnoreUnknown",
    "K8S_POD_NAMESPACE",
    "K8S_POD_NAME",
    "K8S_POD_INFRA_CONTAINER_ID",
    "K8S_POD_UID",
    "PORT_UUID",
    "IPV4",
    "GW",
    "PORT_TYPE",
    "IP",
    "MAC",
    "ZUN_CONTAINER_TYPE",
];

/// Kuryr writes these behind a comma as well.
const BEHIND_A_COMMA: [&str; 4] = ["PORT_UUID", "IPV4", "GW", "PORT_TYPE"];

/// The pairs by key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Args(BTreeMap<String, String>);

impl Args {
    /// # Errors
    /// Code 4, naming `CNI_ARGS` and the key.
    pub fn parse(text: &str) -> Result<Args, Error> {
        let wrong = |what: String| Error::new(Code::Environment, format!("CNI_ARGS: {what}"));
        let mut pairs = BTreeMap::new();
        for piece in text.split(';').flat_map(at_commas).filter(|piece| !piece.trim().is_empty()) {
            let Some((key, value)) = piece.split_once('=') else {
                return Err(wrong(format!("{piece:?} is no KEY=VALUE")));
            };
            pairs.insert(key.trim().to_owned(), value.trim().to_owned());
        }
        let ignores = pairs
            .get("IgnoreUnknown")
            .is_some_and(|value| ["1", "t", "true"].iter().any(|yes| value.eq_ignore_ascii_case(yes)));
        if let Some(unknown) = pairs.keys().find(|key| !ignores && !KNOWN.contains(&key.as_str())) {
            return Err(wrong(format!("{unknown} is unknown")).with("send IgnoreUnknown=1 beside it"));
        }
        Ok(Args(pairs))
    }

    pub fn value(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// Cuts where a comma stands before one of Kuryr's keys; other commas belong to a value.
fn at_commas(piece: &str) -> Vec<&str> {
    let is_key = |rest: &str| {
        BEHIND_A_COMMA
            .iter()
            .any(|key| rest.trim_start().strip_prefix(key).is_some_and(|rest| rest.starts_with('=')))
    };
    let mut found = Vec::new();
    let mut begin = 0;
    for (place, _) in piece.match_indices(',') {
        if is_key(&piece[place + 1..]) {
            found.push(&piece[begin..place]);
            begin = place + 1;
        }
    }
    found.push(&piece[begin..]);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_found_behind_semicolons_and_kuryrs_behind_commas_too() {
        let args = Args::parse(
            "IgnoreUnknown=1;K8S_POD_NAMESPACE=blue;K8S_POD_NAME=p1;K8S_POD_INFRA_CONTAINER_ID=abc,PORT_UUID=u,IPV4=10.0.0.5/24;\
             GW=10.0.0.1,PORT_TYPE=ovs;IP=10.0.0.7,fd00::7;FOO=a,b=c;",
        )
        .unwrap();
        for (key, value) in [
            ("K8S_POD_NAMESPACE", "blue"),
            ("K8S_POD_INFRA_CONTAINER_ID", "abc"),
            ("PORT_UUID", "u"),
            ("IPV4", "10.0.0.5/24"),
            ("GW", "10.0.0.1"),
            ("PORT_TYPE", "ovs"),
            ("IP", "10.0.0.7,fd00::7"),
            ("FOO", "a,b=c"),
        ] {
            assert_eq!(args.value(key), Some(value), "{key}");
        }
        assert_eq!(args.value("MAC"), None);
        assert_eq!(Args::parse(""), Ok(Args::default()));
    }

    #[test]
    fn what_is_unknown_or_no_pair_is_refused_by_name() {
        for (text, named) in [
            ("FOO=1", "FOO"),
            ("IgnoreUnknown=0;BAR=1", "BAR"),
            ("K8S_POD_NAME", "K8S_POD_NAME"),
            ("IgnoreUnknown=1;x", "\"x\""),
        ] {
            let error = Args::parse(text).unwrap_err();
            assert_eq!(error.code, Code::Environment);
            assert!(error.message.starts_with("CNI_ARGS: ") && error.message.contains(named), "{error}");
        }
        for yes in ["1", "true", "TRUE", "t"] {
            assert!(Args::parse(&format!("IgnoreUnknown={yes};FOO=1")).is_ok());
        }
    }
}
