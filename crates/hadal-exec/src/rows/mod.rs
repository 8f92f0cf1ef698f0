//! Ground tasks as a state space: packed words, a decision tree that finds the rows that can fire, and effects that are
//! masks on words.
//!
//! Nothing is compiled and nothing interpreted row by row, so a hundred thousand ground actions cost milliseconds to
//! prepare. [`RowMeaning`] says in obvious code what all of it must come to.

mod code;
mod costs;
mod derived;
mod generator;
mod layout;
mod meaning;
mod numeric;
mod table;
mod worker;

pub use code::Widths;
pub use layout::{Place, RowLayout};
pub use meaning::{Fired, RowMeaning, RowState, TooLarge};
pub use worker::{Firing, RowWorker};

use code::Code;
use costs::{RowCost, RowCosts};
use derived::Derivation;
use generator::Generator;
use hadal_system::rows::{Need, Rational, RowTask};
use hadal_system::{
    ActionInfo, CostRange, Label, MOST_COST, PropertyInfo, PropertyKind, Span, StateField, StateSpace,
    Successors, Worker,
};
use numeric::{Amount, Terms};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use table::{Condition, Table};

/// Why a task cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// Costs are added up, and no cycle may lower the sum.
    #[error("action {0} has a negative cost")]
    NegativeCost(u32),
    /// Costs are counted in units of 32 bits.
    #[error("the cost of action {0} does not fit 32 bits in the units of all costs")]
    CostTooLarge(u32),
    /// A cost that depends on the state has no exact value.
    #[error("the cost of action {0} is not exact: it divides by a variable")]
    InexactCost(u32),
    /// The initial state is wrong.
    #[error("the initial state cannot be packed: {0}")]
    Initial(String),
    /// A part of the task names something that is not there.
    #[error("the task is malformed: {0}")]
    Malformed(String),
}

struct Watch {
    variable: u32,
    /// From, when, to.
    steps: Vec<(u32, Condition, u32)>,
}

/// A ground task, ready to be explored.
pub struct RowSpace {
    task: Arc<RowTask>,
    layout: RowLayout,
    widths: Widths,
    terms: Terms,
    codes: Vec<Code>,
    comparisons: Vec<(u32, hadal_system::rows::Sign)>,
    table: Table,
    generator: Generator,
    derivation: Derivation,
    monitors: Vec<Watch>,
    goal: Condition,
    costs: RowCosts,
    initial: Vec<u64>,
    properties: Vec<PropertyInfo>,
    actions: Vec<ActionInfo>,
    fields: Vec<StateField>,
    /// Made when first asked for: only runs on disk want it.
    fingerprint: OnceLock<u64>,
    /// A number did not fit its bits.
    overflowed: AtomicBool,
    /// A number did not fit any bits, or a cost was negative.
    faulted: AtomicBool,
}

impl RowSpace {
    /// Prepares a task, with as many bits for numbers as seem to be needed.
    pub fn new(mut task: RowTask) -> Result<RowSpace, RowError> {
        check(&task)?;
        // Labels of one schema are consecutive, as every action's labels are.
        task.rows.sort_by_key(|row| row.schema);
        let terms = Terms::new(&task);
        let widths = Widths::first(&task, &terms);
        RowSpace::prepare(Arc::new(task), widths)
    }

    /// Bytes that preparing a task takes besides the task itself, about; not less than it does.
    pub fn foreseen_bytes(task: &RowTask) -> u64 {
        let costs = task.rows.len() * size_of::<RowCost>();
        Table::foreseen_bytes(task) + costs as u64
    }

    /// The same task with these bits for numbers.
    pub fn with_widths(&self, widths: Widths) -> Result<RowSpace, RowError> {
        RowSpace::prepare(Arc::clone(&self.task), widths)
    }

    fn prepare(task: Arc<RowTask>, widths: Widths) -> Result<RowSpace, RowError> {
        let terms = Terms::new(&task);
        let layout = RowLayout::new(&task, &widths.bits());
        let codes = layout.numbers.iter().enumerate();
        let codes: Vec<Code> =
            codes.map(|(at, &place)| Code { place, wide: widths.code(at), exact: terms.exact() }).collect();
        let sizes: Vec<u32> = task.variables.iter().map(|variable| variable.values.len() as u32).collect();
        let (mut table, generator) = Table::new(&task, &layout);
        let derivation = Derivation::new(&task, &layout, &mut table, &sizes);
        let monitors = task.monitors.iter().map(|monitor| Watch {
            variable: monitor.variable,
            steps: monitor
                .steps
                .iter()
                .map(|(from, needs, to)| (*from, table.condition(needs, &layout, &sizes), *to))
                .collect(),
        });
        let monitors = monitors.collect();
        let goal = table.condition(&task.goal, &layout, &sizes);
        let costs = RowCosts::new(&task, &terms)?;
        let comparisons =
            task.comparisons.iter().map(|comparison| (comparison.term, comparison.sign)).collect();
        let properties =
            vec![PropertyInfo { name: "goal".to_owned(), kind: PropertyKind::Goal, span: Span::default() }];
        let mut space = RowSpace {
            actions: actions(&task),
            fields: fields(&task, &layout),
            fingerprint: OnceLock::new(),
            initial: vec![0; layout.words],
            overflowed: AtomicBool::new(false),
            faulted: AtomicBool::new(false),
            task,
            layout,
            widths,
            terms,
            codes,
            comparisons,
            table,
            generator,
            derivation,
            monitors,
            goal,
            costs,
            properties,
        };
        space.initial = space.pack_initial()?;
        Ok(space)
    }

    fn pack_initial(&self) -> Result<Vec<u64>, RowError> {
        let start =
            RowMeaning::new(&self.task).initial().map_err(|error| RowError::Initial(error.to_string()))?;
        self.pack(&start).ok_or_else(|| RowError::Initial("a number does not fit its bits".to_owned()))
    }

    /// Packs a state; `None` where a number does not fit.
    pub fn pack(&self, state: &RowState) -> Option<Vec<u64>> {
        let mut words = vec![0; self.layout.words];
        for (place, &value) in self.layout.finite.iter().zip(&state.values) {
            place.set(&mut words, u64::from(value));
        }
        for ((code, value), at) in self.codes.iter().zip(&state.numbers).zip(0u32..) {
            let amount = match value {
                None => Amount::Undefined,
                Some(value) if self.terms.exact() => {
                    let scale = self.terms.number_scale(at);
                    Amount::Exact(value.numer().checked_mul(scale)?.checked_div(*value.denom())?)
                }
                Some(value) => Amount::Float(*value.numer() as f64 / *value.denom() as f64 + 0.0),
            };
            code.place.set(&mut words, code.encode(amount)?);
        }
        Some(words)
    }

    /// The variables of a packed state. Numbers of an inexact task are as near as their representation.
    pub fn unpack(&self, state: &[u64]) -> RowState {
        let numbers =
            self.codes.iter().zip(0u32..).map(|(code, at)| match code.decode(code.place.get(state)) {
                Amount::Exact(units) => Some(Rational::new(units, self.terms.number_scale(at))),
                Amount::Float(float) => Some(near(float)),
                Amount::Undefined => None,
            });
        RowState {
            values: self.layout.finite.iter().map(|place| place.get(state) as u32).collect(),
            numbers: numbers.collect(),
        }
    }

    /// The task; its rows stand in the order of their labels.
    pub fn task(&self) -> &RowTask {
        &self.task
    }

    /// The task, for those who keep it longer.
    pub fn shared_task(&self) -> Arc<RowTask> {
        Arc::clone(&self.task)
    }

    /// Where variables lie.
    pub fn layout(&self) -> &RowLayout {
        &self.layout
    }

    /// How many bits numbers have.
    pub fn widths(&self) -> &Widths {
        &self.widths
    }

    /// The initial state.
    pub fn initial(&self) -> &[u64] {
        &self.initial
    }

    /// Whether numbers are exact; else they are floating point.
    pub fn is_exact(&self) -> bool {
        self.terms.exact()
    }

    /// Whether a number was met that did not fit its bits: what was found without such states is not the whole truth.
    pub fn overflowed(&self) -> bool {
        self.overflowed.load(Ordering::Relaxed)
    }

    /// Whether a number was met that no packing holds, or a negative cost: more bits do not help.
    pub fn faulted(&self) -> bool {
        self.faulted.load(Ordering::Relaxed)
    }

    /// What one unit of cost stands for.
    pub fn cost_unit(&self) -> Rational {
        self.costs.unit
    }

    /// What a row costs in every state; `None` where that depends on the state.
    pub fn fixed_cost(&self, row: u32) -> Option<u32> {
        match self.costs.rows[row as usize] {
            RowCost::Fixed(cost) => Some(cost),
            RowCost::Term(..) => None,
        }
    }

    /// Whether some row's cost depends on the state.
    pub fn costs_vary(&self) -> bool {
        self.costs.rows.iter().any(|cost| matches!(cost, RowCost::Term(..)))
    }

    /// Bytes of the tables that make successors.
    pub fn table_bytes(&self) -> usize {
        self.table.bytes() + self.generator.bytes()
    }

    /// Something that makes successors, for callers that know what they have.
    pub fn row_worker(&self) -> RowWorker<'_> {
        RowWorker::new(self)
    }

    fn compute_fingerprint(&self) -> u64 {
        use std::fmt::Write;
        // The task's text form names everything that decides states and transitions.
        let mut digest = Digest(0);
        // Digesting never fails.
        let _ = write!(digest, "{:?}|{:?}|{:?}", self.task, self.layout, self.widths);
        digest.0
    }
}

/// Folds text into a number as it is written.
struct Digest(u64);

impl std::fmt::Write for Digest {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for chunk in text.as_bytes().chunks(8) {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            self.0 = hadal_system::state::hash(&[self.0, u64::from_le_bytes(bytes), chunk.len() as u64]);
        }
        Ok(())
    }
}

impl StateSpace for RowSpace {
    fn words(&self) -> usize {
        self.layout.words
    }

    fn bits(&self) -> u32 {
        self.layout.bits
    }

    fn fields(&self) -> &[StateField] {
        &self.fields
    }

    fn fingerprint(&self) -> u64 {
        *self.fingerprint.get_or_init(|| self.compute_fingerprint())
    }

    fn properties(&self) -> &[PropertyInfo] {
        &self.properties
    }

    fn actions(&self) -> &[ActionInfo] {
        &self.actions
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(self.row_worker())
    }

    fn costs(&self) -> CostRange {
        let bounds = |cost: &RowCost| match *cost {
            RowCost::Fixed(cost) => (cost, cost),
            RowCost::Term(..) => (0, MOST_COST),
        };
        let bounds = self.costs.rows.iter().map(bounds).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        bounds.map_or(CostRange::STEPS, |(least, most)| CostRange { least, most: most.min(MOST_COST) })
    }

    fn render_label(&self, label: Label) -> String {
        match self.task.rows.get(label.0 as usize) {
            Some(_) => self.task.label(label.0),
            None => format!("label {}", label.0),
        }
    }

    fn render_start(&self, _: Label) -> String {
        "initial state".to_owned()
    }

    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        let state = self.unpack(state);
        let finite = self
            .task
            .variables
            .iter()
            .zip(&state.values)
            .map(|(variable, &value)| (variable.name.clone(), variable.values[value as usize].clone()));
        let numbers = self.task.numbers.iter().zip(&state.numbers).map(|(number, value)| {
            (number.name.clone(), value.map_or("undefined".to_owned(), |value| value.to_string()))
        });
        finite.chain(numbers).collect()
    }
}

fn near(float: f64) -> Rational {
    // Enough for showing; nothing decides by it.
    Rational::new((float * 1e6).round() as i128, 1_000_000)
}

fn actions(task: &RowTask) -> Vec<ActionInfo> {
    let mut actions: Vec<ActionInfo> = Vec::new();
    for (at, group) in task.rows.chunk_by(|a, b| a.schema == b.schema).scan(0u32, |from, group| {
        let at = *from;
        *from += group.len() as u32;
        Some((at, group))
    }) {
        let name = task.names.schemas[group[0].schema as usize].clone();
        actions.push(ActionInfo { name, labels: at..at + group.len() as u32 });
    }
    actions
}

fn fields(task: &RowTask, layout: &RowLayout) -> Vec<StateField> {
    let field = |name: &str, place: &Place, group: usize| StateField {
        name: name.to_owned(),
        offset: place.word * 64 + place.shift,
        width: place.width,
        group: group as u32,
        owner: None,
    };
    let finite = task.variables.iter().zip(&layout.finite).enumerate();
    let finite = finite.map(|(at, (variable, place))| field(&variable.name, place, at));
    let numbers = task.numbers.iter().zip(&layout.numbers).enumerate();
    let first = task.variables.len();
    finite.chain(numbers.map(|(at, (number, place))| field(&number.name, place, first + at))).collect()
}

/// Whether everything that is named is there.
fn check(task: &RowTask) -> Result<(), RowError> {
    let wrong = |what: &str| Err(RowError::Malformed(what.to_owned()));
    let needs_fit = |needs: &[Need]| {
        needs.iter().all(|need| match *need {
            Need::Is(variable, _) | Need::IsNot(variable, _) => (variable as usize) < task.variables.len(),
            Need::Derived(fact) | Need::NotDerived(fact) => (fact as usize) < task.derived.len(),
            Need::Compares(comparison) => (comparison as usize) < task.comparisons.len(),
        })
    };
    if task.variables.iter().any(|variable| variable.initial as usize >= variable.values.len()) {
        return wrong("an initial value is not one of its variable's");
    }
    let parts = |at: usize| hadal_system::rows::scale::parts(task, at as u32).into_iter().flatten();
    for (at, &term) in task.terms.iter().enumerate() {
        let fits = match term {
            hadal_system::rows::Term::Number(number) => (number as usize) < task.numbers.len(),
            hadal_system::rows::Term::Holds(need) => {
                needs_fit(&[need]) && parts(at).all(|part| (part as usize) < at)
            }
            _ => parts(at).all(|part| (part as usize) < at),
        };
        if !fits {
            return wrong("a term names what does not stand before it");
        }
    }
    let term_fits = |term: u32| (term as usize) < task.terms.len();
    let changes_fit = |change: hadal_system::rows::Change| match change {
        hadal_system::rows::Change::Set(variable, value) => {
            task.variables.get(variable as usize).is_some_and(|it| (value as usize) < it.values.len())
        }
        hadal_system::rows::Change::Assign(number, term)
        | hadal_system::rows::Change::Increase(number, term) => {
            (number as usize) < task.numbers.len() && term_fits(term)
        }
    };
    let rows_fit = task.rows.iter().all(|row| {
        (row.schema as usize) < task.names.schemas.len()
            && row.arguments.iter().all(|&object| (object as usize) < task.names.objects.len())
            && needs_fit(&row.needs)
            && row.cost.is_none_or(term_fits)
            && row.effects.iter().all(|effect| needs_fit(&effect.when) && changes_fit(effect.change))
    });
    let rules_fit =
        task.rules.iter().all(|rule| (rule.head as usize) < task.derived.len() && needs_fit(&rule.body));
    let monitors_fit = task.monitors.iter().all(|monitor| {
        let size = task.variables.get(monitor.variable as usize).map_or(0, |it| it.values.len());
        monitor.steps.iter().all(|(_, needs, to)| needs_fit(needs) && (*to as usize) < size)
    });
    let comparisons_fit = task.comparisons.iter().all(|comparison| term_fits(comparison.term));
    if !(rows_fit && rules_fit && monitors_fit && comparisons_fit && needs_fit(&task.goal)) {
        return wrong("a row, rule, monitor or goal names what is not there");
    }
    Ok(())
}

impl RowSpace {
    fn note_overflow(&self) {
        self.overflowed.store(true, Ordering::Relaxed);
    }

    fn note_fault(&self) {
        self.faulted.store(true, Ordering::Relaxed);
    }

    fn push_initial(&self, out: &mut Successors) {
        out.push(Label(0), &self.initial);
    }
}
