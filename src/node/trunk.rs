//! Pods in a virtual machine: they share the machine's port, each by a VLAN of its own (Kuryr's nested mode). What leads to the container
//! is a port of a bridge in the machine with that tag, or a VLAN device of the machine's own.

use std::collections::BTreeSet;
use std::io;
use std::sync::PoisonError;

use coeus_cni::{Code, Error};

use super::Agent;
use super::add::Undo;
use super::datastore::Trouble;
use super::target::Target;

/// VLAN ids that frames may have (IEEE 802.1Q).
const FIRST: u16 = 1;
const LAST: u16 = 4094;
/// Tags that are tried though the datastore has them as another's: whoever writes entries beside this agent, few are new.
const TRIES: u32 = 100;
/// EOPNOTSUPP and EEXIST.
const NO_SUCH_KIND: i32 = 95;
const EXISTS: i32 = 17;

/// The machine's port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trunk {
    /// Its `external_ids:iface-id` at the switch outside, or its name there.
    pub name: String,
    /// The device in the machine, of which pods get VLAN devices; `None`: they get tagged ports of the machine's bridge, in which that
    /// device is a port.
    pub link: Option<String>,
}

/// The tag after the last one that was given out, so that one that was given back rests as long as it can.
pub fn next(last: u16, taken: &BTreeSet<u16>) -> Option<u16> {
    let last = last.clamp(FIRST - 1, LAST);
    (last + 1..=LAST).chain(FIRST..=last).find(|tag| !taken.contains(tag))
}

impl Agent {
    /// The VLAN by which an interface is a sub-port, in a machine.
    pub(super) fn sub_port(
        &self,
        target: &Target,
        mac: &str,
        undo: &mut Undo<'_>,
    ) -> Result<Option<u16>, Error> {
        match (&self.settings.trunk, target.trunk()) {
            (Some(trunk), _) => self.tag(trunk, target, mac, undo).map(Some),
            (None, None) => Ok(None),
            (None, Some((parent, _))) => {
                let message =
                    format!("{} is a sub-port of {parent}, and this node is no such machine", target.name);
                Err(Error::new(Code::Config, message)
                    .with(format!("give coeus node --trunk {parent}, if it is")))
            }
        }
    }

    /// The VLAN of an interface: the entry's, if it has one, else one that the datastore has as nobody's on this trunk.
    fn tag(&self, trunk: &Trunk, target: &Target, mac: &str, undo: &mut Undo<'_>) -> Result<u16, Error> {
        if let Some((parent, tag)) = target.trunk() {
            if *parent != trunk.name {
                let message =
                    format!("{} is a sub-port of {parent}, and this node is {}", target.name, trunk.name);
                return Err(Error::new(Code::Config, message));
            }
            undo.record.tag = Some(*tag);
            return undo.save().map(|()| *tag);
        }
        let mut why = String::new();
        for _ in 0..TRIES {
            let tag = self.next_tag().ok_or_else(|| {
                Error::new(Code::Again, format!("all VLANs of {} are in use", trunk.name))
                    .with("a machine has at most 4094 pods")
            })?;
            (undo.record.tag, undo.record.is_tag_chosen) = (Some(tag), true);
            undo.save()?;
            match self.datastore.put_trunk(&target.entry.uid, &target.interface, (&trunk.name, tag), mac) {
                Ok(()) => return Ok(tag),
                Err(Trouble::Conflict(other)) => why = other,
                // Who was not answered may have written all the same.
                Err(Trouble::Away(other)) => return Err(Trouble::Away(other).into()),
                Err(other) => {
                    (undo.record.tag, undo.record.is_tag_chosen) = (None, false);
                    return Err(other.into());
                }
            }
        }
        (undo.record.tag, undo.record.is_tag_chosen) = (None, false);
        Err(Error::new(Code::Again, format!("no VLAN of {} for {}: {why}", trunk.name, target.name)))
    }

    fn next_tag(&self) -> Option<u16> {
        let taken = self.records.all().into_iter().filter_map(|record| record.tag).collect();
        let mut last = self.last_tag.lock().unwrap_or_else(PoisonError::into_inner);
        let tag = next(*last, &taken)?;
        *last = tag;
        Some(tag)
    }
}

/// Why there is no VLAN device.
pub(super) fn not_made(parent: &str, error: &io::Error) -> Error {
    match error.raw_os_error() {
        Some(NO_SUCH_KIND) => Error::new(
            Code::Plug,
            format!("{parent}: this kernel has no VLAN devices: {error}"),
        )
        .with(
            "load module 8021q, or start coeus node without --trunk-link and with a --bridge of Open vSwitch",
        ),
        // The one who has it is not gone yet; the next call gets another tag.
        Some(EXISTS) => Error::new(Code::Again, format!("{parent}: a device has that VLAN already: {error}")),
        _ => Error::new(Code::Plug, format!("a VLAN device of {parent}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_tag_is_free_and_the_one_that_was_given_back_comes_last(
            last in 0_u16..5000, taken in prop::collection::btree_set(0_u16..4100, 0..50)
        ) {
            let free = (FIRST..=LAST).filter(|tag| !taken.contains(tag)).count();
            let (mut last, mut all) = (last, taken.clone());
            for _ in 0..free.min(60) {
                let tag = next(last, &all).unwrap();
                prop_assert!((FIRST..=LAST).contains(&tag) && !all.contains(&tag));
                // Given back at once, and not given out again as long as there are others.
                if free > 60 {
                    prop_assert_ne!(next(tag, &taken), Some(tag));
                }
                all.insert(tag);
                last = tag;
            }
        }
    }

    #[test]
    fn tags_are_used_up() {
        let all: BTreeSet<u16> = (FIRST..=LAST).collect();
        assert_eq!(next(7, &all), None);
        assert_eq!(next(LAST, &BTreeSet::new()), Some(FIRST));
        let without = |tag: u16| all.iter().copied().filter(|other| *other != tag).collect();
        assert_eq!(next(7, &without(7)), Some(7));
    }
}
