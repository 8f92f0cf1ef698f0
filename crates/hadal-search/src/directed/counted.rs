//! A list whose memory counts against the budget.

use hadal_store::governor::Reservation;
use hadal_store::{Governor, OverBudget};

/// A growing list.
pub(super) struct Counted<T> {
    items: Vec<T>,
    reservation: Reservation,
}

impl<T: Copy> Counted<T> {
    pub(super) fn new(what: &'static str, governor: &Governor) -> Self {
        Counted { items: Vec::new(), reservation: governor.empty(what) }
    }

    pub(super) fn push(&mut self, item: T) -> Result<(), OverBudget> {
        self.reserve(1)?;
        self.items.push(item);
        Ok(())
    }

    pub(super) fn extend(&mut self, items: &[T]) -> Result<(), OverBudget> {
        self.reserve(items.len())?;
        self.items.extend_from_slice(items);
        Ok(())
    }

    fn reserve(&mut self, more: usize) -> Result<(), OverBudget> {
        let wanted = self.items.len() + more;
        if wanted > self.items.capacity() {
            let capacity = wanted.max(self.items.capacity() * 2).max(64);
            // While it moves, both are there.
            self.reservation.try_grow((capacity * size_of::<T>()) as u64)?;
            self.items.reserve_exact(capacity - self.items.len());
            self.reservation.shrink_to((self.items.capacity() * size_of::<T>()) as u64);
        }
        Ok(())
    }
}

impl<T> std::ops::Deref for Counted<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.items
    }
}

impl<T> Counted<T> {
    /// Shortens it; the memory stays.
    pub(super) fn truncate(&mut self, len: usize) {
        self.items.truncate(len);
    }

    pub(super) fn clear(&mut self) {
        self.items.clear();
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.items
    }
}
