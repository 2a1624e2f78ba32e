//! must and when.

use yang5::ffi;
use yang5::schema::SchemaNode as LyNode;

use super::raw::{self, expression, read, some_text};
use crate::schema::ir::{Must, When};

pub fn musts(node: &LyNode<'_>) -> Vec<Must> {
    let list = node.musts().into_iter().flatten();
    list.filter_map(|must| {
        let raw = read(must.as_raw())?;
        Some(Must {
            condition: expression(raw.cond),
            error_message: some_text(raw.emsg),
            error_app_tag: some_text(raw.eapptag),
        })
    })
    .collect()
}

/// The conditions of a node and of the choices and cases around it.
pub fn whens(raw: *const ffi::lysc_node) -> Vec<When> {
    let mut found = Vec::new();
    let mut at = raw;
    while let Some(node) = read(at) {
        for condition in raw::whens(at) {
            if let Some(when) = read(*condition) {
                found.push(When {
                    condition: expression(when.cond),
                    context_is_parent: !std::ptr::eq(when.context.cast_const(), raw),
                });
            }
        }
        let around = node.parent.cast_const();
        let transparent = read(around)
            .is_some_and(|parent| u32::from(parent.nodetype) & (ffi::LYS_CHOICE | ffi::LYS_CASE) != 0);
        if !transparent {
            break;
        }
        at = around;
    }
    found
}
