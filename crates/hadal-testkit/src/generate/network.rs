//! Random networks of processes: loosely coupled, as models of protocols are, so that reductions have something to do.
//!
//! Every process has a location, some edges that compare and set a few shared scalars, and handshakes with others. Some
//! processes are rings that only move themselves: free inputs. What is asked is that some processes never stand at
//! certain locations together; a few networks also meet errors.

use super::{action, empty_system, property, variable};
use crate::random::Random;
use hadal_system::{
    Action, ActionId, BinaryOp, ControlEdge, Domain, Expr, ExprKind, Location, Place, Process, ProcessId,
    PropertyBody, PropertyKind, Role, Shape, Span, Stmt, StmtKind, System, UnaryOp, Value, VarId,
};
use std::ops::Range;

/// The network of this seed; always the same one.
pub fn network(seed: u64) -> System {
    let mut network = Network::new(seed, "network");
    let processes = 2 + network.rng.below(4);
    let variables = network.rng.below(4);
    let part = network.add_part(variables, processes);
    network.add_actions(&part);
    network.add_start();
    for n in 0..1 + network.rng.below(2) {
        network.add_invariant(n);
    }
    network.system
}

/// Two or three small networks side by side that have nothing to do with each other, and one question about them all;
/// always the same ones for a seed. Half of the questions are about sums over the parts, the others conjunctions.
pub fn components(seed: u64) -> System {
    let mut network = Network::new(seed, "components");
    let parts: Vec<Part> = (0..2 + network.rng.below(2))
        .map(|_| {
            let (variables, processes) = (network.rng.below(2), 1 + network.rng.below(2));
            network.add_part(variables, processes)
        })
        .collect();
    parts.iter().for_each(|part| network.add_actions(part));
    network.add_start();
    if network.rng.chance(50) {
        network.add_joint_invariant(&parts);
    } else {
        network.add_invariant(0);
    }
    network.system
}

struct Network {
    rng: Random,
    system: System,
    /// Per process, its location variable and how many locations there are.
    locations: Vec<(VarId, usize)>,
}

/// Processes that share variables and shake hands.
struct Part {
    processes: Range<usize>,
    shared: Vec<VarId>,
}

impl Network {
    fn new(seed: u64, kind: &str) -> Self {
        let system = empty_system(format!("{kind} {seed}"));
        Network { rng: Random::new(seed ^ 0x6E65_7477), system, locations: Vec::new() }
    }

    /// Adds a part without actions.
    fn add_part(&mut self, variables: usize, processes: usize) -> Part {
        let (first, at) = (self.system.variables.len(), self.locations.len());
        for n in first..first + variables {
            let values = 2 + self.rng.below(2);
            self.add_variable(&format!("v{n}"), values, Role::Data, None);
        }
        let shared = (first as u32..self.system.variables.len() as u32).map(VarId).collect();
        for n in at..at + processes {
            self.add_process(n as u32);
        }
        Part { processes: at..at + processes, shared }
    }

    fn add_actions(&mut self, part: &Part) {
        for n in part.processes.clone() {
            if self.rng.chance(25) {
                self.add_ring(n);
            } else {
                self.add_edges(n, part);
            }
        }
        for _ in 0..self.rng.below(part.processes.len() + 1) {
            self.add_handshake(part);
        }
    }

    fn process_of(&mut self, part: &Part) -> usize {
        part.processes.start + self.rng.below(part.processes.len())
    }

    fn add_variable(&mut self, name: &str, values: usize, role: Role, owner: Option<ProcessId>) -> VarId {
        let domain = self.system.domains.add(Domain::range(0, values as Value - 1, false));
        let shape = (self.system.shapes.add(Shape::Scalar(domain), &self.system.domains))
            .expect("a scalar is never too large");
        self.system.variables.push(variable(name.into(), shape, role, owner));
        VarId(self.system.variables.len() as u32 - 1)
    }

    fn place(&self, var: VarId) -> Place {
        self.system.whole(var)
    }

    fn values(&self, var: VarId) -> Value {
        let shape = self.system.variable(var).shape;
        self.system.shapes.scalar(shape).map_or(1, |d| self.system.domains[d].size() as Value)
    }

    fn compare(&self, var: VarId, op: BinaryOp, value: Value) -> Expr {
        Expr::binary(op, self.place(var).read(), Expr::constant(value))
    }

    fn set(&self, var: VarId, value: Expr) -> Stmt {
        Stmt::new(StmtKind::Assign(self.place(var), value), Span::default())
    }

    fn add_process(&mut self, n: u32) {
        let count = 2 + self.rng.below(3);
        let location = self.add_variable(&format!("p{n}"), count, Role::Location, Some(ProcessId(n)));
        let locations =
            (0..count).map(|l| Location { name: format!("l{l}"), ..Location::default() }).collect();
        self.system.processes.push(Process { name: format!("p{n}"), location, locations, edges: Vec::new() });
        self.locations.push((location, count));
    }

    /// Adds an action of these processes, each going from one location to another.
    fn add_action(&mut self, moves: &[(usize, Value, Value)], guard: Vec<Expr>, effects: Vec<Stmt>) {
        let id = ActionId(self.system.actions.len() as u32);
        let at = moves.iter().map(|&(p, from, _)| self.compare(self.locations[p].0, BinaryOp::Equal, from));
        let guard = Expr::all(at.chain(guard).collect::<Vec<_>>());
        let enter = moves.iter().map(|&(p, _, to)| self.set(self.locations[p].0, Expr::constant(to)));
        let body = enter.chain(effects).collect();
        for &(p, from, to) in moves {
            let edges = &mut self.system.processes[p].edges;
            edges.push(ControlEdge { action: id, from, to, number: edges.len() as u32 });
        }
        let processes = moves.iter().map(|&(p, ..)| ProcessId(p as u32)).collect();
        self.system.actions.push(Action { processes, ..action(format!("a{}", id.0), guard, body) });
    }

    fn location(&mut self, process: usize) -> Value {
        let count = self.locations[process].1;
        self.rng.below(count) as Value
    }

    /// A process that goes round, one way or both.
    fn add_ring(&mut self, process: usize) {
        let count = self.locations[process].1 as Value;
        let back = self.rng.chance(50);
        for from in 0..count {
            self.add_action(&[(process, from, (from + 1) % count)], Vec::new(), Vec::new());
            if back {
                self.add_action(&[(process, from, (from + count - 1) % count)], Vec::new(), Vec::new());
            }
        }
    }

    fn add_edges(&mut self, process: usize, part: &Part) {
        let shared = &part.shared;
        for _ in 0..2 + self.rng.below(4) {
            let (from, to) = (self.location(process), self.location(process));
            let (mut guard, mut effects) = (Vec::new(), Vec::new());
            if let Some(var) = self.rng.pick(shared).filter(|_| self.rng.chance(40)) {
                let op = self.rng.pick(&[BinaryOp::Equal, BinaryOp::NotEqual, BinaryOp::Less]);
                let values = self.values(var) as usize;
                let value = self.rng.below(values) as Value;
                guard.push(self.compare(var, op.unwrap_or(BinaryOp::Equal), value));
            }
            if self.rng.chance(15) {
                let other = self.process_of(part);
                let value = self.location(other);
                guard.push(self.compare(self.locations[other].0, BinaryOp::NotEqual, value));
            }
            if let Some(var) = self.rng.pick(shared).filter(|_| self.rng.chance(50)) {
                effects.push(self.effect(var, shared));
            }
            self.add_action(&[(process, from, to)], guard, effects);
        }
    }

    fn effect(&mut self, var: VarId, shared: &[VarId]) -> Stmt {
        let values = self.values(var);
        let constant = self.rng.below(values as usize) as Value;
        let from = self.rng.pick(shared).unwrap_or(var);
        let more = Expr::binary(BinaryOp::Add, self.place(from).read(), Expr::constant(1));
        let value = match self.rng.below(20) {
            0 => more, // may leave the domain
            1..=5 => Expr::binary(BinaryOp::Remainder, more, Expr::constant(values)),
            _ => Expr::constant(constant),
        };
        self.set(var, value)
    }

    fn add_handshake(&mut self, part: &Part) {
        let (one, other) = (self.process_of(part), self.process_of(part));
        if one != other {
            let moves = [one, other].map(|p| (p, self.location(p), self.location(p)));
            self.add_action(&moves, Vec::new(), Vec::new());
        }
    }

    fn add_start(&mut self) {
        let variables = 0..self.system.variables.len() as u32;
        let body = variables.map(|v| self.set(VarId(v), Expr::constant(0))).collect();
        self.system.starts.push(action("start".into(), Expr::constant(1), body));
    }

    /// Never all of some processes at these locations.
    fn add_invariant(&mut self, n: usize) {
        let mut conjuncts = Vec::new();
        for process in 0..self.locations.len() {
            if self.rng.chance(45) {
                let value = self.location(process);
                conjuncts.push(self.compare(self.locations[process].0, BinaryOp::Equal, value));
            }
        }
        if conjuncts.is_empty() {
            conjuncts.push(self.compare(self.locations[0].0, BinaryOp::Equal, 1));
        }
        self.ask(n, Expr::all(conjuncts));
    }

    /// Never this sum of a location of each part.
    fn add_joint_invariant(&mut self, parts: &[Part]) {
        let mut sum = Expr::constant(0);
        let mut most = 0;
        for part in parts {
            let process = self.process_of(part);
            let (location, count) = self.locations[process];
            sum = Expr::binary(BinaryOp::Add, sum, self.place(location).read());
            most += count - 1;
        }
        let wanted = (most - self.rng.below(2)) as Value;
        self.ask(0, Expr::binary(BinaryOp::Equal, sum, Expr::constant(wanted)));
    }

    /// Asks about what is `wrong`, as an invariant or as a goal.
    fn ask(&mut self, n: usize, wrong: Expr) {
        let goal = self.rng.chance(20);
        let kind = if goal { PropertyKind::Goal } else { PropertyKind::Invariant };
        let not = |wrong| Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(wrong)), Span::default());
        let condition = if goal { wrong } else { not(wrong) };
        self.system.properties.push(property(format!("apart{n}"), kind, PropertyBody::State(condition)));
    }
}
