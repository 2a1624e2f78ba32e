//! candidate: edits that wait to be committed together.

use serde_json::{Value, json};

use super::output::{Format, print, show};
use super::table::plain;
use super::{Client, Failure, Table, history, plan, verbs};

const MODULE: &str = "coeus-history";

/// What becomes of the candidate.
#[derive(clap::Subcommand, Debug, Clone)]
pub enum Candidate {
    /// Show any part of the configuration as it would be
    Show {
        /// The resource, as in RFC 8040; without one, everything
        #[arg(default_value = "")]
        path: String,
        #[arg(short, long, value_enum, default_value = "json")]
        output: Format,
    },
    /// Show what differs from the configuration it was made of
    Diff {
        #[arg(short, long, value_enum, default_value = "table")]
        output: Format,
    },
    /// Show what committing it would do to each switch
    Plan {
        #[arg(short, long, value_enum, default_value = "table")]
        output: Format,
    },
    /// Tell whether it could be committed now
    Validate,
    /// Bring what others committed into it
    Update {
        /// Where both changed the same: nothing happens, the candidate keeps what it has, or it takes what is there
        #[arg(long, value_name = "MODE", default_value = "revert-on-conflict")]
        #[arg(value_parser = ["revert-on-conflict", "ignore", "overwrite"])]
        resolution: String,
    },
    /// Commit it as one transaction
    Commit {
        /// Go back by itself unless `coeus confirm` comes within this time: 60s, 5m, 1h
        #[arg(long, value_name = "TIME", value_parser = seconds)]
        confirm: Option<u32>,
    },
    /// Throw it away
    Discard,
}

/// `coeus candidate`.
pub fn candidate(client: &Client, what: &Candidate) -> Result<(), Failure> {
    let number = |found: &Value, name: &str| found.get(name).map(plain).unwrap_or_default();
    let call = |rpc: &str, input: Value| client.call(MODULE, rpc, input);
    match what {
        Candidate::Show { path, output } => {
            show(&client.data_in(verbs::CANDIDATE, verbs::path(path), &[])?, *output, Table::of)
        }
        Candidate::Diff { output } => {
            let found = call("diff-candidate", json!({}))?;
            for path in found.get("conflict").and_then(Value::as_array).into_iter().flatten() {
                eprintln!("coeus: {} was changed by others as well", plain(path));
            }
            show(found.get("patch").unwrap_or(&Value::Null), *output, history::edits)
        }
        Candidate::Plan { output } => {
            let found = call("commit-candidate", json!({ "dry-run": true }))?;
            plan::show_plan(found.get("plan").unwrap_or(&Value::Null), *output)
        }
        Candidate::Validate => {
            call("validate-candidate", json!({}))?;
            print("it can be committed\n")
        }
        Candidate::Update { resolution } => {
            let found = call("update-candidate", json!({ "resolution-mode": resolution }))?;
            print(format!("it is made of revision {} now\n", number(&found, "base")))
        }
        Candidate::Commit { confirm } => {
            let input = confirm.map_or(json!({}), |seconds| json!({ "confirm-timeout": seconds }));
            let found = call("commit-candidate", input)?;
            let edits = number(&found, "edits");
            let revision = number(&found, "committed");
            match confirm {
                _ if revision.is_empty() => print("nothing differed\n"),
                Some(seconds) => print(format!(
                    "{edits} edits, revision {revision}; they go back in {seconds} s unless `coeus confirm {}` comes\n",
                    number(&found, "confirm")
                )),
                None => print(format!("{edits} edits, revision {revision}\n")),
            }
        }
        Candidate::Discard => {
            let found = call("discard-candidate", json!({}))?;
            print(format!("{} edits are gone\n", number(&found, "edits")))
        }
    }
}

/// A time of 1 s to a day, as `60s`, `5m` or `1h`.
fn seconds(text: &str) -> Result<u32, String> {
    let unit = |unit: &str| match unit {
        "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3600),
        _ => None,
    };
    let (number, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let time = number.parse::<u32>().ok().zip(unit(rest)).and_then(|(number, unit)| number.checked_mul(unit));
    time.filter(|time| (1..=86_400).contains(time)).ok_or_else(|| "say 60s, 5m or 1h; at most 24h".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        assert_eq!((seconds("1s"), seconds("5m"), seconds("24h")), (Ok(1), Ok(300), Ok(86_400)));
        for wrong in ["", "1", "s", "0s", "25h", "1d", "-1s", "99999999999s", "1ß"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
