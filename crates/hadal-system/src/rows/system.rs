//! A ground task as a [`System`]: one action per row, with the guard and the body that mean the same, so that whatever
//! works on systems works on rows.
//!
//! All conditions and amounts of a row are computed before anything is written. Numbers are whole units of their scale.
//! Derived facts are a function that runs the rules to their fixpoint. A number that leaves the range it is given is an
//! error of the model. Where the metric is a sum of costs, actions cost what their rows do, in the largest unit that keeps
//! all of them whole and divides one.

use super::scale::{constant, intervals, lcm, number_scales, term_scales};
use super::{Change, Effect, Metric, Monitor, Need, Rational, Row, RowTask, Sign, Term};
use crate::domain::{Domain, DomainKind, Value};
use crate::expr::{BinaryOp, Expr, ExprKind, Place, Step, UnaryOp};
use crate::shape::{Shape, ShapeId, TooManySlots};
use crate::source::{Source, Span};
use crate::space::PropertyKind;
use crate::stmt::{Argument, Stmt, StmtKind};
use crate::system::{
    Action, Function, FunctionId, Local, LocalId, LocalKind, Property, PropertyBody, Role, System, VarId,
    Variable,
};

/// Why a task has no system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSystem {
    /// No scale makes all numbers whole.
    #[error("numbers of the task are not whole in any unit")]
    Inexact,
    /// A number of the task does not fit 64 bits.
    #[error("a number of the task does not fit 64 bits")]
    TooLarge,
    /// Expressions that share parts become too large when they are written out.
    #[error("the task's numeric expressions are too large to be written out")]
    TooLong,
    /// It has too many variables.
    #[error("the task has {0}")]
    TooMany(#[from] TooManySlots),
}

/// Units on either side of its first value that a number has where its bounds are not known.
const ROOM: i128 = 1 << 31;
/// The range of amounts while a row fires.
const AMOUNTS: Value = 1 << 60;
/// Parts that one expression may have.
const MOST_PARTS: usize = 100_000;

impl RowTask {
    /// The system that means the same; the n-th row is the n-th action.
    pub fn to_system(&self) -> Result<System, NoSystem> {
        let scales = number_scales(self).ok_or(NoSystem::Inexact)?;
        let terms = term_scales(self, &scales).ok_or(NoSystem::Inexact)?;
        let mut writer = Writer {
            task: self,
            scales,
            terms,
            system: System { name: self.name.clone(), ..System::default() },
            first_number: self.variables.len() as u32,
            boolean: ShapeId(0),
            amount: ShapeId(0),
            facts: None,
            cost_scale: 1,
        };
        for row in &self.rows {
            let scale = row.cost.map_or(1, |cost| writer.terms[cost as usize]);
            writer.cost_scale = lcm(writer.cost_scale, scale).ok_or(NoSystem::TooLarge)?;
        }
        writer.declare()?;
        writer.rules()?;
        writer.start()?;
        for at in 0..self.rows.len() {
            let action = writer.action(&self.rows[at], self.label(at as u32))?;
            writer.system.actions.push(action);
        }
        let goal = writer.all(&self.goal, None)?;
        writer.system.properties.push(Property {
            name: "goal".to_owned(),
            kind: PropertyKind::Goal,
            params: Vec::new(),
            locals: Vec::new(),
            body: PropertyBody::State(goal),
            span: Span::default(),
        });
        writer.system.source = Source::default();
        Ok(writer.system)
    }
}

struct Writer<'t> {
    task: &'t RowTask,
    /// Of numbers, then of terms: one over this is the unit.
    scales: Vec<i128>,
    terms: Vec<i128>,
    system: System,
    first_number: u32,
    boolean: ShapeId,
    amount: ShapeId,
    /// The function that says which derived facts hold, and the shape of its list of them.
    facts: Option<(FunctionId, ShapeId)>,
    /// One over this is the unit of costs.
    cost_scale: i128,
}

/// The list of derived facts at hand, inside the function that computes it.
type Known = Option<LocalId>;

fn expr(kind: ExprKind) -> Expr {
    Expr::new(kind, Span::default())
}

fn stmt(kind: StmtKind) -> Stmt {
    Stmt::new(kind, Span::default())
}

fn not(inner: Expr) -> Expr {
    expr(ExprKind::Unary(UnaryOp::Not, Box::new(inner)))
}

fn narrow(value: i128) -> Result<Value, NoSystem> {
    Value::try_from(value).map_err(|_| NoSystem::TooLarge)
}

impl Writer<'_> {
    fn declare(&mut self) -> Result<(), NoSystem> {
        let scalar = |system: &mut System, domain: Domain| {
            let domain = system.domains.add(domain);
            system.shapes.add(Shape::Scalar(domain), &system.domains)
        };
        self.boolean = scalar(&mut self.system, Domain::boolean(false))?;
        self.amount = scalar(&mut self.system, Domain::range(-AMOUNTS, AMOUNTS, false))?;
        let task = self.task;
        for finite in &task.variables {
            let last = finite.values.len() as Value - 1;
            let shape = scalar(
                &mut self.system,
                Domain {
                    name: None,
                    intervals: vec![(0, last)],
                    kind: DomainKind::Enum(finite.values.clone()),
                    undefined: false,
                },
            )?;
            self.variable(&finite.name, shape);
        }
        let bounds = intervals(task);
        for (number, at) in task.numbers.iter().zip(0..) {
            let scale = self.scales[at];
            let start = number.initial.map(|value| self.units(value, scale)).transpose()?.unwrap_or(0);
            let around = (i128::from(start) - ROOM, i128::from(start) + ROOM);
            let exact =
                |value: Rational| value.numer().checked_mul(scale).map(|n| n.div_euclid(*value.denom()));
            let known = bounds[at].and_then(|(low, high)| Some((exact(low)?, exact(high)?)));
            let (low, high) = known.filter(|(low, high)| high - low < ROOM).unwrap_or(around);
            let domain = Domain::range(narrow(low)?, narrow(high)?, number.initial.is_none());
            let shape = scalar(&mut self.system, domain)?;
            self.variable(&number.name, shape);
        }
        Ok(())
    }

    fn variable(&mut self, name: &str, shape: ShapeId) {
        let (name, span) = (name.to_owned(), Span::default());
        self.system.variables.push(Variable { name, shape, role: Role::Data, owner: None, span });
    }

    fn finite(&self, variable: u32) -> Place {
        self.system.whole(VarId(variable))
    }

    fn number(&self, number: u32) -> Place {
        self.system.whole(VarId(self.first_number + number))
    }

    /// A value in units of one over `scale`.
    fn units(&self, value: Rational, scale: i128) -> Result<Value, NoSystem> {
        let units = value.numer().checked_mul(scale).ok_or(NoSystem::TooLarge)?;
        narrow(units / value.denom())
    }

    fn all(&self, needs: &[Need], known: Known) -> Result<Expr, NoSystem> {
        let list = needs.iter().map(|&need| self.need(need, known)).collect::<Result<Vec<_>, _>>()?;
        Ok(Expr::all(list))
    }

    fn need(&self, need: Need, known: Known) -> Result<Expr, NoSystem> {
        let value = |variable: u32, op: BinaryOp, value: u32| {
            Expr::binary(op, self.finite(variable).read(), Expr::constant(Value::from(value)))
        };
        Ok(match need {
            Need::Is(variable, of) => value(variable, BinaryOp::Equal, of),
            Need::IsNot(variable, of) => value(variable, BinaryOp::NotEqual, of),
            Need::Derived(fact) => self.derived(fact, known),
            Need::NotDerived(fact) => not(self.derived(fact, known)),
            Need::Compares(comparison) => {
                let comparison = self.task.comparisons[comparison as usize];
                let op = match comparison.sign {
                    Sign::Zero => BinaryOp::Equal,
                    Sign::NotZero => BinaryOp::NotEqual,
                    Sign::Positive => BinaryOp::Greater,
                    Sign::NotNegative => BinaryOp::GreaterEqual,
                };
                let mut parts = 0;
                let term = self.term(comparison.term, known, &mut parts)?;
                let compares = Expr::binary(op, term, Expr::constant(0));
                Expr::all(self.defined(comparison.term).into_iter().chain([compares]))
            }
        })
    }

    fn derived(&self, fact: u32, known: Known) -> Expr {
        let index = Expr::constant(Value::from(fact));
        match (known, self.facts) {
            (Some(local), Some((_, shape))) => {
                let mut place = Place::local(local, shape, Span::default());
                place.steps.push(Step::Index(index));
                place.shape = self.boolean;
                place.read()
            }
            (None, Some((function, _))) => expr(ExprKind::Call(function, vec![Argument::Value(index)])),
            // Derived facts are named only where there are some.
            (_, None) => Expr::constant(0),
        }
    }

    /// That everything a term reads is defined.
    fn defined(&self, term: u32) -> Vec<Expr> {
        let mut open = vec![term];
        let mut read = Vec::new();
        let mut seen = vec![false; term as usize + 1];
        while let Some(at) = open.pop() {
            if std::mem::replace(&mut seen[at as usize], true) {
                continue;
            }
            match self.task.terms[at as usize] {
                Term::Number(number) => read.push(number),
                Term::Add(a, b) | Term::Subtract(a, b) | Term::Multiply(a, b) | Term::Divide(a, b) => {
                    open.extend([a, b]);
                }
                // A comparison with something undefined is false, and that is defined.
                Term::Constant(_) | Term::Holds(_) => {}
            }
        }
        read.sort_unstable();
        read.dedup();
        read.into_iter().flat_map(|number| self.number_defined(number)).collect()
    }

    /// Nothing makes a number undefined, so only those that begin so can be.
    fn number_defined(&self, number: u32) -> Option<Expr> {
        let may_be = self.task.numbers[number as usize].initial.is_none();
        may_be.then(|| not(expr(ExprKind::IsUndefined(Box::new(self.number(number))))))
    }

    /// A term in units of its scale.
    fn term(&self, term: u32, known: Known, parts: &mut usize) -> Result<Expr, NoSystem> {
        *parts += 1;
        if *parts > MOST_PARTS {
            return Err(NoSystem::TooLong);
        }
        let scale = self.terms[term as usize];
        let of = |at: u32| self.terms[at as usize];
        let times = |inner: Expr, factor: i128| -> Result<Expr, NoSystem> {
            match factor {
                1 => Ok(inner),
                factor => Ok(Expr::binary(BinaryOp::Multiply, inner, Expr::constant(narrow(factor)?))),
            }
        };
        let mut sum = |op: BinaryOp, a: u32, b: u32| -> Result<Expr, NoSystem> {
            let left = times(self.term(a, known, parts)?, scale / of(a))?;
            let right = times(self.term(b, known, parts)?, scale / of(b))?;
            Ok(Expr::binary(op, left, right))
        };
        let scaled = |a: u32, by: Rational, parts: &mut usize| -> Result<Expr, NoSystem> {
            // value / of(a) * n / d = value * (n * scale / (of(a) * d)) / scale, and scales divide evenly.
            let up = by.numer().checked_mul(scale).ok_or(NoSystem::TooLarge)?;
            let down = of(a).checked_mul(*by.denom()).ok_or(NoSystem::TooLarge)?;
            times(self.term(a, known, parts)?, up / down)
        };
        match self.task.terms[term as usize] {
            Term::Constant(value) => Ok(Expr::constant(self.units(value, scale)?)),
            Term::Number(number) => Ok(self.number(number).read()),
            Term::Holds(need) => self.need(need, known),
            Term::Add(a, b) => sum(BinaryOp::Add, a, b),
            Term::Subtract(a, b) => sum(BinaryOp::Subtract, a, b),
            Term::Multiply(a, b) => match (constant(self.task, a), constant(self.task, b)) {
                (_, Some(by)) => scaled(a, by, parts),
                (Some(by), None) => scaled(b, by, parts),
                (None, None) => {
                    let (left, right) = (self.term(a, known, parts)?, self.term(b, known, parts)?);
                    Ok(Expr::binary(BinaryOp::Multiply, left, right))
                }
            },
            Term::Divide(a, b) => match constant(self.task, b) {
                Some(by) if *by.numer() != 0 => scaled(a, by.recip(), parts),
                _ => Err(NoSystem::Inexact),
            },
        }
    }

    /// The function that runs the rules.
    fn rules(&mut self) -> Result<(), NoSystem> {
        if self.task.derived.is_empty() {
            return Ok(());
        }
        let last = self.task.derived.len() as Value - 1;
        let index = self.system.domains.add(Domain::range(0, last, false));
        let number = self.system.shapes.add(Shape::Scalar(index), &self.system.domains)?;
        let list =
            self.system.shapes.add(Shape::Array { index, element: self.boolean }, &self.system.domains)?;
        self.facts = Some((FunctionId(0), list));
        let local = |name: &str, shape| Local { name: name.to_owned(), shape, kind: LocalKind::Variable };
        let locals = vec![local("fact", number), local("known", list), local("grew", self.boolean)];
        let (fact, known, grew) = (LocalId(0), LocalId(1), LocalId(2));
        let grew = Place::local(grew, self.boolean, Span::default());
        let mut body = Vec::new();
        let strata = self.task.derived.iter().map(|fact| fact.stratum).max().unwrap_or(0);
        for stratum in 0..=strata {
            let mut turn = vec![stmt(StmtKind::Assign(grew.clone(), Expr::constant(0)))];
            let rules = self.task.rules.iter();
            for rule in rules.filter(|rule| self.task.derived[rule.head as usize].stratum == stratum) {
                let follows = self.all(&rule.body, Some(known))?;
                let fresh = not(self.derived(rule.head, Some(known)));
                let mut head = Place::local(known, list, Span::default());
                head.steps.push(Step::Index(Expr::constant(Value::from(rule.head))));
                head.shape = self.boolean;
                let note = vec![
                    stmt(StmtKind::Assign(head, Expr::constant(1))),
                    stmt(StmtKind::Assign(grew.clone(), Expr::constant(1))),
                ];
                let branches = vec![(Expr::all([fresh, follows]), note)];
                turn.push(stmt(StmtKind::If { branches, otherwise: Vec::new() }));
            }
            body.push(stmt(StmtKind::Assign(grew.clone(), Expr::constant(1))));
            body.push(stmt(StmtKind::While(grew.clone().read(), turn)));
        }
        let mut asked = Place::local(known, list, Span::default());
        asked.steps.push(Step::Index(Place::local(fact, number, Span::default()).read()));
        asked.shape = self.boolean;
        body.push(stmt(StmtKind::Return(Some(asked.read()))));
        let result = self.system.shapes.scalar(self.boolean);
        let (name, span) = ("follows".to_owned(), Span::default());
        self.system.functions.push(Function { name, parameters: 1, locals, result, body, span });
        Ok(())
    }

    fn start(&mut self) -> Result<(), NoSystem> {
        let mut body = Vec::new();
        for (finite, at) in self.task.variables.iter().zip(0..) {
            let value = Expr::constant(Value::from(finite.initial));
            body.push(stmt(StmtKind::Assign(self.finite(at), value)));
        }
        for (number, at) in self.task.numbers.iter().zip(0..) {
            body.push(stmt(match number.initial {
                Some(value) => {
                    let value = Expr::constant(self.units(value, self.scales[at as usize])?);
                    StmtKind::Assign(self.number(at), value)
                }
                None => StmtKind::Undefine(self.number(at)),
            }));
        }
        for monitor in &self.task.monitors {
            body.push(self.watch(monitor)?);
        }
        self.system.starts.push(Action { name: "start".to_owned(), body, ..Action::default() });
        Ok(())
    }

    /// The step of a monitor on the state just entered.
    fn watch(&self, monitor: &Monitor) -> Result<Stmt, NoSystem> {
        let mut branches = Vec::new();
        for (from, needs, to) in &monitor.steps {
            let here = self.need(Need::Is(monitor.variable, *from), None)?;
            let when = Expr::all([here, self.all(needs, None)?]);
            let step = StmtKind::Assign(self.finite(monitor.variable), Expr::constant(Value::from(*to)));
            branches.push((when, vec![stmt(step)]));
        }
        Ok(stmt(StmtKind::If { branches, otherwise: Vec::new() }))
    }

    fn action(&self, row: &Row, name: String) -> Result<Action, NoSystem> {
        let mut guard = vec![self.all(&row.needs, None)?];
        guard.extend(row.cost.map(|cost| self.defined(cost)).unwrap_or_default());
        let mut locals: Vec<Local> = Vec::new();
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        let mut local = |shape: ShapeId, kind: &str| {
            let name = format!("{kind}{}", locals.len());
            locals.push(Local { name, shape, kind: LocalKind::Variable });
            Place::local(LocalId(locals.len() as u32 - 1), shape, Span::default())
        };
        for effect in &row.effects {
            let when = self.all(&effect.when, None)?;
            let happens = (!effect.when.is_empty()).then(|| local(self.boolean, "happens"));
            if let Some(happens) = &happens {
                reads.push(stmt(StmtKind::Assign(happens.clone(), when.clone())));
            }
            if let Some(defined) = self.effect_defined(effect) {
                guard.push(match happens {
                    Some(_) => Expr::binary(BinaryOp::Implies, when, defined),
                    None => defined,
                });
            }
            let (read, write) = self.effect(effect, || local(self.amount, "amount"))?;
            let under = |list: Vec<Stmt>| match &happens {
                Some(happens) if !list.is_empty() => {
                    let branches = vec![(happens.clone().read(), list)];
                    vec![stmt(StmtKind::If { branches, otherwise: Vec::new() })]
                }
                _ => list,
            };
            reads.extend(under(read.into_iter().collect()));
            writes.extend(under(vec![write]));
        }
        let mut body = reads;
        body.extend(writes);
        for monitor in &self.task.monitors {
            body.push(self.watch(monitor)?);
        }
        let cost = self.cost(row)?;
        Ok(Action { name, locals, guard: Expr::all(guard), body, cost, ..Action::default() })
    }

    /// What a row costs in units of costs; nothing is said of it where steps are counted, or no sum of costs is asked for.
    fn cost(&self, row: &Row) -> Result<Option<Expr>, NoSystem> {
        match (&self.task.metric, row.cost) {
            (Metric::Minimise(_) | Metric::Maximise(_), _) | (Metric::Steps, None) => Ok(None),
            (Metric::Cost { .. }, None) => Ok(Some(Expr::constant(0))),
            (Metric::Cost { .. } | Metric::Steps, Some(term)) => {
                let cost = self.term(term, None, &mut 0)?;
                let factor = narrow(self.cost_scale / self.terms[term as usize])?;
                Ok(Some(match (factor, cost.as_const()) {
                    (1, _) => cost,
                    (factor, Some(value)) => {
                        Expr::constant(value.checked_mul(factor).ok_or(NoSystem::TooLarge)?)
                    }
                    (factor, None) => Expr::binary(BinaryOp::Multiply, cost, Expr::constant(factor)),
                }))
            }
        }
    }

    fn effect_defined(&self, effect: &Effect) -> Option<Expr> {
        let mut list = match effect.change {
            Change::Set(..) => return None,
            Change::Assign(_, term) | Change::Increase(_, term) => self.defined(term),
        };
        if let Change::Increase(number, _) = effect.change {
            list.extend(self.number_defined(number));
        }
        (!list.is_empty()).then(|| Expr::all(list))
    }

    /// What an effect computes from the state before, and what it writes.
    fn effect(
        &self,
        effect: &Effect,
        amount: impl FnOnce() -> Place,
    ) -> Result<(Option<Stmt>, Stmt), NoSystem> {
        let (number, term) = match effect.change {
            Change::Set(variable, value) => {
                let value = Expr::constant(Value::from(value));
                return Ok((None, stmt(StmtKind::Assign(self.finite(variable), value))));
            }
            Change::Assign(number, term) | Change::Increase(number, term) => (number, term),
        };
        let finer = self.scales[number as usize] / self.terms[term as usize];
        let mut value = self.term(term, None, &mut 0)?;
        if finer != 1 {
            value = Expr::binary(BinaryOp::Multiply, value, Expr::constant(narrow(finer)?));
        }
        let amount = amount();
        let read = stmt(StmtKind::Assign(amount.clone(), value));
        let mut written = amount.read();
        if matches!(effect.change, Change::Increase(..)) {
            written = Expr::binary(BinaryOp::Add, self.number(number).read(), written);
        }
        Ok((Some(read), stmt(StmtKind::Assign(self.number(number), written))))
    }
}
