//! What a node needs for pods, looked at: `coeus doctor --node`. `kernel`, `switch` and `controller` look before there is an agent,
//! `installed` after.

mod controller;
mod installed;
mod kernel;
mod switch;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::Settings;
use super::datastore::Controller;
use super::switch::Switch;

/// Where a runtime finds networks and plugins.
#[derive(Debug, Clone)]
pub struct Folders {
    pub networks: PathBuf,
    pub plugins: PathBuf,
}

/// What was found of one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub what: &'static str,
    pub found: Found,
}

/// How good it is, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    Good(String),
    /// It works, but not all of it.
    Doubtful {
        text: String,
        next: String,
    },
    Fault {
        text: String,
        next: String,
    },
}

impl Found {
    fn fault(text: impl Into<String>, next: impl Into<String>) -> Found {
        Found::Fault { text: text.into(), next: next.into() }
    }

    fn doubt(text: impl Into<String>, next: impl Into<String>) -> Found {
        Found::Doubtful { text: text.into(), next: next.into() }
    }
}

/// Looks at a node. `is_installed`: also at the agent, the plugin and the network's configuration.
pub fn node(
    settings: &Settings,
    controller: &dyn Controller,
    folders: &Folders,
    is_installed: bool,
) -> Vec<Finding> {
    let switch = Switch { socket: settings.ovsdb.clone() };
    let mut findings = Vec::new();
    let mut look = |what, found| findings.push(Finding { what, found });
    look("account of the system", kernel::account());
    look("namespaces and devices", kernel::abilities());
    let (seen, of_switch) = switch::look(&switch, &settings.bridge, settings.address);
    for (what, found) in of_switch {
        look(what, found);
    }
    look("rights at the controller", controller::rights(controller, seen.address));
    look("switch at the controller", controller::switch(controller, &seen));
    look("folder of networks", folder(&folders.networks, "--cni-conf-dir"));
    look("folder of plugins", folder(&folders.plugins, "--cni-bin-dir"));
    let socket = settings.socket.parent().filter(|folder| !folder.as_os_str().is_empty());
    look("folder of the socket", own_folder(socket.unwrap_or(Path::new(".")), "--socket"));
    look("folder of records", own_folder(&settings.state, "--state-dir"));
    if is_installed {
        look("agent", installed::agent(&settings.socket));
        look("host ports", kernel::host_ports());
        look("ready ports", switch::ready(&switch, settings));
        let plugin = installed::plugin(&folders.plugins);
        look("plugin", plugin);
        let (config, found) = installed::network(folders, &settings.socket);
        look("network", found);
        if let Some(config) = config {
            look("STATUS", installed::status(&folders.plugins, &config));
        }
    }
    findings
}

fn folder(path: &Path, option: &str) -> Found {
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => Found::Good(path.display().to_string()),
        Ok(_) => Found::fault(
            format!("{} is no folder", path.display()),
            format!("move it away, or give {option}"),
        ),
        Err(error) => Found::fault(
            format!("{}: {error}", path.display()),
            format!("mkdir -p {}, or give {option} as the runtime has it", path.display()),
        ),
    }
}

/// A folder that the agent makes; one that is there must be nobody else's.
fn own_folder(folder: &Path, option: &str) -> Found {
    let elsewhere = format!("give {option} elsewhere");
    match fs::metadata(folder) {
        Ok(there) if !there.is_dir() => Found::fault(
            format!("{} is no folder", folder.display()),
            format!("move it away, or {elsewhere}"),
        ),
        Ok(there) if there.mode() & 0o022 != 0 => Found::fault(
            format!("others can write to {} (mode {:o})", folder.display(), there.mode() & 0o7777),
            format!("chmod 700 {}, or {elsewhere}", folder.display()),
        ),
        Ok(_) => Found::Good(folder.display().to_string()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Found::Good(format!("the agent makes {}", folder.display()))
        }
        Err(error) => Found::fault(format!("{}: {error}", folder.display()), elsewhere),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn folders_are_there_and_nobody_else_s() {
        let here = tempfile::tempdir().unwrap();
        assert!(matches!(folder(here.path(), "--x"), Found::Good(_)));
        let file = here.path().join("file");
        fs::write(&file, "").unwrap();
        for wrong in [&file, &here.path().join("none")] {
            let Found::Fault { next, .. } = folder(wrong, "--x") else { panic!("{}", wrong.display()) };
            assert!(next.contains("--x"), "{next}");
        }
        assert!(matches!(own_folder(&here.path().join("never"), "--x"), Found::Good(_)));
        assert!(matches!(own_folder(&file, "--x"), Found::Fault { .. }));
        fs::set_permissions(here.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let Found::Fault { text, .. } = own_folder(here.path(), "--x") else { panic!("others may") };
        assert!(text.contains("777"), "{text}");
    }
}
