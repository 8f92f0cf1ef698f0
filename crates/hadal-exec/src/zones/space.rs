//! The zone graph as a state space: guard, resets, invariant, delay unless time stands still, invariant, extrapolation.

use hadal_system::system::instance_values;
use hadal_system::timed::{Bound, GoingOn, TimedFormula, TimedSystem};
use hadal_system::{
    ActionInfo, Cover, Label, Layout, PropertyId, PropertyInfo, StateField, StateSpace, System, Value, Worker,
};
use std::sync::atomic::{AtomicBool, Ordering};

use super::bounds::{ClockBounds, by_location, note};
use super::code::{Code, Compiler};
use super::cover::{Covering, ZoneCover};
use super::dbm::{LARGEST_CONSTANT, NONE, Zone};
use super::diagonal::Diagonals;
use super::options::{Extrapolation, MOST_WORDS, ZoneError, ZoneOptions};
use super::pack::Packing;
use super::show::render;
use super::timing::{ReadyBound, ReadyReset};
use super::worker::ZoneWorker;
use crate::model::Model;

/// What an action does with clocks.
pub(crate) struct ReadyTiming {
    pub(crate) guard: Vec<ReadyBound>,
    pub(crate) resets: Vec<ReadyReset>,
}

/// A clause of a question.
pub(crate) struct ReadyClause {
    pub(crate) when: Code,
    pub(crate) bounds: Vec<ReadyBound>,
    pub(crate) going_on: Option<GoingOn>,
}

/// What a location means for time.
pub(crate) struct ReadyStay {
    pub(crate) invariant: Vec<ReadyBound>,
    pub(crate) still: bool,
    pub(crate) bounds: ClockBounds,
}

/// How the zones of all states are kept.
pub(crate) struct ZoneShape {
    /// Clocks, the one that stays 0 among them.
    pub(crate) size: usize,
    pub(crate) packing: Packing,
    /// Words of a state before its discrete part.
    pub(crate) words: usize,
}

/// The zone graph of a timed system.
pub struct ZoneSpace {
    pub(crate) timed: TimedSystem,
    pub(crate) model: Model,
    pub(crate) options: ZoneOptions,
    pub(crate) zones: ZoneShape,
    pub(crate) timing: Vec<ReadyTiming>,
    /// By process and location.
    pub(crate) stays: Vec<Vec<ReadyStay>>,
    /// Reads the location of each process.
    pub(crate) locations: Vec<Code>,
    pub(crate) rush: Vec<Code>,
    /// Of the questions: added to the bounds of every location.
    pub(super) base: ClockBounds,
    pub(crate) diagonals: Diagonals,
    /// By property.
    pub(crate) formulas: Vec<Option<Vec<ReadyClause>>>,
    /// Properties that are asked about, by id.
    pub(super) asked: Vec<bool>,
    bases: Vec<u64>,
    fingerprint: u64,
    cover: Option<ZoneCover>,
    overflowed: AtomicBool,
}

impl ZoneSpace {
    /// Prepares the zone graph of `timed`.
    pub fn new(mut timed: TimedSystem, mut options: ZoneOptions) -> Result<Self, ZoneError> {
        let model = Model::new(timed.system.clone(), options.model)?;
        if options.now {
            timed.clocks.push("now".into());
        }
        let size = timed.clocks.len() + 1;
        let compiler = Compiler { system: model.system(), layout: model.layout() };
        let mut locations_bounds = by_location(&timed)?;
        let mut base = ClockBounds::none(size);
        let wanted = options.asked.clone();
        let is_asked = |n: usize| wanted.get(n).copied().unwrap_or(wanted.is_empty());
        let questions = timed.formulas.iter().enumerate().filter(|(n, _)| is_asked(*n));
        let clauses = questions.flat_map(|(_, formula)| formula).flat_map(|formula| &formula.clauses);
        let compared: Vec<&Bound> = clauses.flat_map(|clause| &clause.bounds).collect();
        for &bound in &compared {
            note(&timed.system, bound, &mut base)?;
        }
        let diagonals = Diagonals::of(&timed, compared.into_iter())?;
        if !diagonals.is_empty() {
            diagonals.note(&timed, &mut base)?;
            options.extrapolation = Extrapolation::Max;
            if options.covering == Covering::Alu {
                options.covering = Covering::Inclusion;
            }
        }
        if matches!(options.extrapolation, Extrapolation::Max | Extrapolation::MaxPlus) {
            base.unite();
            locations_bounds.iter_mut().flatten().for_each(ClockBounds::unite);
        }
        if options.now {
            (base.lower[size - 1], base.upper[size - 1]) = (NONE, LARGEST_CONSTANT as i32);
        }
        let mut most = base.clone();
        locations_bounds.iter().flatten().for_each(|bounds| {
            most.join(bounds);
        });
        // Of the sharper abstractions, closing adds lower bounds up.
        let positive = most.upper.iter().map(|&bound| i64::from(bound.max(0)));
        let below = match options.extrapolation {
            Extrapolation::LowerUpperPlus | Extrapolation::MaxPlus => positive.max().unwrap_or(0),
            Extrapolation::LowerUpper | Extrapolation::Max => positive.sum::<i64>().min(LARGEST_CONSTANT),
        };
        let above: i64 = most.lower.iter().map(|&bound| i64::from(bound.max(0))).sum();
        let packing = Packing::new(size, below, above.min(LARGEST_CONSTANT));
        let words = packing.words() + model.words();
        if words > MOST_WORDS {
            return Err(ZoneError::TooWide { clocks: size - 1, words });
        }
        let ready_timing = |timing: &hadal_system::timed::Timing| ReadyTiming {
            guard: ReadyBound::all(compiler, &timing.guard),
            resets: timing.resets.iter().map(|reset| ReadyReset::new(compiler, reset)).collect(),
        };
        let timing = timed.timing.iter().map(ready_timing).collect();
        let system = model.system();
        let stays = timed
            .processes
            .iter()
            .zip(locations_bounds)
            .enumerate()
            .map(|(process, (stays, bounds))| {
                let ready =
                    |(n, (stay, bounds)): (usize, (&hadal_system::timed::Stay, ClockBounds))| ReadyStay {
                        invariant: ReadyBound::all(compiler, &stay.invariant),
                        still: stay.urgent || system.processes[process].locations[n].committed,
                        bounds,
                    };
                stays.stays.iter().zip(bounds).enumerate().map(ready).collect()
            })
            .collect();
        let locations =
            system.processes.iter().map(|p| compiler.code(&system.whole(p.location).read())).collect();
        let rush = timed.rush.iter().map(|expr| compiler.code(expr)).collect();
        let ready_formula = |formula: &TimedFormula| {
            let clauses = formula.clauses.iter().map(|clause| ReadyClause {
                when: compiler.code(&clause.when),
                bounds: ReadyBound::all(compiler, &clause.bounds),
                going_on: clause.going_on,
            });
            clauses.collect::<Vec<_>>()
        };
        let formulas = timed.formulas.iter().map(|f| f.as_ref().map(ready_formula)).collect();
        let asked = (0..model.properties().len())
            .map(|id| {
                let at = system.property_instance(PropertyId(id as u32)).map_or(0, |(at, _)| at);
                is_asked(at)
            })
            .collect();
        let bases = system.label_bases(&system.actions);
        let fingerprint = fingerprint(&model, &timed, &options);
        let mut space = ZoneSpace {
            zones: ZoneShape { size, words: packing.words(), packing },
            fingerprint,
            timed,
            options,
            timing,
            stays,
            locations,
            rush,
            base,
            diagonals,
            formulas,
            asked,
            bases,
            cover: None,
            overflowed: AtomicBool::new(false),
            model,
        };
        space.cover = ZoneCover::new(&space);
        Ok(space)
    }

    /// The timed system; with a last clock `now` where that was asked for.
    pub fn timed(&self) -> &TimedSystem {
        &self.timed
    }

    /// The model of the discrete part.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Where each scalar of the discrete part stands.
    pub fn layout(&self) -> &Layout {
        self.model.layout()
    }

    /// The words of a state before its discrete part.
    pub fn zone_words(&self) -> usize {
        self.zones.words
    }

    /// Whether differences of clocks are compared: covering by aLU is then inclusion.
    pub fn has_diagonals(&self) -> bool {
        !self.diagonals.is_empty()
    }

    /// Whether a bound did not fit its bits: what was explored is then worth nothing.
    pub fn has_overflowed(&self) -> bool {
        self.overflowed.load(Ordering::Relaxed)
    }

    /// Takes note that a bound does not fit its bits.
    pub(super) fn overflow(&self) {
        self.overflowed.store(true, Ordering::Relaxed);
    }

    /// The zone of a state.
    pub fn zone(&self, state: &[u64]) -> Zone {
        let mut zone = Zone::zero(self.zones.size - 1);
        self.zones.packing.unpack(state, &mut zone);
        zone
    }

    pub(crate) fn base_bounds(&self) -> &ClockBounds {
        &self.base
    }

    /// The action behind a label.
    pub(crate) fn action(&self, label: Label) -> usize {
        self.bases.partition_point(|&base| base <= u64::from(label.0)) - 1
    }

    /// The label of an action's first instance.
    pub(crate) fn first_label(&self, action: usize) -> u32 {
        // Labels are numbered with 32 bits.
        self.bases[action] as u32
    }

    /// The values of an action's locals, as far as they are parameters.
    pub(crate) fn locals(&self, label: Label, into: &mut Vec<Value>) {
        let at = self.action(label);
        let system: &System = self.model.system();
        let action = &system.actions[at];
        into.clear();
        if action.params.is_empty() {
            return;
        }
        into.resize(action.locals.len(), 0);
        let values = instance_values(&action.params, &system.domains, u64::from(label.0) - self.bases[at]);
        for (param, value) in action.params.iter().zip(values) {
            into[param.local.0 as usize] = value;
        }
    }
}

/// Identifies the zone graph across runs.
fn fingerprint(model: &Model, timed: &TimedSystem, options: &ZoneOptions) -> u64 {
    let text = format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {}",
        timed.clocks,
        timed.timing,
        timed.processes,
        timed.rush,
        timed.formulas,
        options.extrapolation,
        options.asked,
        options.now
    );
    let mut words: Vec<u64> = text
        .as_bytes()
        .chunks(8)
        .map(|chunk| chunk.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)))
        .collect();
    words.push(model.fingerprint());
    hadal_system::state::hash(&words)
}

impl StateSpace for ZoneSpace {
    fn words(&self) -> usize {
        self.zones.words + self.model.words()
    }

    fn bits(&self) -> u32 {
        self.zones.words as u32 * 64 + self.model.bits()
    }

    fn fields(&self) -> &[StateField] {
        &[]
    }

    fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    fn properties(&self) -> &[PropertyInfo] {
        self.model.properties()
    }

    fn actions(&self) -> &[ActionInfo] {
        self.model.actions()
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(ZoneWorker::new(self))
    }

    fn cover(&self) -> Option<&dyn Cover> {
        self.cover.as_ref().map(|cover| cover as &dyn Cover)
    }

    fn render_label(&self, label: Label) -> String {
        self.model.render_label(label)
    }

    fn render_start(&self, label: Label) -> String {
        self.model.render_start(label)
    }

    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        let mut all = self.model.render_state(&state[self.zones.words..]);
        all.push(("zone".into(), render(&self.zone(state), &self.timed.clocks)));
        all
    }
}
