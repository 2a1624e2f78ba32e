//! Which modules there are: the documents of RFC 8525 and RFC 7895, and the texts of the modules.

use serde_json::{Value as Json, json};
use xxhash_rust::xxh3::Xxh3;

use super::data::Node;
use super::ir::{Module, Schema};
use super::json::{self as codec, Mode};
use super::path::DataPath;
use super::{BodyErrors, tree};

impl Schema {
    /// The YANG text of a module, of this revision where one is given.
    pub fn source(&self, name: &str, revision: Option<&str>) -> Option<&str> {
        let wanted = |module: &&Module| {
            *module.name == *name
                && revision.is_none_or(|revision| module.revision.as_deref() == Some(revision))
        };
        self.modules.iter().find(wanted).map(|module| &*module.source)
    }

    /// The YANG text of a module as a URL names it: `name` or `name@revision`, with or without `.yang` behind it.
    pub fn source_named(&self, file: &str) -> Option<&str> {
        let file = file.strip_suffix(".yang").unwrap_or(file);
        match file.split_once('@') {
            Some((name, revision)) => self.source(name, Some(revision)),
            None => self.source(file, None),
        }
    }

    /// Differs where the modules, their texts, features or deviations do; the same after a restart.
    pub fn content_id(&self) -> String {
        let mut hash = Xxh3::new();
        for module in self.library_modules() {
            let names = module.features.iter().chain(&module.deviated_by);
            for text in [&module.name, &module.source].into_iter().chain(names) {
                hash.update(text.as_bytes());
                hash.update(b"\0");
            }
        }
        format!("{:016x}", hash.digest())
    }

    /// `ietf-yang-library:yang-library` and `ietf-yang-library:modules-state` as operational data, with their paths. `base` is
    /// the absolute URL below which [`Schema::source_named`] answers; without it nothing is said about where texts are.
    ///
    /// # Errors
    /// When the schema does not have ietf-yang-library.
    pub fn library(&self, base: Option<&str>) -> Result<Vec<(DataPath, Node)>, BodyErrors> {
        let document = json!({
            "ietf-yang-library:yang-library": self.yang_library(base),
            "ietf-yang-library:modules-state": self.modules_state(base),
        });
        let root = codec::parse(self, None, document.to_string().as_bytes(), Mode::Strict)?;
        let paths = root.iter().map(|(id, _)| DataPath::root().child(*id));
        Ok(paths.filter_map(|path| tree::get(&root, &path).map(|node| (path, node))).collect())
    }

    /// Modules in the order of their names. What libyang has for itself is left out.
    fn library_modules(&self) -> Vec<&Module> {
        let own =
            |module: &&Module| module.implemented && !module.internal || module.name.starts_with("ietf-");
        let mut modules: Vec<&Module> = self.modules.iter().filter(own).collect();
        modules.sort_by(|a, b| a.name.cmp(&b.name));
        modules
    }

    fn yang_library(&self, base: Option<&str>) -> Json {
        let mut modules = Vec::new();
        let mut imported = Vec::new();
        for module in self.library_modules() {
            let mut json = json!({
                "name": &*module.name,
                "namespace": &*module.namespace,
            });
            list(&mut json, "location", base.map(|base| location(base, module)).into_iter().collect());
            if module.implemented {
                if let Some(revision) = &module.revision {
                    json["revision"] = json!(&**revision);
                }
                list(&mut json, "feature", module.features.iter().map(|name| json!(&**name)).collect());
                list(&mut json, "deviation", module.deviated_by.iter().map(|name| json!(&**name)).collect());
                modules.push(json);
            } else {
                json["revision"] = json!(module.revision.as_deref().unwrap_or_default());
                imported.push(json);
            }
        }
        let datastores = ["running", "candidate", "intended", "operational"];
        let datastore = |name: &str| json!({"name": format!("ietf-datastores:{name}"), "schema": "all"});
        json!({
            "module-set": [{"name": "all", "module": modules, "import-only-module": imported}],
            "schema": [{"name": "all", "module-set": ["all"]}],
            "datastore": datastores.map(datastore),
            "content-id": self.content_id(),
        })
    }

    fn modules_state(&self, base: Option<&str>) -> Json {
        let revision = |name: &str| {
            let module = self.modules.iter().find(|module| *module.name == *name);
            module.and_then(|module| module.revision.clone()).unwrap_or_default()
        };
        let module = |module: &&Module| {
            let mut json = json!({
                "name": &*module.name,
                "revision": module.revision.as_deref().unwrap_or_default(),
                "namespace": &*module.namespace,
                "conformance-type": if module.implemented { "implement" } else { "import" },
            });
            if let Some(base) = base {
                json["schema"] = location(base, module);
            }
            list(&mut json, "feature", module.features.iter().map(|name| json!(&**name)).collect());
            let deviation =
                |name: &std::sync::Arc<str>| json!({"name": &**name, "revision": &*revision(name)});
            list(&mut json, "deviation", module.deviated_by.iter().map(deviation).collect());
            json
        };
        let modules: Vec<Json> = self.library_modules().iter().map(module).collect();
        json!({"module-set-id": self.content_id(), "module": modules})
    }
}

fn list(json: &mut Json, name: &str, items: Vec<Json>) {
    if !items.is_empty() {
        json[name] = Json::Array(items);
    }
}

fn location(base: &str, module: &Module) -> Json {
    Json::String(match &module.revision {
        Some(revision) => format!("{base}/{}@{revision}", module.name),
        None => format!("{base}/{}", module.name),
    })
}
