//! `coeus node`: the agent of a node, a client of the controller like any other.

use std::net::IpAddr;
use std::path::PathBuf;

use serde_json::Value;

use super::connect::{resource_in, with_query};
use super::{Client, Failure, print};
use crate::node::{Controller, Settings, Trouble, Trunk};

/// `coeus node`.
#[derive(clap::Args, Debug, Clone)]
pub struct Node {
    /// Unix socket for coeus-cni, in a folder to which nobody else may write
    #[arg(long, env = "COEUS_NODE_SOCKET", value_name = "FILE", default_value = coeus_cni::DEFAULT_SOCKET)]
    pub socket: PathBuf,
    /// Database of the node's Open vSwitch
    #[arg(long, env = "COEUS_NODE_OVSDB", value_name = "unix:FILE", default_value = "unix:/var/run/openvswitch/db.sock", value_parser = unix)]
    pub ovsdb: PathBuf,
    /// Bridge for pods, where a network configuration names none (ovsBridge)
    #[arg(long, value_name = "NAME", default_value = "br-int")]
    pub bridge: String,
    /// Address of this node in entries of pods; otherwise other_config:local_ip of Open vSwitch
    #[arg(long, value_name = "ADDRESS")]
    pub address: Option<IpAddr>,
    /// Folder for records of what was made
    #[arg(long, env = "COEUS_NODE_STATE", value_name = "DIR", default_value = "/var/lib/coeus/node")]
    pub state_dir: PathBuf,
    /// This node is a virtual machine and its pods share its port, each by a VLAN: the port's iface-id at the switch outside, or its name there
    #[arg(long, value_name = "NAME", requires = "address", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub trunk: Option<String>,
    /// Device of the machine at that port: pods get VLAN devices of it; otherwise tagged ports of the bridge
    #[arg(long, value_name = "DEVICE", requires = "trunk")]
    pub trunk_link: Option<String>,
    /// Ports of --bridge that are made before containers ask for them, so that ADD need not wait for Open vSwitch to make one; 0 for none
    #[arg(long, env = "COEUS_NODE_READY_PORTS", value_name = "NUMBER", default_value_t = 24, value_parser = clap::value_parser!(u16).range(..=512))]
    pub ready_ports: u16,
    /// Containers of the node from which on ports are made beforehand: among fewer, Open vSwitch makes one in less time than the kernel sends a device to a container
    #[arg(long, env = "COEUS_NODE_READY_FROM", value_name = "NUMBER", default_value_t = 32)]
    pub ready_from: u16,
}

fn unix(text: &str) -> Result<PathBuf, String> {
    let path = text.strip_prefix("unix:").unwrap_or(text);
    if path.starts_with('/') { Ok(path.into()) } else { Err("say unix:/PATH/db.sock".into()) }
}

impl Controller for Client {
    fn read(&self, path: &str, query: &[(&str, String)]) -> Result<Value, Trouble> {
        match self.data(path, query) {
            Err(Failure::NotFound(_)) => Ok(Value::Null),
            other => other.map_err(trouble),
        }
    }

    fn write(
        &self,
        method: &str,
        path: &str,
        query: &[(&str, String)],
        body: Option<&Value>,
    ) -> Result<Value, Trouble> {
        let body = body.map(ToString::to_string);
        let mut headers = vec![("Accept", "application/yang-data+json")];
        if body.is_some() {
            headers.push(("Content-Type", "application/yang-data+json"));
        }
        let target = with_query(&resource_in("/rests/data", path), query);
        let answer =
            self.request(method, &target, &headers, body.as_ref().map(String::as_bytes)).map_err(trouble)?;
        let what = format!("{method} {path}");
        match answer.status {
            200..300 => answer.json(&what).map_err(trouble),
            409 => Err(Trouble::Conflict(Failure::of_answer(&what, 409, &answer.body).to_string())),
            status if status >= 500 || status == 408 => {
                Err(Trouble::Away(Failure::of_answer(&what, status, &answer.body).to_string()))
            }
            status => Err(trouble(Failure::of_answer(&what, status, &answer.body))),
        }
    }
}

fn trouble(failure: Failure) -> Trouble {
    match failure {
        Failure::NotFound(why) => Trouble::Missing(why),
        Failure::Refused(why) => Trouble::Refused(why),
        other => Trouble::Away(other.to_string()),
    }
}

impl Node {
    pub fn settings(&self) -> Settings {
        Settings {
            socket: self.socket.clone(),
            ovsdb: self.ovsdb.clone(),
            bridge: self.bridge.clone(),
            address: self.address,
            state: self.state_dir.clone(),
            trunk: self.trunk.clone().map(|name| Trunk { name, link: self.trunk_link.clone() }),
            ready_ports: self.ready_ports.into(),
            ready_from: self.ready_from.into(),
        }
    }
}

/// Serves until the process is stopped.
///
/// # Errors
/// When it cannot start.
pub fn serve(client: Client, asked: &Node) -> Result<(), Failure> {
    let ready = || drop(print(format!("ready: CNI on {}\n", asked.socket.display())));
    crate::node::run(asked.settings(), Box::new(client), ready)
        .map_err(|error| Failure::Failed(format!("node: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_is_a_unix_socket() {
        assert_eq!(unix("unix:/run/db.sock").unwrap(), PathBuf::from("/run/db.sock"));
        assert_eq!(unix("/run/db.sock").unwrap(), PathBuf::from("/run/db.sock"));
        assert!(unix("tcp:127.0.0.1:6640").unwrap_err().contains("unix:/PATH"));
    }
}
