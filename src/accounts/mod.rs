//! Accounts: who is asking. Passwords, bearer tokens and client certificates lead to an [`Identity`]; what that may do is
//! said by `access`.
//!
//! Users and tokens stand in `DATA-DIR/users.toml`, which a running controller reads again when it changes.

mod command;
mod file;
mod known;
mod live;
mod password;
mod secret;
mod throttle;

pub use command::{TokenCommand, UserCommand};
pub use file::{File, FileError, Token, User};
pub use live::{Accounts, Check, FirstStart, Login};
pub use throttle::Throttle;
