//! A model that explorers can walk: a system, its layout, an engine that runs it, and symmetry reduction.

use hadal_system::facts::{CostFacts, Facts, cost_facts};
use hadal_system::rows::Rational;
use hadal_system::system::fill_instance_values;
use hadal_system::validate::{Problem, validate};
use hadal_system::{
    ActionInfo, Amount, COST_ERROR, Check, ChoiceFault, Choices, CostRange, Label, Layout, ProcessId,
    PropertyId, PropertyInfo, PropertyKind, StateField, StateSpace, Successors, System, Value, Worker,
};
use std::collections::HashMap;
use std::sync::OnceLock;

use crate::choices::Chooser;
use crate::compile::{CompileError, Compiled};
use crate::fault::Fault;
use crate::fields::fields;
use crate::fingerprint::fingerprint;
use crate::interpret::{Interpreter, Outcome};
use crate::passing::{Passing, PassingMemory, Steps};
use crate::symmetry::{Canonicaliser, Scratch, SymmetryMode};

/// How a model is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Engine {
    /// As machine code made when the model is loaded.
    #[default]
    Compiled,
    /// By the interpreter that defines the meaning.
    Interpreted,
}

/// How to make a [`Model`] of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ModelOptions {
    /// What runs it.
    pub engine: Engine,
    /// Which states are the same.
    pub symmetry: SymmetryMode,
}

/// Why a system cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// It breaks a rule that everything relies on: a mistake of whoever made it.
    #[error("the system is not well formed: {}", .0[0])]
    Invalid(Vec<Problem>),
    /// Transitions are numbered with 32 bits.
    #[error("the model has {0} instances of rules, more than 2^32 - 1")]
    TooManyInstances(u64),
    /// A scalar has at most 64 bits, the code for undefined included.
    #[error("the range {0}..{1} has no room left for undefined: make it smaller by one")]
    TooWide(i64, i64),
    /// It has no machine code.
    #[error(transparent)]
    Compile(#[from] CompileError),
}

/// A [`StateSpace`] made of a [`System`].
pub struct Model {
    system: System,
    layout: Layout,
    options: ModelOptions,
    /// Where the engine is [`Engine::Compiled`].
    compiled: Option<Compiled>,
    symmetry: Option<Canonicaliser>,
    /// Where some process goes on alone at times.
    passing: Option<Passing>,
    properties: Vec<PropertyInfo>,
    actions: Vec<ActionInfo>,
    fingerprint: u64,
    /// Worked out when first asked for: few strategies want them.
    fields: OnceLock<Vec<StateField>>,
    /// The weight of what has no outcomes.
    certain: Amount,
    /// Worked out when first asked for.
    may_fault: OnceLock<bool>,
    /// Of systems whose actions have costs; worked out when first asked for.
    costs: OnceLock<CostFacts>,
}

impl Model {
    /// Prepares `system` to be explored. Systems that are not well formed are refused: compiled code relies on it.
    pub fn new(system: System, options: ModelOptions) -> Result<Model, ModelError> {
        let problems = validate(&system);
        if !problems.is_empty() {
            return Err(ModelError::Invalid(problems));
        }
        for actions in [&system.starts, &system.actions] {
            let count = system.label_bases(actions).last().copied().unwrap_or(0);
            if u32::try_from(count).is_err() {
                return Err(ModelError::TooManyInstances(count));
            }
        }
        if let Some((_, domain)) = system.domains.iter().find(|(_, domain)| domain.bits() > 64) {
            return Err(ModelError::TooWide(domain.min(), domain.max()));
        }
        let layout = Layout::natural(&system);
        let compiled = match options.engine {
            Engine::Compiled => Some(Compiled::new(&system, &layout)?),
            Engine::Interpreted => None,
        };
        let symmetry = Canonicaliser::new(&system, &layout, options.symmetry);
        let mode = symmetry.as_ref().map_or(SymmetryMode::Off, Canonicaliser::mode);
        let fingerprint = fingerprint(&system, &layout, mode);
        let properties = system.property_infos();
        let actions = action_infos(&system);
        let passing = Passing::of(&system);
        Ok(Model {
            system,
            layout,
            options,
            compiled,
            symmetry,
            passing,
            properties,
            actions,
            fingerprint,
            fields: OnceLock::new(),
            certain: Amount::Constant(Rational::from_integer(1)),
            may_fault: OnceLock::new(),
            costs: OnceLock::new(),
        })
    }

    /// The system behind the model.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// Where each scalar stands in a packed state.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// How the model was made.
    pub fn options(&self) -> ModelOptions {
        self.options
    }

    /// What makes symmetric states one, where there is something to do.
    pub fn symmetry(&self) -> Option<&Canonicaliser> {
        self.symmetry.as_ref()
    }

    /// What is known of costs before the search.
    fn cost_facts(&self) -> CostFacts {
        *self.costs.get_or_init(|| match self.system.has_costs() {
            true => cost_facts(&self.system),
            false => CostFacts { range: CostRange::STEPS, may_fault: false },
        })
    }

    /// What the transition `label` out of `state` costs, by the interpreter.
    pub fn cost_of(&self, state: &[u64], label: Label) -> Result<u32, Fault> {
        self.interpreter().cost(state, label)
    }

    /// The interpreter of this model's system, whatever its engine.
    pub fn interpreter(&self) -> Interpreter<'_> {
        Interpreter::new(&self.system, &self.layout)
    }
}

impl StateSpace for Model {
    fn words(&self) -> usize {
        self.layout.words()
    }

    fn bits(&self) -> u32 {
        self.layout.bits()
    }

    fn fields(&self) -> &[StateField] {
        self.fields.get_or_init(|| fields(&self.system, &self.layout))
    }

    fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    fn properties(&self) -> &[PropertyInfo] {
        &self.properties
    }

    fn actions(&self) -> &[ActionInfo] {
        &self.actions
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(ModelWorker {
            model: self,
            runner: match &self.compiled {
                Some(compiled) => Runner::Compiled(compiled),
                None => Runner::Interpreted(Box::new(self.interpreter())),
            },
            symmetry: self.symmetry.as_ref().map(|it| (it, it.scratch())),
            passing: self.passing.as_ref().map(|it| (it, PassingMemory::new(self.words()))),
            covers: vec![0; self.properties.len()],
            chooser: None,
            values: Vec::new(),
        })
    }

    fn admits(&self, state: &[u64]) -> bool {
        self.layout.admits(&self.system, state)
    }

    fn costs(&self) -> CostRange {
        self.cost_facts().range
    }

    fn may_fault(&self) -> bool {
        *self.may_fault.get_or_init(|| {
            if self.cost_facts().may_fault {
                return true;
            }
            let facts = Facts::of(&self.system);
            facts.actions.iter().any(|action| action.whole.may_fault)
                || facts.properties.iter().any(|property| property.may_fault)
        })
    }

    fn render_label(&self, label: Label) -> String {
        render(&self.system, &self.system.actions, label)
    }

    fn render_start(&self, label: Label) -> String {
        render(&self.system, &self.system.starts, label)
    }

    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        let slots = self.system.slots().into_iter().zip(self.layout.unpack(&self.system, state));
        slots.map(|((name, domain), value)| (name, self.system.domains.render(domain, value))).collect()
    }
}

/// Actions that share a name are told apart by the line they stand in.
fn action_infos(system: &System) -> Vec<ActionInfo> {
    let mut named: HashMap<&str, u32> = HashMap::new();
    for action in &system.actions {
        *named.entry(&action.name).or_default() += 1;
    }
    // Actions stand in no particular order and a text may have a million lines, so lines are not counted anew for each.
    let ends: Vec<usize> = system.source.original_text().match_indices('\n').map(|(at, _)| at).collect();
    let bases = system.label_bases(&system.actions);
    let info = |(action, base): (&hadal_system::Action, &[u64])| ActionInfo {
        name: match named[action.name.as_str()] {
            1 => action.name.clone(),
            _ => {
                let at = system.source.original(action.span).start as usize;
                let line = ends.partition_point(|&end| end < at) + 1;
                format!("{} (line {line})", action.name)
            }
        },
        // `Model::new` has made sure that labels have 32 bits.
        labels: base[0] as u32..base[1] as u32,
    };
    system.actions.iter().zip(bases.windows(2)).map(info).collect()
}

fn render(system: &System, actions: &[hadal_system::Action], label: Label) -> String {
    match system.instance(actions, label) {
        Some(instance) => system.render_instance(&instance),
        None => format!("label {}", label.0),
    }
}

enum Runner<'m> {
    Compiled(&'m Compiled),
    Interpreted(Box<Interpreter<'m>>),
}

/// Single steps of a runner, with the counts of covers.
struct Single<'r, 'm>(&'r Runner<'m>, &'r mut [u64]);

impl Steps for Single<'_, '_> {
    fn all(&mut self, state: &[u64], out: &mut Successors) {
        match self.0 {
            Runner::Compiled(compiled) => compiled.successors(state, out, self.1),
            Runner::Interpreted(interpreter) => interpreter.successors(state, out, self.1),
        }
    }

    fn alone(&mut self, process: ProcessId, state: &[u64], out: &mut Successors) {
        match self.0 {
            Runner::Compiled(compiled) => compiled.alone(process, state, out, self.1),
            Runner::Interpreted(interpreter) => interpreter.alone(process, state, out, self.1),
        }
    }
}

struct ModelWorker<'m> {
    model: &'m Model,
    runner: Runner<'m>,
    symmetry: Option<(&'m Canonicaliser, Scratch)>,
    passing: Option<(&'m Passing, PassingMemory)>,
    covers: Vec<u64>,
    /// Made when choices are first asked for.
    chooser: Option<Chooser<'m>>,
    /// Parameter values of the instance whose cost is asked for.
    values: Vec<Value>,
}

impl ModelWorker<'_> {
    /// Replaces the states from number `from` on by their representatives.
    fn canonicalise(&mut self, out: &mut Successors, from: usize) {
        if let Some((canonicaliser, scratch)) = &mut self.symmetry {
            out.retain_from(from, |_, state| {
                canonicaliser.canonicalise(state, scratch);
                true
            });
        }
    }
}

impl Worker for ModelWorker<'_> {
    fn initial(&mut self, out: &mut Successors) {
        let from = out.len();
        match &self.runner {
            Runner::Compiled(compiled) => compiled.initial(out, &mut self.covers),
            Runner::Interpreted(interpreter) => interpreter.initial(out, &mut self.covers),
        }
        self.canonicalise(out, from);
    }

    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        let from = out.len();
        let mut single = Single(&self.runner, &mut self.covers);
        match &mut self.passing {
            None => single.all(state, out),
            Some((passing, walk)) => passing.successors(&mut single, state, walk, out),
        }
        self.canonicalise(out, from);
    }

    fn choices(&mut self, state: &[u64], out: &mut Choices) -> Result<(), ChoiceFault> {
        let from = out.branches.len();
        self.successors(state, &mut out.branches);
        if let Some(&label) = out.branches.faults().first() {
            return Err(ChoiceFault::Transition(label));
        }
        let model = self.model;
        let chooser =
            self.chooser.get_or_insert_with(|| Chooser::new(&model.system, &model.layout, &model.certain));
        let runner = &self.runner;
        chooser.group(state, from, out, &mut |property| match runner {
            Runner::Compiled(compiled) => compiled.satisfies(state, property),
            Runner::Interpreted(interpreter) => interpreter.satisfies(state, property),
        })
    }

    fn costs(&mut self, state: &[u64], labels: &[Label], costs: &mut Vec<u32>) {
        let (system, infos) = (&self.model.system, &self.model.actions);
        for &label in labels {
            let cost = match &self.runner {
                Runner::Interpreted(interpreter) => interpreter.cost(state, label).unwrap_or(COST_ERROR),
                Runner::Compiled(compiled) => {
                    let at = infos.partition_point(|info| info.labels.end <= label.0);
                    let Some(action) = system.actions.get(at) else { continue };
                    let n = u64::from(label.0 - infos[at].labels.start);
                    if !action.params.is_empty() {
                        fill_instance_values(&action.params, &system.domains, n, &mut self.values);
                    }
                    compiled.cost(state, at, &self.values)
                }
            };
            costs.push(cost);
        }
    }

    fn can_leave(&mut self, state: &[u64]) -> bool {
        let rests = |&id: &PropertyId| self.model.properties[id.0 as usize].kind == PropertyKind::Rest;
        let mut resting = (0..self.model.properties.len() as u32).map(PropertyId).filter(rests);
        let interpreter = self.model.interpreter();
        if resting.any(|id| interpreter.holds(state, id) == Ok(true)) {
            return true;
        }
        let system = &self.model.system;
        let labels = system.label_bases(&system.actions).last().copied().unwrap_or(0);
        (0..labels as u32).any(|label| match interpreter.fire(state, Label(label)) {
            Outcome::Dropped => true,
            Outcome::Reached(mut next) => {
                if let Some((canonicaliser, scratch)) = &mut self.symmetry {
                    canonicaliser.normalise_multisets(&mut next, scratch);
                }
                next != state
            }
            Outcome::Disabled | Outcome::Fault(_) => false,
        })
    }

    fn check(&mut self, state: &[u64]) -> Check {
        match &self.runner {
            Runner::Compiled(compiled) => compiled.check(state),
            Runner::Interpreted(interpreter) => interpreter.check(state),
        }
    }

    fn satisfies(&mut self, state: &[u64], property: PropertyId) -> Option<bool> {
        match &self.runner {
            Runner::Compiled(compiled) => compiled.satisfies(state, property),
            Runner::Interpreted(interpreter) => interpreter.satisfies(state, property),
        }
    }

    fn cover_counts(&self) -> &[u64] {
        &self.covers
    }
}
