//! By what right a controller programs a switch: where several share a store, the switch is told who was elected last, and refuses the
//! others itself (OpenFlow 1.3.5 sections 6.3.5 and A.3.9).

use bytes::BytesMut;
use openflow_rs::{ErrorMessage, Message, Role, error_name};

use super::task::{End, Task};

/// OFPET_BAD_REQUEST, OFPBRC_IS_SLAVE: what a switch answers to changes by a controller that is not its master.
const IS_SLAVE: (u16, u16) = (1, 10);
/// OFPET_ROLE_REQUEST_FAILED, OFPRRFC_STALE: a later election is known to the switch.
const STALE: (u16, u16) = (11, 0);

/// By what right a switch is programmed, or that it is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mandate {
    /// Who is to program it is not decided, or not known here: nothing is sent.
    #[default]
    Waiting,
    /// Another controller programs it, by this election: the session is held, so that a takeover needs no new one.
    Other(u64),
    /// There is no other controller: roles are left as they are.
    Alone,
    /// By an election; who was elected later has a higher number.
    Elected(u64),
}

impl Mandate {
    /// Whether this controller programs the switch.
    pub fn is_ours(self) -> bool {
        matches!(self, Mandate::Alone | Mandate::Elected(_))
    }

    /// The number of the election that it is by.
    pub fn election(self) -> Option<u64> {
        match self {
            Mandate::Elected(generation) | Mandate::Other(generation) => Some(generation),
            Mandate::Waiting | Mandate::Alone => None,
        }
    }
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
        let Some(error) = self.take_role(Role::Master, generation).await? else { return Ok(()) };
        let name = error_name(error.kind, error.code);
        Err(End::Displaced(if (error.kind, error.code) == STALE {
            format!(
                "the switch knows a controller that was elected after this one ({name}, ours is {generation}); \
                 if there is none, since etcd was begun anew, restart ovs-vswitchd"
            )
        } else {
            format!("the switch did not take this controller as its master ({name})")
        }))
    }

    /// Leaves the switch to the controller of that election: it hands nothing over here any more. Refused, a later election is
    /// known to the switch, and will be here.
    pub(super) async fn leave_to(&mut self, generation: u64) -> Result<(), End> {
        self.take_role(Role::Slave, generation).await.map(drop)
    }

    /// Asks for a role; the refusal, if it is not given.
    async fn take_role(&mut self, role: Role, generation: u64) -> Result<Option<ErrorMessage>, End> {
        let xid = self.session.xids(1);
        let mut bytes = BytesMut::new();
        Message::RoleRequest { role, generation }.encode(xid, &mut bytes);
        self.session.send(bytes.freeze()).await?;
        loop {
            match self.reply("a role request").await? {
                (answered, Message::RoleReply { .. }) if answered == xid => return Ok(None),
                (answered, Message::Error(error)) if answered == xid => return Ok(Some(error)),
                _ => {}
            }
        }
    }
}
