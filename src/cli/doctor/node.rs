//! `coeus doctor --node`: whether this node has what pods need, before and after the agent is installed.

use std::path::PathBuf;

use super::{Finding, Level, probe};
use crate::cli::{Client, node};
use crate::node::{Folders, Found, examine};

/// The part of `coeus doctor` that is about this node.
#[derive(clap::Args, Debug, Clone)]
#[command(next_help_heading = "This node")]
pub(super) struct Here {
    /// Look at this node: Open vSwitch, kernel, folders, agent, plugin, configuration; with the options and the account of `coeus node`
    #[arg(long)]
    pub node: bool,
    /// Only what has to be there before the agent is installed
    #[arg(long, requires = "node")]
    before: bool,
    /// Where the runtime finds networks
    #[arg(long, value_name = "DIR", default_value = "/etc/cni/net.d")]
    cni_conf_dir: PathBuf,
    /// Where the runtime finds plugins
    #[arg(long, value_name = "DIR", default_value = "/opt/cni/bin")]
    cni_bin_dir: PathBuf,
    #[command(flatten)]
    agent: node::Node,
}

pub(super) fn look(client: &Client, here: &Here) -> Vec<Finding> {
    let folders = Folders { networks: here.cni_conf_dir.clone(), plugins: here.cni_bin_dir.clone() };
    let found = examine(&here.agent.settings(), client, &folders, !here.before);
    let mut findings = vec![probe(client, "/readyz", "controller")];
    findings.extend(found.into_iter().map(|one| {
        let (level, text, next) = match one.found {
            Found::Good(text) => (Level::Ok, text, String::new()),
            Found::Doubtful { text, next } => (Level::Warning, text, next),
            Found::Fault { text, next } => (Level::Fault, text, next),
        };
        Finding { level, what: one.what.into(), text, next }
    }));
    findings
}
