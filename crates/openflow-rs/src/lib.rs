//! OpenFlow codec.
