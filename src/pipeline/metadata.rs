use openflow_rs::{Field, Match};

use super::matches::is_from_outside;
use crate::net::{ElanTag, LportTag, VpnId};

/// Value and mask of the metadata register, put together from its parts (`pipelines/netvirt.toml`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Metadata {
    pub value: u64,
    pub mask: u64,
}

impl Metadata {
    pub fn new() -> Metadata {
        Metadata::default()
    }

    fn part(mut self, value: u64, low: u32, width: u32) -> Metadata {
        let mask = ((1 << width) - 1) << low;
        self.value |= value << low & mask;
        self.mask |= mask;
        self
    }

    pub fn service_index(self, index: u8) -> Metadata {
        self.part(u64::from(index), 60, 4)
    }

    pub fn lport(self, tag: LportTag) -> Metadata {
        self.part(u64::from(tag.0), 40, 20)
    }

    pub fn elan(self, tag: ElanTag) -> Metadata {
        self.part(u64::from(tag.0), 24, 16)
    }

    pub fn vpn(self, id: VpnId) -> Metadata {
        self.part(u64::from(id.0), 1, 23)
    }

    pub fn split_horizon(self, from_tunnel: bool) -> Metadata {
        self.part(u64::from(from_tunnel), 0, 1)
    }

    /// Clears a part that the caller does not fill, so that nothing of an earlier pass stays.
    pub fn no_service(self) -> Metadata {
        self.part(0, 24, 16).part(0, 1, 23)
    }
}

/// The port that a packet came in by, as a match or a punted packet's metadata says it; `None`: nothing is said of it.
pub fn came_by(conditions: &Match) -> Option<LportTag> {
    Some(LportTag((conditions.get(Field::Metadata)?.value >> 40 & 0xf_ffff) as u32))
}

/// The port that a packet goes out of.
pub fn goes_to(conditions: &Match) -> Option<LportTag> {
    Some(LportTag((conditions.get(Field::Reg6)?.value >> 8 & 0xf_ffff) as u32))
}

/// The VPN that a packet is routed in.
pub fn routed_in(conditions: &Match) -> Option<VpnId> {
    Some(VpnId((conditions.get(Field::Metadata)?.value >> 1 & 0x7f_ffff) as u32))
}

/// Whether a packet came from outside ([`is_from_outside`]).
pub fn came_from_outside(conditions: &Match) -> bool {
    let bit = is_from_outside(true);
    conditions.get(bit.field).is_some_and(|said| said.value & bit.mask == bit.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::REGISTERS;

    #[test]
    fn parts_stand_where_the_pipeline_file_says() {
        let one = |name: &str| {
            REGISTERS.iter().find(|register| register.name == name).map(|register| register.mask())
        };
        assert_eq!(Some(Metadata::new().service_index(0).mask), one("metadata.service-index"));
        assert_eq!(Some(Metadata::new().lport(LportTag(0)).mask), one("metadata.lport"));
        assert_eq!(Some(Metadata::new().elan(ElanTag(0)).mask), one("metadata.elan"));
        assert_eq!(Some(Metadata::new().vpn(VpnId(0)).mask), one("metadata.vpn"));
        assert_eq!(Some(Metadata::new().split_horizon(true).mask), one("metadata.split-horizon"));
    }

    #[test]
    fn what_is_read_is_what_was_written() {
        let parts = Metadata::new().service_index(15).lport(LportTag(0xf_fffe)).elan(ElanTag(0xffff));
        let routed = parts.vpn(VpnId(0x7f_fffe)).split_horizon(true);
        let conditions = Match::new()
            .with_masked(Field::Metadata, routed.value, routed.mask)
            .with(Field::Reg6, 0xf000_00ff_u32 | 0x1_2345 << 8);
        assert_eq!(came_by(&conditions), Some(LportTag(0xf_fffe)));
        assert_eq!(routed_in(&conditions), Some(VpnId(0x7f_fffe)));
        assert_eq!(goes_to(&conditions), Some(LportTag(0x1_2345)));
        assert_eq!([came_by(&Match::new()), goes_to(&Match::new())], [None; 2]);
    }

    #[test]
    fn a_vpn_id_is_shifted_by_one() {
        assert_eq!(Metadata::new().vpn(VpnId(100_000)).value, 0x30d40);
    }
}
