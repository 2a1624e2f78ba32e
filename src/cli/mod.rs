//! The commands for people and scripts. All but `flows --data-dir` speak RESTCONF with a controller, here or elsewhere.

mod connect;
mod doctor;
mod failure;
mod nouns;
mod output;
mod table;
mod verbs;
mod wait;

pub use connect::{Client, Connection};
pub use failure::{EXIT_CODES, Failure};
pub use output::print;
pub use table::Table;

use output::Format;
use verbs::{Get, Write, WriteOptions, Writing};

/// Commands that a controller answers.
#[derive(clap::Subcommand, Debug)]
pub enum Command {
    /// Show any part of the datastore
    Get(Get),
    /// Create or replace a resource
    Put {
        /// The resource, as in RFC 8040: `pod:coe/pods=UID`
        path: String,
        #[command(flatten)]
        writing: Writing,
    },
    /// Merge into a resource, or apply a YANG Patch (RFC 8072)
    Patch {
        /// The resource
        path: String,
        #[command(flatten)]
        writing: Writing,
    },
    /// Delete a resource
    Delete {
        /// The resource
        path: String,
        #[command(flatten)]
        options: WriteOptions,
    },
    /// List pods and how far their network is
    Pods(nouns::Listing),
    /// List services
    Services(nouns::Listing),
    /// List switches and what they were told
    Nodes(nouns::Listing),
    /// Look for what is wrong, and say what to do about it
    Doctor {
        #[arg(short, long, value_enum, default_value = "table")]
        output: Format,
    },
}

/// Carries a command out.
///
/// # Errors
/// With the exit code that [`EXIT_CODES`] lists.
pub fn run(connection: &Connection, command: &Command) -> Result<(), Failure> {
    let client = connection.open()?;
    match command {
        Command::Get(get) => verbs::get(&client, get),
        Command::Put { path, writing } => {
            verbs::write(&client, Write::Put, path, Some(&writing.file), &writing.options)
        }
        Command::Patch { path, writing } => {
            verbs::write(&client, Write::Patch, path, Some(&writing.file), &writing.options)
        }
        Command::Delete { path, options } => verbs::write(&client, Write::Delete, path, None, options),
        Command::Pods(listing) => nouns::pods(&client, listing),
        Command::Services(listing) => nouns::services(&client, listing),
        Command::Nodes(listing) => nouns::nodes(&client, listing),
        Command::Doctor { output } => doctor::doctor(&client, *output),
    }
}
