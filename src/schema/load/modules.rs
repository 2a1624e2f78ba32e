//! Modules and identities.

use std::sync::Arc;

use yang5::context::Context;
use yang5::ffi;
use yang5::schema::{SchemaModule, SchemaOutputFormat, SchemaPrinterFlags};

use super::Texts;
use super::raw::{read, sized, text};
use super::walk::Walk;
use crate::schema::ir::{Identity, IdentityId, Module, ModuleId};

impl Walk {
    pub(super) fn take_modules(&mut self, context: &Context, texts: &Texts) {
        for module in context.modules(false) {
            let id = ModuleId(self.schema.modules.len() as u16);
            self.modules.insert(module.as_raw() as usize, id);
            self.schema.modules.push(Module {
                name: Arc::from(module.name()),
                namespace: Arc::from(module.namespace()),
                prefix: Arc::from(module.prefix()),
                revision: module.revision().map(Arc::from),
                implemented: module.is_implemented(),
                internal: !texts.iter().any(|(name, _)| *name == module.name()),
                features: features(read(module.as_raw())),
                deviated_by: deviated_by(read(module.as_raw())),
                source: source(&module, texts),
            });
        }
    }

    pub(super) fn take_identities(&mut self, context: &Context) {
        let mut all: Vec<&ffi::lysc_ident> = Vec::new();
        for module in context.modules(false) {
            if let Some(raw) = read(module.as_raw()) {
                all.extend(sized(raw.identities));
            }
        }
        for identity in &all {
            let id = IdentityId(self.schema.identities.len() as u16);
            self.identities.insert(std::ptr::from_ref(*identity) as usize, id);
            let module = self.modules.get(&(identity.module as usize)).copied().unwrap_or(ModuleId(0));
            self.schema.identities.push(Identity { module, name: text(identity.name), bases: Vec::new() });
        }
        for base in &all {
            let base_id = self.identities[&(std::ptr::from_ref(*base) as usize)];
            let mut waiting: Vec<*mut ffi::lysc_ident> = sized(base.derived).to_vec();
            while let Some(pointer) = waiting.pop() {
                let Some(derived) = read(pointer) else { continue };
                if let Some(id) = self.identities.get(&(pointer as usize)) {
                    let bases = &mut self.schema.identities[id.0 as usize].bases;
                    if !bases.contains(&base_id) {
                        bases.push(base_id);
                    }
                }
                waiting.extend(sized(derived.derived));
            }
        }
    }
}

/// The features that are on.
fn features(module: Option<&ffi::lys_module>) -> Vec<Arc<str>> {
    let compiled = module.and_then(|module| read(module.compiled));
    compiled
        .map(|compiled| sized(compiled.features))
        .unwrap_or_default()
        .iter()
        .map(|name| text(*name))
        .collect()
}

fn deviated_by(module: Option<&ffi::lys_module>) -> Vec<Arc<str>> {
    let others = module.map(|module| sized(module.deviated_by)).unwrap_or_default();
    others.iter().filter_map(|other| read(*other)).map(|other| text(other.name)).collect()
}

/// The text as it was given, or as libyang prints what it brought along.
fn source(module: &SchemaModule<'_>, texts: &Texts) -> Arc<str> {
    match texts.iter().find(|(name, _)| *name == module.name()) {
        Some((_, text)) => Arc::from(*text),
        None => {
            let printed = module.print_string(SchemaOutputFormat::YANG, SchemaPrinterFlags::empty());
            Arc::from(printed.unwrap_or_default())
        }
    }
}
