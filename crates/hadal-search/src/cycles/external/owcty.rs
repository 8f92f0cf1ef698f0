//! One way catch them young: keep what accepting states reach, drop what nothing leads to, until neither changes anything.
//!
//! Barnat, Brim and Simecek, "I/O efficient accepting cycle detection" (CAV 2007): states stand beside the number of their
//! predecessors in the set, and those without any are dropped layer by layer.

use super::kept::Step;
use super::runs::{Stream, precedes};
use super::{Early, OnDisk, halves};
use hadal_store::run::RunFile;
use std::cmp::Ordering;

impl OnDisk<'_, '_> {
    /// What accepted cycles are left in, where some are; begins with what is reached from accepting states of `kept` and what
    /// of that is to be expanded.
    pub(super) async fn owcty_from_reach(
        &mut self,
        mut kept: RunFile,
        mut left: Option<(RunFile, RunFile)>,
    ) -> Result<Option<RunFile>, Early> {
        loop {
            let before = self.files.count(&kept)?;
            let reached = self.reached_from_accepting(&kept, left.take()).await?;
            let counted = self.counted(&reached).await?;
            kept = self.with_predecessors(before, counted).await?;
            let left = self.files.count(&kept)?;
            if is_fixed(before, left) {
                return Ok(Some(kept).filter(|_| left > 0));
            }
        }
    }

    /// The same, from where states without predecessors are dropped.
    pub(super) async fn owcty_from_drop(
        &mut self,
        before: u64,
        left: (RunFile, RunFile),
    ) -> Result<Option<RunFile>, Early> {
        let kept = self.with_predecessors(before, left).await?;
        let left = self.files.count(&kept)?;
        match is_fixed(before, left) {
            true => Ok(Some(kept).filter(|_| left > 0)),
            false => self.owcty_from_reach(kept, None).await,
        }
    }

    /// What the accepting states of a set reach inside it, themselves included.
    async fn reached_from_accepting(
        &mut self,
        set: &RunFile,
        left: Option<(RunFile, RunFile)>,
    ) -> Result<RunFile, Early> {
        let files = self.files;
        let (mut reached, mut layer) = match left {
            Some(left) => left,
            None => {
                let layer = self.accepting(set, &files.empty(files.shape())?).await?;
                (layer.clone(), layer)
            }
        };
        while files.count(&layer)? > 0 {
            self.reach(Step::Reach, &[set, &reached, &layer]).await?;
            let mut gather = files.gather(files.shape())?;
            let mut states = Stream::open(&layer)?;
            while let Some(state) = states.peek()? {
                let state = state.to_vec();
                states.step();
                self.along_cycles(&state, |to| gather.push(to))?;
                self.rest_within(&states).await?;
            }
            let inside = files.common(&gather.finish().await?, set).await?;
            layer = files.without(&inside, &reached).await?;
            reached = files.union(reached, layer.clone()).await?;
        }
        Ok(reached)
    }

    /// The states of a set with the number of their predecessors in it, and those without any.
    async fn counted(&mut self, set: &RunFile) -> Result<(RunFile, RunFile), Early> {
        let files = self.files;
        // Whether a state leads into the set is told by the join with it.
        let led = self.led_to(set).await?;
        let (mut counted, mut dropped) = (files.writer(files.counted())?, files.writer(files.shape())?);
        let (mut states, mut led) = (Stream::open(set)?, Stream::open(&led)?);
        while let Some(state) = states.peek()? {
            match predecessors(&mut led, state)? {
                0 => dropped.push(state)?,
                count => counted.push(&[&[count], state].concat())?,
            }
            states.step();
            self.rest_within(&states).await?;
        }
        Ok((counted.finish()?, dropped.finish()?))
    }

    /// What is left of a set when states that nothing inside it leads to are dropped, again and again.
    async fn with_predecessors(
        &mut self,
        before: u64,
        (mut counted, mut dropped): (RunFile, RunFile),
    ) -> Result<RunFile, Early> {
        let files = self.files;
        while files.count(&dropped)? > 0 {
            self.reach(Step::Drop { before }, &[&counted, &dropped]).await?;
            let led = self.led_to(&dropped).await?;
            let (mut fewer, mut next) = (files.writer(files.counted())?, files.writer(files.shape())?);
            let (mut states, mut led) = (Stream::open(&counted)?, Stream::open(&led)?);
            while let Some(record) = states.peek()? {
                let state = &record[1..];
                // A predecessor is dropped once, and was counted.
                match record[0] - predecessors(&mut led, state)?.min(record[0]) {
                    0 => next.push(state)?,
                    count => fewer.push(&[&[count], state].concat())?,
                }
                states.step();
                self.rest_within(&states).await?;
            }
            (counted, dropped) = (fewer.finish()?, next.finish()?);
        }
        let mut writer = files.writer(files.shape())?;
        let mut states = Stream::open(&counted)?;
        while let Some(record) = states.peek()? {
            writer.push(&record[1..])?;
            states.step();
            self.rest_within(&states).await?;
        }
        Ok(writer.finish()?)
    }

    /// Where the states of a set lead, each target with its source.
    async fn led_to(&mut self, set: &RunFile) -> Result<RunFile, Early> {
        let files = self.files;
        let mut gather = files.gather(files.pairs())?;
        let mut states = Stream::open(set)?;
        while let Some(state) = states.peek()? {
            let state = state.to_vec();
            states.step();
            self.along_cycles(&state, |to| gather.push_pair(to, &state))?;
            self.rest_within(&states).await?;
        }
        gather.finish().await
    }
}

/// Whether a round that began with `before` states left nothing, or all.
fn is_fixed(before: u64, kept: u64) -> bool {
    kept == 0 || kept == before
}

/// How many sources stand beside a target in a stream of pairs; asked for targets that ascend.
fn predecessors(pairs: &mut Stream, target: &[u64]) -> Result<u64, Early> {
    let mut count = 0;
    while let Some(pair) = pairs.peek()? {
        match precedes(halves(pair).0, target) {
            Ordering::Greater => break,
            Ordering::Equal => count += 1,
            Ordering::Less => {}
        }
        pairs.step();
    }
    Ok(count)
}
