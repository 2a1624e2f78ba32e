//! Who asked for a flow: the feature and its key, and the cookie that leads back to them.

use std::fmt;
use std::marker::PhantomData;

use arcstr::ArcStr;
use smallvec::SmallVec;
use xxhash_rust::xxh3::xxh3_64;

/// A renderer, as the owner of tables.
pub trait Feature {
    /// Its place among all features.
    const NUMBER: u8;
}

/// The features, as types.
pub mod owners {
    macro_rules! features {
        ($($name:ident $text:literal)*) => {
            /// What they are called, the last one being what a switch reports.
            pub(super) const NAMES: &[&str] = &[$($text,)* "nobody"];

            enum Number {
                $($name,)*
            }

            $(
                #[derive(Clone, Copy, Debug)]
                pub struct $name;
                impl super::Feature for $name {
                    const NUMBER: u8 = Number::$name as u8;
                }
            )*
        };
    }
    features! {
        Pipeline "pipeline"
        Interface "interface"
        Elan "elan"
        Vpn "vpn"
        Arp "arp"
        Nd "nd"
        Antispoof "antispoof"
        Dhcp "dhcp"
        Tunnel "tunnel"
        Nat "nat"
        Policy "policy"
        Service "service"
    }
}

/// An owner of feature `F`: what a flow of one of its tables needs.
#[derive(Clone, Debug)]
pub struct Owner<F> {
    name: OwnerName,
    /// [`OwnerName::cookie`] of zero.
    cookie: u64,
    feature: PhantomData<F>,
}

/// Feature and key of an owner, for provenance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnerName {
    /// Among [`owners::NAMES`].
    feature: u8,
    key: ArcStr,
}

/// Top byte of every cookie of ours. A flow without it is somebody else's.
pub const COOKIE_MARK: u64 = 0xc0;

/// Bit of a cookie of ours: somebody adds up what the flow counts. Its switch is asked for such flows by it, and says what they counted
/// when they end.
pub const COUNTED: u64 = 1 << 56;

/// Whether a flow with this cookie is ours.
pub fn is_ours(cookie: u64) -> bool {
    (cookie & !COUNTED) >> 56 == COOKIE_MARK
}

impl<F: Feature> Owner<F> {
    pub fn new(key: impl Into<ArcStr>) -> Owner<F> {
        let name = OwnerName { feature: F::NUMBER, key: key.into() };
        Owner { cookie: name.cookie(0), name, feature: PhantomData }
    }
}

impl<F> Owner<F> {
    pub fn name(&self) -> &OwnerName {
        &self.name
    }

    /// The cookie of a flow of this owner.
    pub fn cookie(&self, number: u32) -> u64 {
        self.cookie | u64::from(number)
    }
}

impl OwnerName {
    /// The owner of what a switch reports: nobody here.
    pub fn nobody() -> OwnerName {
        OwnerName { feature: owners::NAMES.len() as u8 - 1, key: ArcStr::new() }
    }

    pub fn feature(&self) -> &'static str {
        owners::NAMES.get(usize::from(self.feature)).copied().unwrap_or_default()
    }

    /// The owner as a number, given the keys that there are: its own is put behind them if it is not among them.
    pub(super) fn number(&self, keys: &mut SmallVec<[ArcStr; 1]>) -> usize {
        let known = keys.iter().position(|key| *key == self.key);
        let key = known.unwrap_or_else(|| {
            keys.push(self.key.clone());
            keys.len() - 1
        });
        key * owners::NAMES.len() + usize::from(self.feature)
    }

    /// Whoever of any feature has one of these keys.
    pub(super) fn of_any_feature(keys: &[ArcStr]) -> impl Iterator<Item = OwnerName> {
        (0..keys.len() * owners::NAMES.len()).filter_map(|number| OwnerName::numbered(number, keys))
    }

    /// The owner of that number.
    pub(super) fn numbered(number: usize, keys: &[ArcStr]) -> Option<OwnerName> {
        let feature = (number % owners::NAMES.len()) as u8;
        Some(OwnerName { feature, key: keys.get(number / owners::NAMES.len())?.clone() })
    }

    /// What the feature rendered: an interface, an ELAN, a VPN …
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The cookie of a flow of this owner: the mark, 24 bits that name the owner, and netvirt's number below.
    /// It depends on nothing else, so it is the same after a restart.
    pub fn cookie(&self, number: u32) -> u64 {
        let mut text: SmallVec<[u8; 64]> = self.feature().as_bytes().into();
        text.push(0);
        text.extend_from_slice(self.key.as_bytes());
        COOKIE_MARK << 56 | (xxh3_64(&text) & 0xff_ffff) << 32 | u64::from(number)
    }
}

impl fmt::Display for OwnerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.feature(), self.key)
    }
}

#[cfg(test)]
mod tests {
    use openflow_rs::flow::SEND_FLOW_REMOVED;

    use super::*;
    use crate::pipeline::{Flow, POLICY_TO_DENY};

    /// The mark of what is counted is no part of any number, and such a flow says what it counted when it ends.
    #[test]
    fn flows_that_are_counted_are_ours_and_say_when_they_end() {
        let owner = Owner::<owners::Policy>::new("p");
        let flow = |counted: bool| {
            let flow = Flow::table(POLICY_TO_DENY).priority(10).tagged(0xcb00_7107);
            if counted { flow.counted() } else { flow }.owned_by(&owner)
        };
        let (plain, counted) = (flow(false), flow(true));
        assert_eq!(counted.cookie, plain.cookie | COUNTED);
        assert!(plain.cookie & COUNTED == 0 && is_ours(plain.cookie) && is_ours(counted.cookie));
        assert!(!is_ours(0) && !is_ours(COUNTED));
        assert_eq!((plain.raw().flags, counted.raw().flags), (0, SEND_FLOW_REMOVED));
        assert!(counted.to_string().contains("send_flow_rem priority=10"), "{counted}");
    }
}
