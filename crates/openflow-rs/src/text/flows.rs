//! Whole flows, groups and meters.

use std::fmt;

use crate::flow::SEND_FLOW_REMOVED;
use crate::meter::{FLAG_BURST, FLAG_KBPS, FLAG_PKTPS, FLAG_STATS};
use crate::{Bucket, FlowMod, FlowStats, GroupDesc, GroupType, Instruction, Match, MeterConfig};

/// `cookie=…, table=…, priority=…,MATCH actions=…`, with the flag of [`SEND_FLOW_REMOVED`] before the priority.
fn flow(
    f: &mut fmt::Formatter<'_>,
    (cookie, table, priority, flags): (u64, u8, u16, u16),
    match_: &Match,
    instructions: &[Instruction],
) -> fmt::Result {
    let flag = if flags & SEND_FLOW_REMOVED == 0 { "" } else { "send_flow_rem " };
    write!(f, "cookie=0x{cookie:x}, table={table}, {flag}priority={priority}")?;
    let conditions = match_.to_string();
    if !conditions.is_empty() {
        write!(f, ",{conditions}")?;
    }
    f.write_str(" actions=")?;
    if instructions.is_empty() {
        return f.write_str("drop");
    }
    for (at, instruction) in instructions.iter().enumerate() {
        write!(f, "{}{instruction}", if at > 0 { "," } else { "" })?;
    }
    Ok(())
}

impl fmt::Display for FlowMod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        flow(f, (self.cookie, self.table, self.priority, self.flags), &self.match_, &self.instructions)
    }
}

impl fmt::Display for FlowStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        flow(f, (self.cookie, self.table, self.priority, self.flags), &self.match_, &self.instructions)
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bucket=")?;
        // A weight of one is left out, as `ovs-ofctl` does.
        if self.weight > 1 {
            write!(f, "weight:{},", self.weight)?;
        }
        write!(f, "actions={}", super::actions::Actions(&self.actions))
    }
}

impl fmt::Display for GroupDesc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            GroupType::All => "all",
            GroupType::Select => "select",
            GroupType::Indirect => "indirect",
            GroupType::FastFailover => "ff",
        };
        write!(f, "group_id={},type={kind}", self.group)?;
        for bucket in &self.buckets {
            write!(f, ",{bucket}")?;
        }
        Ok(())
    }
}

impl fmt::Display for MeterConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "meter={}", self.meter)?;
        for (flag, name) in
            [(FLAG_KBPS, "kbps"), (FLAG_PKTPS, "pktps"), (FLAG_BURST, "burst"), (FLAG_STATS, "stats")]
        {
            if self.flags & flag != 0 {
                write!(f, " {name}")?;
            }
        }
        f.write_str(" bands=")?;
        for band in &self.bands {
            write!(f, "type=drop rate={} burst_size={}", band.rate, band.burst)?;
        }
        Ok(())
    }
}
