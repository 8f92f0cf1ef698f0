//! The inner loops of a merge (loser tree: Knuth, The Art of Computer Programming 3, sec. 5.4.1).
//!
//! Which input is next cannot be predicted, so the loops select instead of branching. Each input's head is kept
//! beside the tree, so that a comparison touches two short neighbours in cache and never a block.

use std::hint::{black_box, select_unpredictable};

use super::BlockSource;
use crate::error::ReadError;
use crate::shape::{Key, Width};

/// One input: its current block and how far it is used up.
pub(super) struct Cursor<'a> {
    source: Box<dyn BlockSource + 'a>,
    flat: Vec<u64>,
    at: usize,
}

/// Why the inner loop came back.
pub(super) enum Fill {
    /// The output has no room for another state.
    Full,
    /// The block of this input is used up.
    Empty(usize),
}

impl<'a> Cursor<'a> {
    pub fn new(source: Box<dyn BlockSource + 'a>) -> Self {
        Cursor { source, flat: Vec::new(), at: 0 }
    }

    /// Fetches the next block; `false` at the end.
    pub fn refill(&mut self) -> Result<bool, ReadError> {
        self.at = 0;
        self.source.next_block(&mut self.flat)
    }

    pub fn is_used_up(&self) -> bool {
        self.at >= self.flat.len()
    }

    pub fn head(&self, stride: usize) -> &[u64] {
        &self.flat[self.at..self.at + stride]
    }

    /// Passes over the head; `true` if the block is used up.
    pub fn step(&mut self, stride: usize) -> bool {
        self.at += stride;
        self.is_used_up()
    }
}

/// A loser tree over the heads of the inputs.
#[derive(Default)]
pub(super) struct Tournament {
    /// `nodes[0]` is the winner, the others hold the loser of the match played there; leaf `i` is node `k + i`.
    nodes: Vec<u32>,
    /// The head state of every input, one after the other.
    heads: Vec<u64>,
}

impl Tournament {
    /// Plays all matches anew.
    pub fn rebuild<W: Width>(&mut self, w: W, cursors: &[Cursor<'_>]) {
        let k = cursors.len();
        self.heads.clear();
        for cursor in cursors {
            self.heads.extend_from_slice(&cursor.head(w.stride())[w.payload()..]);
        }
        self.nodes.clear();
        self.nodes.resize(k, 0);
        let mut winners = vec![0u32; 2 * k];
        for (leaf, winner) in winners[k..].iter_mut().enumerate() {
            *winner = leaf as u32;
        }
        for node in (1..k).rev() {
            let (left, right) = (winners[2 * node], winners[2 * node + 1]);
            let swap = w.less(self.head(w, right), self.head(w, left));
            winners[node] = if swap { right } else { left };
            self.nodes[node] = if swap { left } else { right };
        }
        if k > 1 {
            self.nodes[0] = winners[1];
        }
    }

    /// Plays the matches of `source`, the winner so far, whose head has changed.
    pub fn replay<W: Width>(&mut self, w: W, cursors: &[Cursor<'_>], source: usize) {
        let words = w.words();
        let head = &cursors[source].head(w.stride())[w.payload()..];
        self.heads[source * words..][..words].copy_from_slice(head);
        self.climb(w, source as u32);
    }

    #[inline(always)]
    fn head<W: Width>(&self, w: W, source: u32) -> &[u64] {
        &self.heads[source as usize * w.words()..][..w.words()]
    }

    /// The winner's key goes up the tree in registers, so no load waits for the match before.
    #[inline(always)]
    fn climb<W: Width>(&mut self, w: W, source: u32) {
        let mut winner = w.key(&self.heads, source);
        let mut node = (self.nodes.len() + source as usize) / 2;
        while node > 0 {
            let other = w.key(&self.heads, self.nodes[node]);
            let swap = w.key_less(&self.heads, other, winner);
            self.nodes[node] = select_unpredictable(swap, winner.at(), other.at());
            winner = Key::select(swap, other, winner);
            node /= 2;
        }
        self.nodes[0] = winner.at();
    }
}

/// What a merge gives out.
pub(super) struct Output<'a> {
    pub flat: &'a mut [u64],
    /// Words of `flat` that are filled.
    pub filled: usize,
    /// Records dropped because an equal state came before.
    pub duplicates: u64,
    /// States compared.
    pub compared: u64,
}

/// Fills `out` until it is full or an input needs another block.
pub(super) fn fill<W: Width>(
    w: W,
    cursors: &mut [Cursor<'_>],
    tournament: &mut Tournament,
    out: &mut Output<'_>,
) -> Fill {
    match cursors {
        [only] => fill_from_one(only, out),
        [a, b] => fill_from_two(w, a, b, out),
        _ => fill_from_many(w, cursors, tournament, out),
    }
}

fn fill_from_one(cursor: &mut Cursor<'_>, out: &mut Output<'_>) -> Fill {
    let Output { flat: out, filled, .. } = out;
    let rest = &cursor.flat[cursor.at..];
    let now = rest.len().min(out.len() - *filled);
    out[*filled..*filled + now].copy_from_slice(&rest[..now]);
    *filled += now;
    cursor.at += now;
    if cursor.at == cursor.flat.len() { Fill::Empty(0) } else { Fill::Full }
}

fn fill_from_two<W: Width>(w: W, a: &mut Cursor<'_>, b: &mut Cursor<'_>, out: &mut Output<'_>) -> Fill {
    let Output { flat: out, filled, duplicates, compared } = out;
    let stride = w.stride();
    let (mut i, mut j, mut o) = (a.at, b.at, *filled);
    let (left, right) = (&a.flat[..], &b.flat[..]);
    let mut equal = 0;
    while i < left.len() && j < right.len() && o < out.len() {
        let (x, y) = (&left[i..i + stride], &right[j..j + stride]);
        let place = &mut out[o..o + stride];
        let before = w.less(&x[w.payload()..], &y[w.payload()..]);
        let after = w.less(&y[w.payload()..], &x[w.payload()..]);
        select_record(after, x, y, place);
        if w.payload() > 0 && !before && !after {
            w.merge().merge(&mut place[..w.payload()], &y[..w.payload()]);
        }
        i += select_unpredictable(after, 0, stride);
        j += select_unpredictable(before, 0, stride);
        equal += u64::from(!before & !after);
        o += stride;
    }
    *compared += ((o - *filled) / stride) as u64;
    (a.at, b.at, *filled) = (i, j, o);
    *duplicates += equal;
    if a.at == a.flat.len() {
        Fill::Empty(0)
    } else if b.at == b.flat.len() {
        Fill::Empty(1)
    } else {
        Fill::Full
    }
}

fn fill_from_many<W: Width>(
    w: W,
    cursors: &mut [Cursor<'_>],
    tournament: &mut Tournament,
    out: &mut Output<'_>,
) -> Fill {
    let Output { flat: out, filled, duplicates, compared } = out;
    let inputs = cursors.len();
    let (stride, payload, words) = (w.stride(), w.payload(), w.words());
    loop {
        let source = tournament.nodes[0];
        let cursor = &mut cursors[source as usize];
        let record = &cursor.flat[cursor.at..cursor.at + stride];
        let done = *filled;
        // With the last one given out, and in the matches that its successor plays on the way up.
        *compared += 1 + u64::from((inputs + source as usize).ilog2());
        if done > 0 && w.equal(&out[done - words..done], &record[payload..]) {
            *duplicates += 1;
            if payload > 0 {
                w.merge().merge(&mut out[done - stride..done - words], &record[..payload]);
            }
        } else {
            if done == out.len() {
                return Fill::Full;
            }
            out[done..done + stride].copy_from_slice(record);
            *filled = done + stride;
        }
        cursor.at += stride;
        let Some(next) = cursor.flat.get(cursor.at + payload..cursor.at + stride) else {
            return Fill::Empty(source as usize);
        };
        tournament.heads[source as usize * words..][..words].copy_from_slice(next);
        tournament.climb(w, source);
    }
}

/// Puts `y` in `place` if `second`, else `x`, without a branch: which it is cannot be predicted.
#[inline(always)]
fn select_record(second: bool, x: &[u64], y: &[u64], place: &mut [u64]) {
    if place.len() == 1 {
        place[0] = select_unpredictable(second, y[0], x[0]);
        return;
    }
    // The compiler makes a branch of a choice between records unless it cannot see that it is one.
    let mask = black_box(0u64.wrapping_sub(u64::from(second)));
    for ((place, x), y) in place.iter_mut().zip(x).zip(y) {
        *place = x ^ ((x ^ y) & mask);
    }
}
