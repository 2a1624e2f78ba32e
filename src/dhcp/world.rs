//! A network in which clients ask, in tests of both versions.

use std::net::IpAddr;
use std::sync::Arc;

use super::answer::Answer;
use super::{Book, Port};
use crate::model::AllocationPool;
use crate::net::MacAddr;
use crate::schema::Text;

pub fn mac(number: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, number])
}

/// A server with ports `blue:p1`, `blue:p2`, …, whose MAC addresses end in the same number.
pub struct World {
    pub ports: Vec<Port>,
    pub book: Book,
    pub now: u64,
}

impl World {
    pub fn new(ports: u8, pools: Vec<AllocationPool>) -> World {
        let pools: Vec<_> = pools.into_iter().map(Arc::new).collect();
        let port = |number: u8| Port {
            interface: format!("blue:p{number}").into(),
            mac: mac(number),
            fixed: None,
            fixed_v6: None,
            mtu: 1450,
            pools: pools.clone(),
        };
        World { ports: (1..=ports).map(port).collect(), book: Book::default(), now: 1000 }
    }

    pub fn pools(&mut self, pools: Vec<AllocationPool>) {
        let pools: Vec<_> = pools.into_iter().map(Arc::new).collect();
        self.ports.iter_mut().for_each(|port| port.pools = pools.clone());
    }

    pub fn passes(&mut self, seconds: u64) {
        self.now += seconds;
        for entry in self.book.due(self.now) {
            self.book.write(&entry);
        }
    }

    pub fn held(&self) -> Vec<(Text, IpAddr)> {
        self.book.leases().map(|lease| (lease.interface.clone(), lease.address)).collect()
    }

    /// The port with this number, from 1 on.
    pub fn port(&self, number: u8) -> &Port {
        &self.ports[usize::from(number) - 1]
    }

    /// An answer, written into the book.
    pub fn take<Reply>(&mut self, answer: Answer<Reply>) -> Answer<Reply> {
        answer.entries.iter().for_each(|entry| self.book.write(entry));
        answer
    }
}
