//! The commands for people and scripts. All but `flows --data-dir` speak RESTCONF with a controller, here or elsewhere.

mod candidate;
mod connect;
mod doctor;
mod failure;
mod history;
pub mod kube;
mod node;
mod nouns;
mod output;
mod plan;
mod table;
mod trace;
mod verbs;
mod wait;
mod watch;

pub use connect::{Client, Connection};
pub use failure::{EXIT_CODES, Failure};
pub use output::print;
pub use plan::Flows;
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
    /// Show what changes in any part of the datastore, as it changes; or keep it true to a Kubernetes cluster
    Watch(watch::Watch),
    /// Run the agent of a node: it makes the network of containers as the CNI plugin coeus-cni asks
    Node(node::Node),
    /// List pods and how far their network is
    Pods(nouns::Listing),
    /// List services
    Services(nouns::Listing),
    /// List switches: whether they are there, and what they were told
    Nodes(nouns::Listing),
    /// List the flows that switches should hold
    Flows(plan::Flows),
    /// Take a node out of the network in one step: its switch, its pods and their leases
    Leave(nouns::Leave),
    /// Let a node that has left come back
    Join {
        /// The node by a name of its switch
        node: String,
    },
    /// List the revisions that are kept: what was written when, and by whom
    History {
        /// So many of the newest
        #[arg(long, default_value = "20")]
        limit: u32,
        /// Also what switches and leases report
        #[arg(long)]
        all: bool,
        #[arg(short, long, value_enum, default_value = "table")]
        output: Format,
    },
    /// Show what differs between two revisions, as a YANG Patch
    Diff {
        from: u64,
        /// The present if absent
        to: Option<u64>,
        #[arg(short, long, value_enum, default_value = "json")]
        output: Format,
    },
    /// Make the configuration what it was at a revision, as one transaction
    Rollback {
        to: u64,
        /// Only say what would happen
        #[arg(long)]
        dry_run: bool,
        #[arg(short, long, value_enum, default_value = "table")]
        output: Format,
    },
    /// Let a write that was made with --confirm stay
    Confirm {
        /// Its id; may be left out while one waits
        id: Option<String>,
    },
    /// Take a write that was made with --confirm back now
    Cancel {
        /// Its id; may be left out while one waits
        id: Option<String>,
    },
    /// Edits that wait to be committed together: put, patch and delete with --candidate make them
    Candidate {
        #[command(subcommand)]
        what: candidate::Candidate,
    },
    /// Show what a write would do to each switch, without doing it
    Plan {
        #[command(subcommand)]
        write: plan::Plan,
        #[arg(short, long, global = true, value_enum, default_value = "table")]
        output: Format,
    },
    /// Tell why a flow is there, what an object causes, or what would go with it
    Explain {
        #[command(subcommand)]
        what: plan::Explain,
        #[arg(short, long, global = true, value_enum, default_value = "table")]
        output: Format,
    },
    /// Show what becomes of a packet that a pod sends: table by table, with the configuration behind each flow
    Trace(trace::Trace),
    /// Look for what is wrong, and say what to do about it
    Doctor(doctor::Doctor),
}

impl Command {
    /// Whether it works until it is stopped, and says in a log what it does.
    pub fn runs_on(&self) -> bool {
        matches!(self, Command::Watch(asked) if asked.kube.kube) || matches!(self, Command::Node(_))
    }
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
        Command::Watch(asked) if asked.kube.kube => kube::keep(&client, &asked.kube, asked.metrics),
        Command::Watch(asked) => watch::watch(&client, asked),
        Command::Node(asked) => node::serve(client, asked),
        Command::Pods(listing) => nouns::pods(&client, listing),
        Command::Services(listing) => nouns::services(&client, listing),
        Command::Nodes(listing) => nouns::nodes(&client, listing),
        Command::Flows(asked) => plan::list_flows(&client, asked),
        Command::Leave(leave) => nouns::leave(&client, leave),
        Command::Join { node } => nouns::join(&client, node),
        Command::History { limit, all, output } => history::history(&client, *limit, *all, *output),
        Command::Diff { from, to, output } => history::diff(&client, *from, *to, *output),
        Command::Rollback { to, dry_run, output } => history::rollback(&client, *to, *dry_run, *output),
        Command::Confirm { id } => history::decide(&client, "confirm-commit", id.as_deref()),
        Command::Cancel { id } => history::decide(&client, "cancel-commit", id.as_deref()),
        Command::Candidate { what } => candidate::candidate(&client, what),
        Command::Plan { write, output } => plan::plan(&client, write, *output),
        Command::Explain { what, output } => plan::explain(&client, what, *output),
        Command::Trace(asked) => trace::trace(&client, asked),
        Command::Doctor(asked) => doctor::doctor(&client, asked),
    }
}
