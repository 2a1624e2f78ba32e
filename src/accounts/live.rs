//! The accounts of a running controller.

use std::collections::HashMap;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwap;
use base64::Engine as _;

use super::file::{File, FileError, User};
use super::known::{Digest, Known};
use super::{Throttle, password, secret};
use crate::access::{ADMIN, Identity};

/// The file is looked at so often, and only while requests come.
const GLANCE: Duration = Duration::from_secs(1);
/// Longest credential taken, in bytes.
const LONGEST: usize = 1024;

/// Who a request is from.
#[derive(Debug, PartialEq, Eq)]
pub enum Login {
    User(Arc<Identity>),
    /// The password has to be looked at with [`Accounts::check`], which takes time.
    Check(Check),
    /// No or wrong credentials: ask for them. The name that was given, if any.
    Challenge(Option<String>),
    /// Too many wrong ones; try again after this.
    Wait(Duration),
}

/// A name and a password that are not known yet.
#[derive(Debug, PartialEq, Eq)]
pub struct Check {
    from: IpAddr,
    name: String,
    password: String,
    digest: Digest,
}

/// Accounts as they are after the first start.
pub struct FirstStart {
    pub accounts: Accounts,
    /// Where a password was made, if one was.
    pub made: Option<PathBuf>,
}

struct State {
    users: HashMap<Arc<str>, (Arc<Identity>, Option<String>)>,
    /// By SHA-256 of the token: whose it is, and until when.
    tokens: HashMap<String, (Arc<Identity>, Option<u64>)>,
}

/// What tells one state of the file from another: device-independent number, size, time of change.
type Stamp = (u64, u64, i64, i64);

pub struct Accounts {
    /// None: accounts in memory only.
    data_dir: Option<PathBuf>,
    /// admin with a password given at the start; it beats what the file says.
    given: Option<(Digest, Arc<Identity>)>,
    state: ArcSwap<State>,
    stamp: Mutex<Option<Stamp>>,
    begun: Instant,
    /// Milliseconds after `begun` at which the file was looked at.
    looked: AtomicU64,
    known: Known,
    pub throttle: Throttle,
}

impl Accounts {
    /// The account `admin` with this password, and no file.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn admin(password: &str) -> Result<Accounts, FileError> {
        Accounts::of(None, Some(password))
    }

    /// The accounts of a data directory. admin has the password that is given, or that of the file given, or the one that
    /// the accounts say, or one made now and kept in `admin-password`.
    ///
    /// # Errors
    /// When a file cannot be read or made.
    pub fn first_start(
        data_dir: &Path,
        given: Option<String>,
        file: Option<&Path>,
    ) -> Result<FirstStart, FileError> {
        let first_line = |path: &Path| {
            let failed = |reason: String| FileError::File { path: path.to_owned(), reason };
            let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
            let line = text.lines().next().unwrap_or_default().trim_end().to_owned();
            if line.is_empty() {
                Err(failed("it holds no password: its first line is empty".into()))
            } else {
                Ok(line)
            }
        };
        let given = match (given.filter(|password| !password.is_empty()), file) {
            (None, Some(path)) => Some(first_line(path)?),
            (given, _) => given,
        };
        let made_at = data_dir.join("admin-password");
        let mut made = None;
        let has_password =
            |user: &User| user.groups.iter().any(|group| group == ADMIN) && user.password.is_some();
        if given.is_none() && !File::read(data_dir)?.users.iter().any(has_password) {
            let password = if made_at.exists() {
                first_line(&made_at)?
            } else {
                let password = secret::text::<18>().map_err(FileError::Change)?;
                write_private(&made_at, &password)
                    .map_err(|error| FileError::File { path: made_at.clone(), reason: error.to_string() })?;
                made = Some(made_at);
                password
            };
            let hash = password::hash(&password).map_err(FileError::Change)?;
            File::change(data_dir, |file| {
                file.users.retain(|user| user.name != ADMIN);
                let groups = vec![ADMIN.to_owned()];
                file.users.push(User { name: ADMIN.to_owned(), groups, password: Some(hash) });
                Ok(())
            })?;
        }
        Ok(FirstStart { accounts: Accounts::of(Some(data_dir), given.as_deref())?, made })
    }

    fn of(data_dir: Option<&Path>, given: Option<&str>) -> Result<Accounts, FileError> {
        let known = Known::new().map_err(FileError::Change)?;
        let admin = Arc::new(Identity::new(ADMIN, &[ADMIN]));
        let given = given.map(|password| (known.digest(format!("{ADMIN}:{password}").as_bytes()), admin));
        let file = data_dir.map_or_else(|| Ok(File::default()), File::read)?;
        Ok(Accounts {
            given,
            state: ArcSwap::from_pointee(State::of(&file)),
            stamp: Mutex::new(data_dir.and_then(stamp)),
            data_dir: data_dir.map(Path::to_owned),
            begun: Instant::now(),
            looked: AtomicU64::new(0),
            known,
            throttle: Throttle::new(20, Duration::from_secs(60)),
        })
    }

    /// Judges a request from an address: its `Authorization` header, or the names in the certificate that was shown.
    pub fn judge(&self, from: IpAddr, names: &[String], header: Option<&str>, now: Instant) -> Login {
        self.glance(now);
        if let Some(wait) = self.throttle.wait(from, now) {
            return Login::Wait(wait);
        }
        let Some(header) = header else {
            let state = self.state.load();
            let user = names.iter().find_map(|name| state.users.get(name.as_str()));
            return user.map_or(Login::Challenge(None), |(identity, _)| Login::User(identity.clone()));
        };
        let (scheme, credential) = header.split_once(' ').unwrap_or((header, ""));
        let credential = credential.trim();
        if credential.len() > LONGEST {
            return self.refuse(from, None, now);
        }
        if scheme.eq_ignore_ascii_case("bearer") {
            return self.bearer(from, credential, now);
        }
        let decoded = base64::engine::general_purpose::STANDARD.decode(credential).ok();
        let Some(decoded) = decoded.filter(|_| scheme.eq_ignore_ascii_case("basic")) else {
            return self.refuse(from, None, now);
        };
        let digest = self.known.digest(&decoded);
        let given = self.given.as_ref().filter(|(given, _)| *given == digest).map(|(_, admin)| admin.clone());
        if let Some(identity) = given.or_else(|| self.known.get(&digest)) {
            self.throttle.worked(from);
            return Login::User(identity);
        }
        let text = String::from_utf8(decoded).unwrap_or_default();
        match text.split_once(':') {
            Some((ADMIN, _)) if self.given.is_some() => self.refuse(from, Some(ADMIN), now),
            Some((name, password)) => {
                Login::Check(Check { from, name: name.to_owned(), password: password.to_owned(), digest })
            }
            None => self.refuse(from, None, now),
        }
    }

    /// Looks at a password. This takes some ten milliseconds and 19 MiB: not for a thread that serves others too.
    pub fn check(&self, check: Check, now: Instant) -> Login {
        let state = self.state.load_full();
        let user = state.users.get(check.name.as_str());
        let hash = user.and_then(|(_, hash)| hash.as_deref());
        let right = password::verify(&check.password, hash);
        match user.filter(|_| right) {
            Some((identity, _)) => {
                self.throttle.worked(check.from);
                // Had the file changed meanwhile, this could be an old password: it is then looked at again next time.
                if Arc::ptr_eq(&state, &self.state.load_full()) {
                    self.known.insert(check.digest, identity.clone());
                }
                Login::User(identity.clone())
            }
            None => self.refuse(check.from, Some(&check.name), now),
        }
    }

    fn bearer(&self, from: IpAddr, token: &str, now: Instant) -> Login {
        let state = self.state.load();
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        match state.tokens.get(&secret::sha256(token)) {
            Some((identity, expires)) if expires.is_none_or(|expires| seconds < expires) => {
                self.throttle.worked(from);
                Login::User(identity.clone())
            }
            expired => self.refuse(from, expired.map(|(identity, _)| &*identity.name), now),
        }
    }

    fn refuse(&self, from: IpAddr, name: Option<&str>, now: Instant) -> Login {
        self.throttle.failed(from, now);
        Login::Challenge(name.map(|name| name.chars().take(64).collect()))
    }

    /// Reads the file again if it changed.
    fn glance(&self, now: Instant) {
        let Some(data_dir) = &self.data_dir else { return };
        let millis = now.saturating_duration_since(self.begun).as_millis() as u64;
        let looked = self.looked.load(Ordering::Relaxed);
        if millis < looked + GLANCE.as_millis() as u64
            || self.looked.compare_exchange(looked, millis, Ordering::Relaxed, Ordering::Relaxed).is_err()
        {
            return;
        }
        let found = stamp(data_dir);
        let mut known = self.stamp.lock().unwrap_or_else(PoisonError::into_inner);
        if found.is_none() || *known == found {
            return;
        }
        *known = found;
        match File::read(data_dir) {
            Ok(file) => {
                self.state.store(Arc::new(State::of(&file)));
                self.known.forget();
                tracing::info!(
                    users = file.users.len(),
                    tokens = file.tokens.len(),
                    "accounts were read again"
                );
            }
            Err(error) => tracing::error!(%error, "accounts stay as they were"),
        }
    }
}

impl State {
    fn of(file: &File) -> State {
        let users: HashMap<_, _> = file
            .users
            .iter()
            .map(|user| {
                let identity = Arc::new(Identity::new(&user.name, &user.groups));
                (identity.name.clone(), (identity, user.password.clone()))
            })
            .collect();
        let token = |token: &super::Token| {
            let (identity, _) = users.get(token.user.as_str())?;
            Some((token.sha256.clone(), (identity.clone(), token.expires)))
        };
        State { tokens: file.tokens.iter().filter_map(token).collect(), users }
    }
}

fn stamp(data_dir: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(File::path(data_dir)).ok()?;
    Some((metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec()))
}

fn write_private(path: &Path, password: &str) -> std::io::Result<()> {
    use std::io::Write;
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

    fn basic(login: &str) -> String {
        format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(login))
    }

    const FROM: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    /// The name of who is let in, with passwords looked at.
    fn name(accounts: &Accounts, header: &str, now: Instant) -> Option<String> {
        let login = match accounts.judge(FROM, &[], Some(header), now) {
            Login::Check(check) => accounts.check(check, now),
            login => login,
        };
        if let Login::User(identity) = login { Some(identity.name.to_string()) } else { None }
    }

    fn add(folder: &Path, user: &str, password: &str) {
        let hash = password::hash(password).unwrap();
        let user = User { name: user.into(), groups: vec!["readers".into()], password: Some(hash) };
        File::change(folder, |file| {
            file.users.retain(|other| other.name != user.name);
            file.users.push(user);
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn the_right_password_is_the_only_one() {
        let accounts = Accounts::admin("secret").unwrap();
        let now = Instant::now();
        assert_eq!(name(&accounts, &basic("admin:secret"), now).as_deref(), Some("admin"));
        assert_eq!(
            name(&accounts, &basic("admin:secret").replace("Basic", "bAsIc"), now).as_deref(),
            Some("admin")
        );
        for wrong in
            ["admin:secre", "admin:secret2", "admin:", ":secret", "Admin:secret", "root:secret", "admin", ""]
        {
            assert_eq!(name(&accounts, &basic(wrong), now), None, "{wrong}");
        }
        for wrong in ["Bearer x", "Basic", "Basic !", "Digest x", ""] {
            assert_eq!(name(&accounts, wrong, now), None, "{wrong}");
        }
        assert_eq!(accounts.judge(FROM, &[], None, now), Login::Challenge(None));
    }

    #[test]
    fn a_password_is_looked_at_once_and_forgotten_when_the_accounts_change() {
        let folder = tempfile::tempdir().unwrap();
        add(folder.path(), "bob", "one");
        let accounts = Accounts::of(Some(folder.path()), None).unwrap();
        let header = basic("bob:one");
        let now = Instant::now();
        assert!(matches!(accounts.judge(FROM, &[], Some(&header), now), Login::Check(_)));
        assert_eq!(name(&accounts, &header, now).as_deref(), Some("bob"));
        assert!(matches!(accounts.judge(FROM, &[], Some(&header), now), Login::User(_)), "known now");
        add(folder.path(), "bob", "two");
        let later = now + 2 * GLANCE;
        assert_eq!(name(&accounts, &header, later), None, "the old one is good no more");
        assert_eq!(name(&accounts, &basic("bob:two"), later).as_deref(), Some("bob"));
        std::fs::write(File::path(folder.path()), "rubbish").unwrap();
        assert_eq!(name(&accounts, &basic("bob:two"), later + 2 * GLANCE).as_deref(), Some("bob"));
    }

    #[test]
    fn tokens_are_good_until_they_expire_or_are_revoked() {
        let folder = tempfile::tempdir().unwrap();
        add(folder.path(), "bob", "one");
        let token = |id: &str, expires| super::super::Token {
            id: id.into(),
            user: "bob".into(),
            sha256: secret::sha256(id),
            expires,
        };
        File::change(folder.path(), |file| {
            file.tokens =
                vec![token("forever", None), token("tomorrow", Some(u64::MAX)), token("over", Some(1))];
            Ok(())
        })
        .unwrap();
        let accounts = Accounts::of(Some(folder.path()), None).unwrap();
        let now = Instant::now();
        for (text, who) in [("forever", Some("bob")), ("tomorrow", Some("bob")), ("over", None), ("x", None)]
        {
            assert_eq!(name(&accounts, &format!("Bearer {text}"), now).as_deref(), who, "{text}");
        }
        File::change(folder.path(), |file| {
            file.tokens.clear();
            Ok(())
        })
        .unwrap();
        assert_eq!(name(&accounts, "Bearer forever", now + 2 * GLANCE), None);
    }

    #[test]
    fn a_certificate_names_a_user_or_nobody() {
        let folder = tempfile::tempdir().unwrap();
        add(folder.path(), "watcher", "one");
        let accounts = Accounts::of(Some(folder.path()), None).unwrap();
        let judge = |names: &[&str], header| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            accounts.judge(FROM, &names, header, Instant::now())
        };
        assert!(
            matches!(judge(&["host.example", "watcher"], None), Login::User(user) if &*user.name == "watcher")
        );
        assert_eq!(judge(&["nobody"], None), Login::Challenge(None));
        assert!(
            matches!(judge(&["watcher"], Some("Bearer x")), Login::Challenge(_)),
            "a wrong header is wrong"
        );
    }

    #[test]
    fn a_password_is_made_once_and_kept_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let first = Accounts::first_start(folder.path(), None, None).unwrap();
        let made = first.made.unwrap();
        assert_eq!(std::fs::metadata(&made).unwrap().permissions().mode() & 0o777, 0o600);
        let password = std::fs::read_to_string(&made).unwrap();
        let header = basic(&format!("admin:{}", password.trim_end()));
        std::fs::remove_file(&made).unwrap();
        let second = Accounts::first_start(folder.path(), None, None).unwrap();
        assert!(second.made.is_none());
        assert_eq!(name(&second.accounts, &header, Instant::now()).as_deref(), Some("admin"));
        assert!(!std::fs::read_to_string(File::path(folder.path())).unwrap().contains(password.trim_end()));
        assert!(Accounts::first_start(folder.path(), None, Some(Path::new("/nonexistent"))).is_err());
        let given = Accounts::first_start(folder.path(), Some("given".into()), None).unwrap().accounts;
        assert_eq!(name(&given, &header, Instant::now()), None, "a password that is given beats the file");
        assert_eq!(name(&given, &basic("admin:given"), Instant::now()).as_deref(), Some("admin"));
    }

    #[test]
    fn a_known_credential_costs_microseconds() {
        let accounts = Accounts::admin("secret").unwrap();
        let header = basic("admin:secret");
        let begun = Instant::now();
        for _ in 0..1000 {
            assert!(matches!(accounts.judge(FROM, &[], Some(&header), begun), Login::User(_)));
        }
        let each = begun.elapsed() / 1000;
        assert!(each < Duration::from_micros(100), "{each:?}, not optimised");
    }
}
