//! Where a datastore's journal is kept, and how it is brought elsewhere.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

use crate::datastore::journal::etcd::{Credentials, Place, PlaceError, User};
use crate::datastore::journal::{EtcdJournal, Journal, JournalError, SledJournal};

use super::leader::{Campaign, LeadError, Lease};

/// A store: a folder, or in an etcd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Store {
    Sled(PathBuf),
    Etcd(Place),
}

/// How etcd is told who asks. The ids are not the fields' names: `--user` and `--ca` of the whole program have those. A password is in a file: command lines are seen by all.
#[derive(Debug, Default, Clone, Args)]
pub struct StoreAccess {
    /// Who signed etcd's certificate, in PEM; etcd is spoken to with TLS then
    #[arg(id = "store_ca", long = "store-ca", env = "COEUS_STORE_CA", value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Certificate that is shown to etcd, in PEM
    #[arg(
        id = "store_certificate",
        long = "store-certificate",
        env = "COEUS_STORE_CERTIFICATE",
        value_name = "FILE"
    )]
    pub certificate: Option<PathBuf>,
    /// Its private key in PEM
    #[arg(id = "store_key", long = "store-key", env = "COEUS_STORE_KEY", value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// User of etcd
    #[arg(id = "store_user", long = "store-user", env = "COEUS_STORE_USER", value_name = "NAME")]
    pub user: Option<String>,
    /// File whose first line is that user's password
    #[arg(
        id = "store_password_file",
        long = "store-password-file",
        env = "COEUS_STORE_PASSWORD_FILE",
        value_name = "FILE"
    )]
    pub password_file: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum StoreError {
    #[error("{0:?} names no store: say sled:DIR, or etcd://HOST:PORT[,HOST:PORT...]/NAME")]
    Scheme(String),
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error("store-certificate and store-key go together, and with store-ca; name all three")]
    Certificate,
    #[error("store-user and store-password-file go together; name both")]
    User,
}

impl FromStr for Store {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Store, StoreError> {
        match text.strip_prefix("sled:") {
            Some("") => Err(StoreError::Scheme(text.to_owned())),
            Some(folder) => Ok(Store::Sled(folder.into())),
            None if text.starts_with("etcd:") => Ok(Store::Etcd(text.parse()?)),
            None => Err(StoreError::Scheme(text.to_owned())),
        }
    }
}

impl std::fmt::Display for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Store::Sled(folder) => write!(f, "sled:{}", folder.display()),
            Store::Etcd(place) => place.fmt(f),
        }
    }
}

impl Store {
    /// # Errors
    /// When it is in use, damaged, or of a newer format, or etcd does not answer.
    pub fn open(&self, credentials: &Credentials) -> Result<Box<dyn Journal>, JournalError> {
        Ok(match self {
            Store::Sled(folder) => Box::new(SledJournal::open(folder)?),
            Store::Etcd(place) => Box::new(EtcdJournal::open(place, credentials)?),
        })
    }
}

impl StoreAccess {
    /// What is given here, else what is given there.
    #[must_use]
    pub fn or(self, other: StoreAccess) -> StoreAccess {
        StoreAccess {
            ca: self.ca.or(other.ca),
            certificate: self.certificate.or(other.certificate),
            key: self.key.or(other.key),
            user: self.user.or(other.user),
            password_file: self.password_file.or(other.password_file),
        }
    }

    /// # Errors
    /// When something is given without what belongs to it.
    pub fn credentials(self) -> Result<Credentials, StoreError> {
        let certificate = match (self.certificate, self.key) {
            (Some(certificate), Some(key)) if self.ca.is_some() => Some((certificate, key)),
            (None, None) => None,
            _ => return Err(StoreError::Certificate),
        };
        let user = match (self.user, self.password_file) {
            (Some(name), Some(password_file)) => Some(User { name, password_file }),
            (None, None) => None,
            _ => return Err(StoreError::User),
        };
        Ok(Credentials { ca: self.ca, certificate, user })
    }
}

/// Why a store was not copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Lead(#[from] LeadError),
    #[error("{store} is used by a controller ({leader}); stop it, and all standbys of it, first")]
    InUse { store: Store, leader: String },
    #[error("{0} holds no datastore; name one that a controller has written")]
    NoSource(Store),
    #[error("{store} is not empty (revision {revision}); name another, or take it away first ({how})")]
    NotEmpty { store: Store, revision: u64, how: String },
    #[error(
        "{store} holds a part only, since its end could not be written: {error}; take it away ({how}) and copy again"
    )]
    Half { store: Store, error: JournalError, how: String },
}

/// What was copied.
#[derive(Debug, PartialEq, Eq)]
pub struct Copied {
    pub revision: u64,
    pub records: usize,
}

/// Brings all that a store holds into an empty one. No controller may run on either.
///
/// # Errors
/// When one of them is in use or cannot be read or written, or the second is not empty.
pub async fn copy(from: &Store, to: &Store, credentials: &Credentials) -> Result<Copied, CopyError> {
    if let Store::Sled(folder) = from
        && !folder.join("store").is_dir()
    {
        return Err(CopyError::NoSource(from.clone()));
    }
    let mut leases = Vec::new();
    let mut outcome = Ok(());
    for store in [from, to] {
        match hold(store, credentials).await {
            Ok(lease) => leases.extend(lease),
            Err(error) => {
                outcome = Err(error);
                break;
            }
        }
    }
    let copied = match outcome {
        Ok(()) => carry(from, to, credentials),
        Err(error) => Err(error),
    };
    for lease in leases {
        lease.resign().await;
    }
    copied
}

/// Keeps controllers from a store.
async fn hold(store: &Store, credentials: &Credentials) -> Result<Option<Lease>, CopyError> {
    let Store::Etcd(place) = store else { return Ok(None) };
    let mut campaign = Campaign::new(place, credentials, "coeus store copy")?;
    match campaign.try_once().await? {
        Ok(lease) => Ok(Some(lease)),
        Err(leader) => Err(CopyError::InUse { store: store.clone(), leader: leader.to_string() }),
    }
}

fn carry(from: &Store, to: &Store, credentials: &Credentials) -> Result<Copied, CopyError> {
    let loaded = from.open(credentials)?.load()?;
    let of_checkpoint = loaded.checkpoint.as_ref().map(|(revision, _)| *revision);
    let newest = |records: &[(u64, Vec<u8>)]| records.last().map(|(revision, _)| *revision);
    let revision =
        newest(&loaded.records).or(of_checkpoint).ok_or_else(|| CopyError::NoSource(from.clone()))?;
    let mut target = to.open(credentials)?;
    let there = target.load()?;
    let found = newest(&there.records).or(there.checkpoint.map(|(revision, _)| revision));
    if let Some(revision) = found {
        return Err(CopyError::NotEmpty { store: to.clone(), revision, how: way_to_empty(to) });
    }
    if let Some((revision, parts)) = &loaded.checkpoint {
        target.checkpoints().write(*revision, parts)?;
    }
    // At once, so that it is there in full or not at all.
    target.append(&loaded.records).map_err(|error| match of_checkpoint {
        None => error.into(),
        Some(_) => CopyError::Half { store: to.clone(), error, how: way_to_empty(to) },
    })?;
    Ok(Copied { revision, records: loaded.records.len() })
}

fn way_to_empty(store: &Store) -> String {
    match store {
        Store::Sled(folder) => format!("rm -r {}", folder.join("store").display()),
        Store::Etcd(place) => format!("etcdctl del --prefix /coeus/{}/", place.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_are_named_by_their_scheme() {
        assert_eq!("sled:/var/lib/coeus".parse(), Ok(Store::Sled("/var/lib/coeus".into())));
        assert!(matches!("etcd://a:1/x".parse(), Ok(Store::Etcd(_))));
        for wrong in ["/var/lib/coeus", "sled:", "etcd:a", "etcd://a/x", "http://a:1/x"] {
            let error = wrong.parse::<Store>().unwrap_err().to_string();
            assert!(error.contains("etcd://HOST:PORT"), "{error}");
        }
    }

    #[test]
    fn half_of_what_belongs_together_is_refused() {
        let file = || Some(PathBuf::from("f"));
        let of = |access: StoreAccess| access.credentials();
        assert_eq!(of(StoreAccess::default()), Ok(Credentials::default()));
        assert!(of(StoreAccess { ca: file(), ..StoreAccess::default() }).is_ok());
        for wrong in [
            StoreAccess { certificate: file(), ca: file(), ..StoreAccess::default() },
            StoreAccess { certificate: file(), key: file(), ..StoreAccess::default() },
            StoreAccess { user: Some("u".into()), ..StoreAccess::default() },
            StoreAccess { password_file: file(), ..StoreAccess::default() },
        ] {
            assert!(of(wrong).is_err());
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn stores_are_copied_both_ways() {
        use crate::datastore::journal::etcd::testing::Etcd;
        let (etcd, folders) = (Etcd::start(), tempfile::tempdir().unwrap());
        let sled = |name| Store::Sled(folders.path().join(name));
        let (first, there, back) = (sled("a"), Store::Etcd(etcd.place()), sled("b"));
        let none = Credentials::default();
        let missing = copy(&first, &there, &none).await.unwrap_err();
        assert!(matches!(missing, CopyError::NoSource(_)), "{missing}");
        let mut journal = first.open(&none).unwrap();
        let record = |revision: u64| (revision, vec![revision as u8; 100_000]);
        (1..=40).for_each(|revision| journal.append(&[record(revision)]).unwrap());
        journal.checkpoints().write(10, &[b"one".to_vec(), vec![5; 3_000_000]]).unwrap();
        let wanted = journal.load().unwrap();
        let running = copy(&first, &there, &none).await.unwrap_err().to_string();
        assert!(running.contains("in use"), "{running}");
        drop(journal);
        let copied = copy(&first, &there, &none).await.unwrap();
        assert_eq!(copied, Copied { revision: 40, records: 30 });
        let again = copy(&first, &there, &none).await.unwrap_err().to_string();
        assert!(again.contains("not empty (revision 40)") && again.contains("etcdctl del"), "{again}");
        let leader = Campaign::new(&etcd.place(), &none, "coeus serve").unwrap().try_once().await.unwrap();
        let leader = leader.unwrap();
        let running = copy(&there, &back, &none).await.unwrap_err().to_string();
        assert!(running.contains("coeus serve on ") && running.contains("stop it"), "{running}");
        leader.resign().await;
        assert_eq!(copy(&there, &back, &none).await.unwrap(), copied);
        let loaded = back.open(&none).unwrap().load().unwrap();
        assert!(loaded == wanted, "{} records", loaded.records.len());
    }
}
