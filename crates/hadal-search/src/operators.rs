//! Used-operator bits (Korf): beside every state, the operators that lead back to where it was reached from. A search that
//! does not fire them never comes back to the layer before, so it needs no closed states to compare with.

use crate::report::{Proviso, Report};
use hadal_system::{Label, Merge, Payload, StateSpace, Successors, Worker, WrapsSpace, WrapsWorker};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bits beside a state, at most.
pub(crate) const MOST_OPERATORS: u32 = 1024;

/// A space in which every state keeps which of its operators need not be fired. Which operators undo a step is seen by firing
/// those of the state that the step leads to: no language says it.
pub struct UsedOperators<'s> {
    space: &'s dyn StateSpace,
    words: usize,
    one_way: AtomicU64,
}

impl<'s> UsedOperators<'s> {
    /// The operators of this space, whose own payloads are left out; `None` where there are too many to mark.
    pub fn of(space: &'s dyn StateSpace) -> Option<Self> {
        let labels = space.actions().iter().map(|action| action.labels.end).max().unwrap_or(0);
        let words = labels.div_ceil(u64::BITS).max(1) as usize;
        (labels <= MOST_OPERATORS).then(|| UsedOperators { space, words, one_way: AtomicU64::new(0) })
    }

    /// Steps that no operator undoes, or only one that does something else besides: behind them states may be visited again.
    pub fn one_way(&self) -> u64 {
        self.one_way.load(Ordering::Relaxed)
    }

    /// Tells what was seen. Where every step can be undone, no state was visited twice.
    pub fn tell(&self, report: &mut Report) {
        let one_way = self.one_way();
        report.particular.one_way = Some(one_way);
        if one_way == 0 && matches!(report.proviso, Some(Proviso::LayersDeleted { .. })) {
            report.proviso = None;
        }
    }
}

impl WrapsSpace for UsedOperators<'_> {
    fn inner(&self) -> &dyn StateSpace {
        self.space
    }
    fn payload(&self) -> Payload {
        Payload { words: self.words, merge: Merge::Union }
    }
    fn worker(&self) -> Box<dyn Worker + '_> {
        let scratch = Successors::new(self.space.words());
        Box::new(MarkingWorker { inner: self.space.worker(), bits: self, scratch, left_out: 0 })
    }
}

struct MarkingWorker<'s> {
    inner: Box<dyn Worker + 's>,
    bits: &'s UsedOperators<'s>,
    scratch: Successors,
    /// Successors of the state expanded last that were not kept.
    left_out: usize,
}

impl WrapsWorker for MarkingWorker<'_> {
    fn inner(&self) -> &dyn Worker {
        &*self.inner
    }
    fn inner_mut(&mut self) -> &mut dyn Worker {
        &mut *self.inner
    }
    fn can_leave(&mut self, state: &[u64]) -> bool {
        self.left_out > 0 || self.inner.can_leave(state)
    }
    fn payloads(
        &mut self,
        from: Option<(&[u64], &[u64])>,
        (out, first): (&mut Successors, usize),
        payloads: &mut Vec<u64>,
    ) {
        let words = self.bits.words;
        let Some((state, used)) = from else {
            payloads.resize(payloads.len() + (out.len() - first) * words, 0);
            return;
        };
        let before = out.len();
        out.retain_from(first, |label, _| {
            let (word, bit) = place_of(label);
            used.get(word).is_none_or(|used| used & bit == 0)
        });
        self.left_out = before - out.len();
        for n in first..out.len() {
            let at = payloads.len();
            payloads.resize(at + words, 0);
            self.scratch.clear();
            self.inner.successors(out.state(n), &mut self.scratch);
            let is_undone = mark_ways_back(&self.scratch, state, &mut payloads[at..]);
            self.bits.one_way.fetch_add(u64::from(!is_undone), Ordering::Relaxed);
        }
    }
}

/// Marks the operators that lead to `state` and nowhere else; whether there are some, and no others that lead there.
fn mark_ways_back(out: &Successors, state: &[u64], used: &mut [u64]) -> bool {
    let (mut back, mut is_undone) = (0, true);
    for (label, _) in out.iter().filter(|(_, next)| *next == state) {
        let (word, bit) = place_of(label);
        match used.get_mut(word) {
            Some(used) => *used |= bit,
            None => is_undone = false,
        }
        back += 1;
    }
    for (label, _) in out.iter().filter(|(_, next)| *next != state) {
        let (word, bit) = place_of(label);
        if let Some(used) = used.get_mut(word) {
            is_undone &= *used & bit == 0;
            *used &= !bit;
        }
    }
    is_undone && back > 0
}

/// The word and the bit of an operator.
fn place_of(label: Label) -> (usize, u64) {
    (label.0 as usize / 64, 1 << (label.0 % 64))
}
