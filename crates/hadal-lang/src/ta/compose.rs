//! Makes one action of each joint step.
//!
//! While some process is in a committed location, a step needs a member that leaves one. Listeners (of a broadcast)
//! decide whether they take part in the state before the step; where several of a process's edges could, a parameter of
//! the action chooses.

use super::declare::{add_conditions, add_start, is_at, labels};
use super::network::{Automaton, Edge, Effect, Joint, Member, Network};
use super::shift::Shift;
use crate::diagnostic::{Diagnostic, Diagnostics};
use hadal_system::timed::{Moment, Reset, Stay, TimedEdge, TimedProcess, TimedSystem, Timing};
use hadal_system::{
    Action, ActionId, Base, BinaryOp, ControlEdge, DomainKind, Expr, ExprKind, Local, LocalId, LocalKind,
    Param, ParamValues, Place, ProcessId, Shape, Stmt, StmtKind, System, UnaryOp, VarId,
};

/// The most initial states.
const MAX_STARTS: usize = 4096;

pub(super) fn not(expr: Expr) -> Expr {
    let span = expr.span;
    Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(expr)), span)
}

pub(super) fn any(parts: impl IntoIterator<Item = Expr>) -> Expr {
    parts
        .into_iter()
        .reduce(|left, right| Expr::binary(BinaryOp::Or, left, right))
        .unwrap_or_else(|| Expr::constant(0))
}

/// Composes the network along its joint steps. Locations must have been declared.
pub fn compose(network: Network, joints: &[Joint], findings: &mut Diagnostics) -> TimedSystem {
    let Network { system, clocks, processes: automata } = network;
    let mut timed = TimedSystem { system, clocks, ..TimedSystem::default() };
    let starts = automata.iter().fold(1usize, |ways, it| ways.saturating_mul(it.initial.len()));
    if starts > MAX_STARTS {
        let span = automata.first().map_or_else(Default::default, |automaton| automaton.span);
        findings
            .push(Diagnostic::error(span, format!("more than {MAX_STARTS} choices of initial locations")));
        return timed;
    }
    let composer = Composer::new(&timed.system, &automata);
    let mut actions = Vec::with_capacity(joints.len());
    for joint in joints {
        actions.push(composer.action(joint, findings));
    }
    add_start(&mut timed.system, &automata);
    add_conditions(&mut timed.system, &automata);
    for (n, made) in actions.into_iter().enumerate() {
        for member in joints[n].members.iter().chain(joints[n].listeners.iter().flatten()) {
            let edge = &automata[member.process].edges[member.edge];
            timed.system.processes[member.process].edges.push(ControlEdge {
                action: ActionId(n as u32),
                from: edge.from as i64,
                to: edge.to as i64,
                number: member.edge as u32,
            });
        }
        if joints[n].urgent {
            timed.rush.push(made.rush);
        }
        timed.system.actions.push(made.action);
        timed.timing.push(made.timing);
    }
    for automaton in &automata {
        let stays = automaton.locations.iter().map(|place| Stay {
            invariant: place.invariant.clone(),
            urgent: place.urgent,
            rate: place.rate.clone(),
        });
        let edges = automaton.edges.iter().map(|edge| TimedEdge {
            from: edge.from,
            to: edge.to,
            guard: edge.bounds.clone(),
            resets: resets(edge).cloned().collect(),
        });
        timed.processes.push(TimedProcess { stays: stays.collect(), edges: edges.collect() });
    }
    timed.labels = labels(&automata);
    timed.formulas.resize(timed.system.properties.len(), None);
    timed
}

fn resets(edge: &Edge) -> impl Iterator<Item = &Reset> {
    edge.effects.iter().filter_map(|effect| match effect {
        Effect::Reset(reset) => Some(reset),
        Effect::Stmt(_) => None,
    })
}

struct Made {
    action: Action,
    timing: Timing,
    /// When it is possible, as far as it depends on those who take part in any case.
    rush: Expr,
}

struct Composer<'n> {
    system: &'n System,
    automata: &'n [Automaton],
    /// No process is in a committed location; none where there is no such location.
    nobody_committed: Option<Expr>,
}

impl<'n> Composer<'n> {
    fn new(system: &'n System, automata: &'n [Automaton]) -> Self {
        let committed = automata.iter().enumerate().flat_map(|(process, automaton)| {
            let places = automaton.locations.iter().enumerate().filter(|(_, place)| place.committed);
            places.map(move |(location, _)| (process, location))
        });
        let mut tests = committed.map(|(process, location)| not(is_at(system, process, location))).peekable();
        let nobody_committed = tests.peek().is_some().then_some(()).map(|()| Expr::all(tests));
        Composer { system, automata, nobody_committed }
    }

    fn edge(&self, member: Member) -> &'n Edge {
        &self.automata[member.process].edges[member.edge]
    }

    fn is_committed(&self, member: Member) -> bool {
        self.automata[member.process].locations[self.edge(member).from].committed
    }

    /// The process is at the edge's source and its discrete guard holds.
    fn enabled(&self, member: Member, shift: Shift) -> Expr {
        let edge = self.edge(member);
        let at = is_at(self.system, member.process, edge.from);
        match edge.guard.clone() {
            Some(mut guard) => {
                shift.expr(&mut guard);
                Expr::binary(BinaryOp::And, at, guard)
            }
            None => at,
        }
    }

    fn name(&self, joint: &Joint) -> String {
        let mut parts: Vec<String> = Vec::new();
        if !joint.name.is_empty() {
            parts.push(joint.name.clone());
        }
        for &member in &joint.members {
            let (automaton, edge) = (&self.automata[member.process], self.edge(member));
            let (from, to) = (&automaton.locations[edge.from].name, &automaton.locations[edge.to].name);
            parts.push(format!("{} {from} -> {to}", automaton.name));
        }
        parts.join(", ")
    }

    fn action(&self, joint: &Joint, findings: &mut Diagnostics) -> Made {
        let mut action = Action { name: self.name(joint), ..Action::default() };
        let mut timing = Timing::default();
        let mut guard: Vec<Expr> = Vec::new();
        let mut effects: Vec<Effect> = Vec::new();
        let mut prices: Vec<Expr> = Vec::new();
        for &member in &joint.members {
            let edge = self.edge(member);
            let shift = Shift { by: action.locals.len() as u32 };
            action.locals.extend(edge.locals.iter().cloned());
            action.processes.push(ProcessId(member.process as u32));
            guard.push(self.enabled(member, shift));
            timing.guard.extend(edge.bounds.iter().cloned().map(|mut bound| {
                shift.bound(&mut bound);
                bound
            }));
            effects.extend(self.effects(member, shift, None));
            prices.extend(edge.price.clone());
        }
        if let Some(&first) = joint.members.first() {
            action.span = self.edge(first).span;
        }
        guard.extend(joint.guard.iter().cloned());
        // Listeners come or not: they do not decide whether time must wait.
        let rush = Expr::all(guard.iter().cloned());
        let mut chosen = Vec::new();
        let mut committed_listeners = Vec::new();
        for listeners in &joint.listeners {
            let Some(&first) = listeners.first() else { continue };
            action.processes.push(ProcessId(first.process as u32));
            let enabled: Vec<Expr> = listeners.iter().map(|&it| self.enabled(it, Shift { by: 0 })).collect();
            let choice = self.choice(listeners, &enabled, &mut action, &mut guard);
            let takes: Vec<Expr> = enabled
                .iter()
                .enumerate()
                .map(|(n, enabled)| match &choice {
                    Some(choice) => Expr::binary(
                        BinaryOp::And,
                        Expr::binary(BinaryOp::Equal, choice.clone(), Expr::constant(n as i64)),
                        enabled.clone(),
                    ),
                    None => enabled.clone(),
                })
                .collect();
            for (&listener, takes) in listeners.iter().zip(&takes) {
                if self.is_committed(listener) {
                    committed_listeners.push(takes.clone());
                }
            }
            let taken = self.taken(&takes, listeners, &mut action, &mut chosen);
            for (n, &listener) in listeners.iter().enumerate() {
                let shift = Shift { by: action.locals.len() as u32 };
                action.locals.extend(self.edge(listener).locals.iter().cloned());
                let when = Expr::binary(BinaryOp::Equal, taken.clone(), Expr::constant(n as i64 + 1));
                effects.extend(self.effects(listener, shift, Some((when, takes[n].clone()))));
            }
        }
        if let Some(nobody) = &self.nobody_committed
            && !joint.members.iter().any(|&member| self.is_committed(member))
        {
            guard.push(any(std::iter::once(nobody.clone()).chain(committed_listeners)));
        }
        self.place_resets(&mut effects, &mut timing, findings);
        action.body = chosen;
        action.body.extend(effects.into_iter().filter_map(|effect| match effect {
            Effect::Stmt(stmt) => Some(stmt),
            Effect::Reset(_) => None,
        }));
        action.guard = Expr::all(guard);
        timing.price = prices.into_iter().reduce(|a, b| Expr::binary(BinaryOp::Add, a, b));
        Made { action, timing, rush }
    }

    /// What a member does: enters its location, then its own effects; only where the conditions hold (the first in the
    /// body, the second in the state before).
    fn effects(&self, member: Member, shift: Shift, when: Option<(Expr, Expr)>) -> Vec<Effect> {
        let edge = self.edge(member);
        let place = self.system.whole(self.system.processes[member.process].location);
        let enter = Stmt::new(StmtKind::Assign(place, Expr::constant(edge.to as i64)), edge.span);
        let mut all = vec![Effect::Stmt(enter)];
        for effect in &edge.effects {
            let mut effect = effect.clone();
            match &mut effect {
                Effect::Stmt(stmt) => shift.stmt(stmt),
                Effect::Reset(reset) => shift.reset(reset),
            }
            all.push(effect);
        }
        let Some((taken, takes)) = when else { return all };
        for effect in &mut all {
            match effect {
                Effect::Stmt(stmt) => {
                    let (body, span) = (vec![stmt.clone()], stmt.span);
                    let kind = StmtKind::If { branches: vec![(taken.clone(), body)], otherwise: Vec::new() };
                    *stmt = Stmt::new(kind, span);
                }
                Effect::Reset(reset) => {
                    let own = reset.when.take();
                    reset.when = Some(Expr::all(std::iter::once(takes.clone()).chain(own)));
                }
            }
        }
        all
    }

    /// A parameter that chooses among edges that could be taken at once; none where they start at different locations.
    fn choice(
        &self,
        listeners: &[Member],
        enabled: &[Expr],
        action: &mut Action,
        guard: &mut Vec<Expr>,
    ) -> Option<Expr> {
        let from = |member: &Member| self.edge(*member).from;
        let distinct = (1..listeners.len())
            .all(|n| listeners[..n].iter().all(|other| from(other) != from(&listeners[n])));
        if distinct {
            return None;
        }
        let (local, read) = self.bound_local(listeners, action)?;
        let last = listeners.len() as i64 - 1;
        action.params.push(Param { local, values: ParamValues::Steps { from: 0, to: last, by: 1 } });
        let is = |n: usize| Expr::binary(BinaryOp::Equal, read.clone(), Expr::constant(n as i64));
        let mut ways: Vec<Expr> = enabled
            .iter()
            .enumerate()
            .map(|(n, enabled)| Expr::binary(BinaryOp::And, is(n), enabled.clone()))
            .collect();
        let nobody = Expr::all(enabled.iter().map(|enabled| not(enabled.clone())));
        ways.push(Expr::binary(BinaryOp::And, is(0), nobody));
        guard.push(any(ways));
        Some(read)
    }

    /// A local for a number up to that of the listeners.
    fn bound_local(&self, listeners: &[Member], action: &mut Action) -> Option<(LocalId, Expr)> {
        let shape = self.number_shape(listeners.len())?;
        let local = LocalId(action.locals.len() as u32);
        let process = &self.automata[listeners[0].process].name;
        action.locals.push(Local { name: format!("{process} takes"), shape, kind: LocalKind::Bound });
        Some((local, Place::local(local, shape, self.edge(listeners[0]).span).read()))
    }

    /// A local variable that says which edge is taken, from 1, or 0 for none: set in the state before the step.
    fn taken(
        &self,
        takes: &[Expr],
        listeners: &[Member],
        action: &mut Action,
        chosen: &mut Vec<Stmt>,
    ) -> Expr {
        let Some(shape) = self.number_shape(listeners.len()) else { return Expr::constant(0) };
        let local = LocalId(action.locals.len() as u32);
        action.locals.push(Local { name: "taken".into(), shape, kind: LocalKind::Variable });
        let span = self.edge(listeners[0]).span;
        let place = Place::local(local, shape, span);
        let number = takes.iter().enumerate().rev().fold(Expr::constant(0), |otherwise, (n, takes)| {
            let (condition, yes) = (Box::new(takes.clone()), Box::new(Expr::constant(n as i64 + 1)));
            Expr::new(ExprKind::If(condition, yes, Box::new(otherwise)), span)
        });
        chosen.push(Stmt::new(StmtKind::Assign(place.clone(), number), span));
        place.read()
    }

    /// The shape of numbers up to `most`; [`declare_numbers`] has made it.
    fn number_shape(&self, most: usize) -> Option<hadal_system::ShapeId> {
        self.system.shapes.iter().find_map(|(id, shape)| match shape {
            Shape::Scalar(domain) => {
                let domain = &self.system.domains[*domain];
                let fits = domain.kind == DomainKind::Range
                    && !domain.undefined
                    && domain.min() == 0
                    && domain.max() >= most as i64;
                fits.then_some(id)
            }
            _ => None,
        })
    }

    /// Moves resets to the timing, each with the moment at which its value is right.
    fn place_resets(&self, effects: &mut [Effect], timing: &mut Timing, findings: &mut Diagnostics) {
        let writes: Vec<Vec<VarId>> = effects
            .iter()
            .map(|effect| match effect {
                Effect::Stmt(stmt) => written(stmt, self.system),
                Effect::Reset(_) => Vec::new(),
            })
            .collect();
        for (n, effect) in effects.iter_mut().enumerate() {
            let Effect::Reset(reset) = effect else { continue };
            let mut reads = Vec::new();
            read(&reset.value, &mut reads);
            let meets = |part: &[Vec<VarId>]| part.iter().flatten().any(|var| reads.contains(var));
            reset.moment = match (meets(&writes[..n]), meets(&writes[n..])) {
                (false, _) => Moment::Before,
                (true, false) => Moment::After,
                (true, true) => {
                    let message = "a clock is set to a value that is written before and after it";
                    findings.push(Diagnostic::error(reset.value.span, message));
                    Moment::Before
                }
            };
            timing.resets.push(reset.clone());
        }
    }
}

/// The variables of the state that an expression reads.
fn read(expr: &Expr, into: &mut Vec<VarId>) {
    match &expr.kind {
        ExprKind::Read(place) => {
            if let Base::Global(var) = place.base {
                into.push(var);
            }
            for step in &place.steps {
                if let hadal_system::Step::Index(index) = step {
                    read(index, into);
                }
            }
        }
        ExprKind::Unary(_, of) | ExprKind::InDomain(of, _) => read(of, into),
        ExprKind::Binary(_, left, right) => {
            read(left, into);
            read(right, into);
        }
        ExprKind::If(condition, yes, no) => {
            read(condition, into);
            read(yes, into);
            read(no, into);
        }
        _ => {}
    }
}

/// The variables of the state that a statement may write; all of them where it calls something.
fn written(stmt: &Stmt, system: &System) -> Vec<VarId> {
    let of = |place: &Place| match place.base {
        Base::Global(var) => vec![var],
        Base::Local(_) => Vec::new(),
    };
    let all = |body: &[Stmt]| body.iter().flat_map(|stmt| written(stmt, system)).collect::<Vec<_>>();
    match &stmt.kind {
        StmtKind::Assign(place, _)
        | StmtKind::Copy { to: place, .. }
        | StmtKind::Clear(place)
        | StmtKind::Undefine(place) => of(place),
        StmtKind::If { branches, otherwise } => {
            branches.iter().flat_map(|(_, body)| all(body)).chain(all(otherwise)).collect()
        }
        StmtKind::While(_, body) | StmtKind::For { body, .. } | StmtKind::Bind { body, .. } => all(body),
        StmtKind::Call(..) | StmtKind::Switch { .. } => {
            (0..system.variables.len() as u32).map(VarId).collect()
        }
        _ => Vec::new(),
    }
}
