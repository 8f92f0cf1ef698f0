//! Maximal accepting predecessors: the largest accepting state that leads to each state is spread until nothing changes; one
//! that leads to itself is on a cycle. Else those that were spread are no longer accepting, and it begins again.
//!
//! Barnat, Brim, Simecek and Weber, "Revisiting resistance speeds up I/O-efficient LTL model checking" (TACAS 2008).

use super::kept::Step;
use super::runs::{Stream, precedes};
use super::{Early, OnDisk, halves, is_larger};
use hadal_store::run::RunFile;
use std::cmp::Ordering;

/// What came of spreading.
enum Spreading {
    /// The largest accepting state that leads to each state, for those that have one.
    Largest(RunFile),
    /// An accepting state that leads to itself.
    Cycle(Vec<u64>),
}

impl OnDisk<'_, '_> {
    /// An accepting state on a cycle, if there is one. Begins with states that are no longer accepting and, in the middle of a
    /// round, the largest predecessors and those that have just risen.
    pub(super) async fn map(
        &mut self,
        all: &RunFile,
        mut removed: RunFile,
        mut left: Option<(RunFile, RunFile)>,
    ) -> Result<Option<Vec<u64>>, Early> {
        let files = self.files;
        loop {
            let largest = match self.spread(all, &removed, left.take()).await? {
                Spreading::Cycle(state) => return Ok(Some(state)),
                Spreading::Largest(largest) => largest,
            };
            let mut gather = files.gather(files.shape())?;
            let mut pairs = Stream::open(&largest)?;
            while let Some(pair) = pairs.peek()? {
                gather.push(halves(pair).1)?;
                pairs.step();
            }
            let before = files.count(&removed)?;
            removed = files.union(removed, gather.finish().await?).await?;
            if files.count(&removed)? == before {
                return Ok(None);
            }
        }
    }

    async fn spread(
        &mut self,
        all: &RunFile,
        removed: &RunFile,
        left: Option<(RunFile, RunFile)>,
    ) -> Result<Spreading, Early> {
        let files = self.files;
        let (mut largest, mut offered) = match left {
            Some((largest, risen)) => {
                let offered = self.offers(&risen, removed).await?;
                (largest, offered)
            }
            None => {
                let mut gather = files.gather(files.pairs())?;
                let accepting = self.accepting(all, removed).await?;
                let mut states = Stream::open(&accepting)?;
                while let Some(state) = states.peek()? {
                    let state = state.to_vec();
                    states.step();
                    self.along_cycles(&state, |to| gather.push_pair(to, &state))?;
                    self.rest_within(&states).await?;
                }
                (files.empty(files.pairs())?, gather.finish().await?)
            }
        };
        loop {
            let (mut known, mut risen) = (files.writer(files.pairs())?, files.writer(files.pairs())?);
            let (mut offers, mut before) = (Stream::open(&offered)?, Stream::open(&largest)?);
            let mut closed = None;
            loop {
                let offer = next_largest(&mut offers)?;
                let Some((state, value)) = offer else { break };
                // What lies before it stays as it is.
                let mut held: Option<Vec<u64>> = None;
                while let Some(pair) = before.peek()? {
                    match precedes(halves(pair).0, &state) {
                        Ordering::Less => known.push(pair)?,
                        Ordering::Equal => held = Some(halves(pair).1.to_vec()),
                        Ordering::Greater => break,
                    }
                    before.step();
                }
                let rises = held.as_ref().is_none_or(|held| is_larger(&value, held));
                if rises && value == state {
                    closed = Some(state);
                    break;
                }
                let kept = if rises { &value } else { held.as_ref().unwrap_or(&value) };
                let pair = [kept.as_slice(), &state].concat();
                known.push(&pair)?;
                if rises {
                    risen.push(&pair)?;
                }
                self.rest_within(&offers).await?;
            }
            if let Some(state) = files.least(closed)? {
                return Ok(Spreading::Cycle(state));
            }
            while let Some(pair) = before.peek()? {
                known.push(pair)?;
                before.step();
            }
            largest = known.finish()?;
            let risen = risen.finish()?;
            if files.count(&risen)? == 0 {
                return Ok(Spreading::Largest(largest));
            }
            self.reach(Step::Spread, &[all, removed, &largest, &risen]).await?;
            offered = self.offers(&risen, removed).await?;
        }
    }

    /// What states that have risen offer to those they lead to.
    async fn offers(&mut self, risen: &RunFile, removed: &RunFile) -> Result<RunFile, Early> {
        let mut gather = self.files.gather(self.files.pairs())?;
        let (mut pairs, mut removed) = (Stream::open(risen)?, Stream::open(removed)?);
        while let Some(pair) = pairs.peek()? {
            let (state, value) = halves(pair);
            let (state, mut value) = (state.to_vec(), value.to_vec());
            pairs.step();
            if !removed.has(&state)? && is_larger(&state, &value) && self.is_accepting(&state) {
                value.clone_from(&state);
            }
            self.along_cycles(&state, |to| gather.push_pair(to, &value))?;
            self.rest_within(&pairs).await?;
        }
        gather.finish().await
    }
}

/// A state, and the accepting state that leads to it.
type Spread = (Vec<u64>, Vec<u64>);

/// The next state of a stream of pairs with the largest state beside it.
fn next_largest(pairs: &mut Stream) -> Result<Option<Spread>, Early> {
    let Some(pair) = pairs.peek()? else { return Ok(None) };
    let (state, value) = halves(pair);
    let (state, mut value) = (state.to_vec(), value.to_vec());
    pairs.step();
    // Pairs ascend: the last one of a state has the largest.
    while let Some(pair) = pairs.peek()? {
        if halves(pair).0 != state.as_slice() {
            break;
        }
        value = halves(pair).1.to_vec();
        pairs.step();
    }
    Ok(Some((state, value)))
}
