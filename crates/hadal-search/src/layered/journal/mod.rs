//! The layers of a breadth-first search, each a sorted set of states: what is expanded, resumed from and traced back
//! through.
//!
//! A large layer is a sorted run on disk. Small ones stay in RAM and are written together, with the depth beside each
//! state, when they add up: deep graphs have thousands of layers of a few states.

mod layer;
mod view;

pub(crate) use layer::{Aside, LayerReader, LayerWriter};
pub(crate) use view::GroupReader;

use super::Trouble;
use super::round::{Round, RoundRecord};
use crate::report::Proviso;
use hadal_store::Reservation;
use hadal_store::run::{RunFile, RunKind, RunOptions, RunWriter};
use hadal_store::shape::{RecordShape, Records};
use hadal_store::sort::sort_records;
use hadal_store::vfs::Disk;
use layer::Written;
use serde::{Deserialize, Serialize};

/// Held layers, and the copy made while they are bundled, which also has depths.
const COPIES: u64 = 3;

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
    /// Notices where states come again for ever.
    round: Round,
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
    /// Words of payload beside each state.
    #[serde(default, skip_serializing_if = "is_zero")]
    payload: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    round: Option<RoundRecord>,
}

fn is_zero(words: &usize) -> bool {
    *words == 0
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
        JournalRecord { layers: vec![all], bundles: Vec::new(), payload: 0, round: None }
    }

    /// Words of payload beside each state.
    pub(crate) fn payload_words(&self) -> usize {
        self.payload
    }

    pub(crate) fn states(&self) -> u64 {
        self.layers.iter().map(|layer| layer.states).sum()
    }

    /// How many layers there are.
    pub(crate) fn layers(&self) -> u64 {
        self.layers.len() as u64
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

impl Journal {
    /// No layers yet.
    pub(crate) fn new(disk: &Disk, options: RunOptions) -> Result<Self, Trouble> {
        let memory = Journal::resident_bytes(disk.governor.limit());
        Ok(Journal {
            disk: disk.clone(),
            options,
            usual_options: options,
            layers: Vec::new(),
            bundles: Vec::new(),
            resident_words: 0,
            first_kept: 0,
            apart_from: usize::MAX,
            round: Round::default(),
            most_resident: (memory / COPIES) as usize / 8,
            memory: disk.governor.try_reserve(memory, "small layers")?,
        })
    }

    /// What small layers take of a budget of so many bytes.
    pub(crate) fn resident_bytes(limit: u64) -> u64 {
        COPIES * (limit / 40).clamp(16 << 10, 16 << 20)
    }

    /// The journal that `record` describes, which must have been written with such payloads.
    pub(crate) fn open(disk: &Disk, options: RunOptions, record: &JournalRecord) -> Result<Self, Trouble> {
        if record.payload != options.shape.payload_words() {
            return Err(Trouble::OtherPayloads);
        }
        let mut journal = Journal::new(disk, options)?;
        if let Some(round) = &record.round {
            journal.round = Round::open(disk, &options, round)?;
        }
        let bundled = RunOptions { shape: bundled(options.shape), ..options };
        for name in &record.bundles {
            let gone = name.is_empty();
            journal.bundles.push(if gone { None } else { Some(RunFile::open(disk, name, &bundled)?) });
        }
        for layer in &record.layers {
            let parts = layer.parts.iter().map(|name| RunFile::open(disk, name, &options));
            let body = match &layer.run {
                Some(name) => Body::Run(RunFile::open(disk, name, &options)?),
                None if layer.gone => Body::Gone,
                // Of a cluster's worker, which may own nothing of a layer.
                None if layer.states == 0 => Body::Resident(Vec::new()),
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
                Body::Resident(states) => {
                    debug_assert!(states.is_empty(), "small layers are bundled before a commit");
                    plain
                }
            }
        });
        JournalRecord {
            payload: self.shape().payload_words(),
            round: self.round.record(),
            layers: layers.collect(),
            bundles: self
                .bundles
                .iter()
                .map(|run| run.as_ref().map_or(String::new(), |run| run.name().to_owned()))
                .collect(),
        }
    }

    /// Whether every state of the layer at this depth, which is about to be expanded, was expanded before, as far as that
    /// shows; asked where layers may hold states of layers that are gone.
    pub(crate) fn goes_round(&mut self, depth: usize) -> Result<bool, Trouble> {
        let mut round = std::mem::take(&mut self.round);
        let closes = round.closes_with(self, depth);
        self.round = round;
        closes
    }

    /// Every run that a commit names.
    pub(crate) fn committed_runs(&self) -> impl Iterator<Item = &RunFile> {
        self.runs().chain(self.round.run())
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

    /// Packed bytes of the layers that are there: at least what they take on disk, and the same in every budget.
    pub(crate) fn packed_bytes(&self) -> u64 {
        self.states_kept() * self.shape().bytes() as u64
    }

    /// States of the layers that are there.
    pub(crate) fn states_kept(&self) -> u64 {
        self.layers[self.first_kept..].iter().map(|entry| entry.states).sum()
    }

    /// Tells that layers from this depth on may hold states of others.
    pub(crate) fn keep_apart_from(&mut self, depth: usize) {
        self.apart_from = depth;
    }

    /// How its runs are written.
    pub(crate) fn options(&self) -> &RunOptions {
        &self.options
    }

    /// Where its runs lie.
    pub(crate) fn disk(&self) -> &Disk {
        &self.disk
    }

    /// The runs of a layer that lies in several ascending parts.
    pub(crate) fn parts(&self, depth: usize) -> Option<&[RunFile]> {
        match &self.layers[depth].body {
            Body::Parts(runs) => Some(runs),
            _ => None,
        }
    }

    /// Words of a state.
    pub(crate) fn words(&self) -> usize {
        self.options.shape.words()
    }

    /// Its records: states, each after its payload.
    pub(crate) fn shape(&self) -> RecordShape {
        self.options.shape
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
        LayerWriter::new(&self.disk, self.options, self.most_resident / 2)
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

    /// Removes the last layer.
    pub(crate) fn pop(&mut self) {
        if let Some(Entry { body: Body::Resident(states), .. }) = self.layers.pop() {
            self.resident_words -= states.len();
        }
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

    /// Ends a layer that does not become one of the journal's.
    pub(crate) fn aside(&self, layer: LayerWriter) -> Result<Aside, Trouble> {
        Ok(Aside { written: layer.finish()?, shape: self.shape() })
    }

    fn finish(&mut self, layer: LayerWriter) -> Result<Entry, Trouble> {
        let states = layer.states();
        let body = match layer.finish()? {
            Written::Held(held) => {
                self.resident_words += held.len();
                Body::Resident(held)
            }
            Written::Runs(mut runs) => match runs.len() {
                1 => Body::Run(runs.remove(0)),
                _ => Body::Parts(runs),
            },
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
        let (stride, shape) = (self.shape().stride(), bundled(self.shape()));
        let mut records = Vec::with_capacity(self.resident_words / stride * shape.stride());
        for (depth, entry) in self.layers.iter().enumerate() {
            if let Body::Resident(states) = &entry.body {
                for record in states.chunks_exact(stride) {
                    records.push(depth as u64);
                    records.extend_from_slice(record);
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

/// Records of layers that share a run: the depth before what else is beside a state.
fn bundled(shape: RecordShape) -> RecordShape {
    RecordShape::with_payload(shape.words(), 1 + shape.payload_words())
}
