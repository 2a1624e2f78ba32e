//! Logging, and the counters of switches, policies and what pods may not send. One line an event, values as fields (`path`, `revision`, `switch`, `took_us` …).

pub mod drops;
pub mod forbidden;
pub mod policies;
pub mod statistics;

use tracing_subscriber::EnvFilter;

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

/// The client of Kubernetes tells each failure without saying of what; who asked tells it, too, and says so.
const TOLD_ELSEWHERE: &str = "kube_client::client::builder=off";

/// Starts logging to standard error. `filter` is in the syntax of `tracing`'s EnvFilter: `info`, `coeus=debug,warn` …
///
/// # Errors
/// When the filter cannot be read.
pub fn start(filter: &str, format: LogFormat) -> Result<(), String> {
    let filter = EnvFilter::try_new(format!("{TOLD_ELSEWHERE},{filter}"))
        .map_err(|error| format!("log filter {filter:?}: {error}"))?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match format {
        LogFormat::Text => lines.with_ansi(false).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| error.to_string())
}
