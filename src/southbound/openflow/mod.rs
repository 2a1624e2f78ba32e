//! OpenFlow sessions.
