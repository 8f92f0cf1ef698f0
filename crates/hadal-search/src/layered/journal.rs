//! The layers of a breadth-first search, each a sorted set of states: what is expanded, resumed from and traced back
//! through.
//!
//! A large layer is a sorted run on disk. Small ones stay in RAM and are written together, with the depth beside each
//! state, when they add up: deep graphs have thousands of layers of a few states.

use super::Trouble;
use super::detector::LayerView;
use hadal_store::Reservation;
use hadal_store::error::WriteError;
use hadal_store::run::{RunFile, RunKind, RunOptions, RunReader, RunWriter};
use hadal_store::shape::{RecordShape, Records};
use hadal_store::sort::sort_records;
use hadal_store::vfs::Disk;
use serde::{Deserialize, Serialize};

/// All layers found so far.
pub(crate) struct Journal {
    disk: Disk,
    options: RunOptions,
    layers: Vec<Entry>,
    bundles: Vec<RunFile>,
    resident_words: usize,
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
    /// Among others in a bundle.
    Bundled(usize),
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
}

impl JournalRecord {
    /// Of a search that has states but no layers.
    pub(crate) fn without_layers(states: u64) -> Self {
        let all = EntryRecord { states, run: None, bundle: 0 };
        JournalRecord { layers: vec![all], bundles: Vec::new() }
    }

    pub(crate) fn states(&self) -> u64 {
        self.layers.iter().map(|layer| layer.states).sum()
    }
}

/// A layer being written, in ascending order.
pub(crate) struct LayerWriter {
    disk: Disk,
    options: RunOptions,
    held: Vec<u64>,
    most_held: usize,
    run: Option<RunWriter>,
    states: u64,
}

/// A layer being read, in ascending order.
pub(crate) enum LayerReader {
    /// All at once.
    Resident(Option<Vec<u64>>),
    /// Block by block.
    Run(RunReader),
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
        let most = (disk.governor.limit() / 64).clamp(64 << 10, 16 << 20);
        Ok(Journal {
            disk: disk.clone(),
            options,
            layers: Vec::new(),
            bundles: Vec::new(),
            resident_words: 0,
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
            journal.bundles.push(RunFile::open(disk, name, &bundled)?);
        }
        for layer in &record.layers {
            let body = match &layer.run {
                Some(name) => Body::Run(RunFile::open(disk, name, &options)?),
                None => Body::Bundled(layer.bundle),
            };
            journal.layers.push(Entry { states: layer.states, body });
        }
        Ok(journal)
    }

    /// What a manifest keeps. Nothing may be resident: [`Journal::bundle`] comes first.
    pub(crate) fn record(&self) -> JournalRecord {
        let layers = self.layers.iter().map(|entry| match &entry.body {
            Body::Run(run) => {
                EntryRecord { states: entry.states, run: Some(run.name().to_owned()), bundle: 0 }
            }
            Body::Bundled(bundle) => EntryRecord { states: entry.states, run: None, bundle: *bundle },
            Body::Resident(_) => unreachable!("small layers are bundled before a commit"),
        });
        JournalRecord {
            layers: layers.collect(),
            bundles: self.bundles.iter().map(|run| run.name().to_owned()).collect(),
        }
    }

    /// Every run that a layer lies in.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &RunFile> {
        let own = self.layers.iter().filter_map(|entry| match &entry.body {
            Body::Run(run) => Some(run),
            _ => None,
        });
        own.chain(&self.bundles)
    }

    /// Bytes on disk.
    pub(crate) fn bytes(&self) -> u64 {
        self.runs().map(RunFile::bytes).sum()
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
            most_held: self.most_resident / 4,
            run: None,
            states: 0,
        }
    }

    /// Ends a layer; it becomes the last.
    pub(crate) fn push(&mut self, layer: LayerWriter) -> Result<(), Trouble> {
        let states = layer.states;
        let body = match layer.run {
            Some(run) => Body::Run(run.finish()?),
            None => {
                self.resident_words += layer.held.len();
                Body::Resident(layer.held)
            }
        };
        self.layers.push(Entry { states, body });
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
            Body::Resident(states) => take(LayerView::States(states)),
            Body::Run(run) => take(LayerView::Run(run)),
            Body::Bundled(_) => {
                let mut reader = self.reader(depth)?;
                let mut states = Vec::new();
                while reader.next_block(&mut states)? {
                    take(LayerView::States(&states))?;
                }
                Ok(())
            }
        }
    }

    /// Reads a layer from its first state.
    pub(crate) fn reader(&self, depth: usize) -> Result<LayerReader, Trouble> {
        Ok(match &self.layers[depth].body {
            Body::Resident(states) => LayerReader::Resident(Some(states.clone())),
            Body::Run(run) => LayerReader::Run(RunReader::open(run)?),
            Body::Bundled(bundle) => LayerReader::Bundled {
                reader: RunReader::open(&self.bundles[*bundle])?,
                depth: depth as u64,
                block: Vec::new(),
            },
        })
    }

    /// Writes the layers held in RAM to one run.
    pub(crate) fn bundle(&mut self) -> Result<(), Trouble> {
        if !self.layers.iter().any(|entry| matches!(entry.body, Body::Resident(_))) {
            return Ok(());
        }
        let words = self.options.shape.words();
        let shape = RecordShape::with_payload(words, 1);
        let mut records = Vec::with_capacity(self.resident_words / words * shape.stride());
        for (depth, entry) in self.layers.iter_mut().enumerate() {
            if let Body::Resident(states) = &entry.body {
                for state in states.chunks_exact(words) {
                    records.push(depth as u64);
                    records.extend_from_slice(state);
                }
                entry.body = Body::Bundled(self.bundles.len());
            }
        }
        sort_records(shape, &mut records);
        let options = RunOptions { shape, ..self.options };
        let mut writer = RunWriter::create(&self.disk, RunKind::Closed, &options)?;
        writer.push_all(Records::new(shape, &records))?;
        self.bundles.push(writer.finish()?);
        self.resident_words = 0;
        Ok(())
    }
}

impl LayerWriter {
    /// States written so far.
    pub(crate) fn states(&self) -> u64 {
        self.states
    }

    /// Appends states that ascend, also from one call to the next.
    pub(crate) fn push_all(&mut self, states: &[u64]) -> Result<(), Trouble> {
        Ok(self.write(states)?)
    }

    /// As [`LayerWriter::push_all`], for those who can only fail in writing.
    pub(crate) fn write(&mut self, states: &[u64]) -> Result<(), WriteError> {
        let shape = self.options.shape;
        self.states += (states.len() / shape.words()) as u64;
        if let Some(run) = &mut self.run {
            return run.push_all(Records::new(shape, states));
        }
        self.held.extend_from_slice(states);
        if self.held.len() > self.most_held {
            let mut run = RunWriter::create(&self.disk, RunKind::Frontier, &self.options)?;
            run.push_all(Records::new(shape, &self.held))?;
            self.held = Vec::new();
            self.run = Some(run);
        }
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
