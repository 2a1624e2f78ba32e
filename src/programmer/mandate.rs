//! By what right a controller programs a switch: where several share a store, the switch is told who was elected last, and refuses the
//! others itself (OpenFlow 1.3.5 sections 6.3.5 and A.3.9).

use bytes::BytesMut;
use openflow_rs::{ErrorMessage, Message, Role, error_name};

use super::task::{End, Task};

/// OFPET_BAD_REQUEST, OFPBRC_IS_SLAVE: what a switch answers to changes by a controller that is not its master.
const IS_SLAVE: (u16, u16) = (1, 10);
/// OFPET_ROLE_REQUEST_FAILED, OFPRRFC_STALE: a later election is known to the switch.
const STALE: (u16, u16) = (11, 0);

/// By what right switches are programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mandate {
    /// There is no other controller: roles are left as they are.
    Alone,
    /// By an election; who was elected later has a higher number.
    Elected(u64),
}

/// Whether the switch says that another controller is its master.
pub(super) fn is_slave(error: &ErrorMessage) -> bool {
    (error.kind, error.code) == IS_SLAVE
}

/// What is told when a switch has gone over to another controller.
pub(super) fn displaced() -> End {
    End::Displaced("the switch takes changes from another controller now (OFPBRC_IS_SLAVE)".into())
}

impl Task {
    /// Becomes the master of the switch, in whose view nobody else may change anything then.
    pub(super) async fn claim(&mut self, mandate: Mandate) -> Result<(), End> {
        let Mandate::Elected(generation) = mandate else { return Ok(()) };
        let xid = self.session.xids(1);
        let mut bytes = BytesMut::new();
        Message::RoleRequest { role: Role::Master, generation }.encode(xid, &mut bytes);
        self.session.send(bytes.freeze()).await?;
        loop {
            match self.reply("a role request").await? {
                (answered, Message::RoleReply { .. }) if answered == xid => return Ok(()),
                (answered, Message::Error(error)) if answered == xid => {
                    let name = error_name(error.kind, error.code);
                    return Err(End::Displaced(if (error.kind, error.code) == STALE {
                        format!(
                            "the switch knows a controller that was elected after this one ({name}, ours is {generation}); \
                             if there is none, since etcd was begun anew, restart ovs-vswitchd"
                        )
                    } else {
                        format!("the switch did not take this controller as its master ({name})")
                    }));
                }
                _ => {}
            }
        }
    }
}
