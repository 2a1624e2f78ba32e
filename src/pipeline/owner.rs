//! Who asked for a flow: the feature and its key, and the cookie that leads back to them.

use std::fmt;
use std::marker::PhantomData;

use arcstr::ArcStr;
use smallvec::SmallVec;
use xxhash_rust::xxh3::xxh3_64;

/// A renderer, as the owner of tables.
pub trait Feature {
    const NAME: &'static str;
}

/// The features, as types.
pub mod owners {
    macro_rules! features {
        ($($name:ident $text:literal)*) => {
            $(
                #[derive(Clone, Copy, Debug)]
                pub struct $name;
                impl super::Feature for $name {
                    const NAME: &'static str = $text;
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
    feature: &'static &'static str,
    key: ArcStr,
}

/// Top byte of every cookie of ours. A flow without it is somebody else's.
pub const COOKIE_MARK: u64 = 0xc0;

/// Whether a flow with this cookie is ours.
pub fn is_ours(cookie: u64) -> bool {
    cookie >> 56 == COOKIE_MARK
}

impl<F: Feature> Owner<F> {
    pub fn new(key: impl Into<ArcStr>) -> Owner<F> {
        let name = OwnerName { feature: const { &F::NAME }, key: key.into() };
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
        OwnerName { feature: &"nobody", key: ArcStr::new() }
    }

    pub fn feature(&self) -> &'static str {
        self.feature
    }

    /// What the feature rendered: an interface, an ELAN, a VPN …
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The cookie of a flow of this owner: the mark, 24 bits that name the owner, and netvirt's number below.
    /// It depends on nothing else, so it is the same after a restart.
    pub fn cookie(&self, number: u32) -> u64 {
        let mut text: SmallVec<[u8; 64]> = self.feature.as_bytes().into();
        text.push(0);
        text.extend_from_slice(self.key.as_bytes());
        COOKIE_MARK << 56 | (xxh3_64(&text) & 0xff_ffff) << 32 | u64::from(number)
    }
}

impl fmt::Display for OwnerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.feature, self.key)
    }
}
