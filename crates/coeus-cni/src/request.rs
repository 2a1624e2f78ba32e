//! A call, read and checked (CNI specification, section 2, "Parameters", and section 4).

use serde_json::Value;

use crate::args::Args;
use crate::call::Call;
use crate::config::{AskedAddress, Config, address, unicast_mac, uuid};
use crate::error::{Code, Error};
use crate::version::Version;

/// `CNI_COMMAND`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    Add,
    Del,
    Check,
    Gc,
    Status,
    Version,
}

impl Command {
    /// # Errors
    /// Code 4.
    pub fn of(call: &Call) -> Result<Command, Error> {
        match call.variable("CNI_COMMAND") {
            Some("ADD") => Ok(Command::Add),
            Some("DEL") => Ok(Command::Del),
            Some("CHECK") => Ok(Command::Check),
            Some("GC") => Ok(Command::Gc),
            Some("STATUS") => Ok(Command::Status),
            Some("VERSION") => Ok(Command::Version),
            Some(other) => Err(Error::new(Code::Environment, format!("CNI_COMMAND={other} is unknown"))),
            None => Err(Error::new(Code::Environment, "CNI_COMMAND is missing")),
        }
    }

    /// The version from which it is there.
    fn since(self) -> Version {
        match self {
            Command::Add | Command::Del | Command::Version => Version::V0_3_0,
            Command::Check => Version::V0_4_0,
            Command::Gc | Command::Status => Version::V1_1_0,
        }
    }

    fn is_of_a_container(self) -> bool {
        matches!(self, Command::Add | Command::Del | Command::Check)
    }
}

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub command: Command,
    pub version: Version,
    /// Empty for GC and STATUS, as `ifname` is.
    pub container: String,
    /// Absent at most for DEL, GC and STATUS.
    pub netns: Option<String>,
    pub ifname: String,
    pub args: Args,
    /// Where delegated plugins are.
    pub path: Vec<String>,
    pub config: Config,
    /// `IPV4`, or `IP`, of `CNI_ARGS`; the configuration wins.
    pub addresses: Vec<AskedAddress>,
    pub mac: Option<String>,
}

impl Request {
    /// Anything but VERSION, which needs no agent.
    ///
    /// # Errors
    /// With the code of the specification: 1 version, 4 environment, 6 not JSON, 7 configuration, 2 a field that is not supported.
    pub fn read(call: &Call) -> Result<Request, Error> {
        let command = Command::of(call)?;
        let value: Value = serde_json::from_str(&call.input)
            .map_err(|error| Error::new(Code::Decode, format!("standard input is not JSON: {error}")))?;
        let version = Version::of(&value)?;
        if version < command.since() {
            let since = command.since().name();
            return Err(Error::new(
                Code::Version,
                format!("CNI_COMMAND={command:?} is there since {since}; cniVersion is {}", version.name()),
            ));
        }
        let variables = Variables::read(call, command)?;
        let args = Args::parse(call.variable("CNI_ARGS").unwrap_or_default())?;
        let config = config(value, command)?;
        let (addresses, mac) = (addresses(&args, &config)?, mac(&args, &config)?);
        let Variables { container, netns, ifname, path } = variables;
        Ok(Request { command, version, container, netns, ifname, args, path, config, addresses, mac })
    }

    /// The pod's uid, if it is one by which the datastore can name it.
    pub fn pod_uid(&self) -> Option<String> {
        self.args.value("K8S_POD_UID").and_then(uuid)
    }

    pub fn pod_name(&self) -> &str {
        self.args.value("K8S_POD_NAME").unwrap_or(&self.container)
    }

    pub fn pod_namespace(&self) -> &str {
        let said = self.args.value("K8S_POD_NAMESPACE");
        said.or(self.config.namespace.as_deref()).unwrap_or("default")
    }
}

struct Variables {
    container: String,
    netns: Option<String>,
    ifname: String,
    path: Vec<String>,
}

impl Variables {
    fn read(call: &Call, command: Command) -> Result<Variables, Error> {
        let netns = call.variable("CNI_NETNS");
        let is_needed = |name: &str| match name {
            "CNI_NETNS" => matches!(command, Command::Add | Command::Check),
            "CNI_PATH" => command == Command::Gc,
            _ => command.is_of_a_container(),
        };
        let names = ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_PATH"];
        let missing: Vec<&str> =
            names.into_iter().filter(|name| is_needed(name) && call.variable(name).is_none()).collect();
        if !missing.is_empty() {
            return Err(Error::new(Code::Environment, format!("missing: {}", missing.join(", "))));
        }
        let of_container = |name: &str| {
            call.variable(name).filter(|_| command.is_of_a_container()).unwrap_or_default().to_owned()
        };
        let (container, ifname) = (of_container("CNI_CONTAINERID"), of_container("CNI_IFNAME"));
        if command.is_of_a_container() {
            is_container(&container)?;
            is_ifname(&ifname)?;
        }
        let path = call.variable("CNI_PATH").unwrap_or_default().split(':');
        Ok(Variables {
            container,
            netns: netns.map(str::to_owned),
            ifname,
            path: path.filter(|folder| !folder.is_empty()).map(str::to_owned).collect(),
        })
    }
}

fn is_container(id: &str) -> Result<(), Error> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    if id.starts_with(|c: char| c.is_ascii_alphanumeric()) && id.chars().all(fits) {
        return Ok(());
    }
    let message = format!("CNI_CONTAINERID={id} is not letters, digits, _, . and - behind a letter or digit");
    Err(Error::new(Code::Environment, message))
}

fn is_ifname(name: &str) -> Result<(), Error> {
    let is_odd = |c: char| c == '/' || c == ':' || c.is_whitespace() || c.is_control();
    if name.len() <= 15 && name != "." && name != ".." && !name.contains(is_odd) {
        return Ok(());
    }
    Err(Error::new(Code::Environment, format!("CNI_IFNAME={name} is not the name of an interface")))
}

/// The configuration as far as a command needs it. What DEL, GC and STATUS do not need may be broken.
fn config(mut value: Value, command: Command) -> Result<Config, Error> {
    if let Some(fields) = value.as_object_mut() {
        if matches!(command, Command::Del | Command::Gc | Command::Status) {
            for key in ["prevResult", "runtimeConfig", "args"] {
                fields.remove(key);
            }
        }
        if command != Command::Gc {
            fields.remove("cni.dev/valid-attachments");
        }
    }
    let config = Config::parse(&value)?;
    match command {
        Command::Add if config.previous.is_some() => Err(Error::new(
            Code::Config,
            "prevResult: another plugin made the interface already; coeus-cni has to be the first of the list",
        )),
        Command::Check if config.previous.is_none() => {
            Err(Error::new(Code::Config, "prevResult: CHECK needs the result of ADD"))
        }
        _ => Ok(config),
    }
}

fn addresses(args: &Args, config: &Config) -> Result<Vec<AskedAddress>, Error> {
    if !config.addresses.is_empty() {
        return Ok(config.addresses.clone());
    }
    let key = if args.value("IPV4").is_some() { "IPV4" } else { "IP" };
    let one = |text: &str| {
        let fits = |asked: &AskedAddress| key == "IP" || asked.0.is_ipv4();
        let wrong = || Error::new(Code::Environment, format!("CNI_ARGS: {key}={text} is no address"));
        address(text.trim()).filter(fits).ok_or_else(wrong)
    };
    args.value(key).map_or(Ok(Vec::new()), |all| all.split(',').map(one).collect())
}

fn mac(args: &Args, config: &Config) -> Result<Option<String>, Error> {
    match (&config.mac, args.value("MAC")) {
        (Some(told), _) => Ok(Some(told.clone())),
        (None, None) => Ok(None),
        (None, Some(text)) => unicast_mac(text).map(Some).ok_or_else(|| {
            Error::new(Code::Environment, format!("CNI_ARGS: MAC={text} is no unicast MAC address"))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(changes: &[(&str, &str)], input: &str) -> Call {
        let mut variables = vec![
            ("CNI_COMMAND", "ADD"),
            ("CNI_CONTAINERID", "abc"),
            ("CNI_NETNS", "/run/netns/x"),
            ("CNI_IFNAME", "eth0"),
            ("CNI_PATH", "/opt/cni/bin:/usr/lib/cni"),
            ("HOME", "/root"),
        ];
        variables.extend(changes);
        Call::new(variables.into_iter().map(|(name, value)| (name.into(), value.into())), input.into())
    }

    const GOOD: &str = r#"{"cniVersion":"1.1.0","name":"net","type":"coeus-cni"}"#;

    #[test]
    fn a_call_is_read() {
        let args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=blue;K8S_POD_NAME=p1;K8S_POD_UID=AAAAAAAA-0000-4000-8000-000000000001;IP=10.0.0.5,fd00::5/64;MAC=02:00:00:00:00:05";
        let request = Request::read(&call(&[("CNI_ARGS", args)], GOOD)).unwrap();
        assert_eq!((request.command, request.version), (Command::Add, Version::V1_1_0));
        assert_eq!((request.pod_namespace(), request.pod_name()), ("blue", "p1"));
        assert_eq!(request.pod_uid().as_deref(), Some("aaaaaaaa-0000-4000-8000-000000000001"));
        assert_eq!(
            request.addresses,
            [("10.0.0.5".parse().unwrap(), None), ("fd00::5".parse().unwrap(), Some(64))]
        );
        assert_eq!(request.mac.as_deref(), Some("02:00:00:00:00:05"));
        assert_eq!(request.path, ["/opt/cni/bin", "/usr/lib/cni"]);
        let podman = Request::read(&call(&[("CNI_ARGS", "IgnoreUnknown=1;K8S_POD_NAME=web")], GOOD)).unwrap();
        assert_eq!((podman.pod_namespace(), podman.pod_name(), podman.pod_uid()), ("default", "web", None));
        let bare = Request::read(&call(&[], GOOD)).unwrap();
        assert_eq!(bare.pod_name(), "abc");
    }

    #[test]
    fn del_needs_little() {
        let broken = r#"{"cniVersion":"0.3.1","name":"net","prevResult":{"ips":7},"runtimeConfig":{"portMappings":[{"hostPort":80}]}}"#;
        for netns in ["", "/run/netns/gone"] {
            let request =
                Request::read(&call(&[("CNI_COMMAND", "DEL"), ("CNI_NETNS", netns)], broken)).unwrap();
            assert_eq!(request.netns.is_some(), !netns.is_empty());
        }
    }

    #[test]
    fn what_is_wrong_has_its_code_and_its_name() {
        let with =
            |key: &str, value: &str| format!(r#"{{"cniVersion":"1.1.0","name":"net","{key}":{value}}}"#);
        let old = GOOD.replace("1.1.0", "0.3.1");
        let long = "a".repeat(16);
        for (changes, input, code, named) in [
            (&[("CNI_COMMAND", "")][..], GOOD.to_owned(), Code::Environment, "CNI_COMMAND"),
            (&[("CNI_COMMAND", "add")], GOOD.to_owned(), Code::Environment, "CNI_COMMAND=add"),
            (&[("CNI_NETNS", "")], GOOD.to_owned(), Code::Environment, "CNI_NETNS"),
            (
                &[("CNI_CONTAINERID", ""), ("CNI_IFNAME", "")],
                GOOD.to_owned(),
                Code::Environment,
                "CNI_CONTAINERID, CNI_IFNAME",
            ),
            (&[("CNI_CONTAINERID", "-abc")], GOOD.to_owned(), Code::Environment, "CNI_CONTAINERID"),
            (&[("CNI_CONTAINERID", "a/b")], GOOD.to_owned(), Code::Environment, "CNI_CONTAINERID"),
            (&[("CNI_IFNAME", "..")], GOOD.to_owned(), Code::Environment, "CNI_IFNAME"),
            (&[("CNI_IFNAME", "a b")], GOOD.to_owned(), Code::Environment, "CNI_IFNAME"),
            (&[("CNI_IFNAME", "a:b")], GOOD.to_owned(), Code::Environment, "CNI_IFNAME"),
            (&[("CNI_IFNAME", long.as_str())], GOOD.to_owned(), Code::Environment, "CNI_IFNAME"),
            (&[("CNI_ARGS", "FOO=1")], GOOD.to_owned(), Code::Environment, "FOO"),
            (&[("CNI_ARGS", "IP=x")], GOOD.to_owned(), Code::Environment, "IP=x"),
            (&[("CNI_ARGS", "IPV4=fd00::1/64")], GOOD.to_owned(), Code::Environment, "IPV4="),
            (&[("CNI_ARGS", "MAC=ff:ff:ff:ff:ff:ff")], GOOD.to_owned(), Code::Environment, "MAC="),
            (&[], String::new(), Code::Decode, "standard input"),
            (&[], "{".into(), Code::Decode, "standard input"),
            (&[], "[]".into(), Code::Version, "cniVersion"),
            (&[], with("prevResult", r#"{"ips":[]}"#), Code::Config, "prevResult"),
            (&[("CNI_COMMAND", "CHECK")], GOOD.into(), Code::Config, "prevResult"),
            (&[("CNI_COMMAND", "CHECK")], old.clone(), Code::Version, "CNI_COMMAND"),
            (&[("CNI_COMMAND", "GC")], old.clone(), Code::Version, "CNI_COMMAND"),
            (&[("CNI_COMMAND", "STATUS")], old.clone(), Code::Version, "CNI_COMMAND"),
            (&[("CNI_COMMAND", "GC"), ("CNI_PATH", "")], GOOD.into(), Code::Environment, "CNI_PATH"),
        ] {
            let error = Request::read(&call(changes, &input)).unwrap_err();
            assert_eq!(error.code, code, "{changes:?} {input}");
            assert!(error.message.contains(named), "{changes:?} {input}: {error}");
        }
    }
}
