//! What happened in a step from one revision to the next, as notifications: changed configuration, states of pods and switches.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::source::{Source, value};
use crate::datastore::{Kind as Cause, Snapshot, Step};
use crate::schema::{DataPath, Fields, Key, Node, Schema, SchemaId, Value, diff, lexical};

/// The fields of a datastore with one notification in them and nothing else.
pub type Notification = Fields;

/// Makes the fields of a node by their names.
pub struct Maker<'a> {
    schema: &'a Schema,
    id: SchemaId,
    children: Vec<(SchemaId, Node)>,
}

impl<'a> Maker<'a> {
    pub fn new(schema: &'a Schema, id: SchemaId) -> Maker<'a> {
        Maker { schema, id, children: Vec::new() }
    }

    /// The child of this name, of any module; our models have no name twice.
    fn child(&self, name: &str) -> Option<SchemaId> {
        self.schema.child_named(Some(self.id), name, true).ok()
    }

    /// Sets a leaf. Text that is none of its type is left out.
    pub fn leaf(mut self, name: &str, text: &str) -> Self {
        if let Some(id) = self.child(name)
            && let Ok(value) = lexical::parse_value(self.schema, id, text)
        {
            self.children.push((id, Node::Leaf(value)));
        }
        self
    }

    pub fn leaf_if(self, name: &str, text: Option<impl AsRef<str>>) -> Self {
        match text {
            Some(text) => self.leaf(name, text.as_ref()),
            None => self,
        }
    }

    /// Sets a child of any kind.
    pub fn node(mut self, name: &str, node: impl FnOnce(SchemaId) -> Node) -> Self {
        if let Some(id) = self.child(name) {
            self.children.push((id, node(id)));
        }
        self
    }

    /// Sets a container.
    pub fn object(self, name: &str, make: impl FnOnce(Maker<'a>) -> Maker<'a>) -> Self {
        let schema = self.schema;
        self.node(name, |id| Node::Container(make(Maker::new(schema, id)).fields()))
    }

    pub fn fields(self) -> Fields {
        Fields::of(self.children)
    }

    /// The fields below the node, as the only content of a datastore.
    pub fn alone(self) -> Notification {
        let id = self.id;
        Fields::of(vec![(id, Node::Container(self.fields()))])
    }
}

/// `netconf-config-change` for a step that changed what was written.
///
/// `before` and `after` are what the reader may see of it.
pub fn config_change(
    schema: &Schema,
    step: &Step,
    before: &Snapshot,
    after: &Snapshot,
) -> Option<Notification> {
    let id = schema.notification("ietf-netconf-notifications", "netconf-config-change")?;
    let changes = diff(schema, &before.config.input, &after.config.input);
    let edit = |id: SchemaId| {
        let entries = changes.iter().map(|(path, before, after)| {
            let operation = match (before, after) {
                (None, _) => "create",
                (_, None) => "delete",
                _ => "replace",
            };
            let entry = Maker::new(schema, id).leaf("operation", operation);
            let target = Value::text(path.display(schema));
            let entry = entry.node("target", |_| Node::Leaf(target)).fields();
            (Key::from_iter([]), entry)
        });
        crate::schema::List::of(schema, id, entries)
    };
    let by = |id: SchemaId| {
        let by = Maker::new(schema, id);
        let by = match step.after.kind {
            Cause::Client => by.leaf("username", &step.after.author).leaf("session-id", "0"),
            Cause::Fact | Cause::Passing | Cause::Base => by.leaf("server", ""),
        };
        Node::Container(by.fields())
    };
    let list = schema.child_named(Some(id), "edit", true).ok().map(edit).filter(|list| !list.is_empty())?;
    let made = Maker::new(schema, id)
        .node("changed-by", by)
        .leaf("datastore", "running")
        .node("edit", |_| Node::List(list))
        .leaf("revision", &step.after.revision.0.to_string());
    Some(made.alone())
}

/// What is told of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Absent,
    Pending,
    Desired,
    Programmed,
    Failed,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            State::Absent => "absent",
            State::Pending => "pending",
            State::Desired => "desired",
            State::Programmed => "programmed",
            State::Failed => "failed",
        }
    }
}

/// Follows the states of pods and switches. It remembers what no switch has confirmed yet, and nothing else.
pub struct Statuses {
    ids: Ids,
    /// By switch: revisions to be confirmed, and the objects that wait for them.
    waiting: BTreeMap<Arc<str>, BTreeSet<(u64, Key)>>,
}

#[derive(Clone, Copy)]
struct Ids {
    objects: SchemaId,
    object: SchemaId,
    state: SchemaId,
    switch_of: SchemaId,
    desired: SchemaId,
    reason: SchemaId,
    switches: SchemaId,
    switch: SchemaId,
    connected: SchemaId,
    programmed: SchemaId,
    pools: SchemaId,
    pool: SchemaId,
    pool_state: SchemaId,
}

impl Statuses {
    pub fn of(schema: &Schema, snapshot: &Snapshot) -> Statuses {
        let at = |path: &str| schema.resolve(&format!("/coeus-status:{path}"));
        let ids = Ids {
            objects: at("objects"),
            object: at("objects/object"),
            state: at("objects/object/state"),
            switch_of: at("objects/object/switch"),
            desired: at("objects/object/desired-revision"),
            reason: at("objects/object/reason"),
            switches: at("switches"),
            switch: at("switches/switch"),
            connected: at("switches/switch/connected"),
            programmed: at("switches/switch/programmed-revision"),
            pools: schema.resolve("/coeus-dhcp:pools"),
            pool: schema.resolve("/coeus-dhcp:pools/pool"),
            pool_state: schema.resolve("/coeus-dhcp:pools/pool/state"),
        };
        let mut statuses = Statuses { ids, waiting: BTreeMap::new() };
        let list = DataPath::root().child(ids.objects).child(ids.object);
        if let Some(Node::List(list)) = Source::State.read(snapshot, &list) {
            for (key, entry) in &list {
                statuses.await_switch(snapshot, key, entry);
            }
        }
        statuses
    }

    /// What a step changed, switches first.
    pub fn step(
        &mut self,
        schema: &Schema,
        step: &Step,
        before: &Snapshot,
        after: &Snapshot,
    ) -> Vec<Notification> {
        if step.before.is_earlier && !step.after.is_earlier {
            // What was derived in an earlier life is not known: begin anew.
            *self = Statuses::of(schema, after);
            return Vec::new();
        }
        let mut objects: BTreeSet<Key> = BTreeSet::new();
        let mut switches: BTreeSet<Key> = BTreeSet::new();
        let mut pools: BTreeSet<Key> = BTreeSet::new();
        for (old, new) in Source::State.layers(before).iter().zip(&Source::State.layers(after)) {
            for (path, ..) in diff(schema, old, new) {
                let Some(step) = path.steps.get(1) else { continue };
                let Some(key) = &step.key else { continue };
                if step.node == self.ids.object {
                    objects.insert(key.clone());
                } else if step.node == self.ids.switch {
                    switches.insert(key.clone());
                } else if step.node == self.ids.pool {
                    pools.insert(key.clone());
                }
            }
        }
        let revision = step.after.revision.0.to_string();
        let mut told = Vec::new();
        let mut confirmed: BTreeSet<Key> = BTreeSet::new();
        for key in switches {
            told.extend(self.switch(schema, before, after, &key, &revision));
            let Some(dpid) = key.values().first().and_then(Value::as_text) else { continue };
            let reached = self.programmed(after, dpid);
            let waiting = self.waiting.get(dpid).into_iter().flatten();
            confirmed.extend(waiting.filter(|(wanted, _)| *wanted <= reached).map(|(_, key)| key.clone()));
        }
        objects.extend(confirmed);
        for key in pools {
            told.extend(self.pool(schema, before, after, &key, &revision));
        }
        for key in objects {
            told.extend(self.object(schema, before, after, &key, &revision));
        }
        told
    }

    fn switch(
        &self,
        schema: &Schema,
        before: &Snapshot,
        after: &Snapshot,
        key: &Key,
        revision: &str,
    ) -> Option<Notification> {
        let path = DataPath::root().child(self.ids.switches).entry(self.ids.switch, key.clone());
        let connected = |node: &Option<Node>| {
            let value = node.as_ref().and_then(Node::fields).and_then(|entry| entry.leaf(self.ids.connected));
            value.and_then(Value::as_bool).unwrap_or(false)
        };
        let (old, new) = (Source::State.read(before, &path), Source::State.read(after, &path));
        if connected(&old) == connected(&new) {
            return None;
        }
        let id = schema.notification("coeus-events", "switch-state-changed")?;
        let peer = schema.child_named(Some(self.ids.switch), "peer", false).ok();
        let peer = new.as_ref().and_then(Node::fields).zip(peer).and_then(|(entry, peer)| entry.text(peer));
        let made = Maker::new(schema, id)
            .leaf("revision", revision)
            .leaf_if("dpid", key.values().first().and_then(Value::as_text))
            .leaf("connected", if connected(&new) { "true" } else { "false" })
            .leaf_if("peer", peer);
        Some(made.alone())
    }

    /// A pool that nobody has looked at yet is as all should be.
    fn pool(
        &self,
        schema: &Schema,
        before: &Snapshot,
        after: &Snapshot,
        key: &Key,
        revision: &str,
    ) -> Option<Notification> {
        let path = DataPath::root().child(self.ids.pools).entry(self.ids.pool, key.clone());
        let entry = |snapshot| Source::State.read(snapshot, &path).and_then(|node| node.fields().cloned());
        let leaf = |entry: &Option<Fields>, id: SchemaId| {
            let value = entry.as_ref()?.leaf(id)?;
            Some(lexical::value_text(schema, id, value).to_string())
        };
        let (old, new) = (entry(before), entry(after));
        let state = |entry| leaf(entry, self.ids.pool_state).unwrap_or_else(|| "normal".to_owned());
        if state(&old) == state(&new) {
            return None;
        }
        let id = schema.notification("coeus-events", "pool-state-changed")?;
        let free = schema.child_named(Some(self.ids.pool), "free", false).ok();
        let made = Maker::new(schema, id)
            .leaf("revision", revision)
            .leaf_if("network-id", key.values().first().and_then(Value::as_text))
            .leaf_if("subnet", key.values().get(1).and_then(Value::as_text))
            .leaf("old-state", &state(&old))
            .leaf("state", &state(&new))
            .leaf_if("free", free.and_then(|free| leaf(&new, free)));
        Some(made.alone())
    }

    fn object(
        &mut self,
        schema: &Schema,
        before: &Snapshot,
        after: &Snapshot,
        key: &Key,
        revision: &str,
    ) -> Option<Notification> {
        let path = DataPath::root().child(self.ids.objects).entry(self.ids.object, key.clone());
        let (old, new) = (Source::State.read(before, &path), Source::State.read(after, &path));
        let fields = |node: &Option<Node>| node.as_ref().and_then(Node::fields).cloned();
        let (old, new) = (fields(&old), fields(&new));
        let old_state = old.as_ref().map_or(State::Absent, |entry| self.state(schema, key, entry));
        if let Some((dpid, place)) = old.as_ref().and_then(|entry| self.place(key, entry))
            && let Some(waiting) = self.waiting.get_mut(dpid)
        {
            waiting.remove(&place);
            if waiting.is_empty() {
                self.waiting.remove(dpid);
            }
        }
        if let Some(entry) = &new {
            self.await_switch(after, key, entry);
        }
        let state = new.as_ref().map_or(State::Absent, |entry| self.state(schema, key, entry));
        let reasons = |entry: &Option<Fields>| -> Vec<Value> {
            entry.iter().flat_map(|entry| entry.leaf_list(self.ids.reason)).cloned().collect()
        };
        let reason = reasons(&new);
        if old_state == state && (state != State::Pending || reasons(&old) == reason) {
            return None;
        }
        let id = schema.notification("coeus-events", "object-state-changed")?;
        let entry = new.as_ref().or(old.as_ref())?;
        let text = |name: &str| {
            let id = schema.child_named(Some(self.ids.object), name, false).ok()?;
            entry.text(id)
        };
        let made = Maker::new(schema, id)
            .leaf("revision", revision)
            .leaf_if("name", key.values().first().and_then(Value::as_text))
            .leaf_if("pod-uid", text("pod-uid"))
            .leaf_if("pod-name", text("pod-name"))
            .leaf_if("namespace", text("namespace"))
            .leaf("old-state", old_state.name())
            .leaf("state", state.name())
            .leaf_if("switch", text("switch"));
        let made = if reason.is_empty() {
            made
        } else {
            made.node("reason", |_| Node::LeafList(reason.into_iter().collect()))
        };
        Some(made.alone())
    }

    /// Has an object that its switch has not confirmed waited for.
    fn await_switch(&mut self, snapshot: &Snapshot, key: &Key, entry: &Fields) {
        let Some((dpid, place)) = self.place(key, entry) else { return };
        if place.0 > self.programmed(snapshot, dpid) {
            self.waiting.entry(Arc::from(dpid)).or_default().insert(place);
        }
    }

    /// Where an object waits: its switch, the revision that is to be confirmed, its name.
    fn place<'e>(&self, key: &Key, entry: &'e Fields) -> Option<(&'e str, (u64, Key))> {
        let desired = entry.leaf(self.ids.desired)?.as_uint()?;
        Some((entry.text(self.ids.switch_of)?, (desired, key.clone())))
    }

    fn programmed(&self, snapshot: &Snapshot, dpid: &str) -> u64 {
        let path = DataPath::root()
            .child(self.ids.switches)
            .entry(self.ids.switch, Key::text(dpid))
            .child(self.ids.programmed);
        let node = value(&Source::State.layers(snapshot), &path);
        node.as_ref().and_then(Node::as_leaf).and_then(Value::as_uint).unwrap_or(0)
    }

    fn state(&self, schema: &Schema, key: &Key, entry: &Fields) -> State {
        let text = entry.leaf(self.ids.state).map(|value| lexical::value_text(schema, self.ids.state, value));
        match text.as_deref() {
            Some("failed") => State::Failed,
            Some("desired") => {
                let place = self.place(key, entry);
                let waits = place.is_some_and(|(dpid, place)| {
                    self.waiting.get(dpid).is_some_and(|waiting| waiting.contains(&place))
                });
                if waits { State::Desired } else { State::Programmed }
            }
            _ => State::Pending,
        }
    }
}
