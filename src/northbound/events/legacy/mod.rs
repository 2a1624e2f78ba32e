//! OpenDaylight's older way to be told of changes: an RPC gives a stream its name, GET of the stream says where its websocket is.
//!
//! The name says everything, so nothing has to be remembered between the three steps.

pub mod document;
pub mod server;
mod stream;

use crate::northbound::restconf::Encoding;
use crate::schema::{DataPath, Schema};

use super::source::Source;

/// How far below the path changes are told (MD-SAL's `DataChangeScope`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// The node itself.
    Base,
    /// Its children, too.
    One,
    Subtree,
}

impl Scope {
    const ALL: [(Scope, &'static str); 3] =
        [(Scope::Base, "BASE"), (Scope::One, "ONE"), (Scope::Subtree, "SUBTREE")];

    /// May a change so many levels below the path be told?
    pub fn reaches(self, levels: usize) -> bool {
        match self {
            Scope::Base => levels == 0,
            Scope::One => levels <= 1,
            Scope::Subtree => true,
        }
    }
}

/// What a stream watches.
#[derive(Clone, PartialEq, Debug)]
pub struct Watched {
    pub source: Source,
    pub path: DataPath,
    pub scope: Scope,
    pub encoding: Encoding,
}

const PREFIX: &str = "data-change-event-subscription/";

impl Watched {
    /// The name of the stream, as OpenDaylight spells it.
    pub fn name(&self, schema: &Schema) -> String {
        let store = if self.source == Source::State { "OPERATIONAL" } else { "CONFIGURATION" };
        let scope =
            Scope::ALL.iter().find(|(scope, _)| *scope == self.scope).map_or("BASE", |(_, name)| name);
        let form = if self.encoding == Encoding::Json { "/JSON" } else { "" };
        format!("{PREFIX}{}/datastore={store}/scope={scope}{form}", self.path.to_legacy(schema))
    }

    /// What a name stands for.
    pub fn named(schema: &Schema, name: &str) -> Option<Watched> {
        let rest = name.strip_prefix(PREFIX)?;
        let (rest, encoding) = match rest.strip_suffix("/JSON") {
            Some(rest) => (rest, Encoding::Json),
            None => (rest, Encoding::Xml),
        };
        let (rest, scope) = rest.rsplit_once("/scope=")?;
        let (path, store) =
            rest.rsplit_once("/datastore=").or_else(|| Some(("", rest.strip_prefix("datastore=")?)))?;
        let source = match store {
            "CONFIGURATION" => Source::Intended,
            "OPERATIONAL" => Source::State,
            _ => return None,
        };
        let (scope, _) = Scope::ALL.into_iter().find(|(_, name)| *name == scope)?;
        let path = DataPath::parse_legacy(schema, path).ok()?;
        super::filter::complete(schema, &path).ok()?;
        Some(Watched { source, path, scope, encoding })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::builtin;

    #[test]
    fn a_name_says_what_is_watched() {
        let schema = builtin();
        for path in ["pod:coe", "pod:coe/pods", "network-topology:network-topology/topology=ovsdb%3A1"] {
            let path = DataPath::parse_rfc8040(schema, path).unwrap();
            for (scope, _) in Scope::ALL {
                for (source, encoding) in [(Source::Intended, Encoding::Xml), (Source::State, Encoding::Json)]
                {
                    let watched = Watched { source, path: path.clone(), scope, encoding };
                    let name = watched.name(schema);
                    assert_eq!(Watched::named(schema, &name), Some(watched), "{name}");
                }
            }
        }
        for wrong in [
            "",
            "data-change-event-subscription/pod:coe",
            "data-change-event-subscription/pod:coe/datastore=X/scope=ONE",
            "data-change-event-subscription/pod:coe/datastore=OPERATIONAL/scope=ALL",
            "data-change-event-subscription/pod:x/datastore=OPERATIONAL/scope=ONE",
            "pod:coe/datastore=OPERATIONAL/scope=ONE",
        ] {
            assert_eq!(Watched::named(schema, wrong), None, "{wrong}");
        }
    }
}
