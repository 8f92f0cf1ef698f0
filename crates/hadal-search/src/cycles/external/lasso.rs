//! The way to what is wrong, once it is known to be there: breadth-first, each layer a run, and back by scanning them.

use super::kept::Step;
use super::runs::Stream;
use super::{Early, OnDisk};
use crate::layered::Trouble;
use crate::report::{Violation, ViolationKind};
use hadal_store::run::RunFile;
use hadal_system::PropertyId;

/// Which transitions a way may take.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Along {
    /// All.
    Any,
    /// Those that a cycle may take.
    Cycles,
}

impl OnDisk<'_, '_> {
    /// The lasso whose loop begins in `seed`, an accepting state that leads to itself. No limit ends it any more.
    pub(super) async fn lasso(&mut self, property: PropertyId, seed: Vec<u64>) -> Result<Violation, Early> {
        self.reins.found();
        let mut writer = self.files.writer(self.files.shape())?;
        if self.files.owns(&seed) {
            writer.push(&seed)?;
        }
        let only = writer.finish()?;
        self.reach(Step::Close, &[&only]).await?;
        let round = self.way(only, Along::Cycles, &seed).await?;
        let mut path = self.stem(&seed).await?;
        let loop_from = path.len();
        path.extend(round);
        let kind = ViolationKind::Cycle { property, loop_from };
        Ok(Violation { kind, path, shortest: false })
    }

    /// What is wrong in a state, with the way there.
    pub(super) async fn way_to(&mut self, kind: ViolationKind, state: Vec<u64>) -> Result<Violation, Early> {
        self.reins.found();
        let mut path = self.stem(&state).await?;
        path.push(state);
        Ok(Violation { kind, path, shortest: true })
    }

    /// The states on a shortest way from an initial one to `target`, which is not among them.
    async fn stem(&mut self, target: &[u64]) -> Result<Vec<Vec<u64>>, Early> {
        let first = self.initial().await?;
        let begins = Stream::open(&first)?.has(target)?;
        match self.files.total(u64::from(begins))? {
            0 => self.way(first, Along::Any, target).await,
            _ => Ok(Vec::new()),
        }
    }

    /// The states on a shortest way of at least one step from one of `first` to `target`, which is not among them at the end.
    /// Of several the one whose states, from the end backwards, are least.
    async fn way(&mut self, first: RunFile, along: Along, target: &[u64]) -> Result<Vec<Vec<u64>>, Early> {
        let files = self.files;
        let (mut layers, mut seen) = (vec![first.clone()], first);
        let mut path = loop {
            let mut gather = files.gather(files.shape())?;
            let last = &layers[layers.len() - 1];
            let mut states = Stream::open(last)?;
            let mut before = None;
            while let (None, Some(state)) = (&before, states.peek()?) {
                let state = state.to_vec();
                states.step();
                let mut is_before = false;
                self.along(along, &state, |to| {
                    is_before |= to == target;
                    gather.push(to)
                })?;
                before = is_before.then_some(state);
                self.rest_within(&states).await?;
            }
            if let Some(before) = files.least(before)? {
                break vec![before];
            }
            let layer = files.without(&gather.finish().await?, &seen).await?;
            if files.count(&layer)? == 0 {
                // What was found has changed on disk since.
                return Err(Early::Trouble(Trouble::NothingToResume));
            }
            seen = files.union(seen, layer.clone()).await?;
            layers.push(layer);
            self.rest().await?;
        };
        for layer in layers[..layers.len() - 1].iter().rev() {
            self.rest().await?;
            let target = path[path.len() - 1].clone();
            let mut states = Stream::open(layer)?;
            let mut before = None;
            while let (None, Some(state)) = (&before, states.peek()?) {
                let state = state.to_vec();
                states.step();
                let mut is_before = false;
                self.along(along, &state, |to| {
                    is_before |= to == target.as_slice();
                    Ok(())
                })?;
                before = is_before.then_some(state);
                self.rest_within(&states).await?;
            }
            path.extend(files.least(before)?);
        }
        path.reverse();
        Ok(path)
    }

    fn along(
        &mut self,
        along: Along,
        state: &[u64],
        mut take: impl FnMut(&[u64]) -> Result<(), Early>,
    ) -> Result<(), Early> {
        if along == Along::Cycles {
            return self.along_cycles(state, take);
        }
        self.expand(state);
        for (_, to) in self.out.iter() {
            take(to)?;
        }
        Ok(())
    }
}
