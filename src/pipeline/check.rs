//! A flow is held to its table's row: it matches, sets and leads only where that declares.

use openflow_rs::{Action, Ct, Field, Instruction, Subfield, ports};

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
    #[error("{flow}: hands packets to the controller at any rate; use punt_metered")]
    Unmetered { flow: String },
    #[error("{flow}: hands {max_len} bytes of a packet to the controller, {limit} at most", limit = LONGEST_PUNT)]
    Untruncated { flow: String, max_len: u16 },
}

/// Bytes of a packet that the controller is handed at most: an Ethernet frame of 1500 bytes, which no request to it exceeds.
pub const LONGEST_PUNT: u16 = 1514;

impl Flow {
    /// # Errors
    /// The first thing that the flow does and its table's row does not declare.
    pub fn check(&self) -> Result<(), CheckError> {
        let text = || self.to_string();
        let table = self.table;
        let row = row(table).ok_or_else(|| CheckError::NoSuchTable { flow: text(), table })?;
        let (conditions, instructions) = self.parts();
        let metered = instructions.iter().any(|instruction| matches!(instruction, Instruction::Meter(1..)));
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
                    actions.iter().try_for_each(|action| self.check_punt(metered, action))?;
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
            Action::Ct(ct) => self.check_ct(row, ct),
            _ => Ok(()),
        }
    }

    /// A tracked packet may go on in any declared table; what is translated is set.
    fn check_ct(&self, row: &'static Row, ct: &Ct) -> Result<(), CheckError> {
        ct.table.map_or(Ok(()), |table| self.leads(row, table))?;
        ct.exec.iter().try_for_each(|action| self.check_action(row, action))?;
        let nat = ct.nat.as_ref();
        // Without an address it is the way back: whichever of the two was translated.
        if nat.is_some_and(|nat| !nat.destination) {
            self.sets(row, Field::Ipv4Src, u128::from(u32::MAX))?;
        }
        if nat.is_some_and(|nat| !nat.source) {
            self.sets(row, Field::Ipv4Dst, u128::from(u32::MAX))?;
        }
        Ok(())
    }

    fn check_punt(&self, metered: bool, action: &Action) -> Result<(), CheckError> {
        let (max_len, metered) = match action {
            Action::Controller { max_len, meter_id, .. } => (*max_len, metered || *meter_id != 0),
            Action::Output { port: ports::CONTROLLER, max_len } => (*max_len, metered),
            _ => return Ok(()),
        };
        if !metered {
            return Err(CheckError::Unmetered { flow: self.to_string() });
        }
        if max_len > LONGEST_PUNT {
            return Err(CheckError::Untruncated { flow: self.to_string(), max_len });
        }
        Ok(())
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
        Field::IpFrag => "nw_frag",
        Field::Ipv6Src => "ipv6_src",
        Field::Ipv6Dst => "ipv6_dst",
        Field::TcpSrc => "tcp_src",
        Field::TcpDst => "tcp_dst",
        Field::SctpSrc => "sctp_src",
        Field::SctpDst => "sctp_dst",
        Field::UdpSrc => "udp_src",
        Field::UdpDst => "udp_dst",
        Field::IcmpType | Field::Icmpv6Type => "icmp_type",
        Field::IcmpCode | Field::Icmpv6Code => "icmp_code",
        Field::NdTarget => "nd_target",
        Field::NdTll => "nd_tll",
        Field::NdSll => "nd_sll",
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
        Field::Reg7 => "reg7",
        Field::Reg8 => "reg8",
        Field::Reg9 => "reg9",
        Field::CtState => "ct_state",
        Field::CtMark => "ct_mark",
        Field::ConjId => "conj_id",
        Field::Reg5 => "reg5",
        Field::TcpFlags => "tcp_flags",
        Field::CtLabel => "ct_label",
        other => return vec![format!("{other:?}")],
    };
    vec![name.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{LportTag, MacAddr};
    use crate::pipeline::{DHCP, ELAN_DMAC, FIB, Owner, actions, base_flows, matches, owners};

    #[test]
    fn every_miss_keeps_its_row() {
        for flow in base_flows() {
            assert_eq!(flow.check(), Ok(()));
        }
    }

    #[test]
    fn a_punt_has_a_meter_and_an_end() {
        let owner = Owner::<owners::Dhcp>::new("p");
        let sound = Flow::table(DHCP).punt_metered(3, LONGEST_PUNT, b"dhcp").owned_by(&owner);
        assert_eq!(sound.check(), Ok(()));
        let whole = Flow::table(DHCP).punt_metered(3, LONGEST_PUNT + 1, b"dhcp").owned_by(&owner);
        assert!(matches!(whole.check(), Err(CheckError::Untruncated { max_len: 1515, .. })));
        let none = Flow::table(DHCP).punt_metered(0, 100, b"dhcp").owned_by(&owner);
        assert!(matches!(none.check(), Err(CheckError::Unmetered { .. })));
        let output = Action::Output { port: ports::CONTROLLER, max_len: 100 };
        let raw = Instruction::Apply(vec![output]);
        let raw = Flow::new(60, 1, 0, openflow_rs::Match::new(), vec![raw], owner.name().clone());
        assert!(matches!(raw.check(), Err(CheckError::Unmetered { .. })));
    }

    /// The language has no other way to punt: a draft that tries is no flow.
    #[test]
    #[should_panic(expected = "punt_metered")]
    fn a_draft_cannot_punt_on_its_own() {
        let output = Action::Output { port: ports::CONTROLLER, max_len: 100 };
        let _ = Flow::table(DHCP).then([output]).owned_by(&Owner::<owners::Dhcp>::new("p"));
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
