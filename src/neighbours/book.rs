//! Who is known, who is asked for, and what is due when. Times are milliseconds of one clock.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use crate::net::MacAddr;
use crate::schema::Text;

/// A place on an external network.
pub type Place = (Text, IpAddr);

/// Between two questions for one neighbour, and how often one is asked.
const PAUSE: u64 = 1_000;
const TRIES: u8 = 3;
/// Who was not heard for so long is asked for again.
const STALE: u64 = 30_000;
/// Neighbours of one network: more are not remembered.
const MOST: usize = 4096;

/// No address comes before this one.
const LEAST: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

#[derive(Clone, Copy, Debug)]
struct Known {
    mac: MacAddr,
    heard: u64,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    /// In whose name, if in somebody's.
    by: Option<IpAddr>,
    due: u64,
    tries: u8,
}

/// Somebody is to be asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Question {
    pub place: Place,
    pub by: Option<IpAddr>,
}

#[derive(Debug, Default)]
pub struct Book {
    known: BTreeMap<Place, Known>,
    asked: BTreeMap<Place, Asked>,
}

impl Book {
    /// Who was known before the controller started: asked for at once.
    pub fn remember(&mut self, place: Place, mac: MacAddr) {
        self.known.insert(place, Known { mac, heard: 0 });
    }

    /// Somebody is there. Whether that is news.
    pub fn heard(&mut self, place: &Place, mac: MacAddr, now: u64) -> bool {
        let of_network = self.known.range((place.0.clone(), LEAST)..);
        let full = of_network.take_while(|((network, _), _)| *network == place.0).nth(MOST - 1).is_some();
        if full && !self.known.contains_key(place) {
            return false;
        }
        self.asked.remove(place);
        let before = self.known.insert(place.clone(), Known { mac, heard: now });
        before.is_none_or(|before| before.mac != mac)
    }

    /// Somebody is wanted, by a floating address or for the network's sake.
    pub fn want(&mut self, place: Place, by: Option<IpAddr>, now: u64) {
        self.asked.entry(place).or_insert(Asked { by, due: now, tries: 0 });
    }

    pub fn knows(&self, place: &Place) -> bool {
        self.known.contains_key(place)
    }

    /// Whom to ask for now, and who is not there any more. Networks that are not in use are forgotten.
    pub fn due(&mut self, now: u64, in_use: impl Fn(&str) -> bool) -> (Vec<Question>, Vec<Place>) {
        let mut gone: Vec<Place> = self.known.keys().filter(|place| !in_use(&place.0)).cloned().collect();
        self.asked.retain(|place, _| in_use(&place.0));
        let stale = |known: &Known| known.heard == 0 || known.heard + STALE <= now;
        let stale = self.known.iter().filter(|(place, known)| in_use(&place.0) && stale(known));
        for place in stale.map(|(place, _)| place.clone()).collect::<Vec<_>>() {
            self.want(place, None, now);
        }
        let mut questions = Vec::new();
        let mut unheard = Vec::new();
        for (place, asked) in self.asked.iter_mut().filter(|(_, asked)| asked.due <= now) {
            if asked.tries == TRIES {
                unheard.push(place.clone());
                continue;
            }
            asked.tries += 1;
            asked.due = now + PAUSE;
            questions.push(Question { place: place.clone(), by: asked.by });
        }
        for place in unheard {
            self.asked.remove(&place);
            if self.known.contains_key(&place) {
                gone.push(place);
            }
        }
        for place in &gone {
            self.known.remove(place);
        }
        (questions, gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

    fn place(last: u8) -> Place {
        ("net".into(), IpAddr::V4(Ipv4Addr::new(203, 0, 113, last)))
    }

    fn asked(book: &mut Book, now: u64) -> usize {
        book.due(now, |_| true).0.len()
    }

    #[test]
    fn who_is_wanted_is_asked_for_three_times_a_second_apart() {
        let mut book = Book::default();
        let by = Some(place(7).1);
        book.want(place(1), by, 5_000);
        book.want(place(1), None, 5_000);
        assert_eq!(book.due(5_000, |_| true).0, [Question { place: place(1), by }]);
        assert_eq!([5_500, 6_000, 7_000, 8_000, 9_000].map(|now| asked(&mut book, now)), [0, 1, 1, 0, 0]);
    }

    #[test]
    fn who_answers_is_known_and_asked_for_again_when_not_heard_for_long() {
        let mut book = Book::default();
        book.want(place(1), None, 1);
        assert_eq!(asked(&mut book, 1), 1);
        assert!(book.heard(&place(1), MAC, 10));
        assert!(!book.heard(&place(1), MAC, 20));
        assert!(book.heard(&place(1), MacAddr([2, 0, 0, 0, 0, 2]), 30));
        assert_eq!([2_000, 30_029, 30_030].map(|now| asked(&mut book, now)), [0, 0, 1]);
        assert_eq!(asked(&mut book, 31_030) + asked(&mut book, 32_030), 2);
        assert_eq!(book.due(33_030, |_| true), (vec![], vec![place(1)]));
        assert!(!book.knows(&place(1)));
    }

    #[test]
    fn a_network_that_is_not_in_use_is_forgotten() {
        let mut book = Book::default();
        book.heard(&place(1), MAC, 10);
        book.want(place(2), None, 10);
        assert_eq!(book.due(20, |_| false), (vec![], vec![place(1)]));
        assert_eq!(book.due(30, |_| true), (vec![], vec![]));
    }

    #[test]
    fn a_network_has_so_many_neighbours_and_no_more() {
        let mut book = Book::default();
        for number in 0..MOST as u32 {
            assert!(book.heard(&("net".into(), IpAddr::V4(Ipv4Addr::from(number + 1))), MAC, 1));
        }
        assert!(!book.heard(&place(1), MAC, 1) && !book.knows(&place(1)));
        assert!(book.heard(&("other".into(), IpAddr::V4(Ipv4Addr::from(1))), MAC, 1));
    }
}
