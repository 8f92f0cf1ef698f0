//! The layers of a breadth-first search, each a sorted set of states: what is expanded, resumed from and traced back
//! through.
//!
//! A large layer is a sorted run on disk. Small ones stay in RAM and are written together, with the depth beside each
//! state, when they add up: deep graphs have thousands of layers of a few states.

use super::Trouble;
use super::detector::LayerView;
use crate::report::Proviso;
use hadal_store::Reservation;
use hadal_store::error::WriteError;
use hadal_store::run::{RunFile, RunKind, RunOptions, RunReader, RunWriter};
use hadal_store::shape::{RecordShape, Records};
use hadal_store::sort::sort_records;
use hadal_store::vfs::Disk;
use hadal_system::Ascending;
use serde::{Deserialize, Serialize};

/// Takes the states of the layer at a depth.
pub(crate) type TakeLayer<'a> = dyn FnMut(usize, &[u64]) -> Result<(), Trouble> + 'a;

/// All layers found so far.
pub(crate) struct Journal {
    disk: Disk,
    options: RunOptions,
    usual_options: RunOptions,
    layers: Vec<Entry>,
    /// None where no layer is left in it.
    bundles: Vec<Option<RunFile>>,
    resident_words: usize,
    first_kept: usize,
    /// Layers from this depth on may share states with others, so they are not bundled.
    apart_from: usize,
    /// Most words of layers kept in RAM.
    most_resident: usize,
    memory: Reservation,
}

struct Entry {
    states: u64,
    body: Body,
}

#[derive(Clone)]
enum Body {
    Resident(Vec<u64>),
    Run(RunFile),
    /// One ascending run after the other (hash buckets).
    Parts(Vec<RunFile>),
    /// Among others in a bundle.
    Bundled(usize),
    /// Deleted.
    Gone,
}

/// Where the layers lie, for a manifest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct JournalRecord {
    layers: Vec<EntryRecord>,
    bundles: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct EntryRecord {
    states: u64,
    /// The layer's own run, or none where it is in a bundle.
    run: Option<String>,
    bundle: usize,
    /// Its runs where it has several.
    #[serde(default)]
    parts: Vec<String>,
    /// Whether it was deleted.
    #[serde(default)]
    gone: bool,
}

impl JournalRecord {
    /// Of a search that has states but no layers.
    pub(crate) fn without_layers(states: u64) -> Self {
        let all = EntryRecord { states, run: None, bundle: 0, parts: Vec::new(), gone: false };
        JournalRecord { layers: vec![all], bundles: Vec::new() }
    }

    pub(crate) fn states(&self) -> u64 {
        self.layers.iter().map(|layer| layer.states).sum()
    }

    /// The deepest of them.
    pub(crate) fn depth(&self) -> u64 {
        (self.layers.len() as u64).saturating_sub(1)
    }

    /// Layers that are not deleted.
    pub(crate) fn kept(&self) -> usize {
        self.layers.iter().filter(|layer| !layer.gone).count()
    }
}

/// A layer being written, in ascending order.
pub(crate) struct LayerWriter {
    disk: Disk,
    options: RunOptions,
    held: Vec<u64>,
    most_held: usize,
    run: Option<RunWriter>,
    /// Runs finished before.
    parts: Vec<RunFile>,
    /// Whether `held` is of several parts, not one ascending list.
    mixed: bool,
    /// Whether a part is held that has not ended.
    part_begun: bool,
    states: u64,
}

/// A layer being read, in ascending order.
pub(crate) enum LayerReader {
    /// All at once.
    Resident(Option<Vec<u64>>),
    /// Block by block.
    Run(RunReader),
    /// One run after the other.
    Parts {
        /// Those not begun, the next one last.
        rest: Vec<RunFile>,
        /// The one being read.
        current: Option<RunReader>,
    },
    /// Block by block, keeping one depth.
    Bundled {
        /// All layers of the bundle.
        reader: RunReader,
        /// Which one.
        depth: u64,
        /// A block with depths.
        block: Vec<u64>,
    },
}

impl Journal {
    /// No layers yet.
    pub(crate) fn new(disk: &Disk, options: RunOptions) -> Result<Self, Trouble> {
        let most = (disk.governor.limit() / 40).clamp(64 << 10, 16 << 20);
        Ok(Journal {
            disk: disk.clone(),
            options,
            usual_options: options,
            layers: Vec::new(),
            bundles: Vec::new(),
            resident_words: 0,
            first_kept: 0,
            apart_from: usize::MAX,
            most_resident: most as usize / 8,
            // Held layers, and the copy made while they are bundled.
            memory: disk.governor.try_reserve(3 * most, "small layers")?,
        })
    }

    /// The journal that `record` describes.
    pub(crate) fn open(disk: &Disk, options: RunOptions, record: &JournalRecord) -> Result<Self, Trouble> {
        let mut journal = Journal::new(disk, options)?;
        let bundled = RunOptions { shape: RecordShape::with_payload(options.shape.words(), 1), ..options };
        for name in &record.bundles {
            let gone = name.is_empty();
            journal.bundles.push(if gone { None } else { Some(RunFile::open(disk, name, &bundled)?) });
        }
        for layer in &record.layers {
            let parts = layer.parts.iter().map(|name| RunFile::open(disk, name, &options));
            let body = match &layer.run {
                Some(name) => Body::Run(RunFile::open(disk, name, &options)?),
                None if layer.gone => Body::Gone,
                None if !layer.parts.is_empty() => Body::Parts(parts.collect::<Result<_, _>>()?),
                None => Body::Bundled(layer.bundle),
            };
            journal.first_kept += usize::from(layer.gone);
            journal.layers.push(Entry { states: layer.states, body });
        }
        Ok(journal)
    }

    /// What a manifest keeps. Nothing may be resident: [`Journal::bundle`] comes first.
    pub(crate) fn record(&self) -> JournalRecord {
        let layers = self.layers.iter().map(|entry| {
            let plain =
                EntryRecord { states: entry.states, run: None, bundle: 0, parts: Vec::new(), gone: false };
            match &entry.body {
                Body::Run(run) => EntryRecord { run: Some(run.name().to_owned()), ..plain },
                Body::Parts(runs) => {
                    EntryRecord { parts: runs.iter().map(|run| run.name().to_owned()).collect(), ..plain }
                }
                Body::Bundled(bundle) => EntryRecord { bundle: *bundle, ..plain },
                Body::Gone => EntryRecord { gone: true, ..plain },
                Body::Resident(_) => unreachable!("small layers are bundled before a commit"),
            }
        });
        JournalRecord {
            layers: layers.collect(),
            bundles: self
                .bundles
                .iter()
                .map(|run| run.as_ref().map_or(String::new(), |run| run.name().to_owned()))
                .collect(),
        }
    }

    /// Every run that a layer lies in.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &RunFile> {
        let own = self.layers.iter().flat_map(|entry| match &entry.body {
            Body::Run(run) => std::slice::from_ref(run),
            Body::Parts(runs) => runs,
            _ => &[],
        });
        own.chain(self.bundles.iter().flatten())
    }

    /// Bytes on disk.
    pub(crate) fn bytes(&self) -> u64 {
        self.runs().map(RunFile::bytes).sum()
    }

    /// Bytes on disk and in RAM.
    pub(crate) fn bytes_held(&self) -> u64 {
        self.bytes() + 8 * self.resident_words as u64
    }

    /// Tells that layers from this depth on may hold states of others.
    pub(crate) fn keep_apart_from(&mut self, depth: usize) {
        self.apart_from = depth;
    }

    /// Words of a state.
    pub(crate) fn words(&self) -> usize {
        self.options.shape.words()
    }

    /// How many layers there are.
    pub(crate) fn depth(&self) -> usize {
        self.layers.len()
    }

    /// States of a layer.
    pub(crate) fn states(&self, depth: usize) -> u64 {
        self.layers[depth].states
    }

    /// Begins the next layer.
    pub(crate) fn writer(&self) -> LayerWriter {
        LayerWriter {
            disk: self.disk.clone(),
            options: self.options,
            held: Vec::new(),
            most_held: self.most_resident / 2,
            run: None,
            parts: Vec::new(),
            mixed: false,
            part_begun: false,
            states: 0,
        }
    }

    /// From now on layers are written to be streamed only, and small.
    pub(crate) fn make_dense(&mut self) {
        self.options = self.usual_options.dense(self.disk.governor.limit());
    }

    /// From now on layers are written so that they can be asked for states.
    pub(crate) fn make_askable(&mut self) {
        self.options = self.usual_options;
    }

    /// Ends a layer; it becomes the last.
    pub(crate) fn push(&mut self, layer: LayerWriter) -> Result<(), Trouble> {
        let entry = self.finish(layer)?;
        self.layers.push(entry);
        self.bundle_if_many()
    }

    /// Puts another set of states in the place of a layer.
    pub(crate) fn replace(&mut self, depth: usize, layer: LayerWriter) -> Result<(), Trouble> {
        let entry = self.finish(layer)?;
        if let Body::Resident(states) = &self.layers[depth].body {
            self.resident_words -= states.len();
        }
        self.layers[depth] = entry;
        self.bundle_if_many()
    }

    /// Removes the last layer, which must be empty.
    pub(crate) fn pop_empty(&mut self) {
        debug_assert_eq!(self.layers.last().map(|entry| entry.states), Some(0));
        self.layers.pop();
    }

    /// Deletes the states of the first layer that is there; how many there were stays known.
    pub(crate) fn delete_first(&mut self) {
        let depth = self.first_kept;
        self.first_kept += 1;
        if let Body::Resident(states) = &self.layers[depth].body {
            self.resident_words -= states.len();
        }
        let body = std::mem::replace(&mut self.layers[depth].body, Body::Gone);
        if let Body::Bundled(bundle) = body {
            let used = |entry: &Entry| matches!(entry.body, Body::Bundled(other) if other == bundle);
            if !self.layers[depth + 1..].iter().any(used) {
                self.bundles[bundle] = None;
            }
        }
    }

    /// The first layer whose states are there.
    pub(crate) fn first_kept(&self) -> usize {
        self.first_kept
    }

    /// What deleted layers mean for an answer.
    pub(crate) fn proviso(&self) -> Option<Proviso> {
        let before = self.first_kept() as u64;
        (before > 0).then_some(Proviso::LayersDeleted { before })
    }

    fn finish(&mut self, mut layer: LayerWriter) -> Result<Entry, Trouble> {
        let (states, mixed) = (layer.states, layer.mixed);
        layer.end_part()?;
        let body = if layer.parts.is_empty() {
            if mixed {
                sort_records(self.options.shape, &mut layer.held);
            }
            self.resident_words += layer.held.len();
            Body::Resident(layer.held)
        } else {
            layer.spill()?;
            match layer.parts.len() {
                1 => Body::Run(layer.parts.remove(0)),
                _ => Body::Parts(layer.parts),
            }
        };
        Ok(Entry { states, body })
    }

    fn bundle_if_many(&mut self) -> Result<(), Trouble> {
        if self.resident_words > self.most_resident {
            self.bundle()?;
        }
        debug_assert!(self.memory.bytes() > 0);
        Ok(())
    }

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
            Body::Resident(states) => take(LayerView::States(Ascending::new(self.words(), states))),
            Body::Run(run) => take(LayerView::Run(run)),
            Body::Parts(runs) => runs.iter().try_for_each(|run| take(LayerView::Run(run))),
            Body::Gone => Ok(()),
            Body::Bundled(_) => {
                let mut reader = self.reader(depth)?;
                let mut states = Vec::new();
                while reader.next_block(&mut states)? {
                    take(LayerView::States(Ascending::new(self.words(), &states)))?;
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
        if states as usize * self.words() > self.most_resident * 2 { 0 } else { count }
    }

    /// Gives a group of layers to `take`, each with its depth.
    pub(crate) fn view_group(
        &self,
        group: &std::ops::Range<usize>,
        take: &mut TakeLayer,
    ) -> Result<(), Trouble> {
        if let (Body::Bundled(bundle), true) = (&self.layers[group.start].body, group.len() > 1) {
            let mut states = |depth: u64, layer: LayerView<'_>| match layer {
                LayerView::States(states) => take(depth as usize, states.flat()),
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
        let words = self.options.shape.words();
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
        Ok(match &self.layers[depth].body {
            Body::Resident(states) => LayerReader::Resident(Some(states.clone())),
            Body::Run(run) => LayerReader::Run(RunReader::open(run)?),
            Body::Parts(runs) => {
                LayerReader::Parts { rest: runs.iter().rev().cloned().collect(), current: None }
            }
            Body::Gone => LayerReader::Resident(None),
            Body::Bundled(bundle) => match &self.bundles[*bundle] {
                Some(run) => LayerReader::Bundled {
                    reader: RunReader::open(run)?,
                    depth: depth as u64,
                    block: Vec::new(),
                },
                None => LayerReader::Resident(None),
            },
        })
    }

    /// Writes the layers held in RAM to one run.
    pub(crate) fn bundle(&mut self) -> Result<(), Trouble> {
        if !self.layers.iter().any(|entry| matches!(entry.body, Body::Resident(_))) {
            return Ok(());
        }
        for depth in self.apart_from.min(self.layers.len())..self.layers.len() {
            if let Body::Resident(states) = &self.layers[depth].body {
                let mut writer = RunWriter::create(&self.disk, RunKind::Frontier, &self.options)?;
                writer.push_all(Records::new(self.options.shape, states))?;
                let run = writer.finish()?;
                self.resident_words -= states.len();
                self.layers[depth].body = Body::Run(run);
            }
        }
        let words = self.options.shape.words();
        let shape = RecordShape::with_payload(words, 1);
        let mut records = Vec::with_capacity(self.resident_words / words * shape.stride());
        for (depth, entry) in self.layers.iter().enumerate() {
            if let Body::Resident(states) = &entry.body {
                for state in states.chunks_exact(words) {
                    records.push(depth as u64);
                    records.extend_from_slice(state);
                }
            }
        }
        if records.is_empty() {
            return Ok(());
        }
        sort_records(shape, &mut records);
        let options = RunOptions { shape, ..self.options };
        let mut writer = RunWriter::create(&self.disk, RunKind::Closed, &options)?;
        writer.push_all(Records::new(shape, &records))?;
        self.bundles.push(Some(writer.finish()?));
        // Only now: a layer whose bundle could not be written (a full disk) is still needed.
        for entry in self.layers.iter_mut().filter(|entry| matches!(entry.body, Body::Resident(_))) {
            entry.body = Body::Bundled(self.bundles.len() - 1);
        }
        self.resident_words = 0;
        Ok(())
    }
}

impl LayerWriter {
    /// States written so far.
    pub(crate) fn states(&self) -> u64 {
        self.states
    }

    /// Appends states; they also ascend from one call to the next.
    pub(crate) fn push_all(&mut self, states: Ascending) -> Result<(), Trouble> {
        Ok(self.write(states.flat())?)
    }

    /// As [`LayerWriter::push_all`], for those who can only fail in writing.
    pub(crate) fn write(&mut self, states: &[u64]) -> Result<(), WriteError> {
        let shape = self.options.shape;
        self.states += (states.len() / shape.words()) as u64;
        if let Some(run) = &mut self.run {
            return run.push_all(Records::new(shape, states));
        }
        if self.held.len() + states.len() <= self.most_held {
            self.held.extend_from_slice(states);
            self.part_begun = true;
            return Ok(());
        }
        if self.mixed {
            self.spill()?;
        }
        let mut run = RunWriter::create(&self.disk, RunKind::Frontier, &self.options)?;
        run.push_all(Records::new(shape, &self.held))?;
        run.push_all(Records::new(shape, states))?;
        self.held = Vec::new();
        self.run = Some(run);
        Ok(())
    }

    /// Takes a run as a part of its own.
    pub(crate) fn push_run(&mut self, run: RunFile) {
        self.states += run.records();
        self.parts.push(run);
    }

    /// Ends an ascending part: what follows need not lie behind it.
    pub(crate) fn end_part(&mut self) -> Result<(), WriteError> {
        if let Some(run) = self.run.take() {
            self.parts.push(run.finish()?);
        }
        self.mixed |= self.part_begun;
        Ok(())
    }

    /// Writes what is held as a part of its own.
    fn spill(&mut self) -> Result<(), WriteError> {
        let mut held = std::mem::take(&mut self.held);
        (self.mixed, self.part_begun) = (false, false);
        if held.is_empty() {
            return Ok(());
        }
        let shape = self.options.shape;
        sort_records(shape, &mut held);
        let mut run = RunWriter::create(&self.disk, RunKind::Frontier, &self.options)?;
        run.push_all(Records::new(shape, &held))?;
        self.parts.push(run.finish()?);
        Ok(())
    }
}

impl LayerReader {
    /// Replaces `states` by the next ones; `false` at the end.
    pub(crate) fn next_block(&mut self, states: &mut Vec<u64>) -> Result<bool, Trouble> {
        match self {
            LayerReader::Resident(held) => {
                states.clear();
                states.append(&mut held.take().unwrap_or_default());
                Ok(!states.is_empty())
            }
            LayerReader::Run(reader) => Ok(reader.next_block(states)?),
            LayerReader::Parts { rest, current } => loop {
                if let Some(reader) = current
                    && reader.next_block(states)?
                {
                    return Ok(true);
                }
                match rest.pop() {
                    Some(run) => *current = Some(RunReader::open(&run)?),
                    None => return Ok(false),
                }
            },
            LayerReader::Bundled { reader, depth, block } => {
                states.clear();
                while states.is_empty() {
                    if !reader.next_block(block)? {
                        return Ok(false);
                    }
                    let stride = reader.shape().stride();
                    for record in block.chunks_exact(stride).filter(|record| record[0] == *depth) {
                        states.extend_from_slice(&record[1..]);
                    }
                }
                Ok(true)
            }
        }
    }
}
