//! Where lanes write to the cache.

use super::super::distances::CacheDistances;
use crate::lane::{Batch, Sink};
use hadal_store::OverBudget;
use hadal_store::table::{StateTable, Writer};
use hadal_system::States;
use std::sync::{Mutex, PoisonError};

/// One lane's way into the cache, past what measures.
pub(crate) struct MeasuredSink<'c> {
    pub(super) sink: CacheSink<'c>,
    pub(super) distances: Option<&'c Mutex<CacheDistances>>,
}

impl Sink for MeasuredSink<'_> {
    fn take(&mut self, batch: Batch, mut told: impl FnMut(usize)) -> Result<(), OverBudget> {
        let Some(distances) = self.distances else { return self.sink.take(batch, told) };
        let mut last = None;
        let taken = self.sink.take(batch, |n| {
            last = Some(n);
            told(n);
        });
        // What was not taken comes again.
        let seen = if taken.is_ok() { batch.states.len() } else { last.map_or(0, |last| last + 1) };
        let mut distances = distances.lock().unwrap_or_else(PoisonError::into_inner);
        distances.note(batch.states.slice(0..seen))?;
        taken
    }
}

/// One lane's way into the cache.
pub(super) enum CacheSink<'c> {
    /// Its part of the buffer.
    Buffer { part: &'c mut Vec<u64>, most_words: usize },
    /// Its arena of the table.
    Table(Writer<'c>),
    /// Its arenas of the younger table.
    Lru(Younger<'c>),
}

/// One lane's arenas of the younger of two tables.
pub(super) struct Younger<'c> {
    pub(super) young: Writer<'c>,
    /// For what is found in the older one.
    pub(super) keeper: Option<Writer<'c>>,
    pub(super) old: &'c StateTable,
}

impl Sink for CacheSink<'_> {
    fn take(&mut self, batch: Batch, told: impl FnMut(usize)) -> Result<(), OverBudget> {
        match self {
            CacheSink::Buffer { part, most_words } => take_into(part, *most_words, batch, told),
            CacheSink::Table(writer) => writer.take(batch, told),
            CacheSink::Lru(younger) => younger.take(batch.states, told),
        }
    }
}

/// Appends as many records as there is room for.
fn take_into(
    part: &mut Vec<u64>,
    most_words: usize,
    Batch { states, payloads, .. }: Batch,
    told: impl FnMut(usize),
) -> Result<(), OverBudget> {
    let payload = payloads.len().checked_div(states.len()).unwrap_or(0);
    let fit = states.len().min((most_words - part.len()) / (payload + states.words()));
    match payload {
        0 => part.extend_from_slice(states.slice(0..fit).flat()),
        _ => {
            for (payload, state) in payloads.chunks_exact(payload).zip(states.iter()).take(fit) {
                part.extend_from_slice(payload);
                part.extend_from_slice(state);
            }
        }
    }
    (0..fit).for_each(told);
    if fit < states.len() {
        let (asked, limit) = (8 * (payloads.len() + states.flat().len()) as u64, 8 * most_words as u64);
        return Err(OverBudget { what: "candidates", asked, available: 0, limit });
    }
    Ok(())
}

impl Younger<'_> {
    fn take(&mut self, states: States, mut told: impl FnMut(usize)) -> Result<(), OverBudget> {
        if self.old.is_empty() {
            return self.young.insert_all(states.flat(), |_, _| {}, |n, _| told(n));
        }
        let (mut unknown, mut numbers, mut known) = (Vec::new(), Vec::new(), Vec::new());
        self.old.ask_all(states.flat(), |n, is_known| {
            let state = states.slice(n..n + 1).flat();
            if is_known {
                known.extend_from_slice(state);
            } else {
                unknown.extend_from_slice(state);
                numbers.push(n);
            }
        });
        self.young.insert_all(&unknown, |_, _| {}, |n, _| told(numbers[n]))?;
        if let Some(keeper) = &mut self.keeper {
            // Without room they are not kept for longer, which is all that happens.
            let _ = keeper.insert_all(&known, |_, _| {}, |_, _| {});
        }
        Ok(())
    }
}
