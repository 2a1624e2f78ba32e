//! `users.toml`: users, their groups, hashes of their passwords, and hashes of tokens.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::password;

const HEADING: &str = "# Accounts of coeus; change them with coeus user and coeus token.\n\n";

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct File {
    #[serde(rename = "user", skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<User>,
    #[serde(rename = "token", skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<Token>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    pub name: String,
    #[serde(default)]
    pub groups: Vec<String>,
    /// argon2 hash in PHC form; without it the user has tokens or a certificate only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// What it is called in lists; no secret.
    pub id: String,
    pub user: String,
    /// SHA-256 of the token, in hexadecimal.
    pub sha256: String,
    /// Seconds since 1970; without it the token is good until it is revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{path}: {reason}")]
    File { path: PathBuf, reason: String },
    #[error("{path}: {what}")]
    Wrong { path: PathBuf, what: String },
    #[error("{0}")]
    Change(String),
}

impl File {
    pub fn path(data_dir: &Path) -> PathBuf {
        data_dir.join("users.toml")
    }

    /// The accounts of a data directory; none when there is no file yet.
    ///
    /// # Errors
    /// Names the file, and the user that is wrong.
    pub fn read(data_dir: &Path) -> Result<File, FileError> {
        let path = File::path(data_dir);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(File::default()),
            Err(error) => return Err(FileError::File { path, reason: error.to_string() }),
        };
        let file: File = toml::from_str(&text).map_err(|error| FileError::File {
            path: path.clone(),
            reason: error.to_string().trim().replace('\n', " "),
        })?;
        match file.fault() {
            Some(what) => Err(FileError::Wrong { path, what }),
            None => Ok(file),
        }
    }

    fn fault(&self) -> Option<String> {
        for (at, user) in self.users.iter().enumerate() {
            let name = &user.name;
            if let Err(reason) = check_name(name) {
                return Some(reason);
            }
            if self.users[..at].iter().any(|other| other.name == *name) {
                return Some(format!("user {name} stands there twice"));
            }
            if user.password.as_ref().is_some_and(|hash| !password::is_hash(hash)) {
                return Some(format!(
                    "the password of {name} is no argon2 hash; set it with coeus user passwd {name}"
                ));
            }
        }
        let unknown = self.tokens.iter().find(|token| !self.users.iter().any(|user| user.name == token.user));
        unknown.map(|token| format!("token {} is of {}, who is no user", token.id, token.user))
    }

    /// Changes the accounts of a data directory; one change at a time, and readers see the old or the new file as a whole.
    ///
    /// # Errors
    /// When the change is impossible, or the file cannot be read or written.
    pub fn change<T>(
        data_dir: &Path,
        change: impl FnOnce(&mut File) -> Result<T, String>,
    ) -> Result<T, FileError> {
        let path = File::path(data_dir);
        let failed =
            |error: std::io::Error| FileError::File { path: path.clone(), reason: error.to_string() };
        std::fs::create_dir_all(data_dir).map_err(failed)?;
        let lock = std::fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(path.with_extension("lock"))
            .map_err(failed)?;
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive)
            .map_err(|error| failed(error.into()))?;
        let mut file = File::read(data_dir)?;
        let outcome = change(&mut file).map_err(FileError::Change)?;
        if let Some(what) = file.fault() {
            return Err(FileError::Change(what));
        }
        let text = toml::to_string(&file).map_err(|error| FileError::Change(error.to_string()))?;
        let new = path.with_extension("new");
        let _ = std::fs::remove_file(&new);
        let mut written = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&new)
            .map_err(failed)?;
        written
            .write_all(HEADING.as_bytes())
            .and_then(|()| written.write_all(text.as_bytes()))
            .map_err(failed)?;
        written.sync_all().map_err(failed)?;
        std::fs::rename(&new, &path).map_err(failed)?;
        let _ = std::fs::File::open(data_dir).and_then(|folder| folder.sync_all());
        Ok(outcome)
    }

    pub fn user(&mut self, name: &str) -> Result<&mut User, String> {
        let known = self.users.iter().map(|user| user.name.as_str()).collect::<Vec<_>>().join(", ");
        let found = self.users.iter_mut().find(|user| user.name == name);
        found.ok_or_else(|| format!("there is no user {name}; there are: {known}"))
    }
}

/// What a user may be called: it has to stand before the colon of Basic authentication, and in a line of a log.
pub fn check_name(name: &str) -> Result<(), String> {
    let fine = !name.is_empty()
        && name.len() <= 64
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-@".contains(c));
    if fine {
        Ok(())
    } else {
        Err(format!("user name {name:?}: use up to 64 letters, digits, dots, dashes, _ and @"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_kept_and_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(File::read(folder.path()).unwrap(), File::default());
        let user = User { name: "watcher".into(), groups: vec!["writers".into()], password: None };
        let token = Token { id: "t".into(), user: "watcher".into(), sha256: "00".into(), expires: Some(5) };
        File::change(folder.path(), |file| {
            file.users.push(user.clone());
            file.tokens.push(token.clone());
            Ok(())
        })
        .unwrap();
        let wanted = File { users: vec![user], tokens: vec![token] };
        assert_eq!(File::read(folder.path()).unwrap(), wanted);
        let mode = std::fs::metadata(File::path(folder.path())).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(File::change(folder.path(), |_| Err::<(), _>("no".into())).is_err());
        assert!(
            File::change(folder.path(), |file| {
                file.users.clear();
                Ok(())
            })
            .is_err(),
            "a token without its user"
        );
        assert_eq!(File::read(folder.path()).unwrap(), wanted);
    }

    #[test]
    fn what_is_wrong_in_the_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        for (text, words) in [
            ("[[user]]\nname = \"a:b\"", "user name"),
            ("[[user]]\nname = \"a\"\n[[user]]\nname = \"a\"", "twice"),
            ("[[user]]\nname = \"a\"\npassword = \"plain\"", "coeus user passwd a"),
            ("[[user]]\nname = \"a\"\nfoo = 1", "foo"),
            ("[[token]]\nid = \"t\"\nuser = \"b\"\nsha256 = \"00\"", "b, who is no user"),
        ] {
            std::fs::write(File::path(folder.path()), text).unwrap();
            let error = File::read(folder.path()).unwrap_err().to_string();
            assert!(error.contains(words) && error.contains("users.toml"), "{error}");
        }
    }
}
