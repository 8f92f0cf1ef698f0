//! Growing the index in a stream: its buckets are gone through once, and an entry goes to the bucket of its state in the
//! larger index. Nothing is read but the entries, which say enough of their states ([codes](super::codes),
//! [remainders](super::remainder)); as buckets are shared out in the order of hashes, what is written ascends as well.
//!
//! The larger index begins with the smaller one. Its highest buckets are emptied first, into those behind it; then there
//! is room for the next, and so on. What does not go where it should at once, because its bucket is full up to the end of
//! a part or not yet emptied, is set aside and entered last: a handful for each part.

use super::bucket::Bucket;
use super::index::Lines;
use std::ops::Range;

/// Fewer buckets are emptied at once.
const AT_ONCE: u64 = 64;
/// Fewer buckets are emptied by one thread: starting others costs more.
const SHARED_FROM: u64 = if cfg!(test) { 1 << 7 } else { 1 << 14 };

/// What entries of an index stand for, whatever its size.
pub(super) trait Meaning: Sync {
    /// A state.
    type Entered: Copy + Send;

    /// The least hash that begins at a bucket of the smaller index.
    fn least(&self, bucket: usize) -> u64;

    /// What an entry in a bucket of the smaller index, with that least hash, stands for.
    fn read(&self, bucket: (usize, u64), byte: u8, code: u64) -> Self::Entered;

    /// The first bucket of a state in the larger one.
    fn home(&self, entered: Self::Entered) -> usize;

    /// Byte and code of its entry so many buckets behind; `None` where there is none.
    fn write(&self, entered: Self::Entered, distance: usize) -> Option<(u8, u64)>;
}

/// Buckets to be emptied, and those their states go to.
struct Part {
    old: Range<usize>,
    new: Range<usize>,
}

/// Moves what stands in the first `before` of these buckets to where it belongs among all of them, for one who is alone with
/// the index; false where some state has no entry there.
pub(super) fn split<B: Bucket, M: Meaning>(
    lines: &Lines<B>,
    before: usize,
    meaning: &M,
    threads: usize,
) -> bool {
    let (old, all) = (before as u64, lines.len() as u64);
    let mut aside = Vec::new();
    let mut top = old;
    while top > 0 {
        // The states of these buckets go behind `top`.
        let from = (u128::from(top) * u128::from(old)).div_ceil(u128::from(all)) as u64;
        if from + AT_ONCE > top {
            empty(lines, 0..top as usize, meaning, &mut aside);
            break;
        }
        let shares = if top - from < SHARED_FROM { 1 } else { threads as u64 };
        let cut = |n: u64| from + (top - from) * n / shares;
        let goes_to = |bucket: u64| (u128::from(bucket) * u128::from(all) / u128::from(old)) as usize;
        let part = |n: u64| Part {
            old: cut(n) as usize..cut(n + 1) as usize,
            new: goes_to(cut(n))..goes_to(cut(n + 1)),
        };
        std::thread::scope(|scope| {
            let rest = |n: u64| move_part(lines, part(n), meaning);
            let others: Vec<_> = (1..shares).map(|n| scope.spawn(move || rest(n))).collect();
            aside.append(&mut rest(0));
            for other in others {
                aside.append(&mut other.join().unwrap_or_else(|e| std::panic::resume_unwind(e)));
            }
        });
        top = from;
    }
    aside.into_iter().all(|entered| enter(lines, meaning, entered))
}

/// Empties the old buckets of a part into its new ones; gives back what goes elsewhere.
fn move_part<B: Bucket, M: Meaning>(lines: &Lines<B>, part: Part, meaning: &M) -> Vec<M::Entered> {
    let mut aside = Vec::new();
    for bucket in part.old {
        let near = (bucket, meaning.least(bucket));
        lines.at(bucket).take_out(|byte, code| {
            let entered = meaning.read(near, byte, code);
            let home = meaning.home(entered);
            let stays = part.new.contains(&home);
            if !stays || !enter_before(lines, meaning, (entered, home), part.new.end) {
                aside.push(entered);
            }
        });
    }
    aside
}

/// Takes everything out of these buckets.
fn empty<B: Bucket, M: Meaning>(
    lines: &Lines<B>,
    buckets: Range<usize>,
    meaning: &M,
    aside: &mut Vec<M::Entered>,
) {
    for bucket in buckets {
        let near = (bucket, meaning.least(bucket));
        lines.at(bucket).take_out(|byte, code| aside.push(meaning.read(near, byte, code)));
    }
}

/// Enters a state into its first bucket or one behind it, before `end`; false where none is free or says it.
#[inline]
fn enter_before<B: Bucket, M: Meaning>(
    lines: &Lines<B>,
    meaning: &M,
    (entered, home): (M::Entered, usize),
    end: usize,
) -> bool {
    let mut bucket = home;
    while bucket < end {
        let line = lines.at(bucket);
        let free = line.look(0).free;
        if free != 0 {
            let Some((byte, code)) = meaning.write(entered, bucket - home) else { return false };
            line.enter(free.trailing_zeros() as usize, code, byte);
            return true;
        }
        bucket += 1;
    }
    false
}

/// Enters a state anywhere.
fn enter<B: Bucket, M: Meaning>(lines: &Lines<B>, meaning: &M, entered: M::Entered) -> bool {
    let home = meaning.home(entered);
    let mut bucket = home;
    for distance in 0..lines.len() {
        let free = lines.at(bucket).look(0).free;
        if free != 0 {
            let Some((byte, code)) = meaning.write(entered, distance) else { return false };
            lines.at(bucket).enter(free.trailing_zeros() as usize, code, byte);
            return true;
        }
        bucket = lines.after(bucket);
    }
    false
}
