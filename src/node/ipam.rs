//! IPAM plugins: programs of others that choose addresses (CNI specification, section 4).

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use coeus_cni::{Call, Code, Error, Request, Success};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::program;

/// A plugin that works on one call for so many seconds is stuck; the configuration may say fewer (key `timeout`). ADD waits for the entry,
/// for the plugin, and maybe for its DEL, before `coeus-cni` has waited too long (115 s).
const PATIENCE: u64 = 30;

/// All that is needed to call an IPAM plugin, kept for as long as it holds an address for a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegate {
    pub kind: String,
    pub path: Vec<String>,
    pub call: Call,
    /// Seconds that one call of it may take.
    #[serde(default = "usual")]
    pub patience: u64,
}

fn usual() -> u64 {
    PATIENCE
}

impl Delegate {
    /// `None`: addresses are ours.
    pub fn of(request: &Request, call: &Call) -> Option<Delegate> {
        let kind = request.config.ipam.as_ref()?.kind.clone();
        let patience = request.config.timeout.unwrap_or(PATIENCE).min(PATIENCE);
        Some(Delegate { kind, path: request.path.clone(), call: call.clone(), patience })
    }

    /// # Errors
    /// What the plugin says, or that it is not there.
    pub fn add(&self) -> Result<Success, Error> {
        let output = self.run("ADD")?;
        let wrong = |why: String| Error::new(Code::Ipam, format!("IPAM plugin {}: {why}", self.kind));
        let value: Value = serde_json::from_slice(&output).map_err(|error| wrong(error.to_string()))?;
        Success::parse(&value).map_err(wrong)
    }

    /// # Errors
    /// As [`Delegate::add`].
    pub fn tell(&self, command: &str) -> Result<(), Error> {
        self.run(command).map(drop)
    }

    /// # Errors
    /// When there is no such plugin.
    pub fn is_there(&self) -> Result<(), Error> {
        self.program().map(drop)
    }

    fn program(&self) -> Result<PathBuf, Error> {
        let mut places = self.path.iter().map(|folder| Path::new(folder).join(&self.kind));
        places.find(|program| program.is_file()).ok_or_else(|| {
            let message = format!("ipam.type: no program {} in CNI_PATH={}", self.kind, self.path.join(":"));
            Error::new(Code::Field, message)
                .with("install the plugin, or take ipam away to have Coeus choose addresses")
        })
    }

    fn run(&self, command: &str) -> Result<Vec<u8>, Error> {
        let path = self.program()?;
        let failed = |error: std::io::Error| Error::new(Code::Ipam, format!("{}: {error}", path.display()));
        let mut process = Command::new(&path);
        process.envs(&self.call.environment).env("CNI_COMMAND", command);
        let patience = Duration::from_secs(self.patience);
        let output = program::run(&mut process, self.call.input.clone(), patience).map_err(failed)?;
        let output = output.ok_or_else(|| {
            let message = format!(
                "IPAM plugin {}, {command}: it has not ended after {} s, and was killed",
                self.kind, self.patience
            );
            Error::new(Code::Again, message).with(format!("what does {} wait for?", path.display()))
        })?;
        if output.status.success() { Ok(output.stdout) } else { Err(self.error(command, &output)) }
    }

    fn error(&self, command: &str, output: &std::process::Output) -> Error {
        let said: Value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        let text = |key: &str| said.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let number = said.get("code").and_then(Value::as_u64).and_then(|code| code.try_into().ok());
        let message = if text("msg").is_empty() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            format!("it ended with {}: {}", output.status, stderr.trim())
        } else {
            text("msg")
        };
        let code = number.map_or(Code::Ipam, Code::Other);
        Error::new(code, format!("IPAM plugin {}, {command}: {message}", self.kind)).with(text("details"))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn delegate(folder: &Path, script: &str) -> Delegate {
        let program = folder.join("plugin");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let call = Call { environment: [].into(), input: "x".repeat(200_000) };
        Delegate { kind: "plugin".into(), path: vec![folder.display().to_string()], call, patience: 1 }
    }

    #[test]
    fn a_plugin_that_hangs_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = delegate(folder.path(), "sleep 1000").tell("ADD").unwrap_err();
        assert_eq!(error.code, Code::Again);
        let named = "IPAM plugin plugin, ADD: it has not ended after 1 s, and was killed";
        assert_eq!(error.message, named);
    }

    #[test]
    fn what_a_plugin_says_is_told() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(delegate(folder.path(), "cat > /dev/null").tell("DEL"), Ok(()));
        assert_eq!(delegate(folder.path(), "exit 0").tell("DEL"), Ok(()));
        let error = delegate(folder.path(), "echo '{\"code\": 999, \"msg\": \"full\"}'; exit 1").tell("ADD");
        assert_eq!(error.unwrap_err().message, "IPAM plugin plugin, ADD: full");
    }
}
