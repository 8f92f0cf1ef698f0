//! Breadth-first search in RAM, layer by layer, on any number of threads.
//!
//! A layer is a range of each thread's arena. Threads take pieces of it until it is used up; the set of states of the
//! next layer is the same for any number of threads. A layer is always finished before a violation found in it is
//! reported, so the reported one is the same too, and its trace is shortest.

use super::layer::{Expanding, LayerEnd, Paused, Range, ranges};
use super::merging::MergingWriter;
use super::path;
use crate::explore::{Explored, Explorer, Method, Over, Payloads, Phase, Progress, Setting};
use crate::finding::Finding;
use crate::firings::Counts;
use crate::fixpoint::{Following, Pass, Seeing, TableClosed};
use crate::lane::{Lane, Parents, SearchTask, has_found, take_finding, total_counts};
use crate::layered::Trouble;
use crate::report::{Layer, Proviso, Report, Spent, Stage, StopReason, Verdict, Violation, ViolationKind};
use crate::resting::{Early, Reins};
use crate::run::{Answer, covered, out_of_memory};
use crate::strategies::Resumes;
use hadal_store::table::StateTable;
use hadal_store::{Governor, OverBudget};
use std::sync::Arc;

/// What firing a transition and looking its state up counts as, and what a new state adds: about nanoseconds.
pub(crate) const TRANSITION_WORK: u64 = 80;
pub(crate) const STATE_WORK: u64 = 40;

/// Every state in a table.
pub(crate) const TABLE: Stage = Stage { storage: "table", states: 0, depth: 0 };

/// Breadth-first search in RAM.
#[derive(Clone, Copy, Debug, Default)]
pub struct Breadth;

impl Method for Breadth {
    fn begin<'a>(&'a self, setting: Setting<'a>) -> Result<Box<dyn Explorer + 'a>, Trouble> {
        Ok(match BreadthWalk::new(setting.task, setting.governor, setting.threads) {
            Ok(walk) => Box::new(BreadthExplorer(Following::new(walk))),
            Err(full) => Box::new(Over::new(nothing_fits(setting, full))),
        })
    }

    fn payloads(&self) -> Payloads {
        Payloads::Merged
    }
}

fn nothing_fits(setting: Setting, full: OverBudget) -> Report {
    let verdict = Verdict::Stopped(StopReason::Memory { needed: full.limit.saturating_add(full.asked) });
    Report { depth: Some(0), ..Report::of_nothing(setting.task, setting.governor, verdict, TABLE) }
}

/// A breadth-first search under way.
pub(crate) struct BreadthWalk<'a> {
    task: SearchTask<'a>,
    governor: Governor,
    table: StateTable,
    lanes: Vec<Lane<'a>>,
    /// For each layer, how long each arena was when it began (one number per writer). The last row begins the layer
    /// being built.
    starts: Vec<u64>,
    /// What must be said beside the verdict.
    proviso: Option<Proviso>,
    /// Where another storage goes on when memory runs out.
    moves_on: bool,
    layers: Vec<Layer>,
    /// What was counted in the expanded layers, and in all but the last of them.
    counts: Counts,
    counts_before: Counts,
    /// What is kept beside the state that is wrong.
    payload: Option<Vec<u64>>,
    at: At,
}

/// How far a walk is.
enum At {
    /// Before the initial states.
    Start,
    /// In a layer, or before its first state.
    Layer(Expanding),
    /// Every state is known; questions about infinite runs are left.
    Known,
    /// Something is wrong; the way there is left.
    Found(Finding),
    /// At the end.
    End(LayerEnd),
}

/// What a walk leaves to another storage.
pub(crate) struct Begun<'a> {
    pub(crate) table: StateTable,
    /// Batches may wait in them.
    pub(crate) lanes: Vec<Lane<'a>>,
    /// The states of each layer; the last is the one being found.
    pub(crate) ranges: Vec<Vec<Range>>,
    /// Figures of the layers expanded to the end.
    pub(crate) layers: Vec<Layer>,
    /// What was counted in them.
    pub(crate) counts: Counts,
}

impl<'a> BreadthWalk<'a> {
    pub(crate) fn new(task: SearchTask<'a>, governor: &Governor, threads: usize) -> Result<Self, OverBudget> {
        let writers = threads.max(1);
        Ok(BreadthWalk {
            task,
            governor: governor.clone(),
            table: StateTable::keeping(
                (task.space.words(), task.space.bits()),
                task.space.payload(),
                writers,
                governor,
            )?,
            lanes: (0..writers).map(|_| Lane::new(task, Parents::Forgotten)).collect(),
            starts: vec![0; writers],
            proviso: None,
            moves_on: false,
            layers: Vec::new(),
            counts: Counts::zero(task.space),
            counts_before: Counts::zero(task.space),
            payload: None,
            at: At::Start,
        })
    }

    /// The same, where another storage goes on once memory runs out.
    pub(crate) fn moving_on(self) -> Self {
        BreadthWalk { moves_on: true, ..self }
    }

    /// Goes on for this much work, but at least a piece; whether it is at its end.
    pub(crate) fn go_on(&mut self, work: u64) -> bool {
        let until = self.work().saturating_add(work);
        let mut has_gone = false;
        loop {
            self.at = match std::mem::replace(&mut self.at, At::Start) {
                At::Start => match self.find_initial() {
                    Err(full) => At::End(LayerEnd::Full(Vec::new(), full)),
                    Ok(()) => self.next_layer(),
                },
                At::Layer(layer) if has_gone && self.goes_beyond(&layer, until) => {
                    self.at = At::Layer(layer);
                    return false;
                }
                At::Layer(layer) => self.expand(layer, until),
                at @ (At::Known | At::Found(_) | At::End(_)) => {
                    self.at = at;
                    return true;
                }
            };
            has_gone = true;
        }
    }

    /// Puts the initial states into the table.
    fn find_initial(&mut self) -> Result<(), OverBudget> {
        let (table, lane) = (&mut self.table, &mut self.lanes[0]);
        match table.payload().words {
            0 => lane.start(&mut table.share().1[0]),
            _ => lane.start(&mut MergingWriter::share(table, &self.starts).1[0]),
        }
    }

    /// How it ended, where it is at its end.
    pub(crate) fn ended(&self) -> Option<&LayerEnd> {
        match &self.at {
            At::End(ended) => Some(ended),
            _ => None,
        }
    }

    /// What is there so far, the layer being found closed. Where the table is full, also the pieces of the last layer that
    /// are not expanded.
    pub(crate) fn into_begun(self) -> (Begun<'a>, Vec<Range>) {
        let ranges = self.layer_ranges().collect();
        let left = match self.at {
            At::End(LayerEnd::Full(left, _)) => left,
            _ => Vec::new(),
        };
        let BreadthWalk { table, lanes, layers, counts, .. } = self;
        (Begun { table, lanes, ranges, layers, counts }, left)
    }

    fn goes_beyond(&self, layer: &Expanding, until: u64) -> bool {
        let ahead = if layer.is_begun() { 0 } else { self.ahead(layer.width) };
        self.work().saturating_add(ahead) >= until
    }

    fn fired(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.transitions).sum()
    }

    fn work(&self) -> u64 {
        self.fired() * TRANSITION_WORK + self.table.len() * STATE_WORK
    }

    /// What a layer of this width will take, if its states are like those before.
    fn ahead(&self, width: u64) -> u64 {
        let before = self.table.len() - width;
        self.work().saturating_mul(width).checked_div(before).unwrap_or(0)
    }

    /// Ends the layer that was being built; the one to be expanded, or why there is none.
    fn next_layer(&mut self) -> At {
        let layer = self.close_layer();
        let depth = self.layers.len() as u64;
        if let Some(finding) = take_finding(&mut self.lanes) {
            return At::Found(finding);
        }
        let width: u64 = layer.iter().map(|r| r.to - r.from).sum();
        if width == 0 {
            return match self.task.question.asks_about_runs(self.task.space) {
                true => At::Known,
                false => At::End(LayerEnd::Decided(self.all_covered())),
            };
        }
        if self.task.control.limits.max_depth.is_some_and(|max| depth >= max) {
            return At::End(LayerEnd::Stopped(StopReason::DepthLimit));
        }
        self.table.fold_where_it_pays();
        let found_from = self.starts[self.starts.len() - self.table.writer_count()..].to_vec();
        let before = (self.fired(), self.table.len());
        At::Layer(Expanding::new((layer, depth), found_from, before))
    }

    /// Expands more of a layer.
    fn expand(&mut self, mut layer: Expanding, until: u64) -> At {
        let work = until.saturating_sub(self.work());
        match layer.expand(self.task.control, &mut self.table, &mut self.lanes, work) {
            Paused::Within => At::Layer(layer),
            Paused::AtEnd(LayerEnd::Whole) => {
                self.end_layer(&layer);
                self.next_layer()
            }
            // What was found so far waits in the lanes: another storage may finish the layer.
            Paused::AtEnd(early) => At::End(early),
        }
    }

    fn end_layer(&mut self, layer: &Expanding) {
        let (fired, known) = layer.before;
        let (transitions, unique) = (self.fired() - fired, self.table.len() - known);
        self.layers.push(Layer {
            states: layer.width,
            transitions,
            duplicates_cache: transitions - unique,
            candidates: unique,
            unique,
            seconds: Spent { expanding: layer.seconds, ..Spent::default() },
            ..Layer::default()
        });
        let counts = total_counts(&self.lanes, self.task.space);
        self.counts_before = std::mem::replace(&mut self.counts, counts);
    }

    /// The figures, with this verdict.
    pub(crate) fn report(&self, verdict: Verdict) -> Report {
        let depth =
            self.layer_ranges().take_while(|layer| !layer.is_empty()).count().saturating_sub(1) as u64;
        let counts = total_counts(&self.lanes, self.task.space);
        let answer = Answer {
            verdict,
            states: self.table.len(),
            transitions: self.fired(),
            counts: &counts,
            stages: vec![TABLE],
        };
        let proviso = if has_found(&self.lanes) { Some(Proviso::WrongSeen) } else { self.proviso };
        let report = answer.report(self.task, &self.governor);
        Report { depth: Some(depth), layers: self.layers.clone(), proviso, ..report }
    }

    /// What is kept beside the state that is wrong, where that is so.
    pub(crate) fn take_payload(&mut self) -> Option<Vec<u64>> {
        self.payload.take()
    }

    /// What its end means where no other storage goes on; a search that is not at its end is interrupted.
    pub(crate) fn verdict(&self) -> Verdict {
        match self.ended() {
            Some(LayerEnd::Whole) => Verdict::Holds,
            Some(LayerEnd::Decided(verdict)) => verdict.clone(),
            Some(LayerEnd::Stopped(reason)) => Verdict::Stopped(reason.clone()),
            Some(LayerEnd::Full(_, full)) => Verdict::Stopped(out_of_memory(*full)),
            None => Verdict::Stopped(StopReason::Interrupted),
        }
    }

    fn all_covered(&self) -> Verdict {
        covered(self.task, &total_counts(&self.lanes, self.task.space).covers)
    }

    /// Answers the questions about infinite runs, now that the whole space has been seen.
    async fn about_runs(&self, reins: &Reins<'_>) -> Verdict {
        let layers: Vec<Vec<Range>> = self.layer_ranges().collect();
        let closed = TableClosed::new(&self.table, &layers);
        let (task, threads) = (self.task, self.lanes.len());
        let (governor, moves_on) = (&self.governor, self.moves_on);
        let pass = Pass { task, closed: &closed, governor, threads, reins, moves_on, keeper: None };
        let stem = async |_, state| {
            let path = path::shortest(task, threads, (&self.table, &layers), state, reins).await;
            path.map_err(Early::Stopped)
        };
        match pass.verdict(stem).await {
            Ok(None) => self.all_covered(),
            Ok(Some(verdict)) => verdict,
            Err(Trouble::OverBudget(full)) => Verdict::Stopped(out_of_memory(full)),
            // A question about runs that the space does not say how to answer.
            Err(_) => Verdict::Stopped(StopReason::Unanswered),
        }
    }

    /// Ends the layer that was being built and begins the next.
    pub(crate) fn close_layer(&mut self) -> Vec<Range> {
        self.starts.extend((0..self.table.writer_count()).map(|w| self.table.added_by(w)));
        self.layer_ranges().next_back().unwrap_or_default()
    }

    /// All closed layers, the first first.
    fn layer_ranges(&self) -> impl DoubleEndedIterator<Item = Vec<Range>> {
        let writers = self.table.writer_count();
        let rows = self.starts.len() / writers;
        (1..rows).map(move |n| {
            ranges(&self.starts[(n - 1) * writers..n * writers], &self.starts[n * writers..(n + 1) * writers])
        })
    }

    /// The way to what is wrong. Where the search is interrupted before it is found, the last layer counts as not expanded:
    /// whoever goes on finds it again.
    async fn violated(&mut self, finding: Finding, reins: &Reins<'_>) -> Verdict {
        if let ViolationKind::StartFault(_) = finding.kind {
            return Verdict::Violated(Violation { kind: finding.kind, path: Vec::new(), shortest: true });
        }
        reins.found();
        let layers: Vec<Vec<Range>> = self.layer_ranges().collect();
        let (table, threads) = (&self.table, self.lanes.len());
        let state = finding.state.clone();
        match path::shortest(self.task, threads, (table, &layers), state, reins).await {
            Ok(path) => {
                if self.table.payload().words > 0
                    && let Some(at) = self.table.find(&finding.state)
                {
                    let payload = self.payload.insert(Vec::new());
                    self.table.copy_payload(at.writer(), at.number(), payload);
                }
                Verdict::Violated(Violation { kind: finding.kind, path, shortest: true })
            }
            Err(reason) => {
                self.proviso = Some(Proviso::WrongSeen);
                self.layers.pop();
                self.counts = std::mem::replace(&mut self.counts_before, Counts::zero(self.task.space));
                Verdict::Stopped(reason)
            }
        }
    }
}

impl<'a> Seeing<'a> for BreadthWalk<'a> {
    fn go_on(&mut self, work: u64) -> Result<bool, Trouble> {
        Ok(self.go_on(work))
    }

    fn has_more(&self) -> bool {
        matches!(self.at, At::Known | At::Found(_))
    }

    fn reins(&self) -> Arc<Reins<'a>> {
        Reins::new(self.task.control, &self.governor, Seeing::progress(self))
    }

    async fn proceed(mut self: Box<Self>, reins: Arc<Reins<'a>>) -> Result<Box<Self>, Trouble> {
        let verdict = match std::mem::replace(&mut self.at, At::Known) {
            At::Found(finding) => self.violated(finding, &reins).await,
            _ => {
                let verdict = self.about_runs(&reins).await;
                self.proviso = reins.proviso(&verdict);
                verdict
            }
        };
        self.at = At::End(LayerEnd::Decided(verdict));
        Ok(self)
    }

    fn progress(&self) -> Progress {
        let (phase, ahead) = match &self.at {
            At::Start | At::Known | At::Found(_) => (Phase::Between, 0),
            At::Layer(layer) if layer.is_begun() => (Phase::Within, 0),
            At::Layer(layer) => (Phase::Between, self.ahead(layer.width)),
            At::End(_) => (Phase::Over, 0),
        };
        Progress {
            phase,
            depth: Some(self.layers.len() as u64),
            states: self.table.len(),
            transitions: self.fired(),
            work: self.work(),
            ahead,
            memory: self.governor.current(),
            disk: 0,
        }
    }
}

/// A breadth-first search in RAM with the questions that follow it.
struct BreadthExplorer<'a>(Following<'a, BreadthWalk<'a>>);

impl Explorer for BreadthExplorer<'_> {
    fn step(&mut self, work: u64) -> Result<Progress, Trouble> {
        self.0.go_on(work)?;
        Ok(self.0.progress())
    }

    fn progress(&self) -> Progress {
        self.0.progress()
    }

    fn finish(self: Box<Self>) -> Result<Explored, Trouble> {
        let mut walk = self.0.end()?;
        let payload = walk.take_payload();
        Ok(Explored { payload, ..Explored::leaving(walk.report(walk.verdict()), Resumes::Nothing) })
    }
}
