//! Rebuilding a path whose buckets were deleted: every record remembers the step that crossed a certain row, so the path
//! falls into two parts that are searched for again, each with a row of its own to remember (Jabbar 2008, sec. 3.4;
//! Hirschberg's divide and conquer).
//!
//! A part from a to b is found by the same search with the same guide: with consistent estimates b is expanded at its
//! true cost, and nothing on the way to it has a larger f than b has. So each part sees a fraction of the first search.

use super::engine::{Engine, Found, Purpose};
use super::trail::{Mode, Relay, lost};
use super::{ExternalOptions, ExternalSearch, Flush, StopAt, TraceBy};
use crate::control::Limits;
use crate::lane::SearchTask;
use crate::layered::Trouble;
use crate::report::{DeadlockNotion, Question, StopReason};
use hadal_store::error::ReadError;
use hadal_store::shape::RecordShape;
use hadal_store::vfs::Disk;
use hadal_system::guide::Goal;
use hadal_system::{
    Check, Label, PropertyId, PropertyInfo, PropertyKind, Span, StateSpace, Successors, Worker, WrapsSpace,
    WrapsWorker,
};

/// A step that crossed the remembered row.
pub(super) struct Crossing {
    from: Vec<u64>,
    to: Vec<u64>,
    from_cost: u64,
    to_cost: u64,
}

impl Crossing {
    /// What the record of the end of a path says.
    pub(super) fn of(shape: RecordShape, record: &[u64]) -> Self {
        let words = shape.words();
        Crossing {
            from_cost: record[0],
            to_cost: record[1],
            from: record[2..2 + words].to_vec(),
            to: record[2 + words..2 + 2 * words].to_vec(),
        }
    }
}

/// The states from an initial one to `target`, which costs `cost` to reach.
pub(super) fn path(
    search: &ExternalSearch,
    disk: &Disk,
    crossing: Crossing,
    target: Vec<u64>,
    cost: u64,
) -> Result<Vec<Vec<u64>>, Trouble> {
    let divider = Divider { search, disk };
    divider.join(None, crossing, target, cost)
}

struct Divider<'a> {
    search: &'a ExternalSearch<'a>,
    disk: &'a Disk,
}

impl Divider<'_> {
    /// The path through a crossing, from the state `from` or any initial one.
    fn join(
        &self,
        from: Option<Vec<u64>>,
        crossing: Crossing,
        to: Vec<u64>,
        cost: u64,
    ) -> Result<Vec<Vec<u64>>, Trouble> {
        if cost == 0 {
            return Ok(vec![to]);
        }
        let mut path = self.between(from, crossing.from, crossing.from_cost)?;
        path.extend(self.between(Some(crossing.to), to, cost - crossing.to_cost)?);
        Ok(path)
    }

    /// A path to `to` that costs `cost`.
    fn between(&self, from: Option<Vec<u64>>, to: Vec<u64>, cost: u64) -> Result<Vec<Vec<u64>>, Trouble> {
        if cost == 0 {
            return Ok(vec![to]);
        }
        let estimate = self.search.guide.estimator().estimate(&to, None);
        let part = Between::new(self.search.task.space, from.clone(), to.clone());
        let question = Question::everything(&part.properties, DeadlockNotion::Off);
        // It stops when the search it serves is asked to.
        let control = self.search.task.control.part(Limits::default());
        let task = SearchTask { space: &part, question: &question, control: &control };
        let options = ExternalOptions {
            trace_by: TraceBy::Divide,
            stop_at: StopAt::Expansion,
            bound: Some(cost + u64::from(estimate.0)),
            flush: Flush::AtOnce,
            ..self.search.options.clone()
        };
        let goal = Goal::of_properties(&part.properties);
        let again = ExternalSearch { task, goal: &goal, options, ..self.search.clone() };
        let mode = Mode::Relay(Relay::At(cost.div_ceil(2)));
        let mut engine = Engine::new(again, self.disk, mode, Purpose::PartOfPath)?;
        engine.start()?;
        let found = engine.work()?;
        let cell = match found {
            Found::Goal { cell, .. } => cell,
            Found::Stopped(StopReason::Interrupted) => return Err(ReadError::Stopped.into()),
            _ => return Err(lost("a part of the path is not found again")),
        };
        let crossing = engine.crossing(cell, &to)?;
        // The parts need the memory.
        drop(engine);
        self.join(from, crossing, to, cell.g)
    }
}

/// A space in which one state is looked for, from another one on.
struct Between<'a> {
    inner: &'a dyn StateSpace,
    from: Option<Vec<u64>>,
    to: Vec<u64>,
    properties: Vec<PropertyInfo>,
}

impl<'a> Between<'a> {
    fn new(inner: &'a dyn StateSpace, from: Option<Vec<u64>>, to: Vec<u64>) -> Self {
        let properties =
            vec![PropertyInfo { name: "there".into(), kind: PropertyKind::Goal, span: Span::default() }];
        Between { inner, from, to, properties }
    }
}

/// The fingerprint stays: the files of the parts lie among those of the whole.
impl WrapsSpace for Between<'_> {
    fn inner(&self) -> &dyn StateSpace {
        self.inner
    }
    fn properties(&self) -> &[PropertyInfo] {
        &self.properties
    }
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(BetweenWorker { inner: self.inner.worker(), space: self })
    }
}

struct BetweenWorker<'a> {
    inner: Box<dyn Worker + 'a>,
    space: &'a Between<'a>,
}

impl WrapsWorker for BetweenWorker<'_> {
    fn inner(&self) -> &dyn Worker {
        &*self.inner
    }
    fn inner_mut(&mut self) -> &mut dyn Worker {
        &mut *self.inner
    }
    fn initial(&mut self, out: &mut Successors) {
        match &self.space.from {
            Some(state) => out.push(Label(0), state),
            None => self.inner.initial(out),
        }
    }
    fn check(&mut self, state: &[u64]) -> Check {
        if state == self.space.to { Check::Hit(PropertyId(0)) } else { Check::Fine }
    }
    /// Nothing is counted for a property that the inner space does not have.
    fn cover_counts(&self) -> &[u64] {
        &[]
    }
}
