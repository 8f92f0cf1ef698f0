//! Looking at the layers of a journal: one, all, or those that lie together on disk.

use super::layer::LayerSource;
use super::{Body, Entry, Journal, LayerReader};
use crate::layered::Trouble;
use crate::layered::detector::LayerView;
use hadal_store::run::RunReader;
use hadal_system::Ascending;
use std::collections::VecDeque;

/// States of a bundle that are given at a time, at least.
const PIECE: usize = 1 << 12;

/// Reads layers that lie together on disk, in pieces of any size.
pub(crate) struct GroupReader<'j> {
    journal: &'j Journal,
    /// Layers of a bundle that are read already, each with its depth; the first from this word on.
    held: VecDeque<(usize, Vec<u64>)>,
    at: usize,
    /// Layers that are read one by one.
    rest: std::ops::Range<usize>,
    current: Option<LayerReader>,
    block: Vec<u64>,
}

impl GroupReader<'_> {
    /// Replaces `states` by the next ones of one layer and says its depth: at least some, and no more where there are `most`
    /// words of them; `None` at the end.
    pub(crate) fn next_states(
        &mut self,
        most: usize,
        states: &mut Vec<u64>,
    ) -> Result<Option<usize>, Trouble> {
        states.clear();
        if let Some((depth, layer)) = self.held.front() {
            let words = self.journal.words();
            let to = layer.len().min(self.at + most.max(PIECE * words) / words * words);
            states.extend_from_slice(&layer[self.at..to]);
            let (depth, is_over) = (*depth, to == layer.len());
            self.at = if is_over { 0 } else { to };
            if is_over {
                self.held.pop_front();
            }
            return Ok(Some(depth));
        }
        while self.rest.start < self.rest.end {
            let depth = self.rest.start;
            let reader = match &mut self.current {
                Some(reader) => reader,
                None => self.current.insert(self.journal.reader(depth)?),
            };
            while states.is_empty() || states.len() < most {
                if !reader.next_block(&mut self.block)? {
                    self.current = None;
                    self.rest.start += 1;
                    break;
                }
                states.extend_from_slice(&self.block);
            }
            if !states.is_empty() {
                return Ok(Some(depth));
            }
        }
        Ok(None)
    }
}

impl Journal {
    /// Gives the last layer to `take`, as it stands.
    pub(crate) async fn view_last(
        &self,
        take: &mut impl AsyncFnMut(LayerView<'_>) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        self.view(self.layers.len() - 1, take).await
    }

    /// Gives a layer to `take`: as it stands, or in ascending parts where it shares a run with others.
    pub(crate) async fn view(
        &self,
        depth: usize,
        take: &mut impl AsyncFnMut(LayerView<'_>) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        match &self.layers[depth].body {
            Body::Resident(states) => {
                take(LayerView::States(Ascending::new(self.shape().stride(), states))).await?;
            }
            Body::Run(run) => take(LayerView::Run(run)).await?,
            Body::Parts(runs) => {
                for run in runs {
                    take(LayerView::Run(run)).await?;
                }
            }
            Body::Gone => {}
            Body::Bundled(_) => {
                let mut reader = self.reader(depth)?;
                let mut states = Vec::new();
                while reader.next_records(&mut states)? {
                    take(LayerView::States(Ascending::new(self.shape().stride(), &states))).await?;
                }
            }
        }
        Ok(())
    }

    /// Gives every layer that is there to `take`, with its depth; layers that share a run are read together.
    pub(crate) async fn view_all(
        &self,
        take: &mut impl AsyncFnMut(u64, LayerView<'_>) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        self.view_from(0, take).await
    }

    /// The same of layers from `depth` on.
    pub(crate) async fn view_from(
        &self,
        mut depth: usize,
        take: &mut impl AsyncFnMut(u64, LayerView<'_>) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        while depth < self.layers.len() {
            let together = match &self.layers[depth].body {
                Body::Bundled(bundle) => self.bundled(*bundle, depth)?,
                _ => Vec::new(),
            };
            let stride = self.shape().stride();
            for (n, states) in together.iter().enumerate() {
                take((depth + n) as u64, LayerView::States(Ascending::new(stride, states))).await?;
            }
            let together = together.len();
            if together == 0 {
                self.view(depth, &mut async |layer| take(depth as u64, layer).await).await?;
            }
            depth += together.max(1);
        }
        Ok(())
    }

    /// The layers in groups that are read together: those that share a small bundle, the others one by one.
    pub(crate) fn groups(&self) -> Vec<std::ops::Range<usize>> {
        let mut groups: Vec<std::ops::Range<usize>> = Vec::new();
        let mut depth = 0;
        while depth < self.layers.len() {
            let together = match self.layers[depth].body {
                Body::Bundled(bundle) => self.bundled_from(bundle, depth),
                _ => 0,
            };
            groups.push(depth..depth + together.max(1));
            depth += together.max(1);
        }
        groups
    }

    /// How many layers from `first` on stand one after the other in a bundle; none where they are too large for the memory
    /// of small layers.
    fn bundled_from(&self, bundle: usize, first: usize) -> usize {
        let same = |entry: &&Entry| matches!(entry.body, Body::Bundled(other) if other == bundle);
        let together = self.layers[first..].iter().take_while(same);
        let (count, states) =
            together.fold((0, 0), |(count, states), entry| (count + 1, states + entry.states));
        if states as usize * self.shape().stride() > self.most_resident * 2 { 0 } else { count }
    }

    /// Reads the states of a group of layers.
    pub(crate) fn group_reader(&self, group: &std::ops::Range<usize>) -> Result<GroupReader<'_>, Trouble> {
        let mut held = VecDeque::new();
        let mut rest = group.clone();
        if let (Body::Bundled(bundle), true) = (&self.layers[group.start].body, group.len() > 1) {
            for (n, mut layer) in self.bundled(*bundle, group.start)?.into_iter().enumerate() {
                self.shape().strip_payloads(&mut layer);
                held.push_back((group.start + n, layer));
            }
            rest.start = rest.end;
        }
        Ok(GroupReader { journal: self, held, at: 0, rest, current: None, block: Vec::new() })
    }

    /// The layers from `first` on that stand one after the other in a bundle. None of a bundle too large for the memory of
    /// small layers, written under a larger budget: [`Journal::view`] reads them.
    fn bundled(&self, bundle: usize, first: usize) -> Result<Vec<Vec<u64>>, Trouble> {
        let Some(run) = &self.bundles[bundle] else { return Ok(Vec::new()) };
        let count = self.bundled_from(bundle, first);
        if count == 0 {
            return Ok(Vec::new());
        }
        let words = self.shape().stride();
        let room = |entry: &Entry| Vec::with_capacity(entry.states as usize * words);
        let mut layers: Vec<Vec<u64>> = self.layers[first..first + count].iter().map(room).collect();
        let mut reader = RunReader::open(run)?;
        let mut block = Vec::new();
        while reader.next_block(&mut block)? {
            for record in block.chunks_exact(words + 1) {
                if let Some(layer) = (record[0] as usize).checked_sub(first).and_then(|at| layers.get_mut(at))
                {
                    layer.extend_from_slice(&record[1..]);
                }
            }
        }
        Ok(layers)
    }

    /// Reads a layer from its first state.
    pub(crate) fn reader(&self, depth: usize) -> Result<LayerReader, Trouble> {
        let source = match &self.layers[depth].body {
            Body::Resident(states) => LayerSource::Resident { held: states.clone(), next: 0 },
            Body::Run(run) => LayerSource::Run(RunReader::open(run)?),
            Body::Parts(runs) => {
                LayerSource::Parts { rest: runs.iter().rev().cloned().collect(), current: None }
            }
            Body::Gone => LayerSource::Resident { held: Vec::new(), next: 0 },
            Body::Bundled(bundle) => match &self.bundles[*bundle] {
                Some(run) => LayerSource::Bundled {
                    reader: RunReader::open(run)?,
                    depth: depth as u64,
                    block: Vec::new(),
                },
                None => LayerSource::Resident { held: Vec::new(), next: 0 },
            },
        };
        Ok(LayerReader { source, shape: self.shape() })
    }
}
