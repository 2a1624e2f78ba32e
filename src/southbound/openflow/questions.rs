//! Questions to a switch beside its programming: each gets the parts of its own answer.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use openflow_rs::{Message, MultipartReply};
use tokio::sync::oneshot;

/// Questions without an answer yet, by transaction id.
#[derive(Debug, Default)]
pub(super) struct Questions {
    open: Mutex<HashMap<u32, Open>>,
}

#[derive(Debug)]
struct Open {
    parts: Vec<MultipartReply>,
    reply: oneshot::Sender<Vec<MultipartReply>>,
}

/// A question that somebody waits for; nobody does once it is gone.
pub(super) struct Asked {
    questions: Arc<Questions>,
    xid: u32,
    answer: oneshot::Receiver<Vec<MultipartReply>>,
}

impl Questions {
    pub fn open(self: &Arc<Self>, xid: u32) -> Asked {
        let (reply, answer) = oneshot::channel();
        self.locked().insert(xid, Open { parts: Vec::new(), reply });
        Asked { questions: self.clone(), xid, answer }
    }

    /// Takes a message that answers a question; gives any other back. A refusal ends the question without an answer.
    pub fn take(&self, xid: u32, message: Message) -> Option<Message> {
        let mut open = self.locked();
        let Entry::Occupied(mut entry) = open.entry(xid) else { return Some(message) };
        match message {
            Message::MultipartReply { more, body } => {
                entry.get_mut().parts.push(body);
                if !more {
                    let Open { parts, reply } = entry.remove();
                    // Whoever asked may have stopped waiting.
                    let _ = reply.send(parts);
                }
                None
            }
            Message::Error(_) => {
                entry.remove();
                None
            }
            other => Some(other),
        }
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<u32, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asked {
    /// All parts of the answer. `None`: the switch refused to answer.
    pub async fn answer(&mut self) -> Option<Vec<MultipartReply>> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.questions.locked().remove(&self.xid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(more: bool) -> Message {
        Message::MultipartReply { more, body: MultipartReply::Table(Vec::new()) }
    }

    #[tokio::test]
    async fn parts_are_put_together_and_other_messages_go_on() {
        let questions = Arc::new(Questions::default());
        let mut asked = questions.open(7);
        assert_eq!(questions.take(8, part(false)), Some(part(false)));
        assert_eq!(questions.take(7, Message::BarrierReply), Some(Message::BarrierReply));
        assert_eq!(questions.take(7, part(true)), None);
        assert_eq!(questions.take(7, part(false)), None);
        assert_eq!(asked.answer().await.unwrap().len(), 2);
        drop(asked);
        drop(questions.open(9));
        assert_eq!(questions.take(9, part(false)), Some(part(false)));
    }
}
