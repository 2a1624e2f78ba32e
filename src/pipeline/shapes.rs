//! Flows in few bytes: of a flow only what differs from the first of its kind.
//!
//! A program makes flows of some hundred kinds. Those of one kind have the same fields and actions, and differ by an address, a
//! tag and a port; the rest of their bytes is the same everywhere, most of it zeros.
//!
//! ```text
//! kind, owner, (length, skipped, bytes that differ)…, 0
//! ```

use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use hashbrown::HashMap;

use super::Flow;
use super::owner::OwnerName;

/// What flows have in common whose bytes are compared. There are as many as the renderers can make, however many flows there are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Kind {
    table: u8,
    priority: u16,
    matched: usize,
    length: usize,
}

/// A kind and the bytes of its first flow, behind those of its cookie.
#[derive(Debug)]
struct Shape {
    kind: Kind,
    first: Box<[u8]>,
}

#[derive(Default)]
struct Shapes {
    numbers: HashMap<Kind, usize>,
    all: Vec<Arc<Shape>>,
}

/// Numbers of kinds are never given up: what is packed stays readable as long as the process runs.
static SHAPES: LazyLock<RwLock<Shapes>> = LazyLock::new(RwLock::default);

/// Equal bytes between two that differ which are not worth a part of their own.
const GAP: usize = 2;

/// Bytes of a cookie.
const COOKIE: usize = 8;

/// Writes a flow; its owner is known by this number.
pub(super) fn pack(flow: &Flow, owner: usize, out: &mut Vec<u8>) {
    let (matched, bytes) = flow.encoded();
    let kind = Kind { table: flow.table, priority: flow.priority, matched, length: bytes.len() };
    let mut plain = Vec::with_capacity(COOKIE + bytes.len());
    // What a cookie has from its owner follows from the owner.
    plain.extend_from_slice(&(flow.cookie ^ flow.owner.cookie(0)).to_be_bytes());
    plain.extend_from_slice(bytes);
    let (number, shape) = shape_of(kind, &plain);
    put_number(number, out);
    put_number(owner, out);
    let mut at = 0;
    while let Some((begin, end)) = next_part(&plain, &shape.first, at) {
        put_number(end - begin, out);
        put_number(begin - at, out);
        out.extend_from_slice(&plain[begin..end]);
        at = end;
    }
    out.push(0);
}

/// The next flow of what [`pack`] wrote, with the owner of its number.
pub(super) fn unpack(bytes: &mut &[u8], owners: impl Fn(usize) -> Option<OwnerName>) -> Option<Flow> {
    let (number, owner) = (take_number(bytes)?, take_number(bytes)?);
    let shape = SHAPES.read().unwrap_or_else(PoisonError::into_inner).all.get(number)?.clone();
    let owner = owners(owner)?;
    let mut plain = shape.first.to_vec();
    let mut at = 0;
    loop {
        let length = take_number(bytes)?;
        if length == 0 {
            break;
        }
        at += take_number(bytes)?;
        let (part, rest) = bytes.split_at_checked(length)?;
        plain.get_mut(at..at + length)?.copy_from_slice(part);
        (at, *bytes) = (at + length, rest);
    }
    let (cookie, bytes) = plain.split_first_chunk::<COOKIE>()?;
    let cookie = u64::from_be_bytes(*cookie) ^ owner.cookie(0);
    let Kind { table, priority, matched, .. } = shape.kind;
    Some(Flow::of_encoded(table, priority, cookie, matched, bytes.into(), owner))
}

/// The shape of a kind and its number; these bytes are the first of it, if there are none yet.
fn shape_of(kind: Kind, plain: &[u8]) -> (usize, Arc<Shape>) {
    let known = |shapes: &Shapes| {
        let number = *shapes.numbers.get(&kind)?;
        Some((number, shapes.all.get(number)?.clone()))
    };
    if let Some(found) = known(&SHAPES.read().unwrap_or_else(PoisonError::into_inner)) {
        return found;
    }
    let mut shapes = SHAPES.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known(&shapes) {
        return found;
    }
    let shape = Arc::new(Shape { kind, first: plain.into() });
    let number = shapes.all.len();
    shapes.all.push(shape.clone());
    shapes.numbers.insert(kind, number);
    (number, shape)
}

/// Where the next bytes that differ begin and end, small gaps included.
fn next_part(plain: &[u8], first: &[u8], from: usize) -> Option<(usize, usize)> {
    let differs = |at: &usize| plain.get(*at) != first.get(*at);
    let (words, others) = (plain.get(from..)?.as_chunks::<8>().0, first.get(from..)?.as_chunks::<8>().0);
    let equal = words.iter().zip(others).take_while(|(word, other)| word == other).count();
    let from = from + 8 * equal;
    let begin = (from..plain.len()).find(differs)?;
    let mut end = begin + 1;
    while let Some(at) = (end..plain.len().min(end + GAP + 1)).find(differs) {
        end = at + 1;
    }
    Some((begin, end))
}

/// Seven bits a byte, the lowest first.
fn put_number(mut number: usize, out: &mut Vec<u8>) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take_number(bytes: &mut &[u8]) -> Option<usize> {
    let mut number = 0;
    for shift in (0..usize::BITS).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use openflow_rs::{Action, Field, Instruction, Match, MatchField};
    use proptest::prelude::*;

    use super::*;
    use crate::pipeline::{Owner, owners};

    /// Flows of few kinds, with any values.
    fn any_flow() -> impl Strategy<Value = Flow> {
        let owner = prop_oneof![Just("a"), Just("b"), Just("")];
        (any::<u32>(), any::<u64>(), any::<u64>(), 0_usize..3, 0_u8..2, owner).prop_map(
            |(number, mac, port, ports, table, owner)| {
                let mut conditions = Match::new();
                conditions.fields.push(MatchField::exact(Field::EthDst, mac & 0xffff_ffff_ffff));
                let output = Action::Output { port: port as u32, max_len: (port >> 32) as u16 };
                let then = vec![Instruction::Apply(vec![output; ports])];
                let owner = Owner::<owners::Elan>::new(owner);
                let cookie = owner.name().cookie(number);
                Flow::new(table, 20, cookie, conditions, then, owner.name().clone())
            },
        )
    }

    proptest! {
        /// Unpacking after packing is identity, one flow after the other.
        #[test]
        fn what_is_packed_is_there_again(flows in prop::collection::vec(any_flow(), 0..20)) {
            let owners: Vec<OwnerName> = flows.iter().map(|flow| flow.owner.clone()).collect();
            let mut packed = Vec::new();
            flows.iter().enumerate().for_each(|(number, flow)| pack(flow, number, &mut packed));
            let mut rest = &packed[..];
            for flow in &flows {
                let again = unpack(&mut rest, |number| owners.get(number).cloned());
                prop_assert_eq!(again.as_ref().map(Flow::key_hash), Some(flow.key_hash()));
                prop_assert_eq!(again.as_ref(), Some(flow));
            }
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn numbers_are_there_again(number in any::<usize>()) {
            let mut bytes = Vec::new();
            put_number(number, &mut bytes);
            prop_assert_eq!(take_number(&mut &bytes[..]), Some(number));
            prop_assert_eq!(take_number(&mut &bytes[..bytes.len() - 1]), None);
        }
    }
}
