//! Actions and instructions.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::{Hex, mac, port};
use crate::action::{Ct, CtNat, CtZone, Learn, LearnSource, LearnSpec, LearnTarget};
use crate::{Action, Field, Instruction, MatchField, Subfield};

/// Actions one behind the other, `drop` when there are none.
pub(super) struct Actions<'a>(pub &'a [Action]);

impl fmt::Display for Actions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("drop");
        }
        list(f, self.0)
    }
}

fn list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, items: &[T]) -> fmt::Result {
    for (at, item) in items.iter().enumerate() {
        write!(f, "{}{item}", if at > 0 { "," } else { "" })?;
    }
    Ok(())
}

impl fmt::Display for Subfield {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.field.row().long_name;
        match (self.start, self.bits) {
            (0, bits) if bits == self.field.bits() => write!(f, "{name}[]"),
            (start, 1) => write!(f, "{name}[{start}]"),
            (start, bits) => write!(f, "{name}[{start}..{}]", start + bits - 1),
        }
    }
}

fn value(condition: &MatchField) -> String {
    let short = u32::try_from(condition.value).unwrap_or(u32::MAX);
    match condition.field {
        Field::EthSrc | Field::EthDst | Field::ArpSha | Field::ArpTha | Field::NdSll | Field::NdTll => {
            mac(condition.value)
        }
        Field::Ipv4Src | Field::Ipv4Dst | Field::ArpSpa | Field::ArpTpa | Field::TunSrc | Field::TunDst => {
            Ipv4Addr::from(short).to_string()
        }
        Field::Ipv6Src | Field::Ipv6Dst | Field::NdTarget => Ipv6Addr::from(condition.value).to_string(),
        Field::ArpOp
        | Field::IpProto
        | Field::IcmpType
        | Field::IcmpCode
        | Field::Icmpv6Type
        | Field::Icmpv6Code
        | Field::NdReserved
        | Field::NdOptionsType
        | Field::TcpSrc
        | Field::TcpDst
        | Field::UdpSrc
        | Field::UdpDst
        | Field::SctpSrc
        | Field::SctpDst
        | Field::IpTtl => condition.value.to_string(),
        _ => Hex(condition.value).to_string(),
    }
}

/// set_field spells addresses by their OpenFlow 1.2 names.
fn set_name(field: Field) -> &'static str {
    match field {
        Field::EthSrc => "eth_src",
        Field::EthDst => "eth_dst",
        Field::Ipv4Src => "ip_src",
        Field::Ipv4Dst => "ip_dst",
        Field::Icmpv6Type => "icmpv6_type",
        Field::Icmpv6Code => "icmpv6_code",
        field => field.row().name,
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Output { port: crate::ports::CONTROLLER, max_len } => write!(f, "CONTROLLER:{max_len}"),
            Action::Output { port: number @ crate::ports::IN_PORT..=crate::ports::LOCAL, .. } => {
                f.write_str(&port(*number))
            }
            Action::Output { port: number, .. } => write!(f, "output:{number}"),
            Action::Group(group) => write!(f, "group:{group}"),
            // A VLAN id with its bit is printed in decimal, as ovs-ofctl does.
            Action::SetField(condition) if condition.field == Field::VlanVid => {
                write!(f, "set_field:{}->vlan_vid", condition.value)
            }
            Action::SetField(condition) => {
                write!(f, "set_field:{}->{}", value(condition), set_name(condition.field))
            }
            Action::DecTtl => f.write_str("dec_ttl"),
            Action::PushVlan(ethertype) => write!(f, "push_vlan:0x{ethertype:04x}"),
            Action::PopVlan => f.write_str("pop_vlan"),
            Action::PopMpls(ethertype) => write!(f, "pop_mpls:0x{ethertype:04x}"),
            Action::SetQueue(queue) => write!(f, "set_queue:{queue}"),
            Action::Load { dst, value } => write!(f, "load:{}->{dst}", Hex(u128::from(*value))),
            Action::Move { src, dst } => write!(f, "move:{src}->{dst}"),
            Action::Push(subfield) => write!(f, "push:{subfield}"),
            Action::Pop(subfield) => write!(f, "pop:{subfield}"),
            Action::Resubmit { in_port: 0xfff8, table } => write!(f, "resubmit(,{table})"),
            Action::Resubmit { in_port, table } => write!(f, "resubmit({in_port},{table})"),
            Action::Ct(ct) => ct.fmt(f),
            Action::CtClear => f.write_str("ct_clear"),
            Action::Learn(learn) => learn.fmt(f),
            Action::Conjunction { id, clause, clauses } => {
                write!(f, "conjunction({id},{}/{clauses})", u16::from(*clause) + 1)
            }
            Action::Controller { max_len, controller_id, reason, userdata, pause, meter_id } => {
                let mut parts = Vec::new();
                if *reason != 1 {
                    parts.push(format!("reason={reason}"));
                }
                if *max_len != 0xffff {
                    parts.push(format!("max_len={max_len}"));
                }
                if *controller_id != 0 {
                    parts.push(format!("id={controller_id}"));
                }
                if !userdata.is_empty() {
                    let bytes: Vec<String> = userdata.iter().map(|byte| format!("{byte:02x}")).collect();
                    parts.push(format!("userdata={}", bytes.join(".")));
                }
                if *pause {
                    parts.push("pause".into());
                }
                if *meter_id != 0 {
                    parts.push(format!("meter_id={meter_id}"));
                }
                write!(f, "controller({})", parts.join(","))
            }
            Action::Note(note) => {
                let bytes: Vec<String> = note.iter().map(|byte| format!("{byte:02x}")).collect();
                write!(f, "note:{}", bytes.join("."))
            }
        }
    }
}

impl fmt::Display for Ct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.commit {
            parts.push("commit".to_owned());
        }
        if self.force {
            parts.push("force".into());
        }
        parts.extend(self.table.map(|table| format!("table={table}")));
        match &self.zone {
            CtZone::Number(0) => {}
            CtZone::Number(zone) => parts.push(format!("zone={zone}")),
            CtZone::Field(subfield) => parts.push(format!("zone={subfield}")),
        }
        parts.extend(self.nat.as_ref().map(ToString::to_string));
        if !self.exec.is_empty() {
            parts.push(format!("exec({})", Actions(&self.exec)));
        }
        match self.alg {
            0 => {}
            21 => parts.push("alg=ftp".into()),
            69 => parts.push("alg=tftp".into()),
            other => parts.push(format!("alg={other}")),
        }
        write!(f, "ct({})", parts.join(","))
    }
}

impl fmt::Display for CtNat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.source || self.destination {
            let mut range = String::from(if self.source { "src" } else { "dst" });
            if let Some((first, last)) = self.addresses {
                range += &format!("={first}");
                if first != last {
                    range += &format!("-{last}");
                }
                if let Some((first, last)) = self.ports {
                    range += &format!(":{first}");
                    if first != last {
                        range += &format!("-{last}");
                    }
                }
            }
            if let Some((first, last)) = self.addresses_v6 {
                let bracketed = self.ports.is_some();
                let spell = |address| if bracketed { format!("[{address}]") } else { format!("{address}") };
                range += &format!("={}", spell(first));
                if first != last {
                    range += &format!("-{}", spell(last));
                }
                if let Some((first, last)) = self.ports {
                    range += &format!(":{first}");
                    if first != last {
                        range += &format!("-{last}");
                    }
                }
            }
            parts.push(range);
        }
        for (set, name) in [(self.persistent, "persistent"), (self.hash, "hash"), (self.random, "random")] {
            if set {
                parts.push(name.into());
            }
        }
        if parts.is_empty() { f.write_str("nat") } else { write!(f, "nat({})", parts.join(",")) }
    }
}

impl fmt::Display for Learn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "learn(table={}", self.table)?;
        if self.idle_timeout != 0 {
            write!(f, ",idle_timeout={}", self.idle_timeout)?;
        }
        if self.hard_timeout != 0 {
            write!(f, ",hard_timeout={}", self.hard_timeout)?;
        }
        if self.fin_idle_timeout != 0 {
            write!(f, ",fin_idle_timeout={}", self.fin_idle_timeout)?;
        }
        if self.fin_hard_timeout != 0 {
            write!(f, ",fin_hard_timeout={}", self.fin_hard_timeout)?;
        }
        if self.priority != 0x8000 {
            write!(f, ",priority={}", self.priority)?;
        }
        if self.flags & 1 != 0 {
            f.write_str(",send_flow_rem")?;
        }
        if self.flags & 2 != 0 {
            f.write_str(",delete_learned")?;
        }
        if self.cookie != 0 {
            write!(f, ",cookie=0x{:x}", self.cookie)?;
        }
        for spec in &self.specs {
            write!(f, ",{spec}")?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for LearnSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.source, &self.target) {
            (LearnSource::Field(source), LearnTarget::Match(target)) if source == target => target.fmt(f),
            (LearnSource::Field(source), LearnTarget::Match(target)) => write!(f, "{target}={source}"),
            (LearnSource::Value(number), LearnTarget::Match(target))
                if target.bits == target.field.bits() =>
            {
                let condition = MatchField::exact(target.field, *number);
                match target.field {
                    Field::EthType => write!(f, "eth_type=0x{number:x}"),
                    field => write!(f, "{}={}", set_name(field), value(&condition)),
                }
            }
            (LearnSource::Value(number), LearnTarget::Match(target)) => write!(f, "{target}=0x{number:x}"),
            (LearnSource::Field(source), LearnTarget::Load(target)) => write!(f, "load:{source}->{target}"),
            (LearnSource::Value(number), LearnTarget::Load(target)) => {
                write!(f, "load:0x{number:x}->{target}")
            }
            (LearnSource::Field(source), LearnTarget::Output) => write!(f, "output:{source}"),
            (LearnSource::Value(number), LearnTarget::Output) => write!(f, "output:{number}"),
        }
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Instruction::Goto(table) => write!(f, "goto_table:{table}"),
            Instruction::WriteMetadata { value, mask: u64::MAX } => {
                write!(f, "write_metadata:{}", Hex(u128::from(*value)))
            }
            Instruction::WriteMetadata { value, mask } => {
                write!(f, "write_metadata:{}/{}", Hex(u128::from(*value)), Hex(u128::from(*mask)))
            }
            Instruction::Apply(actions) => list(f, actions),
            Instruction::Write(actions) => write!(f, "write_actions({})", Actions(actions)),
            Instruction::Clear => f.write_str("clear_actions"),
            Instruction::Meter(meter) => write!(f, "meter:{meter}"),
        }
    }
}
