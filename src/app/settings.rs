//! Settings of `coeus serve`: a flag beats a variable, a variable beats the file, the file beats the default.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde::Deserialize;

use crate::datastore::Limits;
use crate::observe::LogFormat;

/// Read when it is there, without being asked for.
const DEFAULT_FILE: &str = "/etc/coeus/config.toml";

/// Options as given on the command line or in `COEUS_…` variables.
#[derive(Debug, Default, Args)]
pub struct ServeOptions {
    /// Where data are kept [default: /var/lib/coeus]
    #[arg(long, env = "COEUS_DATA_DIR", value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Where RESTCONF listens [default: 127.0.0.1:8181]
    #[arg(long, env = "COEUS_RESTCONF", value_name = "ADDRESS:PORT")]
    pub restconf: Option<String>,
    /// Where switches connect with OpenFlow [default: 0.0.0.0:6653]
    #[arg(long, env = "COEUS_OPENFLOW", value_name = "ADDRESS:PORT")]
    pub openflow: Option<String>,
    /// Where switches connect with OVSDB (ovs-vsctl set-manager) [default: 0.0.0.0:6640]
    #[arg(long, env = "COEUS_OVSDB", value_name = "ADDRESS:PORT")]
    pub ovsdb: Option<String>,
    /// A switch to connect to: tcp:HOST:PORT or unix:PATH; may be repeated
    #[arg(long, env = "COEUS_OVSDB_CONNECT", value_name = "TARGET", value_delimiter = ',')]
    pub ovsdb_connect: Vec<String>,
    /// The bridge that pods are plugged into [default: br-int]
    #[arg(long, env = "COEUS_BRIDGE", value_name = "NAME")]
    pub bridge: Option<String>,
    /// Datapath of a bridge that we make: system or netdev [default: system]
    #[arg(long, env = "COEUS_DATAPATH_TYPE", value_name = "TYPE")]
    pub datapath_type: Option<String>,
    /// OpenFlow controller target written into switches [default: the address they reach OVSDB at]
    #[arg(long, env = "COEUS_CONTROLLER", value_name = "tcp:ADDRESS:PORT")]
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
    /// What is logged: error, warn, info, debug, trace, or by module (coeus=debug,warn) [default: info]
    #[arg(long, env = "COEUS_LOG", value_name = "FILTER")]
    pub log: Option<String>,
    /// How it is logged [default: text]
    #[arg(long, env = "COEUS_LOG_FORMAT", value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
    /// The settings file [default: /etc/coeus/config.toml, if it exists]
    #[arg(long, env = "COEUS_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// The same keys in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct File {
    data_dir: Option<PathBuf>,
    restconf: Option<String>,
    openflow: Option<String>,
    ovsdb: Option<String>,
    ovsdb_connect: Vec<String>,
    bridge: Option<String>,
    datapath_type: Option<String>,
    controller: Option<String>,
    admin_password_file: Option<PathBuf>,
    history_revisions: Option<usize>,
    history_seconds: Option<u64>,
    log: Option<String>,
    log_format: Option<LogFormat>,
}

/// What holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub data_dir: PathBuf,
    pub restconf: String,
    pub openflow: String,
    pub ovsdb: String,
    pub ovsdb_connect: Vec<String>,
    pub bridge: String,
    pub datapath_type: String,
    pub controller: Option<String>,
    pub admin_password: Option<String>,
    pub admin_password_file: Option<PathBuf>,
    pub history: Limits,
    pub log: String,
    pub log_format: LogFormat,
}

#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("{path}: {reason}")]
    File { path: PathBuf, reason: String },
    #[error("datapath-type {0:?}: say system (the kernel's) or netdev (userspace)")]
    DatapathType(String),
    #[error("ovsdb-connect {0:?}: say tcp:HOST:PORT or unix:PATH")]
    Target(String),
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
        let history = Limits::default();
        let history = Limits {
            revisions: options.history_revisions.or(file.history_revisions).unwrap_or(history.revisions),
            age: options.history_seconds.or(file.history_seconds).map_or(history.age, Duration::from_secs),
        };
        let settings = Settings {
            history,
            data_dir: options.data_dir.or(file.data_dir).unwrap_or_else(|| "/var/lib/coeus".into()),
            restconf: or(options.restconf, file.restconf, "127.0.0.1:8181"),
            openflow: or(options.openflow, file.openflow, "0.0.0.0:6653"),
            ovsdb: or(options.ovsdb, file.ovsdb, "0.0.0.0:6640"),
            ovsdb_connect: if options.ovsdb_connect.is_empty() {
                file.ovsdb_connect
            } else {
                options.ovsdb_connect
            },
            bridge: or(options.bridge, file.bridge, "br-int"),
            datapath_type: or(options.datapath_type, file.datapath_type, "system"),
            controller: options.controller.or(file.controller),
            admin_password,
            admin_password_file: options.admin_password_file.or(file.admin_password_file),
            log: or(options.log, file.log, "info"),
            log_format: options.log_format.or(file.log_format).unwrap_or_default(),
        };
        if !matches!(settings.datapath_type.as_str(), "system" | "netdev") {
            return Err(SettingsError::DatapathType(settings.datapath_type));
        }
        if let Some(wrong) = settings
            .ovsdb_connect
            .iter()
            .find(|target| !target.starts_with("tcp:") && !target.starts_with("unix:"))
        {
            return Err(SettingsError::Target(wrong.clone()));
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
}
