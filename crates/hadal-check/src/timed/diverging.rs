//! Runs in which time goes on for ever.
//!
//! A process of its own ticks, never twice within a unit of time; time goes on for ever in exactly those runs in which it can tick
//! for ever, so a claim that also asks for that accepts no Zeno run (Tripakis, Yovine and Bouajjani, "Checking timed Büchi
//! automata emptiness efficiently", 2005: strongly non-Zeno automata).

use hadal_ltl::{Automaton, Cube, Edge, Guard};
use hadal_system::timed::{
    Bound, ClockRef, Moment, Reset, Stay, Strictness, TimedEdge, TimedProcess, Timing,
};
use hadal_system::{
    Action, ActionId, BinaryOp, ControlEdge, Domain, DomainKind, Expr, ExprKind, Location, Process,
    ProcessId, Property, PropertyBody, PropertyKind, Role, Shape, Span, Stmt, StmtKind, System, TimedSystem,
    UnaryOp, VarId, Variable,
};

/// The most propositions of a claim, besides the one about ticks.
const MOST_ATOMS: usize = 63;

/// The system with a process that ticks, and the claim of `property` about runs in which it does so for ever; `None` where the
/// property has no claim, or one over too many propositions.
pub fn diverging(timed: &TimedSystem, property: usize) -> Option<TimedSystem> {
    let mut timed = timed.clone();
    let ticked = add_ticks(&mut timed)?;
    let proposition = timed.system.properties.len();
    let PropertyBody::Claim(claim) = &mut timed.system.properties[property].body else { return None };
    let atom = claim.propositions.len();
    if atom > MOST_ATOMS {
        return None;
    }
    claim.automaton = alternating(&claim.automaton, atom as u32).degeneralise();
    claim.propositions.push(proposition);
    timed.system.properties.push(Property {
        name: "ticks".into(),
        kind: PropertyKind::Proposition,
        params: Vec::new(),
        locals: Vec::new(),
        body: PropertyBody::State(ticked),
        span: Span::default(),
    });
    timed.formulas.resize(timed.system.properties.len(), None);
    Some(timed)
}

/// Accepts what `automaton` accepts where the atom is true and false again and again.
fn alternating(automaton: &Automaton, atom: u32) -> Automaton {
    let split = |edge: &Edge| {
        [(true, 0), (false, 1)].map(|(positive, set)| Edge {
            target: edge.target,
            marks: edge.marks | 1 << (automaton.sets + set),
            guard: edge.guard.and(&Guard::of([Cube::literal(atom, positive)])),
        })
    };
    let edges = automaton.edges.iter().map(|edges| edges.iter().flat_map(split).collect());
    Automaton { initial: automaton.initial, edges: edges.collect(), sets: automaton.sets + 2 }
}

/// Adds the process that ticks; returns the condition that it did so an odd number of times.
fn add_ticks(timed: &mut TimedSystem) -> Option<Expr> {
    let system = &mut timed.system;
    let mut name = "time".to_owned();
    while system.variables.iter().any(|variable| variable.name == name) {
        name.push('_');
    }
    let process = ProcessId(system.processes.len() as u32);
    let names = ["even", "odd"].map(str::to_owned).to_vec();
    let domain = system.domains.add(Domain {
        name: Some(format!("{name}.location")),
        intervals: vec![(0, 1)],
        kind: DomainKind::Enum(names.clone()),
        undefined: false,
    });
    let shape = system.shapes.add(Shape::Scalar(domain), &system.domains).ok()?;
    let location = VarId(system.variables.len() as u32);
    let owner = Some(process);
    system.variables.push(Variable {
        name: name.clone(),
        shape,
        role: Role::Location,
        owner,
        span: Span::default(),
    });
    let enter = |system: &System, at: i64| {
        Stmt::new(StmtKind::Assign(system.whole(location), Expr::constant(at)), Span::default())
    };
    let is_at = |system: &System, var: VarId, at: i64| {
        Expr::binary(BinaryOp::Equal, system.whole(var).read(), Expr::constant(at))
    };
    let first = enter(system, 0);
    system.starts.iter_mut().for_each(|start| start.body.insert(0, first.clone()));
    // A step from a committed location comes first.
    let committed = system.processes.iter().flat_map(|process| {
        let places = process.locations.iter().enumerate().filter(|(_, place)| place.committed);
        places.map(|(at, _)| is_at(system, process.location, at as i64))
    });
    let nobody = committed.map(|at| Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(at)), Span::default()));
    let nobody: Vec<Expr> = nobody.collect();
    timed.clocks.push(format!("{name}.unit"));
    let clock = ClockRef::One(timed.clocks.len() as u32);
    let guard = vec![Bound {
        when: None,
        left: ClockRef::Zero,
        minus: clock.clone(),
        strictness: Strictness::Weak,
        value: Expr::constant(-1),
        span: Span::default(),
    }];
    let (from, value) = (ClockRef::Zero, Expr::constant(0));
    let resets = vec![Reset { when: None, clock, from, value, moment: Moment::Before }];
    let (mut edges, mut timed_edges) = (Vec::new(), Vec::new());
    for (before, after) in [(0, 1), (1, 0)] {
        let enabled = std::iter::once(is_at(system, location, before)).chain(nobody.iter().cloned());
        let (guard_of_action, body) = (Expr::all(enabled), vec![enter(system, after)]);
        let action = ActionId(system.actions.len() as u32);
        edges.push(ControlEdge { action, from: before, to: after, number: before as u32 });
        system.actions.push(Action {
            name: "tick".into(),
            guard: guard_of_action,
            body,
            processes: vec![process],
            ..Action::default()
        });
        timed.timing.push(Timing { guard: guard.clone(), resets: resets.clone(), price: None });
        let (from, to) = (before as usize, after as usize);
        timed_edges.push(TimedEdge { from, to, guard: guard.clone(), resets: resets.clone() });
    }
    let locations = names.into_iter().map(|name| Location { name, ..Location::default() }).collect();
    system.processes.push(Process { name, location, locations, edges });
    timed.processes.push(TimedProcess { stays: vec![Stay::default(); 2], edges: timed_edges });
    Some(is_at(&timed.system, location, 1))
}
