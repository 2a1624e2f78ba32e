//! Types: typedefs resolved, restrictions gathered.

use std::ops::RangeInclusive;

use yang5::ffi::{self, LY_DATA_TYPE};

use super::LoadError;
use super::raw::{self, read, sized, some_text, text};
use super::walk::Walk;
use crate::schema::ir::{Pattern, Says, StringKind, Type};

impl Walk {
    /// The type of a leaf; `unserved` makes an error that names the leaf.
    pub(super) fn type_of(
        &self,
        raw: *const ffi::lysc_type,
        unserved: &dyn Fn(String) -> LoadError,
    ) -> Result<Type, LoadError> {
        let type_ = read(raw).ok_or_else(|| unserved("a leaf without a type".into()))?;
        let name = text(type_.name);
        let name = name.rsplit(':').next().unwrap_or_default();
        Ok(match type_.basetype {
            LY_DATA_TYPE::LY_TYPE_INT8 => int(raw, 8),
            LY_DATA_TYPE::LY_TYPE_INT16 => int(raw, 16),
            LY_DATA_TYPE::LY_TYPE_INT32 => int(raw, 32),
            LY_DATA_TYPE::LY_TYPE_INT64 => int(raw, 64),
            LY_DATA_TYPE::LY_TYPE_UINT8 => uint(raw, 8),
            LY_DATA_TYPE::LY_TYPE_UINT16 => uint(raw, 16),
            LY_DATA_TYPE::LY_TYPE_UINT32 => uint(raw, 32),
            LY_DATA_TYPE::LY_TYPE_UINT64 => uint(raw, 64),
            LY_DATA_TYPE::LY_TYPE_DEC64 => {
                let decimal = read(raw.cast::<ffi::lysc_type_dec>());
                let range = decimal.map_or(std::ptr::null_mut(), |decimal| decimal.range);
                Type::Decimal64 {
                    fraction_digits: decimal.map_or(1, |decimal| decimal.fraction_digits),
                    ranges: or_all(raw::signed(range), i64::MIN..=i64::MAX),
                    says: says(range),
                }
            }
            LY_DATA_TYPE::LY_TYPE_STRING => {
                let string = read(raw.cast::<ffi::lysc_type_str>());
                let mut patterns = Vec::new();
                for pattern in string.map(|string| sized(string.patterns)).unwrap_or_default() {
                    let Some(pattern) = read(*pattern) else { continue };
                    let expression = self.expression(text(pattern.expr));
                    let (inverted, says) = (pattern.inverted() != 0, some_text(pattern.emsg));
                    patterns.push(Pattern { expression, inverted, says });
                }
                let length = string.map_or(std::ptr::null_mut(), |string| string.length);
                Type::String {
                    lengths: or_all(raw::unsigned(length), 0..=u64::MAX),
                    says: says(length),
                    patterns,
                    kind: string_kind(name),
                }
            }
            LY_DATA_TYPE::LY_TYPE_BOOL => Type::Boolean,
            LY_DATA_TYPE::LY_TYPE_EMPTY => Type::Empty,
            LY_DATA_TYPE::LY_TYPE_ENUM => Type::Enumeration(raw::enums(raw)),
            LY_DATA_TYPE::LY_TYPE_BITS => Type::Bits(raw::bits(raw)),
            LY_DATA_TYPE::LY_TYPE_BINARY => {
                let length =
                    read(raw.cast::<ffi::lysc_type_bin>()).map_or(std::ptr::null_mut(), |type_| type_.length);
                Type::Binary { lengths: or_all(raw::unsigned(length), 0..=u64::MAX), says: says(length) }
            }
            LY_DATA_TYPE::LY_TYPE_IDENT => {
                let bases = read(raw.cast::<ffi::lysc_type_identityref>())
                    .map(|type_| sized(type_.bases))
                    .unwrap_or_default();
                Type::IdentityRef(
                    bases.iter().filter_map(|base| self.identities.get(&(*base as usize)).copied()).collect(),
                )
            }
            LY_DATA_TYPE::LY_TYPE_INST => {
                let require = read(raw.cast::<ffi::lysc_type_instanceid>())
                    .is_some_and(|type_| type_.require_instance != 0);
                Type::InstanceIdentifier { require_instance: require }
            }
            LY_DATA_TYPE::LY_TYPE_LEAFREF => {
                let leafref = read(raw.cast::<ffi::lysc_type_leafref>())
                    .ok_or_else(|| unserved("an empty leafref".into()))?;
                Type::LeafRef {
                    target: None,
                    path: raw::expression(leafref.path),
                    require_instance: leafref.require_instance != 0,
                    real: Box::new(self.type_of(leafref.realtype.cast_const(), unserved)?),
                }
            }
            LY_DATA_TYPE::LY_TYPE_UNION => {
                let members = read(raw.cast::<ffi::lysc_type_union>())
                    .map(|type_| sized(type_.types))
                    .unwrap_or_default();
                let members: Result<_, _> =
                    members.iter().map(|member| self.type_of(member.cast_const(), unserved)).collect();
                Type::Union(members?)
            }
            _ => return Err(unserved(format!("type {name} is of no kind that we know"))),
        })
    }
}

fn number_range(raw: *const ffi::lysc_type) -> *const ffi::lysc_range {
    read(raw.cast::<ffi::lysc_type_num>()).map_or(std::ptr::null(), |type_| type_.range.cast_const())
}

fn int(raw: *const ffi::lysc_type, bits: u8) -> Type {
    let all = i64::MIN >> (64 - bits)..=i64::MAX >> (64 - bits);
    let range = number_range(raw);
    Type::Int { bits, ranges: or_all(raw::signed(range), all), says: says(range) }
}

fn uint(raw: *const ffi::lysc_type, bits: u8) -> Type {
    let range = number_range(raw);
    Type::Uint { bits, ranges: or_all(raw::unsigned(range), 0..=u64::MAX >> (64 - bits)), says: says(range) }
}

fn says(range: *const ffi::lysc_range) -> Says {
    read(range).and_then(|range| some_text(range.emsg))
}

fn or_all<T>(ranges: Vec<RangeInclusive<T>>, all: RangeInclusive<T>) -> Vec<RangeInclusive<T>> {
    if ranges.is_empty() { vec![all] } else { ranges }
}

fn string_kind(typedef: &str) -> StringKind {
    match typedef {
        "uuid" | "mac-address" | "phys-address" | "hex-string" => StringKind::LowerCase,
        "ipv4-address" | "ipv4-address-no-zone" => StringKind::Ipv4Address,
        "ipv6-address" | "ipv6-address-no-zone" => StringKind::Ipv6Address,
        "ipv4-prefix" => StringKind::Ipv4Prefix,
        "ipv6-prefix" => StringKind::Ipv6Prefix,
        _ => StringKind::Plain,
    }
}
