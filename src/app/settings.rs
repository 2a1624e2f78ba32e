//! Settings of `coeus serve`: a flag beats a variable, a variable beats the file, the file beats the default.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde::Deserialize;

use super::store::{Store, StoreAccess, StoreError};
use crate::datastore::Limits as History;
use crate::datastore::journal::etcd::Credentials;
use crate::northbound::http::{LimitError, Limits, tls};
use crate::observe::LogFormat;
use crate::southbound::admission;
use crate::southbound::ovsdb::Overlay;

/// Read when it is there, without being asked for.
const DEFAULT_FILE: &str = "/etc/coeus/config.toml";

/// Options as given on the command line or in `COEUS_…` variables.
#[derive(Debug, Default, Args)]
pub struct ServeOptions {
    /// Where data are kept [default: /var/lib/coeus]
    #[arg(long, env = "COEUS_DATA_DIR", value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// The datastore: sled:DIR, or etcd://HOST:PORT[,HOST:PORT...]/NAME [default: in the data directory]
    #[arg(long, env = "COEUS_STORE", value_name = "STORE")]
    pub store: Option<String>,
    #[command(flatten)]
    pub store_access: StoreAccess,
    /// Where RESTCONF listens, with TLS [default: 127.0.0.1:8181]
    #[arg(long, env = "COEUS_RESTCONF", value_name = "ADDRESS:PORT")]
    pub restconf: Option<String>,
    /// Where RESTCONF listens without TLS as well; a loopback address [default: nowhere]
    #[arg(long, env = "COEUS_RESTCONF_PLAIN", value_name = "ADDRESS:PORT")]
    pub restconf_plain: Option<String>,
    /// Certificate chain in PEM [default: one made at the first start, in the data directory]
    #[arg(long, env = "COEUS_TLS_CERTIFICATE", value_name = "FILE")]
    pub tls_certificate: Option<PathBuf>,
    /// Its private key in PEM
    #[arg(long, env = "COEUS_TLS_KEY", value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// Who may vouch for client certificates, in PEM [default: nobody, no such logins]
    #[arg(long, env = "COEUS_TLS_CLIENT_CA", value_name = "FILE")]
    pub tls_client_ca: Option<PathBuf>,
    /// One bound on what clients may ask, as in body=1048576; may be repeated (the user guide lists them)
    #[arg(long = "limit", env = "COEUS_LIMITS", value_name = "NAME=NUMBER", value_delimiter = ',')]
    pub limits: Vec<String>,
    /// Where switches connect with OpenFlow [default: 0.0.0.0:6653]
    #[arg(long, env = "COEUS_OPENFLOW", value_name = "ADDRESS:PORT")]
    pub openflow: Option<String>,
    /// Where switches connect with OVSDB (ovs-vsctl set-manager) [default: 0.0.0.0:6640]
    #[arg(long, env = "COEUS_OVSDB", value_name = "ADDRESS:PORT")]
    pub ovsdb: Option<String>,
    /// Certificate chain shown to switches, in PEM; with it they connect by TLS only (ssl:) [default: none, no TLS]
    #[arg(long, env = "COEUS_SWITCH_TLS_CERTIFICATE", value_name = "FILE")]
    pub switch_tls_certificate: Option<PathBuf>,
    /// Its private key in PEM
    #[arg(long, env = "COEUS_SWITCH_TLS_KEY", value_name = "FILE")]
    pub switch_tls_key: Option<PathBuf>,
    /// Who vouches for the certificates of switches, in PEM; a switch without one is refused
    #[arg(long, env = "COEUS_SWITCH_TLS_CA", value_name = "FILE")]
    pub switch_tls_ca: Option<PathBuf>,
    /// A switch to connect to: tcp:HOST:PORT, ssl:HOST:PORT (with certificates) or unix:PATH; may be repeated
    #[arg(long, env = "COEUS_OVSDB_CONNECT", value_name = "TARGET", value_delimiter = ',')]
    pub ovsdb_connect: Vec<String>,
    /// The bridge that pods are plugged into [default: br-int]
    #[arg(long, env = "COEUS_BRIDGE", value_name = "NAME")]
    pub bridge: Option<String>,
    /// Datapath of a bridge that we make: system or netdev [default: system]
    #[arg(long, env = "COEUS_DATAPATH_TYPE", value_name = "TYPE")]
    pub datapath_type: Option<String>,
    /// What carries most networks between nodes [default: vxlan]
    #[arg(long, env = "COEUS_OVERLAY", value_name = "TUNNEL")]
    pub overlay: Option<Overlay>,
    /// Whether nodes get a GRE port, for pods whose network-type is GRE [default: true]
    #[arg(long, env = "COEUS_GRE", value_name = "BOOL")]
    pub gre: Option<bool>,
    /// Whether nodes get a port of their own on the bridge, by which they reach their pods [default: true]
    #[arg(long, env = "COEUS_NODE_PORT", value_name = "BOOL")]
    pub node_port: Option<bool>,
    /// OpenFlow controller target written into switches [default: the address they reach OVSDB at]
    #[arg(long, env = "COEUS_CONTROLLER", value_name = "tcp|ssl:ADDRESS:PORT")]
    pub controller: Option<String>,
    /// File whose first line is admin's password; COEUS_ADMIN_PASSWORD is the other way
    #[arg(long, env = "COEUS_ADMIN_PASSWORD_FILE", value_name = "FILE")]
    pub admin_password_file: Option<PathBuf>,
    /// Revisions kept, for diff and rollback [default: 500]
    #[arg(long, env = "COEUS_HISTORY_REVISIONS", value_name = "COUNT")]
    pub history_revisions: Option<usize>,
    /// How long revisions are kept [default: 604800, a week]
    #[arg(long, env = "COEUS_HISTORY_SECONDS", value_name = "SECONDS")]
    pub history_seconds: Option<u64>,
    /// How old counters of switches may be when somebody reads them; a switch is asked no more often [default: 3]
    #[arg(long, env = "COEUS_STATISTICS_SECONDS", value_name = "SECONDS")]
    pub statistics_seconds: Option<u64>,
    /// How often what a switch holds is read back and put right, beside when it connects; 0: never [default: 5]
    #[arg(long, env = "COEUS_AUDIT_SECONDS", value_name = "SECONDS")]
    pub audit_seconds: Option<u64>,
    /// What is logged: error, warn, info, debug, trace, or by module (coeus=debug,warn) [default: info]
    #[arg(long, env = "COEUS_LOG", value_name = "FILTER")]
    pub log: Option<String>,
    /// How it is logged [default: text]
    #[arg(long, env = "COEUS_LOG_FORMAT", value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
    /// The settings file [default: /etc/coeus/config.toml, if it exists]
    #[arg(long, env = "COEUS_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub kube: crate::cli::kube::Kube,
}

/// The same keys in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct File {
    data_dir: Option<PathBuf>,
    store: Option<String>,
    store_ca: Option<PathBuf>,
    store_certificate: Option<PathBuf>,
    store_key: Option<PathBuf>,
    store_user: Option<String>,
    store_password_file: Option<PathBuf>,
    restconf: Option<String>,
    restconf_plain: Option<String>,
    tls_certificate: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    tls_client_ca: Option<PathBuf>,
    limits: Limits,
    openflow: Option<String>,
    ovsdb: Option<String>,
    switch_tls_certificate: Option<PathBuf>,
    switch_tls_key: Option<PathBuf>,
    switch_tls_ca: Option<PathBuf>,
    ovsdb_connect: Vec<String>,
    bridge: Option<String>,
    datapath_type: Option<String>,
    overlay: Option<Overlay>,
    gre: Option<bool>,
    node_port: Option<bool>,
    controller: Option<String>,
    admin_password_file: Option<PathBuf>,
    history_revisions: Option<usize>,
    history_seconds: Option<u64>,
    statistics_seconds: Option<u64>,
    audit_seconds: Option<u64>,
    log: Option<String>,
    log_format: Option<LogFormat>,
}

/// What holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub data_dir: PathBuf,
    pub store: Store,
    /// With which an etcd is asked.
    pub store_credentials: Credentials,
    pub restconf: String,
    /// Where plain HTTP is spoken as well: a loopback address.
    pub restconf_plain: Option<String>,
    pub tls: tls::Files,
    pub limits: Limits,
    pub openflow: String,
    pub ovsdb: String,
    /// With which switches connect, by TLS only.
    pub switch_tls: Option<admission::Files>,
    pub ovsdb_connect: Vec<String>,
    pub bridge: String,
    pub datapath_type: String,
    pub overlay: Overlay,
    pub gre: bool,
    pub node_port: bool,
    pub controller: Option<String>,
    pub admin_password: Option<String>,
    pub admin_password_file: Option<PathBuf>,
    pub history: History,
    /// How old counters of switches may be.
    pub statistics: Duration,
    /// Between two looks at what a switch holds; none: when it connects only.
    pub audits: Duration,
    pub log: String,
    pub log_format: LogFormat,
}

#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("{path}: {reason}")]
    File { path: PathBuf, reason: String },
    #[error("datapath-type {0:?}: say system (the kernel's) or netdev (userspace)")]
    DatapathType(String),
    #[error(
        "restconf-plain {0:?} is no loopback address with a port: passwords would cross the network unencrypted; say 127.0.0.1:8181, and use restconf (TLS) for others"
    )]
    Plain(String),
    #[error(
        "switch-tls-certificate, switch-tls-key and switch-tls-ca go together: give all three, or none for switches without TLS"
    )]
    SwitchTls,
    #[error("controller {target:?}: switches connect {how}; say {scheme}:ADDRESS:PORT")]
    Controller { target: String, how: &'static str, scheme: &'static str },
    #[error(transparent)]
    Limit(#[from] LimitError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("ovsdb-connect {0:?}: say tcp:HOST:PORT, ssl:HOST:PORT or unix:PATH")]
    Target(String),
    #[error("ovsdb-connect {0:?}: TLS needs switch-tls-certificate, switch-tls-key and switch-tls-ca")]
    TargetTls(String),
}

impl Settings {
    /// Puts flags, variables, file and defaults together.
    ///
    /// # Errors
    /// Names the file or the value that is wrong.
    pub fn from(options: ServeOptions, admin_password: Option<String>) -> Result<Settings, SettingsError> {
        let file = match &options.config {
            Some(path) => read(path)?,
            None if Path::new(DEFAULT_FILE).exists() => read(Path::new(DEFAULT_FILE))?,
            None => File::default(),
        };
        let or = |given: Option<String>, filed: Option<String>, default: &str| {
            given.or(filed).unwrap_or_else(|| default.into())
        };
        let history = History::default();
        let history = History {
            revisions: options.history_revisions.or(file.history_revisions).unwrap_or(history.revisions),
            age: options.history_seconds.or(file.history_seconds).map_or(history.age, Duration::from_secs),
        };
        let restconf_plain = options.restconf_plain.or(file.restconf_plain).filter(|plain| !plain.is_empty());
        if let Some(plain) = &restconf_plain
            && !plain.parse::<SocketAddr>().is_ok_and(|address| address.ip().is_loopback())
        {
            return Err(SettingsError::Plain(plain.clone()));
        }
        let mut limits = file.limits;
        for limit in &options.limits {
            limits.set(limit)?;
        }
        let data_dir = options.data_dir.or(file.data_dir).unwrap_or_else(|| "/var/lib/coeus".into());
        let filed = StoreAccess {
            ca: file.store_ca,
            certificate: file.store_certificate,
            key: file.store_key,
            user: file.store_user,
            password_file: file.store_password_file,
        };
        let settings = Settings {
            store: match options.store.or(file.store) {
                Some(store) => store.parse()?,
                None => Store::Sled(data_dir.clone()),
            },
            store_credentials: options.store_access.or(filed).credentials()?,
            history,
            statistics: Duration::from_secs(
                options.statistics_seconds.or(file.statistics_seconds).unwrap_or(3),
            ),
            audits: Duration::from_secs(options.audit_seconds.or(file.audit_seconds).unwrap_or(5)),
            data_dir,
            restconf: or(options.restconf, file.restconf, "127.0.0.1:8181"),
            restconf_plain,
            tls: tls::Files {
                certificate: options.tls_certificate.or(file.tls_certificate),
                key: options.tls_key.or(file.tls_key),
                client_ca: options.tls_client_ca.or(file.tls_client_ca),
            },
            limits,
            openflow: or(options.openflow, file.openflow, "0.0.0.0:6653"),
            ovsdb: or(options.ovsdb, file.ovsdb, "0.0.0.0:6640"),
            switch_tls: match (
                options.switch_tls_certificate.or(file.switch_tls_certificate),
                options.switch_tls_key.or(file.switch_tls_key),
                options.switch_tls_ca.or(file.switch_tls_ca),
            ) {
                (Some(certificate), Some(key), Some(ca)) => Some(admission::Files { certificate, key, ca }),
                (None, None, None) => None,
                _ => return Err(SettingsError::SwitchTls),
            },
            ovsdb_connect: if options.ovsdb_connect.is_empty() {
                file.ovsdb_connect
            } else {
                options.ovsdb_connect
            },
            bridge: or(options.bridge, file.bridge, "br-int"),
            datapath_type: or(options.datapath_type, file.datapath_type, "system"),
            overlay: options.overlay.or(file.overlay).unwrap_or_default(),
            gre: options.gre.or(file.gre).unwrap_or(true),
            node_port: options.node_port.or(file.node_port).unwrap_or(true),
            controller: options.controller.or(file.controller),
            admin_password,
            admin_password_file: options.admin_password_file.or(file.admin_password_file),
            log: or(options.log, file.log, "info"),
            log_format: options.log_format.or(file.log_format).unwrap_or_default(),
        };
        if !matches!(settings.datapath_type.as_str(), "system" | "netdev") {
            return Err(SettingsError::DatapathType(settings.datapath_type));
        }
        let (scheme, other, how) = match settings.switch_tls {
            Some(_) => ("ssl", "tcp:", "with TLS"),
            None => ("tcp", "ssl:", "without TLS (switch-tls-certificate is not set)"),
        };
        if let Some(target) = settings.controller.as_ref().filter(|target| target.starts_with(other)) {
            return Err(SettingsError::Controller { target: target.clone(), how, scheme });
        }
        for target in &settings.ovsdb_connect {
            match target.split_once(':') {
                Some(("tcp" | "unix", _)) => {}
                Some(("ssl", _)) if settings.switch_tls.is_some() => {}
                Some(("ssl", _)) => return Err(SettingsError::TargetTls(target.clone())),
                _ => return Err(SettingsError::Target(target.clone())),
            }
        }
        Ok(settings)
    }
}

fn read(path: &Path) -> Result<File, SettingsError> {
    let wrong = |reason: String| SettingsError::File { path: path.to_owned(), reason };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    toml::from_str(&text).map_err(|error| wrong(error.to_string().trim().replace('\n', " ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_file(text: &str, options: ServeOptions) -> Result<Settings, SettingsError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Settings::from(ServeOptions { config: Some(file.path().to_owned()), ..options }, None)
    }

    #[test]
    fn a_flag_beats_the_file_and_the_file_beats_the_default() {
        let options = ServeOptions { restconf: Some("127.0.0.1:1".into()), ..ServeOptions::default() };
        let settings = with_file("restconf = \"127.0.0.1:2\"\nopenflow = \"127.0.0.1:3\"", options).unwrap();
        assert_eq!((settings.restconf.as_str(), settings.openflow.as_str()), ("127.0.0.1:1", "127.0.0.1:3"));
        assert_eq!(settings.ovsdb, "0.0.0.0:6640");
    }

    #[test]
    fn unknown_keys_and_wrong_values_are_named() {
        let unknown = with_file("restcof = \"x\"", ServeOptions::default()).unwrap_err();
        assert!(unknown.to_string().contains("restcof"), "{unknown}");
        let wrong = with_file("datapath-type = \"fast\"", ServeOptions::default()).unwrap_err();
        assert!(wrong.to_string().contains("netdev"), "{wrong}");
        let options =
            ServeOptions { config: Some("/nonexistent/coeus.toml".into()), ..ServeOptions::default() };
        assert!(Settings::from(options, None).is_err());
    }

    #[test]
    fn the_datastore_is_in_the_data_directory_unless_it_is_elsewhere() {
        let settings = with_file("data-dir = \"/d\"", ServeOptions::default()).unwrap();
        assert_eq!(settings.store, Store::Sled("/d".into()));
        let text = "store = \"etcd://a:1/x\"\nstore-user = \"u\"\nstore-password-file = \"/p\"";
        let settings = with_file(text, ServeOptions::default()).unwrap();
        assert_eq!(settings.store.to_string(), "etcd://a:1/x");
        assert_eq!(settings.store_credentials.user.unwrap().name, "u");
        let wrong = with_file("store = \"etcd://a/x\"", ServeOptions::default()).unwrap_err().to_string();
        assert!(wrong.contains("HOST:PORT"), "{wrong}");
    }

    #[test]
    fn plain_http_is_for_loopback_addresses_only() {
        let with = |plain: &str| {
            let options = ServeOptions { restconf_plain: Some(plain.into()), ..ServeOptions::default() };
            with_file("", options).map(|settings| settings.restconf_plain)
        };
        assert_eq!(with_file("", ServeOptions::default()).unwrap().restconf_plain, None);
        for fine in ["127.0.0.1:8181", "127.3.2.1:0", "[::1]:8181"] {
            assert_eq!(with(fine).unwrap().as_deref(), Some(fine));
        }
        for wrong in ["0.0.0.0:8181", "192.0.2.1:8181", "localhost:8181", "[::]:8181", "8181"] {
            assert!(with(wrong).unwrap_err().to_string().contains("loopback"), "{wrong}");
        }
        assert!(with_file("restconf-plain = \"0.0.0.0:8181\"", ServeOptions::default()).is_err());
    }

    #[test]
    fn tls_for_switches_is_whole_and_the_controllers_target_fits_it() {
        let whole = "switch-tls-certificate = \"/c\"\nswitch-tls-key = \"/k\"\nswitch-tls-ca = \"/a\"\n";
        let with = |text: &str| with_file(text, ServeOptions::default());
        let files = admission::Files { certificate: "/c".into(), key: "/k".into(), ca: "/a".into() };
        assert_eq!(with(whole).unwrap().switch_tls, Some(files));
        assert_eq!(with("").unwrap().switch_tls, None);
        let half = with("switch-tls-certificate = \"/c\"\nswitch-tls-key = \"/k\"").unwrap_err();
        assert!(half.to_string().contains("switch-tls-ca"), "{half}");
        for (text, fine) in
            [("controller = \"ssl:192.0.2.1:6653\"", false), ("controller = \"tcp:192.0.2.1:6653\"", true)]
        {
            assert_eq!(with(text).is_ok(), fine, "{text}");
            assert_eq!(with(&format!("{whole}{text}")).is_ok(), !fine, "{text} with TLS");
        }
        let dialled = "ovsdb-connect = [\"ssl:192.0.2.1:6640\"]";
        assert!(with(&format!("{whole}{dialled}")).is_ok());
        let without = with(dialled).unwrap_err().to_string();
        assert!(without.contains("switch-tls-certificate"), "{without}");
        assert!(
            with("ovsdb-connect = [\"192.0.2.1:6640\"]").unwrap_err().to_string().contains("ssl:HOST:PORT")
        );
    }

    #[test]
    fn limits_come_from_the_file_and_from_options() {
        let options = ServeOptions { limits: vec!["uri=10".into()], ..ServeOptions::default() };
        let settings = with_file("[limits]\nbody = 5\nuri = 7", options).unwrap();
        assert_eq!((settings.limits.body, settings.limits.uri), (5, 10));
        assert_eq!(settings.limits.header, Limits::default().header);
        assert!(with_file("[limits]\nboddy = 5", ServeOptions::default()).is_err());
    }
}
