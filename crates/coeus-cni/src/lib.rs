//! The Container Network Interface (CNI specification 1.1.0 and back to 0.3.0) without I/O: what a runtime asks, read and
//! checked; what it is answered, in the words of the version it speaks. Both the plugin and the node agent use it.

mod answer;
mod args;
mod asks;
mod call;
mod config;
mod error;
mod request;
mod result;
mod version;

pub use answer::Answer;
pub use args::Args;
pub use asks::{Bandwidth, PortMapping, Protocol};
pub use call::{Call, DEFAULT_SOCKET};
pub use config::{AskedAddress, Attachment, Config, Ipam, Pods, unicast_mac, uuid};
pub use error::{Code, Error};
pub use request::{Command, Request};
pub use result::{Dns, Interface, Ip, Prefix, Route, Success};
pub use version::{SUPPORTED, Version};
