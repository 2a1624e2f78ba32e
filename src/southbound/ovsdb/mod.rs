//! OVSDB sessions.
