//! Who asks: Basic authentication against the one account, and patience with those who guess.

use std::collections::HashMap;
use std::io::Write;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use rand::Rng;
use subtle::ConstantTimeEq;

/// Wrong passwords from one address that are answered in a minute; more wait.
const TRIES: u32 = 20;
const WINDOW: Duration = Duration::from_secs(60);
/// Addresses remembered at most.
const REMEMBERED: usize = 4096;

/// The accounts, and the addresses that got a password wrong.
pub struct Users {
    name: String,
    password: String,
    failures: Mutex<HashMap<IpAddr, (u32, Instant)>>,
}

/// Who a request is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    User(String),
    /// No or wrong credentials: ask for them.
    Challenge,
    /// Too many wrong ones; try again after this.
    Wait(Duration),
}

/// Users as they are after the first start.
pub struct FirstStart {
    pub users: Users,
    /// Where a password was made, if one was.
    pub made: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum UsersError {
    #[error("{path}: {reason}; give a password with COEUS_ADMIN_PASSWORD or --admin-password-file")]
    File { path: PathBuf, reason: String },
    #[error("{path} holds no password: its first line is empty")]
    Empty { path: PathBuf },
}

impl Users {
    pub fn admin(password: impl Into<String>) -> Users {
        Users { name: "admin".into(), password: password.into(), failures: Mutex::default() }
    }

    /// The account `admin` with the given password, that of the file, or one made at the first start and kept in `data_dir`.
    ///
    /// # Errors
    /// When a file cannot be read or made.
    pub fn first_start(
        data_dir: &Path,
        given: Option<String>,
        file: Option<&Path>,
    ) -> Result<FirstStart, UsersError> {
        if let Some(password) = given.filter(|password| !password.is_empty()) {
            return Ok(FirstStart { users: Users::admin(password), made: None });
        }
        let made_at = data_dir.join("admin-password");
        let path = file.unwrap_or(&made_at);
        if file.is_some() || path.exists() {
            let failed =
                |error: std::io::Error| UsersError::File { path: path.to_owned(), reason: error.to_string() };
            let text = std::fs::read_to_string(path).map_err(failed)?;
            let password = text.lines().next().unwrap_or_default().trim_end();
            if password.is_empty() {
                return Err(UsersError::Empty { path: path.to_owned() });
            }
            return Ok(FirstStart { users: Users::admin(password), made: None });
        }
        let password: String =
            rand::rng().sample_iter(rand::distr::Alphanumeric).take(24).map(char::from).collect();
        write_private(&made_at, &password)
            .map_err(|error| UsersError::File { path: made_at.clone(), reason: error.to_string() })?;
        Ok(FirstStart { users: Users::admin(password), made: Some(made_at) })
    }

    /// Judges an `Authorization` header from an address.
    pub fn judge(&self, from: IpAddr, header: Option<&str>, now: Instant) -> Login {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((count, since)) = failures.get(&from) {
            let passed = now.saturating_duration_since(*since);
            if passed >= WINDOW {
                failures.remove(&from);
            } else if *count >= TRIES {
                return Login::Wait(WINDOW - passed);
            }
        }
        let Some(header) = header else { return Login::Challenge };
        if self.accepts(header) {
            failures.remove(&from);
            return Login::User(self.name.clone());
        }
        if failures.len() >= REMEMBERED {
            failures.retain(|_, (_, since)| now.saturating_duration_since(*since) < WINDOW);
        }
        if failures.len() < REMEMBERED {
            failures.entry(from).or_insert((0, now)).0 += 1;
        }
        Login::Challenge
    }

    fn accepts(&self, header: &str) -> bool {
        let Some((scheme, encoded)) = header.split_once(' ') else { return false };
        if !scheme.eq_ignore_ascii_case("basic") {
            return false;
        }
        let Ok(decoded) = base64::engine::general_purpose::STANDARD.decode(encoded.trim()) else {
            return false;
        };
        let wanted = format!("{}:{}", self.name, self.password);
        decoded.ct_eq(wanted.as_bytes()).into()
    }
}

fn write_private(path: &Path, password: &str) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    writeln!(file, "{password}")?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn basic(text: &str) -> String {
        format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(text))
    }

    #[test]
    fn the_right_password_is_let_in_and_others_are_asked() {
        let users = Users::admin("secret");
        let (from, now) = (IpAddr::from([127, 0, 0, 1]), Instant::now());
        assert_eq!(users.judge(from, Some(&basic("admin:secret")), now), Login::User("admin".into()));
        for wrong in ["admin:secre", "admin:secret1", "Admin:secret", "admin", ""] {
            assert_eq!(users.judge(from, Some(&basic(wrong)), now), Login::Challenge, "{wrong}");
        }
        assert_eq!(users.judge(from, Some("Bearer x"), now), Login::Challenge);
        assert_eq!(users.judge(from, None, now), Login::Challenge);
    }

    #[test]
    fn guessing_is_slowed_down_for_one_address_only() {
        let users = Users::admin("secret");
        let (from, now) = (IpAddr::from([127, 0, 0, 1]), Instant::now());
        for _ in 0..TRIES {
            users.judge(from, Some(&basic("admin:guess")), now);
        }
        assert!(matches!(users.judge(from, Some(&basic("admin:secret")), now), Login::Wait(_)));
        let other = IpAddr::from([127, 0, 0, 2]);
        assert_eq!(users.judge(other, Some(&basic("admin:secret")), now), Login::User("admin".into()));
        assert!(matches!(users.judge(from, Some(&basic("admin:secret")), now + WINDOW), Login::User(_)));
    }

    #[test]
    fn a_password_is_made_once_and_kept_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let first = Users::first_start(folder.path(), None, None).unwrap();
        let made = first.made.unwrap();
        assert_eq!(std::fs::metadata(&made).unwrap().permissions().mode() & 0o777, 0o600);
        let second = Users::first_start(folder.path(), None, None).unwrap();
        assert!(second.made.is_none());
        assert_eq!(second.users.password, first.users.password);
        assert!(Users::first_start(folder.path(), None, Some(Path::new("/nonexistent"))).is_err());
    }
}
