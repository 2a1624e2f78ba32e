//! plan and explain: what a write would do, and why things are as they are.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::output::{Format, print, show};
use super::table::plain;
use super::verbs::{self, Write};
use super::{Client, Failure, Table};

const MODULE: &str = "coeus-explain";

/// A write to be planned.
#[derive(clap::Subcommand, Debug, Clone)]
pub enum Plan {
    /// What putting this would do
    Put {
        /// The resource
        path: String,
        /// File with the body, - for standard input
        #[arg(short, long, default_value = "-")]
        file: PathBuf,
    },
    /// What this patch would do
    Patch {
        /// The resource
        path: String,
        /// File with the body, - for standard input
        #[arg(short, long, default_value = "-")]
        file: PathBuf,
    },
    /// What deleting this would do
    Delete {
        /// The resource
        path: String,
    },
}

/// `coeus plan`: the exact flows, groups and meters; nothing is committed.
pub fn plan(client: &Client, plan: &Plan, output: Format) -> Result<(), Failure> {
    let (how, path, file) = match plan {
        Plan::Put { path, file } => (Write::Put, path, Some(file)),
        Plan::Patch { path, file } => (Write::Patch, path, Some(file)),
        Plan::Delete { path } => (Write::Delete, path, None),
    };
    let query = [("dry-run", "flows".to_owned())];
    let answer =
        verbs::send(client, how, ("/rests/data", path.as_str()), file.map(PathBuf::as_path), &query, None)?;
    let found = answer.json("plan")?;
    show_plan(found.get("coeus-explain:plan").unwrap_or(&Value::Null), output)
}

/// What to explain.
#[derive(clap::Subcommand, Debug, Clone)]
pub enum Explain {
    /// Who asked for a flow: the objects, revision and author behind it
    Flow {
        /// Only this switch (16 hexadecimal digits)
        #[arg(long, value_name = "DPID")]
        switch: Option<String>,
        #[arg(long)]
        table: Option<u8>,
        /// As ovs-ofctl prints it
        #[arg(long)]
        cookie: Option<String>,
        /// Text that the flow contains, such as dl_dst=02:00:00:00:00:01
        #[arg(long, name = "match", value_name = "TEXT")]
        text: Option<String>,
    },
    /// Everything that an object causes
    Object {
        /// The resource
        path: String,
    },
    /// What goes away, or changes, if this is deleted
    Impact {
        /// The resource
        path: String,
    },
}

/// `coeus flows`.
#[derive(clap::Args, Debug, Clone)]
pub struct Flows {
    /// Only this switch (16 hexadecimal digits)
    #[arg(long, value_name = "DPID")]
    pub switch: Option<String>,
    #[arg(long)]
    pub table: Option<u8>,
    /// As ovs-ofctl prints it
    #[arg(long)]
    pub cookie: Option<String>,
    /// Text that the flow contains, such as dl_dst=02:00:00:00:00:01
    #[arg(long = "match", value_name = "TEXT")]
    pub text: Option<String>,
    /// Most flows to list
    #[arg(long, default_value = "1000")]
    pub limit: u32,
    #[arg(short, long, value_enum, default_value = "table")]
    pub output: Format,
    /// Instead of asking a controller, compute them from the data of one that is stopped
    #[arg(long, value_name = "DIR", conflicts_with_all = ["table", "cookie", "text", "limit", "output"])]
    pub data_dir: Option<std::path::PathBuf>,
}

/// What switches should hold.
pub fn list_flows(client: &Client, asked: &Flows) -> Result<(), Failure> {
    let given = [
        ("dpid", asked.switch.clone().map(Value::from)),
        ("table", asked.table.map(Value::from)),
        ("cookie", asked.cookie.clone().map(Value::from)),
        ("match", asked.text.clone().map(Value::from)),
        ("limit", Some(asked.limit.into())),
    ];
    let input: serde_json::Map<_, _> =
        given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    let found = client.call(MODULE, "list-flows", Value::Object(input))?;
    let listed = found.get("flow").cloned().unwrap_or_else(|| json!([]));
    let wide = asked.output == Format::Wide;
    show(&listed, asked.output, |listed| flow_table(listed, wide))?;
    let (count, shown) = (found["flows"].as_u64().unwrap_or(0), listed.as_array().map_or(0, Vec::len) as u64);
    if count > shown && matches!(asked.output, Format::Table | Format::Wide) {
        print(format!("and {} more (--limit)\n", count - shown))?;
    }
    Ok(())
}

fn flow_table(listed: &Value, wide: bool) -> Table {
    let mut table = if wide {
        Table::new(["SWITCH", "OWNER", "FLOW"])
    } else {
        Table::new(["SWITCH", "TABLE", "PRIORITY", "FLOW"])
    };
    for flow in listed.as_array().into_iter().flatten() {
        let cell = |name: &str| flow.get(name).map(plain).unwrap_or_default();
        if wide {
            table.row([cell("dpid"), cell("owner"), cell("line")]);
        } else {
            let line = cell("line");
            // Cookie, table and priority stand before match and actions.
            let rest = line.split_once("priority=").map_or(line.as_str(), |(_, rest)| rest);
            let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches([',', ' ']);
            table.row([cell("dpid"), cell("table"), cell("priority"), rest.to_owned()]);
        }
    }
    table
}

/// `coeus explain`.
pub fn explain(client: &Client, explain: &Explain, output: Format) -> Result<(), Failure> {
    match explain {
        Explain::Flow { switch, table, cookie, text } => {
            let given = [
                ("dpid", switch.clone().map(Value::from)),
                ("table", table.map(Value::from)),
                ("cookie", cookie.clone().map(Value::from)),
                ("match", text.clone().map(Value::from)),
            ];
            let input: serde_json::Map<_, _> =
                given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
            let found = client.call(MODULE, "flow", Value::Object(input))?;
            match output {
                Format::Table | Format::Wide => print(flows(&found)),
                _ => show(&found, output, Table::of),
            }
        }
        Explain::Object { path } => {
            show_plan(&client.call(MODULE, "object", json!({ "path": verbs::path(path) }))?, output)
        }
        Explain::Impact { path } => {
            show_plan(&client.call(MODULE, "impact", json!({ "path": verbs::path(path) }))?, output)
        }
    }
}

/// Flows, each with what is behind it.
fn flows(found: &Value) -> String {
    let mut text = String::new();
    for flow in found.get("flow").and_then(Value::as_array).into_iter().flatten() {
        let cell = |value: &Value, name: &str| value.get(name).map(plain).unwrap_or_default();
        text += &format!("{}  {}\n", cell(flow, "dpid"), cell(flow, "line"));
        text += &format!("    rendered by {} for {}\n", cell(flow, "feature"), cell(flow, "key"));
        for object in flow.get("object").and_then(Value::as_array).into_iter().flatten() {
            text += &format!("    from {}", cell(object, "path"));
            if object.get("revision").is_some() {
                let (revision, author, time) =
                    (cell(object, "revision"), cell(object, "author"), cell(object, "time"));
                text += &format!(" (revision {revision}, {author}, {time})");
            }
            text.push('\n');
        }
    }
    if text.is_empty() { "no flow of ours is like that\n".into() } else { text }
}

/// A plan: its lines, or all of it.
pub fn show_plan(plan: &Value, output: Format) -> Result<(), Failure> {
    match output {
        Format::Table | Format::Wide => print(lines(plan, output == Format::Wide)),
        _ => show(plan, output, Table::of),
    }
}

fn lines(plan: &Value, wide: bool) -> String {
    let mut text = String::new();
    for line in plan.get("line").and_then(Value::as_array).into_iter().flatten() {
        text += &plain(line);
        text.push('\n');
    }
    let nodes = plan.get("node").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if wide {
        for node in nodes {
            let cell = |name: &str| node.get(name).map(plain).unwrap_or_default();
            text += &format!("{} {} {}\n", cell("operation"), cell("datastore"), cell("path"));
        }
    } else if !nodes.is_empty() {
        text += &match nodes.len() {
            1 => "and 1 derived node (-o wide lists it)\n".to_owned(),
            count => format!("and {count} derived nodes (-o wide lists them)\n"),
        };
    }
    if text.is_empty() {
        text += "nothing on any switch\n";
    }
    if let Some(reason) = plan.get("reason") {
        text += &format!("{}\n", plain(reason));
    }
    for path in plan.get("concerns").and_then(Value::as_array).into_iter().flatten() {
        text += &format!("concerns {}\n", plain(path));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_rows() {
        let line = "cookie=0x1, table=51, priority=20,metadata=0x1,dl_dst=02:00:00:00:00:01 actions=drop";
        let listed = json!([{"number": 1, "dpid": "d", "table": 51, "priority": 20, "cookie": "0x1", "owner": "elan of e", "line": line},
            {"number": 2, "dpid": "d", "table": 0, "priority": 0, "cookie": "0x1", "owner": "o", "line": "cookie=0x1, table=0, priority=0 actions=drop"}]);
        let text = flow_table(&listed, false).render();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "d       51     20        metadata=0x1,dl_dst=02:00:00:00:00:01 actions=drop");
        assert!(lines[2].ends_with("0         actions=drop"), "{text}");
        assert!(flow_table(&listed, true).render().contains(line));
    }

    #[test]
    fn plans_and_flows_are_lines() {
        let plan = json!({"line": ["000a + table=0", "000a - table=1"],
            "node": [{"operation": "added", "datastore": "config", "path": "/elan:elan-instances"}]});
        assert_eq!(
            lines(&plan, false),
            "000a + table=0\n000a - table=1\nand 1 derived node (-o wide lists it)\n"
        );
        assert!(lines(&plan, true).ends_with("added config /elan:elan-instances\n"));
        assert_eq!(lines(&Value::Null, false), "nothing on any switch\n");
        let found = json!({"flow": [{"dpid": "000a", "line": "table=0", "feature": "elan", "key": "blue:p1",
            "object": [{"path": "pod:coe/pods=1", "revision": "7", "author": "admin", "time": "now"}, {"path": "x"}]}]});
        assert_eq!(
            flows(&found),
            "000a  table=0\n    rendered by elan for blue:p1\n    from pod:coe/pods=1 (revision 7, admin, now)\n    from x\n"
        );
    }
}
