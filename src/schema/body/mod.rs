//! What reading JSON and reading XML share: faults with their places, members, keys of list entries.
//!
//! Where a function is generic in serde's `Error`, that error only says that reading stops; the faults are in the
//! [`Reader`].

mod entries;
mod error;
mod members;
mod reader;

pub use entries::{gathered, gathered_values, keyed_entry, next_entry};
pub use error::{BodyError, BodyErrorKind, BodyErrors};
pub use members::Members;
pub use reader::{At, Mode, Reader, STOP};
