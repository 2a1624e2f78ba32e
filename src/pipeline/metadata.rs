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
    fn a_vpn_id_is_shifted_by_one() {
        assert_eq!(Metadata::new().vpn(VpnId(100_000)).value, 0x30d40);
    }
}
