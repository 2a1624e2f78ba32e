//! A thread that carries out one order after the other and says what became of each.

use std::sync::mpsc::{Receiver, RecvError, Sender, channel};
use std::thread::JoinHandle;

/// The thread, as who orders sees it. Dropping it waits for what is under way.
pub(super) struct Worker<Order, Outcome> {
    orders: Option<Sender<Order>>,
    outcomes: Receiver<Outcome>,
    is_busy: bool,
    thread: Option<JoinHandle<()>>,
}

impl<Order: Send + 'static, Outcome: Send + 'static> Worker<Order, Outcome> {
    /// # Errors
    /// When no thread can be started.
    pub fn start(
        name: &str,
        mut work: impl FnMut(Order) -> Outcome + Send + 'static,
    ) -> std::io::Result<Worker<Order, Outcome>> {
        let (orders, ordered) = channel();
        let (done, outcomes) = channel();
        let thread = std::thread::Builder::new().name(name.into()).spawn(move || {
            for order in ordered {
                if done.send(work(order)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Worker { orders: Some(orders), outcomes, is_busy: false, thread: Some(thread) })
    }
}

impl<Order, Outcome> Worker<Order, Outcome> {
    /// Whether an order's outcome was not taken yet.
    pub fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// One order at a time: the outcome of the one before must have been taken.
    pub fn order(&mut self, order: Order) {
        debug_assert!(!self.is_busy, "one order after the other");
        if let Some(orders) = &self.orders {
            // A thread that is gone is seen by who waits.
            let _ = orders.send(order);
            self.is_busy = true;
        }
    }

    /// What became of the last order, once that is known.
    pub fn outcome(&mut self) -> Option<Outcome> {
        let outcome = self.outcomes.try_recv().ok()?;
        self.is_busy = false;
        Some(outcome)
    }

    /// The same, and waits for it; `None` if nothing was ordered.
    ///
    /// # Errors
    /// When the thread has ended: its work panicked.
    pub fn wait(&mut self) -> Result<Option<Outcome>, RecvError> {
        if !std::mem::take(&mut self.is_busy) {
            return Ok(None);
        }
        self.outcomes.recv().map(Some)
    }
}

impl<Order, Outcome> Drop for Worker<Order, Outcome> {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_carried_out_one_after_the_other() {
        let mut sum = 0;
        let mut worker = Worker::start("adder", move |more: u32| {
            sum += more;
            sum
        })
        .unwrap();
        assert_eq!(worker.wait(), Ok(None));
        worker.order(2);
        assert!(worker.is_busy());
        assert_eq!(worker.wait(), Ok(Some(2)));
        assert!(!worker.is_busy());
        worker.order(3);
        assert_eq!(worker.wait(), Ok(Some(5)));
    }

    #[test]
    fn a_thread_that_has_ended_is_an_error_and_not_a_wait_without_end() {
        let mut worker = Worker::start("fallen", |(): ()| -> () { panic!("as the test wants it") }).unwrap();
        worker.order(());
        assert_eq!(worker.wait(), Err(RecvError));
    }
}
