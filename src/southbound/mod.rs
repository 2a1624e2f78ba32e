//! Sockets to the switches.
pub mod admission;
pub mod openflow;
pub mod ovsdb;
