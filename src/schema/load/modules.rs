//! Modules and identities.

use std::sync::Arc;

use yang5::context::Context;
use yang5::ffi;

use super::raw::{read, sized, text};
use super::walk::Walk;
use crate::schema::ir::{Identity, IdentityId, Module, ModuleId};

impl Walk {
    pub(super) fn take_modules(&mut self, context: &Context) {
        for module in context.modules(false) {
            let id = ModuleId(self.schema.modules.len() as u16);
            self.modules.insert(module.as_raw() as usize, id);
            self.schema.modules.push(Module {
                name: Arc::from(module.name()),
                namespace: Arc::from(module.namespace()),
                prefix: Arc::from(module.prefix()),
                revision: module.revision().map(Arc::from),
                implemented: module.is_implemented(),
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
