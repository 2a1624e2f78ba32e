//! Who a datapath belongs to: read from the datastore, and learned into it.

use std::time::SystemTime;

use super::Identity;
use crate::datastore::{Edit, Snapshot, Store};
use crate::net::{Dpid, timestamp};
use crate::schema::{DataPath, Fields, Key, Node, Schema, SchemaId, Value};

/// Datapaths that one identity may learn: a host has few bridges of ours, and who is let in must not take all that there are.
pub const LEARNED_EACH: usize = 16;

/// What is to be said to somebody who comes with a datapath id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is his.
    Own,
    /// It is nobody's yet.
    New,
    /// It is this one's.
    Other(String),
    /// It is nobody's yet, but he has [`LEARNED_EACH`].
    TooMany,
}

/// The schema nodes of `coeus-switch`.
#[derive(Debug)]
pub struct Bindings {
    configured: Names,
    learned: Names,
    fingerprint: SchemaId,
    time: SchemaId,
}

#[derive(Debug)]
struct Names {
    top: SchemaId,
    list: SchemaId,
    dpid: SchemaId,
    identity: SchemaId,
}

impl Names {
    fn new(schema: &Schema, top: &str) -> Names {
        let id = |below: &str| schema.resolve(&format!("/coeus-switch:{top}{below}"));
        Names { top: id(""), list: id("/switch"), dpid: id("/switch/dpid"), identity: id("/switch/identity") }
    }

    fn path(&self, dpid: Dpid) -> DataPath {
        DataPath::root().child(self.top).entry(self.list, Key::text(dpid.to_string()))
    }

    fn of<'a>(&self, tree: &'a Fields, dpid: Dpid) -> Option<&'a str> {
        let entry = tree.container(self.top)?.list(self.list)?.get(&Key::text(dpid.to_string()))?;
        entry.text(self.identity)
    }
}

impl Bindings {
    /// # Panics
    /// When the models lack a node: they are part of the program.
    pub fn new(schema: &Schema) -> Bindings {
        let learned = |leaf: &str| schema.resolve(&format!("/coeus-switch:learned-identities/switch/{leaf}"));
        Bindings {
            configured: Names::new(schema, "identities"),
            learned: Names::new(schema, "learned-identities"),
            fingerprint: learned("fingerprint"),
            time: learned("learned"),
        }
    }

    pub fn judge(&self, snapshot: &Snapshot, dpid: Dpid, identity: &Identity) -> Verdict {
        let (configured, learned) = (&snapshot.config.input, &snapshot.operational.input);
        if let Some(written) = self.configured.of(configured, dpid) {
            return if identity.is_meant_by(written) { Verdict::Own } else { Verdict::Other(written.into()) };
        }
        match self.learned(snapshot, dpid) {
            Some(name) if name == identity.name => Verdict::Own,
            Some(name) => Verdict::Other(name.into()),
            None => {
                let all =
                    learned.container(self.learned.top).and_then(|learned| learned.list(self.learned.list));
                let his = all
                    .into_iter()
                    .flatten()
                    .filter(|(_, entry)| entry.text(self.learned.identity) == Some(identity.name.as_str()));
                if his.count() < LEARNED_EACH { Verdict::New } else { Verdict::TooMany }
            }
        }
    }

    /// Who came first with a datapath id.
    pub fn learned<'a>(&self, snapshot: &'a Snapshot, dpid: Dpid) -> Option<&'a str> {
        self.learned.of(&snapshot.operational.input, dpid)
    }

    /// From now on it is his.
    pub fn learn(&self, dpid: Dpid, identity: &Identity, now: SystemTime) -> Edit {
        let leaf = |id, text: String| (id, Node::Leaf(Value::text(text)));
        let fields = Fields::of(vec![
            leaf(self.learned.dpid, dpid.to_string()),
            leaf(self.learned.identity, identity.name.clone()),
            leaf(self.fingerprint, identity.fingerprint.clone()),
            leaf(self.time, timestamp(now)),
        ]);
        Edit::put(Store::Operational, self.learned.path(dpid), fields.into())
    }

    /// What was learned of it is forgotten.
    pub fn release(&self, dpid: Dpid) -> Edit {
        Edit::remove(Store::Operational, self.learned.path(dpid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datastore::{Core, NullEngine, Transaction};
    use crate::schema::builtin;

    fn identity(name: &str) -> Identity {
        Identity { name: format!("CN={name}"), fingerprint: format!("AA:{name}") }
    }

    #[test]
    fn a_datapath_is_whose_the_configuration_says_else_whoever_came_first() {
        let bindings = Bindings::new(builtin());
        let mut core = Core::new(Snapshot::empty(builtin()), &[], Box::new(NullEngine), SystemTime::now());
        let mut apply = |edit: Edit| {
            core.apply(&Transaction::new("test", vec![edit]), SystemTime::now()).unwrap();
            core.snapshot().clone()
        };
        let (first, second) = (identity("a"), identity("b"));
        let learned = apply(bindings.learn(Dpid(1), &first, SystemTime::now()));
        assert_eq!(bindings.judge(&learned, Dpid(1), &first), Verdict::Own);
        let renewed = Identity { fingerprint: "BB".into(), ..first.clone() };
        assert_eq!(bindings.judge(&learned, Dpid(1), &renewed), Verdict::Own);
        assert_eq!(bindings.judge(&learned, Dpid(1), &second), Verdict::Other("CN=a".into()));
        assert_eq!(bindings.judge(&learned, Dpid(2), &second), Verdict::New);

        let entry = |identity: &str| {
            let names = &bindings.configured;
            let leaf = |id, text: &str| (id, Node::Leaf(Value::text(text)));
            let fields = vec![leaf(names.dpid, &Dpid(1).to_string()), leaf(names.identity, identity)];
            Edit::put(Store::Config, names.path(Dpid(1)), Fields::of(fields).into())
        };
        let said = apply(entry("CN=b"));
        assert_eq!(bindings.judge(&said, Dpid(1), &second), Verdict::Own);
        assert_eq!(bindings.judge(&said, Dpid(1), &first), Verdict::Other("CN=b".into()));
        let pinned = apply(entry("aa:A"));
        assert_eq!(bindings.judge(&pinned, Dpid(1), &first), Verdict::Own);
        assert_eq!(bindings.judge(&pinned, Dpid(1), &renewed), Verdict::Other("aa:A".into()));
        apply(Edit::remove(Store::Config, bindings.configured.path(Dpid(1))));
        let released = apply(bindings.release(Dpid(1)));
        assert_eq!(bindings.judge(&released, Dpid(1), &second), Verdict::New);
    }

    #[test]
    fn nobody_takes_all_datapaths() {
        let bindings = Bindings::new(builtin());
        let mut core = Core::new(Snapshot::empty(builtin()), &[], Box::new(NullEngine), SystemTime::now());
        let greedy = identity("a");
        let edits =
            (0..LEARNED_EACH as u64).map(|dpid| bindings.learn(Dpid(dpid), &greedy, SystemTime::now()));
        core.apply(&Transaction::new("test", edits.collect()), SystemTime::now()).unwrap();
        assert_eq!(bindings.judge(core.snapshot(), Dpid(99), &greedy), Verdict::TooMany);
        assert_eq!(bindings.judge(core.snapshot(), Dpid(3), &greedy), Verdict::Own);
        assert_eq!(bindings.judge(core.snapshot(), Dpid(99), &identity("b")), Verdict::New);
    }
}
