//! libyang's compiled structures (`lysc_*`), read through raw pointers: the safe interface of the crate hides ranges,
//! patterns, paths and conditions. All that is unsafe in this crate stands here.

#![expect(unsafe_code, reason = "libyang's compiled schema is a C structure; see the notes at each block")]

use std::ffi::CStr;
use std::ops::RangeInclusive;
use std::os::raw::c_char;
use std::sync::Arc;

use yang5::ffi;

/// Text of a C string; empty for a null pointer.
pub fn text(pointer: *const c_char) -> Arc<str> {
    some_text(pointer).unwrap_or_else(|| Arc::from(""))
}

pub fn some_text(pointer: *const c_char) -> Option<Arc<str>> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: libyang keeps its strings NUL-terminated and alive as long as the context, which outlives the walk.
    Some(Arc::from(unsafe { CStr::from_ptr(pointer) }.to_string_lossy().as_ref()))
}

/// The elements of one of libyang's sized arrays: the count stands in the 64 bits before the first element.
pub fn sized<'a, T>(array: *const T) -> &'a [T] {
    if array.is_null() {
        return &[];
    }
    // SAFETY: LY_ARRAY_COUNT reads the same place; the array lives as long as the context.
    unsafe {
        let count = *array.cast::<u64>().sub(1);
        std::slice::from_raw_parts(array, count as usize)
    }
}

/// Reads a libyang structure.
pub fn read<'a, T>(pointer: *const T) -> Option<&'a T> {
    // SAFETY: pointers come from libyang's compiled tree, which is not changed and lives as long as the context.
    unsafe { pointer.as_ref() }
}

/// The same structure seen as its more special kind (`lysc_node` as `lysc_node_list` …).
pub fn special<'a, T>(node: *const ffi::lysc_node) -> Option<&'a T> {
    read(node.cast::<T>())
}

/// The text that an XPath expression was parsed from.
pub fn expression(raw: *const ffi::lyxp_expr) -> Arc<str> {
    // SAFETY: the text lives as long as the expression.
    text(unsafe { ffi::lyxp_get_expr(raw) })
}

/// The conditions that stand on a node of any kind.
pub fn whens<'a>(node: *const ffi::lysc_node) -> &'a [*mut ffi::lysc_when] {
    // SAFETY: reads the compiled tree only; the result is a sized array.
    sized(unsafe { ffi::lysc_node_when(node) })
}

/// The address of the node that the leafref of a leaf or leaf-list leads to.
pub fn leafref_target(leaf: *const ffi::lysc_node) -> Option<usize> {
    // SAFETY: reads the compiled tree only, and takes a leaf or leaf-list.
    let target = unsafe { ffi::lysc_node_lref_target(leaf) };
    (!target.is_null()).then_some(target as usize)
}

/// The default values of a leaf-list in their canonical form, in their order.
pub fn leaf_list_defaults(list: *const ffi::lysc_node) -> Vec<Arc<str>> {
    let defaults = special::<ffi::lysc_node_leaflist>(list).map(|list| sized(list.dflts)).unwrap_or_default();
    let context = read(list).and_then(|node| read(node.module)).map(|module| module.ctx);
    let canonical = |default: &ffi::lysc_value| {
        let mut text_of = std::ptr::null();
        // SAFETY: reads the compiled tree; without data, values that need some to be judged are taken as they are.
        let verdict = unsafe {
            ffi::lyd_value_validate_dflt(
                list,
                default.str_,
                default.prefixes,
                std::ptr::null(),
                std::ptr::null_mut(),
                &mut text_of,
            )
        };
        let found = (verdict == ffi::LY_ERR::LY_SUCCESS || verdict == ffi::LY_ERR::LY_EINCOMPLETE)
            .then(|| some_text(text_of))
            .flatten();
        if let (Some(context), false) = (context, text_of.is_null()) {
            // SAFETY: the text came from the context's dictionary, with one reference for us.
            unsafe { ffi::lydict_remove(context, text_of) };
        }
        found
    };
    defaults.iter().filter_map(canonical).collect()
}

/// Whether an extension of ours stands on a node.
pub fn extension(raw: *const ffi::lysc_node, name: &str) -> bool {
    let instances = read(raw).map(|node| sized(node.exts)).unwrap_or_default();
    instances
        .iter()
        .any(|instance| read(instance.def).is_some_and(|definition| &*text(definition.name) == name))
}

/// Names and values of an enumeration.
pub fn enums(type_: *const ffi::lysc_type) -> Vec<(Arc<str>, i32)> {
    let items = read(type_.cast::<ffi::lysc_type_enum>()).map(|type_| sized(type_.enums)).unwrap_or_default();
    // SAFETY: the union holds the value for enumerations.
    items.iter().map(|item| (text(item.name), unsafe { item.__bindgen_anon_1.value })).collect()
}

/// Names and positions of bits.
pub fn bits(type_: *const ffi::lysc_type) -> Vec<(Arc<str>, u32)> {
    let items = read(type_.cast::<ffi::lysc_type_bits>()).map(|type_| sized(type_.bits)).unwrap_or_default();
    // SAFETY: the union holds the position for bits.
    items.iter().map(|item| (text(item.name), unsafe { item.__bindgen_anon_1.position })).collect()
}

/// The parts of a range of a signed or decimal type; none where the type is not restricted.
pub fn signed(range: *const ffi::lysc_range) -> Vec<RangeInclusive<i64>> {
    let parts = read(range).map(|range| sized(range.parts)).unwrap_or_default();
    // SAFETY: the union holds signed bounds for signed and decimal types.
    parts.iter().map(|part| unsafe { part.__bindgen_anon_1.min_64..=part.__bindgen_anon_2.max_64 }).collect()
}

/// The parts of a range of an unsigned type, or of a length.
pub fn unsigned(range: *const ffi::lysc_range) -> Vec<RangeInclusive<u64>> {
    let parts = read(range).map(|range| sized(range.parts)).unwrap_or_default();
    // SAFETY: the union holds unsigned bounds for unsigned types and lengths.
    parts
        .iter()
        .map(|part| unsafe { part.__bindgen_anon_1.min_u64..=part.__bindgen_anon_2.max_u64 })
        .collect()
}
