//! One way catch them young: keep what accepting states reach, drop what nothing leads to, until neither changes anything.
//!
//! Barnat, Brim and Simecek, "I/O efficient accepting cycle detection" (CAV 2007): states stand beside the number of their
//! predecessors in the set, and those without any are dropped layer by layer.

use super::runs::{Stream, precedes};
use super::{Early, OnDisk, halves};
use hadal_store::run::RunFile;
use hadal_store::shape::RecordShape;
use std::cmp::Ordering;

impl OnDisk<'_, '_> {
    /// Whether an accepted cycle is left.
    pub(super) async fn owcty(&mut self, all: RunFile) -> Result<bool, Early> {
        let mut kept = all;
        loop {
            let before = kept.records();
            let reached = self.reached_from_accepting(&kept).await?;
            kept = self.with_predecessors(&reached).await?;
            if kept.records() == 0 {
                return Ok(false);
            }
            if kept.records() == before {
                return Ok(true);
            }
        }
    }

    /// What the accepting states of a set reach inside it, themselves included.
    async fn reached_from_accepting(&mut self, set: &RunFile) -> Result<RunFile, Early> {
        let files = self.files;
        let mut layer = self.accepting(set, &files.empty(files.shape())?)?;
        let mut reached = layer.clone();
        while layer.records() > 0 {
            self.rest().await?;
            let mut gather = files.gather(files.shape())?;
            let mut states = Stream::open(&layer)?;
            while let Some(state) = states.peek()? {
                let state = state.to_vec();
                states.step();
                self.along_cycles(&state, |to| gather.push(to))?;
            }
            let inside = files.common(&gather.finish()?, set)?;
            layer = files.without(&inside, &reached)?;
            reached = files.union(reached, layer.clone())?;
        }
        Ok(reached)
    }

    /// What is left of a set when states that nothing inside it leads to are dropped, again and again.
    async fn with_predecessors(&mut self, set: &RunFile) -> Result<RunFile, Early> {
        let files = self.files;
        // Whether a state leads into the set is told by the join with it.
        let (mut counted, mut dropped) = {
            let led = self.led_to(set)?;
            let shape = RecordShape::with_payload(files.shape().words(), 1);
            let (mut counted, mut dropped) = (files.writer(shape)?, files.writer(files.shape())?);
            let (mut states, mut led) = (Stream::open(set)?, Stream::open(&led)?);
            while let Some(state) = states.peek()? {
                match predecessors(&mut led, state)? {
                    0 => dropped.push(state)?,
                    count => counted.push(&[&[count], state].concat())?,
                }
                states.step();
            }
            (counted.finish()?, dropped.finish()?)
        };
        while dropped.records() > 0 {
            self.rest().await?;
            let led = self.led_to(&dropped)?;
            let shape = RecordShape::with_payload(files.shape().words(), 1);
            let (mut fewer, mut next) = (files.writer(shape)?, files.writer(files.shape())?);
            let (mut states, mut led) = (Stream::open(&counted)?, Stream::open(&led)?);
            while let Some(record) = states.peek()? {
                let state = &record[1..];
                // A predecessor is dropped once, and was counted.
                match record[0] - predecessors(&mut led, state)?.min(record[0]) {
                    0 => next.push(state)?,
                    count => fewer.push(&[&[count], state].concat())?,
                }
                states.step();
            }
            (counted, dropped) = (fewer.finish()?, next.finish()?);
        }
        let mut writer = files.writer(files.shape())?;
        let mut states = Stream::open(&counted)?;
        while let Some(record) = states.peek()? {
            writer.push(&record[1..])?;
            states.step();
        }
        Ok(writer.finish()?)
    }

    /// Where the states of a set lead, each target with its source.
    fn led_to(&mut self, set: &RunFile) -> Result<RunFile, Early> {
        let files = self.files;
        let mut gather = files.gather(files.pairs())?;
        let mut states = Stream::open(set)?;
        while let Some(state) = states.peek()? {
            let state = state.to_vec();
            states.step();
            self.along_cycles(&state, |to| gather.push_pair(to, &state))?;
        }
        gather.finish()
    }
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
