//! Looking at the layers of a journal: one, all, or those that lie together on disk.

use super::layer::LayerSource;
use super::{Body, Entry, Journal, LayerReader};
use crate::layered::Trouble;
use crate::layered::detector::LayerView;
use hadal_store::run::RunReader;
use hadal_system::Ascending;

/// Takes the states of the layer at a depth.
pub(crate) type TakeLayer<'a> = dyn FnMut(usize, &[u64]) -> Result<(), Trouble> + 'a;

impl Journal {
    /// Gives the last layer to `take`, as it stands.
    pub(crate) fn view_last(
        &self,
        take: &mut dyn FnMut(LayerView) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        self.view(self.layers.len() - 1, take)
    }

    /// Gives a layer to `take`: as it stands, or in ascending parts where it shares a run with others.
    pub(crate) fn view(
        &self,
        depth: usize,
        take: &mut dyn FnMut(LayerView) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        match &self.layers[depth].body {
            Body::Resident(states) => take(LayerView::States(Ascending::new(self.shape().stride(), states))),
            Body::Run(run) => take(LayerView::Run(run)),
            Body::Parts(runs) => runs.iter().try_for_each(|run| take(LayerView::Run(run))),
            Body::Gone => Ok(()),
            Body::Bundled(_) => {
                let mut reader = self.reader(depth)?;
                let mut states = Vec::new();
                while reader.next_records(&mut states)? {
                    take(LayerView::States(Ascending::new(self.shape().stride(), &states)))?;
                }
                Ok(())
            }
        }
    }

    /// Gives every layer that is there to `take`, with its depth; layers that share a run are read together.
    pub(crate) fn view_all(
        &self,
        take: &mut dyn FnMut(u64, LayerView) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        let mut depth = 0;
        while depth < self.layers.len() {
            let together = match &self.layers[depth].body {
                Body::Bundled(bundle) => self.view_bundle(*bundle, depth, take)?,
                _ => 0,
            };
            if together == 0 {
                self.view(depth, &mut |layer| take(depth as u64, layer))?;
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

    /// Gives the states of a group of layers to `take`, each layer with its depth.
    pub(crate) fn view_group(
        &self,
        group: &std::ops::Range<usize>,
        take: &mut TakeLayer,
    ) -> Result<(), Trouble> {
        if let (Body::Bundled(bundle), true) = (&self.layers[group.start].body, group.len() > 1) {
            let mut bare = Vec::new();
            let mut states = |depth: u64, layer: LayerView<'_>| match layer {
                LayerView::States(states) if self.shape().payload_words() == 0 => {
                    take(depth as usize, states.flat())
                }
                LayerView::States(states) => {
                    bare.clear();
                    bare.extend_from_slice(states.flat());
                    self.shape().strip_payloads(&mut bare);
                    take(depth as usize, &bare)
                }
                LayerView::Run(_) => Ok(()),
            };
            return self.view_bundle(*bundle, group.start, &mut states).map(|_| ());
        }
        let mut block = Vec::new();
        for depth in group.clone() {
            let mut reader = self.reader(depth)?;
            while reader.next_block(&mut block)? {
                take(depth, &block)?;
            }
        }
        Ok(())
    }

    /// Gives the layers from `first` on that stand one after the other in a bundle to `take`; says how many. A bundle
    /// too large for the memory of small layers, written under a larger budget, is left to [`Journal::view`].
    fn view_bundle(
        &self,
        bundle: usize,
        first: usize,
        take: &mut dyn FnMut(u64, LayerView) -> Result<(), Trouble>,
    ) -> Result<usize, Trouble> {
        let Some(run) = &self.bundles[bundle] else { return Ok(0) };
        let words = self.shape().stride();
        let count = self.bundled_from(bundle, first);
        if count == 0 {
            return Ok(0);
        }
        let mut ends = Vec::with_capacity(count);
        let mut end = 0;
        for entry in &self.layers[first..first + count] {
            ends.push(end);
            end += entry.states as usize * words;
        }
        let mut flat = vec![0; end];
        let mut reader = RunReader::open(run)?;
        let mut block = Vec::new();
        while reader.next_block(&mut block)? {
            for record in block.chunks_exact(words + 1) {
                let Some(end) = (record[0] as usize).checked_sub(first).and_then(|at| ends.get_mut(at))
                else {
                    continue;
                };
                flat[*end..*end + words].copy_from_slice(&record[1..]);
                *end += words;
            }
        }
        let mut from = 0;
        for (n, to) in ends.into_iter().enumerate() {
            take((first + n) as u64, LayerView::States(Ascending::new(words, &flat[from..to])))?;
            from = to;
        }
        Ok(count)
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
