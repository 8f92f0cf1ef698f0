//! A model that explorers can walk: a system, its layout, an engine that runs it, and symmetry reduction.

mod worker;

use hadal_system::facts::{CostFacts, Facts, cost_facts};
use hadal_system::rows::Rational;
use hadal_system::validate::{Problem, validate};
use hadal_system::{
    ActionInfo, Amount, CostRange, Label, Layout, PropertyInfo, StateField, StateSpace, System, Worker,
};
use std::collections::HashMap;
use std::sync::OnceLock;

use crate::chosen::Chosen;
use crate::compile::{CompileError, Compiled};
use crate::fault::Fault;
use crate::fields::{fields, writers};
use crate::fingerprint::fingerprint;
use crate::interpret::Interpreter;
use crate::passing::Passing;
use crate::symmetry::{Canonicaliser, SymmetryMode};

pub(crate) use worker::ModelWorker;

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
    facts: OnceLock<Facts>,
    /// Guards and bodies apart; compiled when first asked for.
    chosen: OnceLock<Option<Chosen>>,
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
            facts: OnceLock::new(),
            chosen: OnceLock::new(),
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

    /// The static facts of the system.
    pub fn facts(&self) -> &Facts {
        self.facts.get_or_init(|| Facts::of(&self.system))
    }

    /// What fires only some of the transitions that are enabled, where the model is compiled and every transition is one step
    /// of the system.
    pub(crate) fn chosen(&self) -> Option<&Chosen> {
        let compiles = self.compiled.is_some() && self.symmetry.is_none();
        let make = || Chosen::new(&self.system, &self.layout).ok().flatten();
        self.chosen.get_or_init(|| compiles.then(make).flatten()).as_ref()
    }

    /// One thread's successor function.
    pub(crate) fn own_worker(&self) -> ModelWorker<'_> {
        ModelWorker::new(self)
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

    fn writers(&self) -> Option<Vec<u64>> {
        Some(writers(&self.system, &self.layout, self.facts()))
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
        Box::new(self.own_worker())
    }

    fn admits(&self, state: &[u64]) -> bool {
        self.layout.admits(&self.system, state)
    }

    fn costs(&self) -> CostRange {
        self.cost_facts().range
    }

    fn may_fault(&self) -> bool {
        self.cost_facts().may_fault
            || self.facts().actions.iter().any(|action| action.whole.may_fault)
            || self.facts().properties.iter().any(|property| property.may_fault)
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
