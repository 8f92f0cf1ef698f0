//! Never claims and accept labels as automata over propositions.
//!
//! A claim moves along one of its statements that the state allows, then the system moves, as SPIN composes them. A claim
//! that comes to its end has found something wrong, and so has one whose assertion fails. Accept labels of processes count
//! beside the claim's own.

use super::super::model::{ElementId, Op, Process, Term, TermKind};
use super::Lowering;
use super::slots::terms;
use super::term::not;
use hadal_ltl::guard::{Cube, Guard};
use hadal_ltl::{Automaton, Edge};
use hadal_system::{Claim, Expr, ExprKind, Property, PropertyBody, PropertyKind, Range, Span, Step};
use std::collections::HashMap;

/// The name of the question whether some run passes accept labels again and again.
pub const ACCEPTANCE: &str = "acceptance";

/// The most conditions of a claim.
const MAX_ATOMS: usize = 64;

/// A claim being translated: locations are numbered, conditions are atoms.
struct Watching<'p> {
    process: &'p Process,
    numbers: HashMap<ElementId, u32>,
    /// Where it is once an assertion has failed.
    failed: u32,
    edges: Vec<Vec<Edge>>,
    /// The conditions, each once.
    atoms: Vec<Property>,
    at: u32,
    marks: u64,
}

impl Watching<'_> {
    fn push(&mut self, target: u32, guard: Guard) {
        self.edges[self.at as usize].push(Edge { target, marks: self.marks, guard });
    }
}

impl Lowering<'_> {
    /// Appends the claims of the text and what they look at.
    pub(super) fn claims(&mut self, properties: &mut Vec<Property>) {
        let model = self.model;
        let accepting = self.at_accept_label();
        for (n, claim) in model.claims.iter().enumerate() {
            let named = model.claims[..n].iter().filter(|it| it.name == claim.name).count();
            let name = match named {
                0 => claim.name.to_string(),
                before => format!("{}_{}", claim.name, before + 1),
            };
            let property = self.claim(claim, name, accepting.clone(), properties);
            properties.extend(property);
        }
        if let (true, Some(accepting)) = (model.claims.is_empty(), accepting) {
            let number = properties.len();
            properties.push(proposition(accepting));
            let edge =
                |marks, positive| Edge { target: 0, marks, guard: Guard::of([Cube::literal(0, positive)]) };
            let automaton =
                Automaton { initial: 0, edges: vec![vec![edge(1, true), edge(0, false)]], sets: 1 };
            let text = "no run passes accept labels again and again".into();
            let claim = Claim {
                automaton,
                propositions: vec![number],
                text,
                stutters: true,
                stutter_invariant: false,
            };
            properties.push(question(ACCEPTANCE.into(), claim, Span::default()));
        }
    }

    /// Some process is at a label that begins with `accept`; `None` where there is no such label.
    fn at_accept_label(&mut self) -> Option<Expr> {
        let mut any = None;
        for slot in 0..self.slots.len() {
            for value in 0..self.processes[slot].locations.len() {
                if self.processes[slot].locations[value].accepting {
                    let here = self.is_at(slot, value as i64);
                    any = Some(match any {
                        Some(any) => super::term::or(any, here),
                        None => here,
                    });
                }
            }
        }
        any
    }

    fn claim(
        &mut self,
        process: &Process,
        name: String,
        accepting: Option<Expr>,
        properties: &mut Vec<Property>,
    ) -> Option<Property> {
        let mut states = process.states();
        if !states.contains(&0) {
            states.push(0);
        }
        let numbers: HashMap<ElementId, u32> =
            states.iter().enumerate().map(|(n, &state)| (state, n as u32)).collect();
        let failed = states.len() as u32;
        let mut watching =
            Watching { process, numbers, failed, edges: Vec::new(), atoms: Vec::new(), at: 0, marks: 0 };
        let mut asks_progress = false;
        for element in &process.elements {
            terms(element, &mut |term| asks_progress |= matches!(term.kind, TermKind::NonProgress));
        }
        if asks_progress {
            self.staying = Some(false);
            self.all_moves(&mut watching, &states);
            self.staying = Some(true);
            let first = std::mem::take(&mut watching.edges);
            self.all_moves(&mut watching, &states);
            self.staying = None;
            let moves = self.anybody_moves();
            watching.behind(first, not(moves));
        } else {
            self.all_moves(&mut watching, &states);
        }
        if let Some(accepting) = accepting {
            watching.beside(accepting);
        }
        if watching.atoms.len() > MAX_ATOMS {
            let message = format!("a claim has at most {MAX_ATOMS} different conditions");
            self.error(process.span, message);
            return None;
        }
        let first = properties.len();
        properties.extend(watching.atoms);
        let initial = watching.numbers.get(&process.resolve(process.entry)).copied().unwrap_or(0);
        let mut automaton = Automaton { initial, edges: watching.edges, sets: 1 };
        automaton.tidy();
        let propositions = (first..properties.len()).collect();
        let text = format!("the never claim `{name}`");
        let claim = Claim { automaton, propositions, text, stutters: true, stutter_invariant: false };
        Some(question(name, claim, process.span))
    }

    /// The moves out of all locations.
    fn all_moves(&mut self, watching: &mut Watching, states: &[ElementId]) {
        let process = watching.process;
        watching.edges = vec![Vec::new(); states.len() + 1];
        let marked = |state: ElementId, prefix: &str| {
            let here = |label: &&super::super::model::Label| process.resolve(label.element) == state;
            process.labels.iter().filter(here).any(|label| label.name.starts_with(prefix))
        };
        for (n, &state) in states.iter().enumerate() {
            watching.at = n as u32;
            watching.marks = u64::from(marked(state, "accept"));
            // As in SPIN, a claim that comes to an end label is over.
            if state == 0 || marked(state, "end") {
                watching.marks = 1;
                watching.push(n as u32, Guard::always());
                continue;
            }
            self.claim_moves(watching, state, &Guard::always(), &mut Vec::new());
        }
        watching.at = watching.failed;
        watching.marks = 1;
        watching.push(watching.failed, Guard::always());
    }

    /// The moves out of a location, and on through atomic sequences.
    fn claim_moves(
        &mut self,
        claim: &mut Watching,
        state: ElementId,
        guard: &Guard,
        passed: &mut Vec<ElementId>,
    ) {
        let process = claim.process;
        let exits = process.exits(state);
        let mut allowed = guard.clone();
        for list in exits.escapes.iter().chain([&exits.own]) {
            let mut any = Guard::never();
            for edge in list {
                if !matches!(process.op(edge.element), Some(Op::Else)) {
                    any.join(&self.possible(claim, edge.element));
                }
            }
            for edge in list {
                let here = match process.op(edge.element) {
                    Some(Op::Else) => any.not(),
                    _ => self.possible(claim, edge.element),
                };
                let mut here = allowed.and(&here);
                if let Some(Op::Assert(term)) = process.op(edge.element) {
                    let holds = self.atom(claim, term);
                    claim.push(claim.failed, here.and(&holds.not()));
                    here = here.and(&holds);
                }
                if here.is_never() {
                    continue;
                }
                if edge.alone && !passed.contains(&edge.to) {
                    passed.push(edge.to);
                    stacker::maybe_grow(64 << 10, 1 << 20, || {
                        self.claim_moves(claim, edge.to, &here, passed)
                    });
                    passed.pop();
                } else if let Some(&target) = claim.numbers.get(&edge.to) {
                    claim.push(target, here);
                }
            }
            allowed = allowed.and(&any.not());
        }
    }

    /// When a statement of a claim can be passed.
    fn possible(&mut self, claim: &mut Watching, element: ElementId) -> Guard {
        match claim.process.op(element) {
            Some(Op::Condition(term)) => self.atom(claim, term),
            Some(_) => Guard::always(),
            None => Guard::never(),
        }
    }

    /// A condition as an atom.
    fn atom(&mut self, claim: &mut Watching, term: &Term) -> Guard {
        let mut made = self.proposition(term);
        if let PropertyBody::State(expr) = &mut made.body {
            if let Some(value) = expr.as_const() {
                return if value == 0 { Guard::never() } else { Guard::always() };
            }
            forget_spans(expr);
        }
        let same = |it: &Property| it.body == made.body && it.locals == made.locals;
        let number = claim.atoms.iter().position(same).unwrap_or_else(|| {
            claim.atoms.push(made);
            claim.atoms.len() - 1
        });
        // Too many are refused at the end.
        Guard::of([Cube::literal(number.min(MAX_ATOMS - 1) as u32, true)])
    }
}

impl Watching<'_> {
    /// Puts moves of a claim before those it has: it makes them up to the first where the system is stuck, and these from
    /// then on.
    fn behind(&mut self, first: Vec<Vec<Edge>>, stuck: Expr) {
        let number = self.atoms.len().min(MAX_ATOMS - 1) as u32;
        self.atoms.push(proposition(stuck));
        let (stuck, moves) =
            (Guard::of([Cube::literal(number, true)]), Guard::of([Cube::literal(number, false)]));
        let places = first.len() as u32;
        let then = std::mem::take(&mut self.edges);
        let split = |edge: Edge| {
            let stays = Edge { target: edge.target + places, guard: edge.guard.and(&stuck), ..edge };
            [Edge { guard: edge.guard.and(&moves), ..edge }, stays]
        };
        self.edges = first.into_iter().map(|list| list.into_iter().flat_map(split).collect()).collect();
        let later = |edge: Edge| Edge { target: edge.target + places, ..edge };
        self.edges.extend(then.into_iter().map(|list| list.into_iter().map(later).collect::<Vec<_>>()));
    }

    /// Lets states count as accepting where `accepting` holds.
    fn beside(&mut self, accepting: Expr) {
        let number = self.atoms.len().min(MAX_ATOMS - 1) as u32;
        self.atoms.push(proposition(accepting));
        let (there, elsewhere) =
            (Guard::of([Cube::literal(number, true)]), Guard::of([Cube::literal(number, false)]));
        for edges in &mut self.edges {
            let split = |edge: &Edge| match edge.marks {
                0 => vec![
                    Edge { marks: 1, guard: edge.guard.and(&there), ..*edge },
                    Edge { guard: edge.guard.and(&elsewhere), ..*edge },
                ],
                _ => vec![edge.clone()],
            };
            *edges = edges.iter().flat_map(split).collect();
        }
    }
}

fn proposition(expr: Expr) -> Property {
    Property {
        name: "proposition".into(),
        kind: PropertyKind::Proposition,
        params: Vec::new(),
        locals: Vec::new(),
        body: PropertyBody::State(expr),
        span: Span::default(),
    }
}

fn question(name: String, claim: Claim, span: Span) -> Property {
    Property {
        name,
        kind: PropertyKind::Formula,
        params: Vec::new(),
        locals: Vec::new(),
        body: PropertyBody::Claim(claim),
        span,
    }
}

/// Makes conditions that are written twice equal.
fn forget_spans(expr: &mut Expr) {
    expr.span = Span::default();
    stacker::maybe_grow(64 << 10, 1 << 20, || match &mut expr.kind {
        ExprKind::Const(_) | ExprKind::Call(..) => {}
        ExprKind::Read(place) | ExprKind::IsUndefined(place) => forget_place(place),
        ExprKind::Unary(_, of) | ExprKind::InDomain(of, _) | ExprKind::Wrap(of, _) => forget_spans(of),
        ExprKind::Binary(_, left, right) => [left, right].into_iter().for_each(|of| forget_spans(of)),
        ExprKind::If(condition, yes, no) => {
            [condition, yes, no].into_iter().for_each(|of| forget_spans(of));
        }
        ExprKind::Quantified { range, body, .. } => {
            if let Range::Steps { from, to, by } = &mut **range {
                [from, to, by].into_iter().for_each(forget_spans);
            }
            forget_spans(body);
        }
        ExprKind::Same(left, right) => [left, right].into_iter().for_each(|of| forget_place(of)),
    });
}

fn forget_place(place: &mut hadal_system::Place) {
    place.span = Span::default();
    for step in &mut place.steps {
        if let Step::Index(index) = step {
            forget_spans(index);
        }
    }
}
