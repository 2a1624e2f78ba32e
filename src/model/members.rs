//! Sets that hold one thing as a rule. A B-tree of one has room for eleven.

use smallvec::SmallVec;

/// A set in ascending order.
#[derive(Clone, Debug)]
pub struct Members<T>(SmallVec<[T; 1]>);

impl<T> Default for Members<T> {
    fn default() -> Self {
        Members(SmallVec::new())
    }
}

impl<T: Ord> Members<T> {
    pub fn insert(&mut self, member: T) {
        if let Err(at) = self.0.binary_search(&member) {
            self.0.insert(at, member);
        }
    }

    pub fn remove(&mut self, member: &T) {
        if let Ok(at) = self.0.binary_search(member) {
            self.0.remove(at);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn first(&self) -> Option<&T> {
        self.0.first()
    }

    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_a_set_in_order() {
        let mut members = Members::default();
        for number in [3, 1, 2, 3, 1] {
            members.insert(number);
        }
        members.remove(&7);
        assert_eq!(members.iter().copied().collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(members.first(), Some(&1));
        for number in [1, 2, 3] {
            assert!(!members.is_empty());
            members.remove(&number);
        }
        assert!(members.is_empty() && members.first().is_none());
    }
}
