//! Who asked for a flow: the feature and its key, and the cookie that leads back to them.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, LazyLock};

use xxhash_rust::xxh3::Xxh3;

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
    }
}

/// An owner of feature `F`: what a flow of one of its tables needs.
#[derive(Clone, Debug)]
pub struct Owner<F> {
    name: OwnerName,
    feature: PhantomData<F>,
}

/// Feature and key of an owner, for provenance. Its flows share it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnerName(Arc<Name>);

#[derive(PartialEq, Eq, Debug)]
struct Name {
    feature: &'static str,
    key: Box<str>,
    /// What the cookies of all its flows begin with.
    cookie: u64,
}

/// Top byte of every cookie of ours. A flow without it is somebody else's.
pub const COOKIE_MARK: u64 = 0xc0;

/// Whether a flow with this cookie is ours.
pub fn is_ours(cookie: u64) -> bool {
    cookie >> 56 == COOKIE_MARK
}

impl<F: Feature> Owner<F> {
    pub fn new(key: impl AsRef<str>) -> Owner<F> {
        Owner { name: OwnerName::new(F::NAME, key.as_ref()), feature: PhantomData }
    }

    pub fn name(&self) -> &OwnerName {
        &self.name
    }
}

impl OwnerName {
    fn new(feature: &'static str, key: &str) -> OwnerName {
        let mut hash = Xxh3::new();
        hash.update(feature.as_bytes());
        hash.update(&[0]);
        hash.update(key.as_bytes());
        let cookie = COOKIE_MARK << 56 | (hash.digest() & 0xff_ffff) << 32;
        OwnerName(Arc::new(Name { feature, key: key.into(), cookie }))
    }

    /// The owner of what a switch reports: nobody here.
    pub fn nobody() -> OwnerName {
        static NOBODY: LazyLock<OwnerName> = LazyLock::new(|| OwnerName::new("nobody", ""));
        NOBODY.clone()
    }

    pub fn feature(&self) -> &'static str {
        self.0.feature
    }

    /// What the feature rendered: an interface, an ELAN, a VPN …
    pub fn key(&self) -> &str {
        &self.0.key
    }

    /// The cookie of a flow of this owner: the mark, 24 bits that name the owner, and netvirt's number below.
    /// It depends on nothing else, so it is the same after a restart.
    pub fn cookie(&self, number: u32) -> u64 {
        self.0.cookie | u64::from(number)
    }
}

impl fmt::Display for OwnerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0.feature, self.0.key)
    }
}
