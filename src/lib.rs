//! Coeus: a model-driven network datastore and flow programmer for containers on Open vSwitch.
//!
//! The network is a pure function of the datastore. Modules stand here from the ground up; an import points
//! down, never up (`tests/floors.rs` keeps that true, ARCHITECTURE.md draws it).

/// Floor 0: addresses and identifiers, values only.
pub mod net;

/// Floor 0: X.509 certificates: read from PEM, and what they call their owner.
pub mod certificates;

/// Floor 1: who may do what.
pub mod access;
/// Floor 1: OVSDB (RFC 7047) messages and row cache, without I/O.
pub mod ovsdb;
/// Floor 2: isolation policies, and who may reach whom under them.
pub mod policy;
/// Floor 1: YANG modules, instance data, JSON, validation.
pub mod schema;

/// Floor 2: trees, transactions, revisions, the journal.
pub mod datastore;
/// Floor 2: the flow language and the tables of `pipelines/netvirt.toml`.
pub mod pipeline;

/// Floor 3: typed rows read from the datastore, with the indices the renderers ask for.
pub mod model;

/// Floor 4: one folder a feature; pure functions from the model to flows and derived nodes.
pub mod renderers;
pub mod revisions;

/// Floor 6: the answer to a punted DHCP request.
pub mod dhcp;

/// Floor 6: router advertisements.
pub mod ra;
pub mod refusal;

/// Floor 6: who is on external networks.
pub mod neighbours;

/// Floor 5: sockets to the switches.
pub mod southbound;

/// Floor 2: users, passwords, tokens.
pub mod accounts;
/// Floor 1: records of writes and of refused logins.
pub mod audit;

/// Floor 6: everything that writes configuration.
pub mod northbound;
/// Floor 6: desired minus actual, per switch.
pub mod programmer;

/// Floor 6: logging and metrics.
pub mod observe;

/// Floor 2: the node agent, which makes the interfaces of containers.
pub mod node;

/// Floor 7: the whole controller, put together.
pub mod app;
pub mod cli;

/// Floor 8: the controller in a simulated network.
pub mod simulation;

/// Floor 7: a controller under random writes and restarts.
pub mod soak;
