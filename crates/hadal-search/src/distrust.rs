//! States from the files of an earlier run, looked at before anything relies on them.
//!
//! Compiled code trusts that every scalar of a state has one of its codes. Checksums find damaged files; a file that was
//! made by other means, or for a model that only looks the same, passes them. So a run that is resumed goes on through a
//! [`Distrusted`] space, which asks [`StateSpace::admits`] of each state that is expanded.

use crate::control::Control;
use hadal_system::{Check, PropertyId, StateSpace, Successors, Worker, WrapsSpace, WrapsWorker};
use std::sync::atomic::{AtomicBool, Ordering};

/// A space whose states may come from anywhere.
pub struct Distrusted<'a> {
    inner: &'a dyn StateSpace,
    control: &'a Control,
    refused: &'a AtomicBool,
}

impl<'a> Distrusted<'a> {
    /// Around a space. Where something is met that is no state of it, the search that `control` belongs to is ended and
    /// `refused` set: no answer of that search is to be believed.
    pub fn new(inner: &'a dyn StateSpace, control: &'a Control, refused: &'a AtomicBool) -> Self {
        Distrusted { inner, control, refused }
    }
}

impl WrapsSpace for Distrusted<'_> {
    fn inner(&self) -> &dyn StateSpace {
        self.inner
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(DistrustedWorker { inner: self.inner.worker(), space: self })
    }
}

struct DistrustedWorker<'a> {
    inner: Box<dyn Worker + 'a>,
    space: &'a Distrusted<'a>,
}

impl DistrustedWorker<'_> {
    fn admits(&self, state: &[u64]) -> bool {
        let admits = self.space.inner.admits(state);
        if !admits {
            self.space.refused.store(true, Ordering::Relaxed);
            self.space.control.interrupt();
        }
        admits
    }
}

impl WrapsWorker for DistrustedWorker<'_> {
    fn inner(&self) -> &dyn Worker {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn Worker {
        &mut *self.inner
    }

    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        if self.admits(state) {
            self.inner.successors(state, out);
        }
    }

    fn can_leave(&mut self, state: &[u64]) -> bool {
        !self.admits(state) || self.inner.can_leave(state)
    }

    fn check(&mut self, state: &[u64]) -> Check {
        if self.admits(state) { self.inner.check(state) } else { Check::Fine }
    }

    fn satisfies(&mut self, state: &[u64], property: PropertyId) -> Option<bool> {
        if self.admits(state) { self.inner.satisfies(state, property) } else { Some(false) }
    }
}
