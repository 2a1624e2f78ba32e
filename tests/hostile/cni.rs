//! Standard input of the CNI plugin, for each command; and calls as the plugin hands them to the agent, with their environment. What is refused has a code of
//! the specification, and a message.

use coeus_cni::{Answer, Call, Request, Success};

const COMMANDS: [&str; 5] = ["ADD", "DEL", "CHECK", "GC", "STATUS"];

pub fn take(bytes: &[u8]) {
    let input = String::from_utf8_lossy(bytes).into_owned();
    if let Ok(call) = serde_json::from_str::<Call>(&input) {
        read(&call);
    }
    for command in COMMANDS {
        let variables = [
            ("CNI_COMMAND", command),
            ("CNI_CONTAINERID", "c1"),
            ("CNI_NETNS", "/run/netns/c1"),
            ("CNI_IFNAME", "eth0"),
            ("CNI_PATH", "/opt/cni/bin"),
            ("CNI_ARGS", "IgnoreUnknown=1;K8S_POD_NAME=p1;K8S_POD_NAMESPACE=blue"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        read(&Call::new(variables.into_iter(), input.clone()));
    }
    if let Ok(value) = serde_json::from_slice::<serde_json::Value>(bytes) {
        let _ = Success::parse(&value);
    }
}

fn read(call: &Call) {
    let version = call.peek("cniVersion").unwrap_or_default();
    match Request::read(call) {
        Ok(request) => {
            let _ = (request.pod_uid(), request.pod_name(), request.pod_namespace());
        }
        Err(error) => {
            let Answer { exit, output } = Answer::failed(&error, &version);
            let said: serde_json::Value = serde_json::from_str(&output).unwrap();
            assert!(exit == 1 && said["code"].as_u64().is_some_and(|code| code > 0), "{output}");
            assert!(said["msg"].as_str().is_some_and(|msg| !msg.is_empty()), "{output}");
        }
    }
}
