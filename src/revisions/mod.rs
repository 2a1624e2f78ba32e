//! What is done with the revisions that the datastore keeps: YANG Patches between them, and commits that go back by themselves
//! unless they are confirmed.

pub mod actor;
pub mod confirm;
pub mod patch;
