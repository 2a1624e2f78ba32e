//! `coeus user` and `coeus token`: they change the file; a running controller reads it within a second.

use std::io::{BufRead, IsTerminal};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Subcommand;

use super::file::{File, Token, User};
use super::{password, secret};
use crate::access::ADMIN;

/// Shortest password taken.
const SHORTEST: usize = 8;

#[derive(Debug, Subcommand)]
pub enum UserCommand {
    /// Add a user; the password is asked for, or read from standard input
    Add {
        name: String,
        /// Groups for access rules, with commas between them; members of admin may do everything
        #[arg(long, value_name = "GROUP", value_delimiter = ',')]
        groups: Vec<String>,
        /// Without a password: tokens and client certificates only
        #[arg(long)]
        no_password: bool,
    },
    /// Remove a user, and the user's tokens
    Remove { name: String },
    /// List users and their groups
    List,
    /// Change a password; it is asked for, or read from standard input
    Passwd { name: String },
    /// Set the groups of a user
    Groups {
        name: String,
        #[arg(value_name = "GROUP")]
        groups: Vec<String>,
    },
}

#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a bearer token and print it; it is not shown again
    Create {
        #[arg(long)]
        user: String,
        /// How long it is good, as in 90d, 12h or 30m [default: until it is revoked]
        #[arg(long, value_name = "TIME")]
        ttl: Option<String>,
    },
    /// List tokens by their ids
    List,
    /// Revoke a token
    Revoke { id: String },
}

impl UserCommand {
    /// Carries the command out; returns what to print.
    ///
    /// # Errors
    /// Says what is wrong in words for people.
    pub fn run(self, data_dir: &Path) -> Result<String, String> {
        match self {
            UserCommand::Add { name, groups, no_password } => {
                super::file::check_name(&name)?;
                let password = if no_password { None } else { Some(password::hash(&ask()?)?) };
                change(data_dir, |file| {
                    if file.users.iter().any(|user| user.name == name) {
                        return Err(format!(
                            "there is a user {name} already; use coeus user passwd or groups"
                        ));
                    }
                    file.users.push(User { name, groups, password });
                    Ok(String::new())
                })
            }
            UserCommand::Remove { name } => change(data_dir, |file| {
                file.user(&name)?;
                file.users.retain(|user| user.name != name);
                file.tokens.retain(|token| token.user != name);
                Ok(String::new())
            }),
            UserCommand::List => {
                let file = File::read(data_dir).map_err(|error| error.to_string())?;
                let lines = file.users.iter().map(|user| {
                    let tokens = file.tokens.iter().filter(|token| token.user == user.name).count();
                    let password = if user.password.is_some() { "password" } else { "no password" };
                    format!("{}\t{}\t{password}\t{tokens} tokens\n", user.name, user.groups.join(","))
                });
                Ok(lines.collect())
            }
            UserCommand::Passwd { name } => {
                change(data_dir, |file| file.user(&name).map(|_| String::new()))?;
                let hash = password::hash(&ask()?)?;
                change(data_dir, |file| {
                    file.user(&name)?.password = Some(hash);
                    Ok(())
                })?;
                if name == ADMIN {
                    let _ = std::fs::remove_file(data_dir.join("admin-password"));
                }
                Ok(String::new())
            }
            UserCommand::Groups { name, groups } => change(data_dir, |file| {
                file.user(&name)?.groups = groups;
                Ok(String::new())
            }),
        }
    }
}

impl TokenCommand {
    /// As [`UserCommand::run`].
    ///
    /// # Errors
    /// Says what is wrong in words for people.
    pub fn run(self, data_dir: &Path) -> Result<String, String> {
        match self {
            TokenCommand::Create { user, ttl } => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
                let expires =
                    ttl.map(|ttl| Ok::<_, String>(now.saturating_add(span(&ttl)?.as_secs()))).transpose()?;
                let token = format!("coeus_{}", secret::text::<32>()?);
                let sha256 = secret::sha256(&token);
                let id = sha256.chars().take(12).collect();
                change(data_dir, |file| {
                    file.user(&user)?;
                    file.tokens.retain(|token| token.expires.is_none_or(|expires| expires > now));
                    file.tokens.push(Token { id, user, sha256, expires });
                    Ok(format!("{token}\n"))
                })
            }
            TokenCommand::List => {
                let file = File::read(data_dir).map_err(|error| error.to_string())?;
                let time = |seconds| humantime(UNIX_EPOCH.checked_add(Duration::from_secs(seconds)));
                let lines = file.tokens.iter().map(|token| {
                    format!(
                        "{}\t{}\t{}\n",
                        token.id,
                        token.user,
                        token.expires.map_or("never expires".into(), time)
                    )
                });
                Ok(lines.collect())
            }
            TokenCommand::Revoke { id } => change(data_dir, |file| {
                let before = file.tokens.len();
                file.tokens.retain(|token| token.id != id);
                if file.tokens.len() == before {
                    return Err(format!("there is no token {id}; coeus token list shows them"));
                }
                Ok(String::new())
            }),
        }
    }
}

fn change<T>(data_dir: &Path, change: impl FnOnce(&mut File) -> Result<T, String>) -> Result<T, String> {
    File::change(data_dir, change).map_err(|error| error.to_string())
}

fn humantime(time: Option<SystemTime>) -> String {
    time.map_or("never expires".into(), |time| format!("until {}", httpdate::fmt_http_date(time)))
}

/// `90d`, `12h`, `30m`, `45s`.
fn span(text: &str) -> Result<Duration, String> {
    let wrong = || format!("ttl {text:?}: write a number and d, h, m or s, as in 90d");
    let unit = match text.chars().last() {
        Some('d') => 24 * 3600,
        Some('h') => 3600,
        Some('m') => 60,
        Some('s') => 1,
        _ => return Err(wrong()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    number.checked_mul(unit).filter(|seconds| *seconds > 0).map(Duration::from_secs).ok_or_else(wrong)
}

/// A new password: asked for twice at a terminal, else the first line of standard input.
fn ask() -> Result<String, String> {
    let password = if std::io::stdin().is_terminal() {
        let prompt = |text: &str| rpassword::prompt_password(text).map_err(|error| error.to_string());
        let password = prompt("New password: ")?;
        if prompt("Once more: ")? != password {
            return Err("the two passwords differ; nothing was changed".into());
        }
        password
    } else {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).map_err(|error| error.to_string())?;
        line.trim_end_matches(['\r', '\n']).to_owned()
    };
    if password.chars().count() < SHORTEST {
        return Err(format!("a password needs at least {SHORTEST} characters; nothing was changed"));
    }
    Ok(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        for (text, seconds) in [("90d", 90 * 86_400), ("12h", 43_200), ("30m", 1800), ("45s", 45)] {
            assert_eq!(span(text).unwrap().as_secs(), seconds);
        }
        for wrong in ["", "d", "5", "0d", "-1d", "1.5h", "99999999999999999999d", "5ä"] {
            assert!(span(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn users_and_tokens_come_and_go() {
        let folder = tempfile::tempdir().unwrap();
        let add = |name: &str| UserCommand::Add {
            name: name.into(),
            groups: vec!["ops".into()],
            no_password: true,
        };
        add("bob").run(folder.path()).unwrap();
        assert!(add("bob").run(folder.path()).unwrap_err().contains("already"));
        assert!(add("a b").run(folder.path()).is_err());
        let create = |user: &str| TokenCommand::Create { user: user.into(), ttl: Some("1h".into()) };
        assert!(create("eve").run(folder.path()).unwrap_err().contains("bob"), "it says who there is");
        let token = create("bob").run(folder.path()).unwrap();
        assert!(token.starts_with("coeus_") && token.len() == 6 + 43 + 1);
        let text = std::fs::read_to_string(File::path(folder.path())).unwrap();
        assert!(!text.contains(token.trim()), "only its digest is kept");
        assert!(UserCommand::List.run(folder.path()).unwrap().contains("bob\tops\tno password\t1 tokens"));
        let id = File::read(folder.path()).unwrap().tokens[0].id.clone();
        assert!(TokenCommand::List.run(folder.path()).unwrap().starts_with(&id));
        TokenCommand::Revoke { id: id.clone() }.run(folder.path()).unwrap();
        assert!(TokenCommand::Revoke { id }.run(folder.path()).is_err());
        create("bob").run(folder.path()).unwrap();
        UserCommand::Remove { name: "bob".into() }.run(folder.path()).unwrap();
        assert_eq!(File::read(folder.path()).unwrap(), File::default());
    }
}
