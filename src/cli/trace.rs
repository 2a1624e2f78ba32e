//! trace: what becomes of a packet that a pod sends.

use serde_json::{Value, json};

use super::output::{Format, print, show};
use super::table::plain;
use super::{Client, Failure, Table};

/// `coeus trace`.
#[derive(clap::Args, Debug, Clone)]
pub struct Trace {
    /// The pod that sends: `<namespace>:<pod>`, its uid, or its name if no other pod has it
    pub from: String,
    /// A pod, or an IP address; not needed for dhcp
    #[arg(default_value = "", hide_default_value = true)]
    pub to: String,
    /// What it sends
    #[arg(long, visible_alias = "protocol", value_enum, default_value = "icmp")]
    pub proto: Proto,
    /// Destination port of TCP, UDP and SCTP
    #[arg(long, default_value = "80")]
    pub port: u16,
    /// -o wide also shows each flow and each action
    #[arg(short, long, value_enum, default_value = "table")]
    pub output: Format,
}

/// `--proto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Proto {
    Tcp,
    Udp,
    Sctp,
    /// An echo request, of the addresses' version
    Icmp,
    /// Who has the target's address?
    Arp,
    /// The same for IPv6
    Nd,
    /// A client asks for an address
    Dhcp,
}

/// `coeus trace`: fails with code 1 if the packet gets nowhere it should.
pub fn trace(client: &Client, asked: &Trace) -> Result<(), Failure> {
    let proto = format!("{:?}", asked.proto).to_lowercase();
    let mut input = json!({ "from": asked.from, "protocol": proto, "port": asked.port });
    if !asked.to.is_empty() {
        input["to"] = json!(asked.to);
    }
    let found = client.call("coeus-trace", "packet", input)?;
    match asked.output {
        Format::Table | Format::Wide => print(text(&found, asked.output == Format::Wide))?,
        _ => show(&found, asked.output, Table::of)?,
    }
    let reason = cell(&found, "reason");
    match cell(&found, "verdict").as_str() {
        "delivered" | "answered" | "punted" => Ok(()),
        _ => Err(Failure::Failed(reason)),
    }
}

fn cell(value: &Value, name: &str) -> String {
    value.get(name).map(plain).unwrap_or_default()
}

fn entries<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

/// The way as people read it: a line a table, and what happens there below it.
fn text(found: &Value, wide: bool) -> String {
    let mut text = String::new();
    for note in entries(found, "note") {
        text += &format!("# {}\n", plain(note));
    }
    for hop in entries(found, "hop") {
        let address = cell(hop, "address");
        let address = if address.is_empty() { String::new() } else { format!(" ({address})") };
        text += &format!("switch {}{address}\n  {}\n", cell(hop, "dpid"), cell(hop, "packet"));
        entries(hop, "step").for_each(|step| text += &line(step, wide));
    }
    text + &format!("{}: {}\n", cell(found, "verdict"), cell(found, "reason"))
}

fn line(step: &Value, wide: bool) -> String {
    let depth = step.get("depth").and_then(Value::as_u64).unwrap_or(0);
    let indent = " ".repeat(2 + usize::try_from(depth).unwrap_or(0).min(40));
    let what = cell(step, "text");
    match cell(step, "kind").as_str() {
        "table" => {
            let (table, name, purpose) = (cell(step, "table"), cell(step, "name"), cell(step, "purpose"));
            let mut text = format!("{indent}{table} {name}: {purpose}\n");
            if wide {
                text += &format!("{indent}    {what}\n");
                let changed = cell(step, "changed");
                if !changed.is_empty() {
                    text += &format!("{indent}    arrives with {changed}\n");
                }
            }
            text + &behind(step, &indent)
        }
        "action" if !wide => String::new(),
        "output" | "punt" | "drop" => format!("{indent}=> {what}\n"),
        _ => format!("{indent}{what}\n"),
    }
}

/// The configuration behind a flow.
fn behind(step: &Value, indent: &str) -> String {
    let (feature, key) = (cell(step, "feature"), cell(step, "key"));
    if feature.is_empty() || feature == "pipeline" {
        return String::new();
    }
    let mut text = format!("{indent}    {feature} {key}");
    let shown: Vec<&Value> = entries(step, "object").collect();
    let total = step.get("objects").and_then(Value::as_u64).unwrap_or(0);
    // One object is the reason; of many, their number says more.
    if let [only] = shown[..] {
        text += &format!(", from {}", cell(only, "path"));
        if only.get("revision").is_some() {
            text += &format!(" (revision {}, {})", cell(only, "revision"), cell(only, "author"));
        }
    } else if total > 0 {
        text += &format!(", from {total} objects");
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_is_a_line_a_table() {
        let found = json!({
            "verdict": "dropped", "reason": "nobody wants it", "note": ["so be it"],
            "hop": [{"dpid": "000a", "address": "192.0.2.1", "packet": "arp", "step": [
                {"kind": "table", "depth": 0, "table": 0, "name": "lport-ingress", "purpose": "Name the port.",
                 "text": "table=0", "feature": "interface", "key": "blue:p1", "objects": 1,
                 "object": [{"path": "pod:coe/pods=1", "revision": "7", "author": "admin"}]},
                {"kind": "action", "depth": 1, "text": "resubmit(,17)"},
                {"kind": "drop", "depth": 1, "text": "dropped: the flow drops it"}]}]
        });
        assert_eq!(
            text(&found, false),
            "# so be it\nswitch 000a (192.0.2.1)\n  arp\n  0 lport-ingress: Name the port.\n      \
             interface blue:p1, from pod:coe/pods=1 (revision 7, admin)\n   => dropped: the flow drops it\n\
             dropped: nobody wants it\n"
        );
        assert!(text(&found, true).contains("resubmit(,17)"));
    }
}
