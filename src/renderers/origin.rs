//! What a derived node follows from, for whoever tries to write or delete it by hand.

use super::Engine;
use super::key::Key;
use super::rendered::Item;
use crate::datastore::{Change, Commit, Refusal, Store};
use crate::model::InterfaceId;
use crate::schema::{DataPath, tree};

impl Engine {
    /// Whose configuration a derived node at, above or below a path follows from, as it is spoken of in a sentence.
    pub(super) fn said_behind(&self, store: Store, path: &DataPath) -> Option<String> {
        let related = |item: Item| {
            let Item::Node(node) = item else { return false };
            let (at, wanted) = (node.steps(), &path.steps[..]);
            node.store() == store && (at.starts_with(wanted) || wanted.starts_with(&at))
        };
        let (key, _) = self.outputs().find(|(_, output)| output.others().any(related))?;
        let model = self.model();
        let first = |interface: Option<&InterfaceId>| interface.map(|id| model.said_of(id));
        let said = match key {
            Key::Interface(id) => Some(model.said_of(id)),
            Key::Elan(name) | Key::ElanOnSwitch(name, _) => {
                first(model.elan(name).and_then(|elan| elan.interfaces.keys().next()))
            }
            Key::Vpn(name) | Key::VpnOnSwitch(name, _) => {
                first(model.vpn(name).and_then(|vpn| vpn.interfaces.iter().next()))
            }
            _ => None,
        };
        Some(said.unwrap_or_else(|| key.to_string()))
    }

    /// Nobody writes what is derived, but for the lists in which what is written and what is derived stand side by side: those
    /// of which the model makes rows judge for themselves.
    pub(super) fn check_derived(&self, candidate: &Commit<'_>) -> Result<(), Refusal> {
        let derived = &candidate.after.config.derived;
        let covers = |change: &&Change| {
            change.store == Store::Config
                && change.after.is_some()
                && tree::get_ref(derived, &change.path).is_some()
                && !self.reader().has_rows(change)
        };
        let Some(change) = candidate.changes.iter().find(covers) else { return Ok(()) };
        let path = change.path.display(candidate.after.schema);
        let origin = self.said_behind(Store::Config, &change.path);
        let message = format!(
            "{path} follows from {} and cannot be written itself; change that instead",
            origin.as_deref().unwrap_or("what was configured")
        );
        Err(Refusal { path: change.path.clone(), tag: "in-use", message })
    }
}
