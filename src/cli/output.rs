//! How results are printed.

use std::io::{IsTerminal, Write};

use serde_json::Value;

use super::{Failure, Table};

/// `-o`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// What matters, in columns
    Table,
    /// More columns
    Wide,
    Json,
    Yaml,
}

/// Data in the format asked for; a table of its own makes `as_table`.
pub fn show(data: &Value, format: Format, as_table: impl FnOnce(&Value) -> Table) -> Result<(), Failure> {
    match format {
        Format::Table | Format::Wide => print(as_table(data).render()),
        Format::Json => print(&(pretty(data) + "\n")),
        Format::Yaml => {
            let text = serde_norway::to_string(data).map_err(|error| Failure::Failed(error.to_string()))?;
            print(&text)
        }
    }
}

fn pretty(data: &Value) -> String {
    serde_json::to_string_pretty(data).unwrap_or_default()
}

/// Writes to standard output; a reader that has seen enough (`| head`) is no error.
pub fn print(text: impl AsRef<[u8]>) -> Result<(), Failure> {
    match std::io::stdout().write_all(text.as_ref()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::Failed(error.to_string()))
        }
        _ => Ok(()),
    }
}

/// Says on a terminal what is waited for; elsewhere it is silent.
pub struct Waiting {
    bar: Option<indicatif::ProgressBar>,
}

impl Waiting {
    pub fn new(what: &str) -> Waiting {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = indicatif::ProgressBar::new_spinner();
            bar.enable_steady_tick(std::time::Duration::from_millis(120));
            bar
        });
        let waiting = Waiting { bar };
        waiting.say(what);
        waiting
    }

    pub fn say(&self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(what.to_owned());
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
