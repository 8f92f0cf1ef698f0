//! The system of guarded actions: variables, processes, functions, actions, start states, properties.

use crate::chance::{Chance, Outcomes, Reward};
use crate::domain::{DomainId, Domains, Value};
use crate::expr::{Base, Expr, Place};
use crate::shape::{ShapeId, Shapes};
use crate::source::{Source, Span};
use crate::space::{Label, PropertyId, PropertyInfo, PropertyKind};
use crate::stmt::Stmt;

/// Index of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VarId(pub u32);
/// Index of a local within its action, function or property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocalId(pub u32);
/// Index of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);
/// Index of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActionId(pub u32);
/// Index of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId(pub u32);

/// A model, whatever language it was written in.
#[derive(Clone, Debug, Default)]
pub struct System {
    /// What to call it.
    pub name: String,
    /// The text that spans point into.
    pub source: Source,
    /// All domains.
    pub domains: Domains,
    /// All shapes.
    pub shapes: Shapes,
    /// The state's variables in declaration order.
    pub variables: Vec<Variable>,
    /// Optional structure: who owns which variables and moves along which control edges.
    pub processes: Vec<Process>,
    /// Functions and procedures.
    pub functions: Vec<Function>,
    /// Ways to make an initial state. Each runs (where its guard holds) on the blank state, in which every scalar
    /// is undefined, or code 0 where its domain has no undefined.
    pub starts: Vec<Action>,
    /// Ways to go from one state to another.
    pub actions: Vec<Action>,
    /// What is asked of the model.
    pub properties: Vec<Property>,
    /// What the text asks besides.
    pub besides: Besides,
    /// What values are computed from, where they are asked for.
    pub quantities: Quantities,
}

/// What a text asks that its system does not carry.
#[derive(Clone, Debug, Default)]
pub struct Besides {
    /// Questions by name: whatever is found, nobody may say that they hold.
    pub unanswered: Vec<String>,
    /// Formulas of temporal logic in the text, by name, for whoever can make claims of them; they are unanswered until then.
    pub formulas: Vec<(String, String)>,
}

/// What values are computed from.
#[derive(Clone, Debug, Default)]
pub struct Quantities {
    /// How the choices of a state are resolved.
    pub chance: Chance,
    /// What can be earned.
    pub rewards: Vec<Reward>,
    /// In continuous time, where a question needs it: the reward that is how long a state lasts on average, the last of them.
    pub sojourn: Option<usize>,
}

/// What a variable is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Ordinary data.
    Data,
    /// A process's control location.
    Location,
    /// A channel's content.
    Channel,
    /// A clock.
    Clock,
    /// Added to watch the system, not part of it.
    Monitor,
}

/// A variable of the state.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name; of a process's own: `Process.name`.
    pub name: String,
    /// Its shape.
    pub shape: ShapeId,
    /// What it is for.
    pub role: Role,
    /// Who owns it, if anyone.
    pub owner: Option<ProcessId>,
    /// Where it is declared.
    pub span: Span,
}

/// A process: a control graph and the variables that only it writes.
#[derive(Clone, Debug)]
pub struct Process {
    /// Its name.
    pub name: String,
    /// The variable that holds its location, an index into `locations`.
    pub location: VarId,
    /// Its locations, by value of the location variable.
    pub locations: Vec<Location>,
    /// Its edges. An action that several processes take part in stands in each of them.
    pub edges: Vec<ControlEdge>,
}

/// A control location.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// Its name.
    pub name: String,
    /// While some process is here, only actions of such processes may fire.
    pub committed: bool,
    /// Accepting: runs that pass here again and again are looked for.
    pub accepting: bool,
    /// Passing here is progress.
    pub progress: bool,
    /// The process may rest here for ever.
    pub end: bool,
}

/// An edge of a control graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlEdge {
    /// What fires.
    pub action: ActionId,
    /// Value of the location variable before.
    pub from: Value,
    /// Value of the location variable after.
    pub to: Value,
    /// Which of the process's own edges, in the order of its text: joint actions that share one share its number.
    pub number: u32,
}

/// What a local is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LocalKind {
    /// A parameter, loop or quantifier variable: a defined scalar that is only read. Its shape gives the domain it
    /// is shown with; stepped ranges may leave that domain.
    Bound,
    /// A variable: starts undefined (code 0 where its domain has no undefined) each time its action or function starts.
    Variable,
    /// Another name for a place.
    Reference,
}

/// A local of an action, function or property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: ShapeId,
    /// What it is.
    pub kind: LocalKind,
}

/// A function (with a result) or procedure (without).
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// How many of the first locals are its parameters. A `Variable` is passed by value, a `Reference` by place.
    pub parameters: usize,
    /// Parameters first, then everything else it needs.
    pub locals: Vec<Local>,
    /// The domain of the result, checked on return. Ending without a result is then an error of the model.
    pub result: Option<DomainId>,
    /// What it does.
    pub body: Vec<Stmt>,
    /// Where it stands.
    pub span: Span,
}

/// The values of an action's parameter, known before the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamValues {
    /// Every value of a domain.
    Domain(DomainId),
    /// `from`, `from + by`, ... not past `to`. `by` is never 0.
    Steps {
        /// First.
        from: Value,
        /// Last that is still allowed.
        to: Value,
        /// Step.
        by: Value,
    },
}

/// A parameter: the action stands for one instance per value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// The bound local.
    pub local: LocalId,
    /// Its values.
    pub values: ParamValues,
}

/// A guarded action, or a way to make an initial state.
#[derive(Clone, Debug)]
pub struct Action {
    /// Its name without parameters.
    pub name: String,
    /// Its parameters; the first varies slowest in the numbering of instances.
    pub params: Vec<Param>,
    /// All its locals, parameters included.
    pub locals: Vec<Local>,
    /// When it can fire.
    pub guard: Expr,
    /// What it does, all at once.
    pub body: Vec<Stmt>,
    /// The processes taking part, if the language has them; the one whose step it is first.
    pub processes: Vec<ProcessId>,
    /// What it costs to fire, over the state before and the parameters; 1 where there is none. Whoever asks reports a value
    /// below 0 or above [`crate::MOST_COST`] as an error of the model.
    pub cost: Option<Expr>,
    /// Where its last parameter numbers the outcomes of one choice: how likely each is.
    pub outcomes: Option<Outcomes>,
    /// It fires only where no action of a lower rank leads anywhere or meets an error. Ranks ascend along
    /// [`System::actions`].
    pub rank: u8,
    /// The state it leads to is none yet: this process goes on alone, by the actions of rank 0 that it stands first in,
    /// for as long as there is one that can fire. Only where it can go on no more is a state reached.
    pub then: Option<ProcessId>,
    /// Where it stands.
    pub span: Span,
}

/// Something asked of the model.
#[derive(Clone, Debug)]
pub struct Property {
    /// Its name as the user gives it to `--property`.
    pub name: String,
    /// What kind of question it is.
    pub kind: PropertyKind,
    /// The question is asked for every value of these, each by itself.
    pub params: Vec<Param>,
    /// All its locals, parameters included.
    pub locals: Vec<Local>,
    /// The state predicate.
    pub body: PropertyBody,
    /// Where it stands.
    pub span: Span,
}

/// What a property looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PropertyBody {
    /// A predicate on states.
    State(Expr),
    /// Hits are counted by statements on the way ([`crate::StmtKind::Cover`]).
    Statements,
    /// Runs that an automaton accepts.
    Claim(crate::claim::Claim),
}

impl Default for Action {
    /// An action without a name that can always fire and does nothing.
    fn default() -> Self {
        Action {
            name: String::new(),
            params: Vec::new(),
            locals: Vec::new(),
            guard: Expr::constant(1),
            body: Vec::new(),
            processes: Vec::new(),
            cost: None,
            outcomes: None,
            rank: 0,
            then: None,
            span: Span::default(),
        }
    }
}

impl ParamValues {
    /// How many values.
    pub fn count(&self, domains: &Domains) -> u64 {
        match *self {
            ParamValues::Domain(id) => domains[id].size(),
            ParamValues::Steps { from, to, by } => {
                let span = if by > 0 { to as i128 - from as i128 } else { from as i128 - to as i128 };
                if span < 0 {
                    0
                } else {
                    u64::try_from(span / i128::from(by.unsigned_abs()) + 1).unwrap_or(u64::MAX)
                }
            }
        }
    }

    /// The n-th value.
    pub fn at(&self, domains: &Domains, n: u64) -> Value {
        match *self {
            ParamValues::Domain(id) => domains[id].value_at(n).unwrap_or(0),
            ParamValues::Steps { from, by, .. } => from.wrapping_add((n as i64).wrapping_mul(by)),
        }
    }
}

/// How many instances a list of parameters stands for; saturating.
pub fn instance_count(params: &[Param], domains: &Domains) -> u64 {
    params.iter().fold(1u64, |n, p| n.saturating_mul(p.values.count(domains)))
}

/// The parameter values of the n-th instance, in the order of `params`.
pub fn instance_values(params: &[Param], domains: &Domains, n: u64) -> Vec<Value> {
    let mut values = Vec::new();
    fill_instance_values(params, domains, n, &mut values);
    values
}

/// [`instance_values`] into a list that is there already.
pub fn fill_instance_values(params: &[Param], domains: &Domains, n: u64, values: &mut Vec<Value>) {
    let mut rest = n;
    values.clear();
    values.resize(params.len(), 0);
    for (value, param) in values.iter_mut().zip(params).rev() {
        let count = param.values.count(domains).max(1);
        *value = param.values.at(domains, rest % count);
        rest /= count;
    }
}

/// Which action instance a label stands for.
#[derive(Clone, Debug)]
pub struct Instance<'a> {
    /// The action.
    pub action: &'a Action,
    /// Its place among the system's actions or starts.
    pub id: ActionId,
    /// Its parameter values in order.
    pub values: Vec<Value>,
}

impl System {
    /// The variable behind an id.
    pub fn variable(&self, id: VarId) -> &Variable {
        &self.variables[id.0 as usize]
    }

    /// The function behind an id.
    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.0 as usize]
    }

    /// Whether every action is a step of its own that looks at nothing but its guard: no ranks, nothing passed through.
    pub fn has_plain_steps(&self) -> bool {
        self.actions.iter().all(|action| action.rank == 0 && action.then.is_none())
    }

    /// Whether some action has a cost of its own.
    pub fn has_costs(&self) -> bool {
        self.actions.iter().any(|action| action.cost.is_some())
    }

    /// The number of scalars of the state.
    pub fn slot_count(&self) -> usize {
        self.variables.iter().map(|v| self.shapes.slots(v.shape)).sum()
    }

    /// The first slot of each variable.
    pub fn first_slots(&self) -> Vec<usize> {
        let mut next = 0;
        self.variables
            .iter()
            .map(|v| {
                let first = next;
                next += self.shapes.slots(v.shape);
                first
            })
            .collect()
    }

    /// Path name and domain of every scalar of the state, in slot order.
    pub fn slots(&self) -> Vec<(String, DomainId)> {
        let mut slots = Vec::with_capacity(self.slot_count());
        for variable in &self.variables {
            self.shapes.for_each_scalar(
                &self.domains,
                variable.shape,
                &variable.name,
                &mut |name, domain| {
                    slots.push((name.to_owned(), domain));
                },
            );
        }
        slots
    }

    /// The shape of a place's base.
    pub fn base_shape(&self, locals: &[Local], base: Base) -> ShapeId {
        match base {
            Base::Global(var) => self.variable(var).shape,
            Base::Local(local) => locals[local.0 as usize].shape,
        }
    }

    /// A place that is the whole of a variable.
    pub fn whole(&self, var: VarId) -> Place {
        Place::global(var, self.variable(var).shape, self.variable(var).span)
    }

    /// The label of the first instance of each action (or start), and the total at the end.
    pub fn label_bases(&self, actions: &[Action]) -> Vec<u64> {
        let mut next = 0u64;
        let mut bases: Vec<u64> = actions
            .iter()
            .map(|a| {
                let base = next;
                next = next.saturating_add(instance_count(&a.params, &self.domains));
                base
            })
            .collect();
        bases.push(next);
        bases
    }

    /// The action instance behind a label, among `actions` (the system's actions or starts).
    pub fn instance<'a>(&self, actions: &'a [Action], label: Label) -> Option<Instance<'a>> {
        let mut rest = u64::from(label.0);
        for (n, action) in actions.iter().enumerate() {
            let count = instance_count(&action.params, &self.domains);
            if rest < count {
                let values = instance_values(&action.params, &self.domains, rest);
                return Some(Instance { action, id: ActionId(n as u32), values });
            }
            rest -= count;
        }
        None
    }

    /// How an instance is written for people: the name, then each parameter with its value.
    pub fn render_instance(&self, instance: &Instance) -> String {
        let mut text = instance.action.name.clone();
        self.render_params(&instance.action.params, &instance.action.locals, &instance.values, &mut text);
        text
    }

    /// The [`PropertyId`] of the first instance of each property, and the total at the end.
    pub fn property_bases(&self) -> Vec<u32> {
        let mut next = 0u32;
        let mut bases: Vec<u32> = Vec::with_capacity(self.properties.len() + 1);
        for property in &self.properties {
            bases.push(next);
            let count = instance_count(&property.params, &self.domains);
            next = next.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
        }
        bases.push(next);
        bases
    }

    /// The property instance behind an id: its place in `properties` and its parameter values.
    pub fn property_instance(&self, id: PropertyId) -> Option<(usize, Vec<Value>)> {
        let bases = self.property_bases();
        let at = bases.partition_point(|&base| base <= id.0).checked_sub(1)?;
        let property = self.properties.get(at)?;
        Some((at, instance_values(&property.params, &self.domains, u64::from(id.0 - bases[at]))))
    }

    /// Every property instance as explorers know it, by [`PropertyId`].
    pub fn property_infos(&self) -> Vec<PropertyInfo> {
        let mut infos = Vec::new();
        for property in &self.properties {
            for n in 0..instance_count(&property.params, &self.domains) {
                let values = instance_values(&property.params, &self.domains, n);
                let mut name = property.name.clone();
                self.render_params(&property.params, &property.locals, &values, &mut name);
                infos.push(PropertyInfo { name, kind: property.kind, span: property.span });
            }
        }
        infos
    }

    fn render_params(&self, params: &[Param], locals: &[Local], values: &[Value], text: &mut String) {
        for (param, &value) in params.iter().zip(values) {
            let local = &locals[param.local.0 as usize];
            let shown = match self.shapes.scalar(local.shape) {
                Some(domain) => self.domains.render(domain, Some(value)),
                None => value.to_string(),
            };
            text.push_str(&format!(", {}: {shown}", local.name));
        }
    }
}
