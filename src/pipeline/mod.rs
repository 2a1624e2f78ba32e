//! The flow language: tables, matches, actions, groups and meters, each with an owner.
//!
//! ```
//! use coeus::net::{ElanTag, LportTag, MacAddr};
//! use coeus::pipeline::{ELAN_DMAC, EGRESS_DISPATCHER, Flow, Owner, actions, matches, owners};
//! let owner = Owner::<owners::Elan>::new("192.168.56.11:blue");
//! let flow = Flow::table(ELAN_DMAC)
//!     .priority(20)
//!     .tagged(5001)
//!     .matching([matches::elan_tag(ElanTag(5001)), matches::eth_dst(MacAddr([2, 0, 0, 0, 0, 1]))])
//!     .then([actions::egress_to(LportTag(3)), actions::resubmit(EGRESS_DISPATCHER)])
//!     .owned_by(&owner);
//! assert!(flow.to_string().contains("dl_dst=02:00:00:00:00:01 actions=load:0x300->NXM_NX_REG6[],resubmit(,220)"));
//! ```
//!
//! A flow of a table that belongs to somebody else does not compile:
//! ```compile_fail
//! use coeus::pipeline::{ARP_RESPONDER, Flow, Owner, owners};
//! Flow::table(ARP_RESPONDER).priority(1).owned_by(&Owner::<owners::Elan>::new("a"));
//! ```

pub mod actions;
mod check;
mod delta;
mod document;
pub mod evaluate;
mod flow;
mod flow_table;
pub mod golden;
mod group;
pub mod matches;
mod metadata;
mod owner;
pub mod printed;
mod service_way;
mod shapes;
mod sheaf;
mod tables;

pub use check::{CheckError, LONGEST_PUNT};
pub use delta::{Delta, Held, SwitchTables};
pub use document::document;
pub use flow::{Draft, Flow, FlowKey, base_flows};
pub use flow_table::{FlowChange, FlowSet, FlowTable};
pub use group::{Balanced, Group, GroupDraft, Meter, broadcast_groups, route_groups, service_groups};
pub use metadata::{Metadata, came_by, came_from_outside, goes_to, routed_in};
pub use openflow_rs::Action;
pub use owner::{COOKIE_MARK, COUNTED, Feature, Owner, OwnerName, is_ours, owners};
pub use service_way::{ServicePlace, ServiceWay};
pub use sheaf::{Rebound, Sheaf, Sheaves};
pub use tables::*;
