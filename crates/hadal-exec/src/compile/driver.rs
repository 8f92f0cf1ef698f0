//! The boundary between safe code and compiled code.

use std::mem::MaybeUninit;

use hadal_system::{Label, Successors};

use super::jit::AskFn;
use super::runtime::Context;
use super::segments::{STRETCH, Segment, SegmentKind};

/// Words of a padded copy of a state that fit on the stack.
const PAD_WORDS: usize = 512;
/// Words of successors a loop over instances is given room for at once.
const ROOM_WORDS: usize = 1 << 20;
/// So many successors are sorted by label at once.
const SORTED: usize = 64;

/// What calling compiled code needs to know.
pub(super) struct Driver {
    /// Words of a state.
    pub words: usize,
    /// Number of property instances.
    pub properties: usize,
    /// Whether compiled code may read a word behind a source state.
    pub padded: bool,
    /// Bytes of stack that compiled code may need.
    pub stack: usize,
}

/// What a segment may append: at most so many successors, and in which order.
#[derive(Clone, Copy)]
struct Room {
    most: usize,
    order: Order,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// As compiled code finds them.
    AsFound,
    /// Sorted by label.
    ByLabel,
}

impl Driver {
    /// Appends what all segments make of `state`.
    pub fn expand(&self, segments: &[Segment], state: &[u64], out: &mut Successors, covers: &mut [u64]) {
        assert_eq!(state.len(), self.words, "every state has the same width");
        assert_eq!(out.words(), self.words, "every state has the same width");
        assert!(covers.len() >= self.properties, "every property has a count");
        let mut faults: Vec<Label> = Vec::new();
        let mut context = Context { faults: &raw mut faults, covers: covers.as_mut_ptr(), first: 0, last: 0 };
        let before = out.len();
        let mut rank = 0;
        self.with_source(state, |source| {
            for segment in segments {
                if segment.rank > rank {
                    // SAFETY: the list lives above; compiled code is not running.
                    if out.len() > before || unsafe { !(*context.faults).is_empty() } {
                        break;
                    }
                    rank = segment.rank;
                }
                match segment.kind {
                    SegmentKind::Tree { most, ordered } => {
                        let order = if ordered { Order::AsFound } else { Order::ByLabel };
                        append(segment, &mut context, source, out, Room { most, order });
                    }
                    SegmentKind::Loop { count } => {
                        let stretch = STRETCH.min((ROOM_WORDS / self.words).max(1) as u64);
                        let mut first = 0;
                        while first < count {
                            (context.first, context.last) = (first, (first + stretch).min(count));
                            let room = Room { most: stretch as usize, order: Order::AsFound };
                            append(segment, &mut context, source, out, room);
                            first = context.last;
                        }
                    }
                }
            }
        });
        if !faults.is_empty() {
            faults.sort_unstable();
            faults.into_iter().for_each(|label| out.push_fault(label));
        }
    }

    /// Appends what one segment makes of states that lie one after the other, as it finds it, and to `ends` how many there
    /// are behind each state; ends with the state that brings them to `enough` or meets an error.
    pub fn expand_each(
        &self,
        (segment, most): (&Segment, usize),
        states: &[u64],
        enough: usize,
        found: (&mut Successors, &mut Vec<usize>, &mut [u64]),
    ) {
        let (out, ends, covers) = found;
        assert_eq!(out.words(), self.words, "every state has the same width");
        assert!(covers.len() >= self.properties, "every property has a count");
        let mut faults: Vec<Label> = Vec::new();
        let mut context = Context { faults: &raw mut faults, covers: covers.as_mut_ptr(), first: 0, last: 0 };
        let room = Room { most, order: Order::AsFound };
        self.with_stack(|| {
            for at in (0..states.len() / self.words).map(|n| n * self.words) {
                // Behind each but the last state lies another one, which compiled code may read.
                match &states[at..] {
                    last if last.len() <= self.words => self.with_source(last, |source| {
                        append(segment, &mut context, source, out, room);
                    }),
                    more => append(segment, &mut context, more.as_ptr(), out, room),
                }
                ends.push(out.len());
                // SAFETY: the list lives above; compiled code is not running.
                if out.len() >= enough || unsafe { !(*context.faults).is_empty() } {
                    break;
                }
            }
        });
        faults.sort_unstable();
        faults.into_iter().for_each(|label| out.push_fault(label));
    }

    /// The first place in `numbers` whose state some of these property functions, which take no parameters, has an answer for
    /// other than `fine`.
    pub fn ask_each(&self, asks: &[AskFn], fine: u64, states: &[u64], numbers: &[usize]) -> Option<usize> {
        let mut context =
            Context { faults: std::ptr::null_mut(), covers: std::ptr::null_mut(), first: 0, last: 0 };
        self.with_stack(|| {
            numbers.iter().position(|&number| {
                let state = &states[number * self.words..];
                let mut is_found = |source| {
                    // SAFETY: as in `ask`; property functions without parameters read no values.
                    let mut ask = |ask: &AskFn| unsafe { ask(&raw mut context, source, std::ptr::null()) };
                    asks.iter().any(|function| ask(function) != fine)
                };
                // Behind each but the last state lies another one, which compiled code may read.
                match state.len() > self.words {
                    true => is_found(state.as_ptr()),
                    false => self.with_source(state, is_found),
                }
            })
        })
    }

    /// Asks a property function about a state.
    pub fn ask(&self, ask: AskFn, state: &[u64], values: &[i64]) -> u64 {
        assert_eq!(state.len(), self.words, "every state has the same width");
        let mut context =
            Context { faults: std::ptr::null_mut(), covers: std::ptr::null_mut(), first: 0, last: 0 };
        // SAFETY: the source has `words` words (and one more where the code reads it); property functions note no
        // faults and count no covers, and read as many values as their property has parameters.
        self.with_source(state, |source| unsafe { ask(&raw mut context, source, values.as_ptr()) })
    }

    /// Calls `run` with the state, with a word behind it where compiled code reads one, on enough stack.
    pub fn with_source<T>(&self, state: &[u64], run: impl FnOnce(*const u64) -> T) -> T {
        if !self.padded {
            return self.with_stack(|| run(state.as_ptr()));
        }
        if self.words < PAD_WORDS {
            let mut copy = MaybeUninit::<[u64; PAD_WORDS]>::uninit();
            let start = copy.as_mut_ptr().cast::<u64>();
            // SAFETY: `words + 1` words fit the array; the source does not overlap a fresh local.
            unsafe {
                std::ptr::copy_nonoverlapping(state.as_ptr(), start, self.words);
                start.add(self.words).write(0);
            }
            self.with_stack(|| run(start))
        } else {
            let mut copy = Vec::with_capacity(self.words + 1);
            copy.extend_from_slice(state);
            copy.push(0);
            self.with_stack(|| run(copy.as_ptr()))
        }
    }

    fn with_stack<T>(&self, run: impl FnOnce() -> T) -> T {
        const SMALL: usize = 128 << 10;
        if self.stack <= SMALL {
            run()
        } else {
            stacker::maybe_grow(self.stack + SMALL, self.stack + 2 * SMALL, run)
        }
    }
}

/// Appends what a segment makes of the state at `source`.
fn append(
    segment: &Segment,
    context: &mut Context,
    source: *const u64,
    out: &mut Successors,
    Room { most, order }: Room,
) {
    let words = out.words();
    // One more than can be needed: wide accesses may touch the word behind a state. Behind it, room to sort.
    let sorted = if order == Order::ByLabel { most.min(SORTED) } else { 0 };
    let (states, labels) = out.spare(most + 1 + sorted);
    let labels = labels.cast::<u32>();
    // SAFETY: the source has `words` words (and one more where the code reads it); there is room for `most`
    // successors, which bounds what this segment appends; the context's pointers outlive the call. `Label` is a
    // plain 32-bit number: its address is that of its content.
    let written = unsafe {
        let ends = (segment.expand)(context, source, states, labels);
        let written = ends.labels.offset_from_unsigned(labels);
        debug_assert!(written <= most);
        if order == Order::ByLabel {
            let labels = std::slice::from_raw_parts_mut(labels, written);
            match labels.is_sorted() {
                true => {}
                false if written <= SORTED => sort_few(labels, states, words),
                false => sort(labels, std::slice::from_raw_parts_mut(states, written * words), words),
            }
        }
        written
    };
    // SAFETY: compiled code wrote that many states and labels into the room that `spare` gave.
    unsafe { out.commit(written) }
}

/// Sorts at most [`SORTED`] successors by label: first the labels with their places, then every state moves once.
///
/// # Safety
/// At `states` lie as many states as there are labels, and room for as many behind them.
unsafe fn sort_few(labels: &mut [u32], states: *mut u64, words: usize) {
    let mut keys = [0; SORTED];
    let keys = &mut keys[..labels.len()];
    for (n, &label) in labels.iter().enumerate() {
        let key = u64::from(label) << 32 | n as u64;
        let mut to = n;
        while to > 0 && keys[to - 1] > key {
            keys[to] = keys[to - 1];
            to -= 1;
        }
        keys[to] = key;
    }
    // SAFETY: both ranges lie in the room that the caller gives, and do not overlap; the low half of a key is the number of
    // a state.
    unsafe {
        let aside = states.add(labels.len() * words);
        std::ptr::copy_nonoverlapping(states, aside, labels.len() * words);
        for (n, &key) in keys.iter().enumerate() {
            labels[n] = (key >> 32) as u32;
            let (from, to) = (aside.add((key as u32) as usize * words), states.add(n * words));
            match words {
                1 => *to = *from,
                2 => to.cast::<[u64; 2]>().write(from.cast::<[u64; 2]>().read()),
                _ => std::ptr::copy_nonoverlapping(from, to, words),
            }
        }
    }
}

/// Sorts successors by label where there are many; they come in a few ascending stretches.
fn sort(labels: &mut [u32], states: &mut [u64], words: usize) {
    for n in 1..labels.len() {
        if labels[n - 1] <= labels[n] {
            continue;
        }
        let label = labels[n];
        let to = labels[..n].partition_point(|&other| other <= label);
        labels.copy_within(to..n, to + 1);
        labels[to] = label;
        states[to * words..(n + 1) * words].rotate_right(words);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorting_moves_states_with_their_labels() {
        for words in [1, 2, 5, 9] {
            let mut labels = [4, 9, 1, 5, 0];
            let states_of = |labels: &[u32]| -> Vec<u64> {
                let state = |&label: &u32| (0..words as u64).map(move |word| 100 * word + u64::from(label));
                labels.iter().flat_map(state).collect()
            };
            let unsorted = labels;
            let mut states = states_of(&labels);
            sort(&mut labels, &mut states, words);
            assert_eq!(labels, [0, 1, 4, 5, 9]);
            assert_eq!(states, states_of(&labels), "{words} words");
            let (mut few, mut room) = (unsorted, states_of(&unsorted));
            room.resize(2 * room.len(), 0);
            // SAFETY: there is room for as many states again.
            unsafe { sort_few(&mut few, room.as_mut_ptr(), words) };
            assert_eq!(few, labels);
            assert_eq!(room[..states.len()], states, "{words} words");
        }
    }
}
