//! Whether agent, plugin and configuration are there and fit together, as a runtime would find them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use coeus_cni::{Config, SUPPORTED};
use serde_json::{Value, json};

use super::{Folders, Found};
use crate::node::program;

/// The plugin's name in configurations.
const PLUGIN: &str = "coeus-cni";
/// The first version that has STATUS.
const WITH_STATUS: &str = "1.1.0";
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn agent(socket: &Path) -> Found {
    match UnixStream::connect(socket) {
        Ok(_) => Found::Good(format!("it listens at {}", socket.display())),
        Err(error) => Found::fault(
            format!("nobody listens at {}: {error}", socket.display()),
            "start coeus node (deploy/), or give --socket as it has it",
        ),
    }
}

pub(super) fn plugin(folder: &Path) -> Found {
    let path = folder.join(PLUGIN);
    let install =
        format!("install {PLUGIN} in {}, or give --cni-bin-dir as the runtime has it", folder.display());
    match fs::metadata(&path) {
        Err(error) => return Found::fault(format!("{}: {error}", path.display()), install),
        Ok(there) if !there.is_file() || there.permissions().mode() & 0o111 == 0 => {
            return Found::fault(format!("{} cannot be executed", path.display()), install);
        }
        Ok(_) => {}
    }
    match call(folder, "VERSION", &json!({"cniVersion": WITH_STATUS})) {
        Ok(said) if said["supportedVersions"].as_array().is_some_and(|all| !all.is_empty()) => {
            Found::Good(format!("{}, versions {}", path.display(), versions(&said)))
        }
        Ok(said) => Found::fault(format!("{} answers VERSION with {said}", path.display()), install),
        Err(why) => Found::fault(format!("{}: {why}", path.display()), install),
    }
}

fn versions(said: &Value) -> String {
    let all = said["supportedVersions"].as_array().into_iter().flatten().filter_map(Value::as_str);
    all.collect::<Vec<_>>().join(", ")
}

/// The answer of the plugin, or what it complains of.
fn call(folder: &Path, command: &str, config: &Value) -> Result<Value, String> {
    let mut process = Command::new(folder.join(PLUGIN));
    process.env("CNI_COMMAND", command).env("CNI_PATH", folder);
    let output =
        program::run(&mut process, config.to_string(), PATIENCE).map_err(|error| error.to_string())?;
    let output = output.ok_or_else(|| format!("{command} has not ended after {} s", PATIENCE.as_secs()))?;
    let said: Value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    if output.status.success() {
        return Ok(said);
    }
    let text = |key: &str| said[key].as_str().unwrap_or_default();
    match text("msg") {
        "" => Err(format!(
            "{command} ended with {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        )),
        message => {
            Err(format!("{command}: {message}; {}", text("details")).trim_end_matches("; ").to_owned())
        }
    }
}

/// The runtime's configuration of our plugin, as the plugin gets it.
pub(super) fn network(folders: &Folders, socket: &Path) -> (Option<Value>, Found) {
    let folder = folders.networks.display();
    let files = match files(&folders.networks) {
        Ok(files) => files,
        Err(error) => {
            return (None, Found::fault(format!("{folder}: {error}"), "mkdir -p, or give --cni-conf-dir"));
        }
    };
    let read: Vec<_> = files.iter().map(|file| (file, plugins(file))).collect();
    let Some((file, config)) = read.iter().find_map(|(file, read)| Some((file, ours(read.as_ref().ok()?)?)))
    else {
        let broken = read
            .iter()
            .find_map(|(file, read)| Some(format!("; {}: {}", file.display(), read.as_ref().err()?)));
        let text = format!("no network in {folder} has {PLUGIN} as a plugin{}", broken.unwrap_or_default());
        return (None, Found::fault(text, "put 10-coeus.conflist there (docs/guide/cni.md)"));
    };
    let found = judge(file, &config, socket, files.first());
    (Some(config.plugin), found)
}

/// Configurations in the order in which runtimes take the first.
fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let all =
        fs::read_dir(folder)?.map(|file| file.map(|file| file.path())).collect::<Result<Vec<_>, _>>()?;
    let is_one = |path: &PathBuf| {
        path.extension()
            .is_some_and(|ending| ["conf", "conflist", "json"].iter().any(|known| ending == *known))
    };
    let mut files: Vec<PathBuf> = all.into_iter().filter(is_one).collect();
    files.sort();
    Ok(files)
}

/// The plugins of a network, each with what it gets of the list's name and version.
fn plugins(file: &Path) -> Result<Vec<Value>, String> {
    let text = fs::read(file).map_err(|error| error.to_string())?;
    let read: Value = serde_json::from_slice(&text).map_err(|error| format!("it is not JSON: {error}"))?;
    let Some(list) = read.get("plugins").and_then(Value::as_array) else { return Ok(vec![read]) };
    let whole = |plugin: &Value| {
        let mut plugin = plugin.clone();
        if let Some(fields) = plugin.as_object_mut() {
            for key in ["name", "cniVersion"] {
                fields.insert(key.into(), read[key].clone());
            }
        }
        plugin
    };
    Ok(list.iter().map(whole).collect())
}

/// Our plugin of a network.
struct Ours {
    place: usize,
    plugin: Value,
}

fn ours(plugins: &[Value]) -> Option<Ours> {
    let place = plugins.iter().position(|plugin| plugin["type"] == PLUGIN)?;
    Some(Ours { place, plugin: plugins[place].clone() })
}

fn judge(file: &Path, ours: &Ours, socket: &Path, first: Option<&PathBuf>) -> Found {
    let name = file.display();
    let version = ours.plugin["cniVersion"].as_str().unwrap_or_default();
    if !SUPPORTED.iter().any(|known| known.name() == version) {
        return Found::fault(
            format!("{name}: cniVersion {version:?} is not known"),
            "say one that VERSION lists",
        );
    }
    if let Err(error) = Config::parse(&ours.plugin) {
        return Found::fault(format!("{name}: {error}"), "see docs/guide/cni.md, the configuration");
    }
    if ours.place > 0 {
        return Found::fault(format!("{name}: {PLUGIN} is not the first plugin"), "put it before the others");
    }
    let said = ours.plugin["socket"].as_str().unwrap_or(coeus_cni::DEFAULT_SOCKET);
    if Path::new(said) != socket {
        return Found::fault(
            format!("{name} leads to the socket {said}, and the agent's is {}", socket.display()),
            "let the key socket be the agent's --socket",
        );
    }
    match first {
        Some(first) if first != file => Found::doubt(
            format!("{name} is there, but kubelet takes {}, which comes before", first.display()),
            "take the other away, or give this one a name that comes first",
        ),
        _ => Found::Good(format!("{name}, network {}", ours.plugin["name"].as_str().unwrap_or_default())),
    }
}

/// What the runtime would be told.
pub(super) fn status(folder: &Path, config: &Value) -> Found {
    let mut config = config.clone();
    config["cniVersion"] = json!(WITH_STATUS);
    match call(folder, "STATUS", &config) {
        Ok(_) => Found::Good("pods can be added".into()),
        Err(why) => Found::fault(why, "see what is said above, and the log of coeus node"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(folders: &Folders, socket: &str) -> String {
        match network(folders, Path::new(socket)).1 {
            Found::Fault { text, .. } | Found::Doubtful { text, .. } => text,
            Found::Good(text) => format!("good: {text}"),
        }
    }

    #[test]
    fn each_breakage_of_a_configuration_is_named() {
        let here = tempfile::tempdir().unwrap();
        let folders = Folders { networks: here.path().join("net.d"), plugins: here.path().into() };
        assert!(fault(&folders, "/s").contains("No such file"));
        fs::create_dir(&folders.networks).unwrap();
        assert!(fault(&folders, "/s").contains("no network in"));
        let put = |name: &str, text: String| fs::write(folders.networks.join(name), text).unwrap();
        put("20-coeus.conflist", "{".into());
        assert!(fault(&folders, "/s").contains("not JSON"));
        let list = |version: &str, plugins: Value| {
            json!({"cniVersion": version, "name": "pods", "plugins": plugins}).to_string()
        };
        for (version, plugins, named) in [
            ("1.0.0", json!([{"type": "bridge"}]), "no network in"),
            ("9.0.0", json!([{"type": "coeus-cni"}]), "9.0.0"),
            ("1.0.0", json!([{"type": "coeus-cni", "mtu": 5}]), "mtu"),
            ("1.0.0", json!([{"type": "tuning"}, {"type": "coeus-cni"}]), "not the first plugin"),
            ("1.0.0", json!([{"type": "coeus-cni", "socket": "/t"}]), "the socket /t"),
            ("1.0.0", json!([{"type": "coeus-cni", "socket": "/s"}]), "good: "),
        ] {
            put("20-coeus.conflist", list(version, plugins));
            let found = fault(&folders, "/s");
            assert!(found.contains(named), "{named}: {found}");
        }
        put("10-other.conf", json!({"type": "bridge"}).to_string());
        assert!(fault(&folders, "/s").contains("10-other.conf"));
        put(
            "05-ours.conf",
            json!({"cniVersion": "1.1.0", "name": "n", "type": "coeus-cni", "socket": "/s"}).to_string(),
        );
        assert!(fault(&folders, "/s").starts_with("good: "));
    }

    #[test]
    fn a_plugin_that_is_not_there_or_does_not_run_is_named() {
        let here = tempfile::tempdir().unwrap();
        let text = || match plugin(here.path()) {
            Found::Fault { text, .. } => text,
            other => panic!("{other:?}"),
        };
        assert!(text().contains("No such file"));
        let path = here.path().join(PLUGIN);
        fs::write(&path, "#!/bin/sh\nexit 1\n").unwrap();
        assert!(text().contains("cannot be executed"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(text().contains("exit status: 1"));
    }
}
