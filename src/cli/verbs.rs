//! get, put, patch and delete of any resource.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::connect::{Answer, resource_in, with_query};
use super::output::{Format, print, show};
use super::{Client, Failure, Table, wait};

/// `coeus get`.
#[derive(clap::Args, Debug, Clone)]
pub struct Get {
    /// The resource, as in RFC 8040: `pod:coe/pods=UID`; without one, everything
    #[arg(default_value = "")]
    pub path: String,
    /// config, nonconfig or all
    #[arg(long)]
    pub content: Option<String>,
    /// Levels below the resource
    #[arg(long)]
    pub depth: Option<u16>,
    /// Parts to show, as in RFC 8040 section 4.8.3: `name;interface(uid;ip-address)`
    #[arg(long)]
    pub fields: Option<String>,
    /// report-all, trim, explicit or report-all-tagged
    #[arg(long)]
    pub with_defaults: Option<String>,
    #[command(flatten)]
    pub entries: EntryOptions,
    #[arg(short, long, value_enum, default_value = "json")]
    pub output: Format,
}

/// Which entries of a list.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct EntryOptions {
    /// Entries for which this holds: `network-NS='blue' and starts-with(name,'web')`
    #[arg(long = "where", value_name = "CONDITION")]
    pub condition: Option<String>,
    /// A leaf of the entries
    #[arg(long, value_name = "LEAF")]
    pub sort_by: Option<String>,
    /// From the last entry to the first
    #[arg(long)]
    pub backwards: bool,
    /// Entries to skip
    #[arg(long)]
    pub offset: Option<u32>,
    /// Most entries to show
    #[arg(long)]
    pub limit: Option<u32>,
    /// Most entries of lists below to show
    #[arg(long, value_name = "LIMIT")]
    pub sublist_limit: Option<u32>,
}

/// What a write needs besides its path.
#[derive(clap::Args, Debug, Clone)]
pub struct Writing {
    /// File with the body, - for standard input
    #[arg(short, long, default_value = "-")]
    pub file: PathBuf,
    #[command(flatten)]
    pub options: WriteOptions,
}

/// How to write.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct WriteOptions {
    /// Only if the resource still has this entity-tag
    #[arg(long, value_name = "ETAG")]
    pub if_match: Option<String>,
    /// Edit the candidate: nothing happens until `coeus candidate commit`
    #[arg(long, conflicts_with_all = ["confirm", "wait"])]
    pub candidate: bool,
    /// Go back by itself unless `coeus confirm` comes within this time: 60s, 5m, 1h
    #[arg(long, value_name = "TIME")]
    pub confirm: Option<String>,
    /// Wait until every connected switch has confirmed it, at most so many seconds
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "30")]
    pub wait: Option<u64>,
}

pub fn get(client: &Client, get: &Get) -> Result<(), Failure> {
    let given = [
        ("content", get.content.clone()),
        ("depth", get.depth.map(|depth| depth.to_string())),
        ("fields", get.fields.clone()),
        ("with-defaults", get.with_defaults.clone()),
        ("where", get.entries.condition.clone()),
        ("sort-by", get.entries.sort_by.clone()),
        ("direction", get.entries.backwards.then(|| "backwards".to_owned())),
        ("offset", get.entries.offset.map(|offset| offset.to_string())),
        ("limit", get.entries.limit.map(|limit| limit.to_string())),
        ("sublist-limit", get.entries.sublist_limit.map(|limit| limit.to_string())),
    ];
    let query: Vec<(&str, String)> =
        given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let data = client.data(path(&get.path), &query)?;
    show(&data, get.output, Table::of)
}

/// The ways to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    Put,
    Patch,
    Delete,
}

impl Write {
    pub fn method(self) -> &'static str {
        match self {
            Write::Put => "PUT",
            Write::Patch => "PATCH",
            Write::Delete => "DELETE",
        }
    }
}

/// Where the candidate of the user is (RFC 8527).
pub const CANDIDATE: &str = "/rests/ds/ietf-datastores:candidate";

/// Carries a write out and says what it did.
pub fn write(
    client: &Client,
    how: Write,
    target: &str,
    body: Option<&Path>,
    options: &WriteOptions,
) -> Result<(), Failure> {
    let confirm = options.confirm.as_ref().map(|time| ("confirm", time.clone()));
    let query: Vec<_> = confirm.into_iter().collect();
    let root = if options.candidate { CANDIDATE } else { "/rests/data" };
    send(client, how, (root, target), body, &query, options.if_match.as_deref())?;
    let done = match how {
        Write::Put => "written",
        Write::Patch => "patched",
        Write::Delete => "deleted",
    };
    match &options.confirm {
        None if options.candidate => {
            print(format!("{} {done} in the candidate; `coeus candidate commit` commits it\n", path(target)))?
        }
        Some(time) => {
            print(format!("{} {done}; it goes back in {time} unless `coeus confirm` comes\n", path(target)))?
        }
        None => print(format!("{} {done}\n", path(target)))?,
    }
    match options.wait {
        Some(seconds) => wait::programmed(client, Duration::from_secs(seconds)),
        None => Ok(()),
    }
}

/// Sends a write; fails unless it was carried out.
pub fn send(
    client: &Client,
    how: Write,
    (root, target): (&str, &str),
    body: Option<&Path>,
    query: &[(&str, String)],
    if_match: Option<&str>,
) -> Result<Answer, Failure> {
    let body = body.map(read).transpose()?;
    let mut headers = vec![("Accept", "application/yang-data+json")];
    if let Some(body) = &body {
        headers.push(("Content-Type", media(how, body)));
    }
    headers.extend(if_match.map(|tag| ("If-Match", tag)));
    let target = path(target);
    let uri = with_query(&resource_in(root, target), query);
    let answer = client.request(how.method(), &uri, &headers, body.as_deref())?;
    if !(200..300).contains(&answer.status) {
        return Err(Failure::of_answer(&format!("{} {target}", how.method()), answer.status, &answer.body));
    }
    Ok(answer)
}

/// A path as people write it: with or without a root, with or without a slash.
pub fn path(given: &str) -> &str {
    let given = given.strip_prefix("/rests/data").unwrap_or(given);
    given.trim_matches('/')
}

/// What the body is: a YANG Patch says so, XML begins with an angle bracket.
fn media(how: Write, body: &[u8]) -> &'static str {
    let start = body.iter().find(|byte| !byte.is_ascii_whitespace());
    let is_patch = how == Write::Patch
        && serde_json::from_slice::<Value>(body)
            .is_ok_and(|body| body.get("ietf-yang-patch:yang-patch").is_some());
    match (start, is_patch) {
        (Some(b'<'), _) => "application/yang-data+xml",
        (_, true) => "application/yang-patch+json",
        _ => "application/yang-data+json",
    }
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    let read = if file == Path::new("-") {
        std::io::stdin().read_to_end(&mut body).map(drop)
    } else {
        std::fs::read(file).map(|bytes| body = bytes)
    };
    read.map_err(|error| Failure::Failed(format!("{}: {error}", file.display())))?;
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_bodies_are_recognised() {
        for given in ["pod:coe", "/pod:coe", "/rests/data/pod:coe", "pod:coe/"] {
            assert_eq!(path(given), "pod:coe");
        }
        assert_eq!(media(Write::Put, b" \n<coe/>"), "application/yang-data+xml");
        assert_eq!(
            media(Write::Patch, br#"{"ietf-yang-patch:yang-patch":{}}"#),
            "application/yang-patch+json"
        );
        assert_eq!(media(Write::Put, br#"{"ietf-yang-patch:yang-patch":{}}"#), "application/yang-data+json");
        assert_eq!(media(Write::Patch, b"{}"), "application/yang-data+json");
    }
}
