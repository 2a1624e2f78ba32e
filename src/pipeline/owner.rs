//! Who asked for a flow: the feature and its key, and the cookie that leads back to them.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

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
        Dhcp "dhcp"
        Tunnel "tunnel"
    }
}

/// An owner of feature `F`: what a flow of one of its tables needs.
#[derive(Clone, Debug)]
pub struct Owner<F> {
    name: OwnerName,
    feature: PhantomData<F>,
}

/// Feature and key of an owner, for provenance.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct OwnerName {
    pub feature: &'static str,
    /// What the feature rendered: an interface, an ELAN, a VPN …
    pub key: Arc<str>,
}

/// Top byte of every cookie of ours. A flow without it is somebody else's.
pub const COOKIE_MARK: u64 = 0xc0;

/// Whether a flow with this cookie is ours.
pub fn is_ours(cookie: u64) -> bool {
    cookie >> 56 == COOKIE_MARK
}

impl<F: Feature> Owner<F> {
    pub fn new(key: impl AsRef<str>) -> Owner<F> {
        Owner { name: OwnerName { feature: F::NAME, key: Arc::from(key.as_ref()) }, feature: PhantomData }
    }

    pub fn name(&self) -> &OwnerName {
        &self.name
    }
}

impl OwnerName {
    /// The cookie of a flow of this owner: the mark, 24 bits that name the owner, and netvirt's number below.
    /// It depends on nothing else, so it is the same after a restart.
    pub fn cookie(&self, number: u32) -> u64 {
        let hash = xxh3_64(format!("{}\0{}", self.feature, self.key).as_bytes()) & 0xff_ffff;
        COOKIE_MARK << 56 | hash << 32 | u64::from(number)
    }
}

impl fmt::Display for OwnerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.feature, self.key)
    }
}
