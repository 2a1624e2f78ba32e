//! Sockets to the switches.
pub mod openflow;
pub mod ovsdb;
