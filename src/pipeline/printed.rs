//! What switches hold, as `ovs-ofctl` prints it, in the form in which flows, groups and meters are printed here.

use super::{SwitchTables, golden};

/// What a switch should hold, one line a flow, group or meter, sorted.
pub fn desired(tables: &SwitchTables) -> Vec<String> {
    sorted(golden::print(tables).lines().map(str::to_owned))
}

/// The same of dumps of flows (with `--no-stats`), groups and meters, one after the other.
pub fn held(dumps: &str) -> Vec<String> {
    // A meter's bands stand on a line of their own.
    sorted(dumps.replace("bands=\n", "bands=").lines().filter_map(|line| read(line.trim())))
}

fn sorted(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<String> = lines.collect();
    lines.sort_unstable();
    lines
}

fn read(line: &str) -> Option<String> {
    if line.starts_with("group_id=") {
        Some(without_bucket_ids(line))
    } else if line.starts_with("meter=") {
        Some(line.to_owned())
    } else {
        line.contains("actions=").then(|| with_table(line))
    }
}

/// Of table 0 the tool says nothing, and of a cookie neither that is 0.
fn with_table(line: &str) -> String {
    let place =
        if line.starts_with("cookie=") { line.find(", ").map_or(line.len(), |comma| comma + 2) } else { 0 };
    let (cookie, rest) = line.split_at(place);
    if rest.starts_with("table=") { line.to_owned() } else { format!("{cookie}table=0, {rest}") }
}

/// OpenFlow 1.3 has no ids of buckets; the tool counts them.
fn without_bucket_ids(line: &str) -> String {
    let mut parts = line.split("bucket_id:");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |whole, part| whole + part.split_once(',').map_or(part, |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ovs_ofctl_prints_is_brought_into_our_form() {
        for (dump, lines) in [
            ("", &[][..]),
            (
                "OFPST_FLOW reply (OF1.3) (xid=0x2):\n cookie=0xc1, table=17, priority=0 actions=drop\n cookie=0xc0, priority=9,in_port=1 actions=drop\n",
                &[
                    "cookie=0xc0, table=0, priority=9,in_port=1 actions=drop",
                    "cookie=0xc1, table=17, priority=0 actions=drop",
                ],
            ),
            (
                "OFPST_GROUP_DESC reply (OF1.3):\n group_id=7,type=all,bucket=bucket_id:0,actions=output:1,bucket=bucket_id:1,actions=output:2\n",
                &["group_id=7,type=all,bucket=actions=output:1,bucket=actions=output:2"],
            ),
            (
                "OFPST_METER_CONFIG reply:\nmeter=1 pktps burst bands=\ntype=drop rate=100 burst_size=9\n\nmeter=2 pktps bands=\ntype=drop rate=5\n",
                &[
                    "meter=1 pktps burst bands=type=drop rate=100 burst_size=9",
                    "meter=2 pktps bands=type=drop rate=5",
                ],
            ),
            // Who put it there has set no cookie.
            (
                " table=60, priority=9 actions=drop\n priority=3 actions=NORMAL\n",
                &["table=0, priority=3 actions=NORMAL", "table=60, priority=9 actions=drop"],
            ),
        ] {
            assert_eq!(held(dump), lines, "{dump}");
        }
    }
}
