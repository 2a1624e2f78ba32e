//! A flow is held to its table's row: it matches, sets and leads only where that declares.

use openflow_rs::{Action, Field, Instruction, Subfield};

use super::flow::Flow;
use super::tables::{REGISTERS, Row, row};

/// A flow does what its table's row does not declare.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    #[error("{flow}: table {table} is not in the pipeline file")]
    NoSuchTable { flow: String, table: u8 },
    #[error("{flow}: table {table} does not match on {field}")]
    Match { flow: String, table: &'static str, field: String },
    #[error("{flow}: table {table} does not set {field}")]
    Set { flow: String, table: &'static str, field: String },
    #[error("{flow}: table {table} does not lead to table {next}")]
    Next { flow: String, table: &'static str, next: u8 },
    #[error("{flow}: goto_table leads forward only, resubmit to table {next}")]
    Backwards { flow: String, next: u8 },
}

impl Flow {
    /// # Errors
    /// The first thing that the flow does and its table's row does not declare.
    pub fn check(&self) -> Result<(), CheckError> {
        let text = || self.to_string();
        let table = self.table;
        let row = row(table).ok_or_else(|| CheckError::NoSuchTable { flow: text(), table })?;
        let (conditions, instructions) = self.parts();
        for condition in &conditions.fields {
            for field in names(condition.field, condition.mask) {
                if !row.matches.contains(&field.as_str()) {
                    return Err(CheckError::Match { flow: text(), table: row.name, field });
                }
            }
        }
        for instruction in &instructions {
            match instruction {
                Instruction::Goto(next) => {
                    self.leads(row, *next)?;
                    if *next <= table {
                        return Err(CheckError::Backwards { flow: text(), next: *next });
                    }
                }
                Instruction::WriteMetadata { mask, .. } => {
                    self.sets(row, Field::Metadata, u128::from(*mask))?
                }
                Instruction::Apply(actions) | Instruction::Write(actions) => {
                    actions.iter().try_for_each(|action| self.check_action(row, action))?;
                }
                Instruction::Clear | Instruction::Meter(_) => {}
            }
        }
        Ok(())
    }

    fn check_action(&self, row: &'static Row, action: &Action) -> Result<(), CheckError> {
        let bits = |place: &Subfield| (u128::MAX >> (128 - place.bits)) << place.start;
        match action {
            Action::SetField(value) => self.sets(row, value.field, value.mask),
            Action::Load { dst, .. } | Action::Move { dst, .. } | Action::Pop(dst) => {
                self.sets(row, dst.field, bits(dst))
            }
            Action::DecTtl => self.sets(row, Field::IpTtl, 0xff),
            Action::Resubmit { table, .. } => self.leads(row, *table),
            _ => Ok(()),
        }
    }

    fn sets(&self, row: &'static Row, field: Field, mask: u128) -> Result<(), CheckError> {
        // tun_id is also the scratch register in which a broadcast bucket names its port; buckets are not flows.
        match names(field, mask).into_iter().find(|name| !row.set.contains(&name.as_str())) {
            Some(field) => Err(CheckError::Set { flow: self.to_string(), table: row.name, field }),
            None => Ok(()),
        }
    }

    fn leads(&self, from: &'static Row, next: u8) -> Result<(), CheckError> {
        let declared = row(next).is_some_and(|to| from.next.contains(&to.name) || from.miss == to.name);
        if declared {
            Ok(())
        } else {
            Err(CheckError::Next { flow: self.to_string(), table: from.name, next })
        }
    }
}

/// The names under which the pipeline file lists a field: the registers that the mask touches, or the field itself.
fn names(field: Field, mask: u128) -> Vec<String> {
    let name = match field {
        Field::Metadata => {
            let touched = REGISTERS.iter().filter(|register| {
                register.name.starts_with("metadata.") && u128::from(register.mask()) & mask != 0
            });
            return touched.map(|register| register.name.to_owned()).collect();
        }
        Field::NxInPort | Field::InPort => "in_port",
        Field::EthSrc => "dl_src",
        Field::EthDst => "dl_dst",
        Field::EthType => "dl_type",
        Field::VlanVid => "vlan_vid",
        Field::IpProto => "nw_proto",
        Field::Ipv4Src => "nw_src",
        Field::Ipv4Dst => "nw_dst",
        Field::IpTtl => "nw_ttl",
        Field::Ipv6Src => "ipv6_src",
        Field::Ipv6Dst => "ipv6_dst",
        Field::UdpSrc => "udp_src",
        Field::UdpDst => "udp_dst",
        Field::IcmpType | Field::Icmpv6Type => "icmp_type",
        Field::IcmpCode | Field::Icmpv6Code => "icmp_code",
        Field::NdTarget => "nd_target",
        Field::NdTll => "nd_tll",
        Field::NdReserved => "nd_reserved",
        Field::NdOptionsType => "nd_options_type",
        Field::ArpOp => "arp_op",
        Field::ArpSpa => "arp_spa",
        Field::ArpTpa => "arp_tpa",
        Field::ArpSha => "arp_sha",
        Field::ArpTha => "arp_tha",
        Field::TunnelId => "tun_id",
        Field::TunDst => "tun_dst",
        Field::Reg6 => "reg6",
        other => return vec![format!("{other:?}")],
    };
    vec![name.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{LportTag, MacAddr};
    use crate::pipeline::{ELAN_DMAC, FIB, Owner, actions, base_flows, matches, owners};

    #[test]
    fn every_miss_keeps_its_row() {
        for flow in base_flows() {
            assert_eq!(flow.check(), Ok(()));
        }
    }

    #[test]
    fn what_the_row_does_not_declare_is_named() {
        let owner = Owner::<owners::Elan>::new("e");
        let match_ = Flow::table(ELAN_DMAC).matching([matches::ipv4()]).owned_by(&owner);
        assert!(matches!(match_.check(), Err(CheckError::Match { field, .. }) if field == "dl_type"));
        let set = Flow::table(ELAN_DMAC).then([actions::set_eth_src(MacAddr([0; 6]))]).owned_by(&owner);
        assert!(matches!(set.check(), Err(CheckError::Set { field, .. }) if field == "dl_src"));
        let next = Flow::table(ELAN_DMAC)
            .then([actions::egress_to(LportTag(1)), actions::resubmit(FIB)])
            .owned_by(&owner);
        assert!(matches!(next.check(), Err(CheckError::Next { next: 21, .. })));
    }
}
