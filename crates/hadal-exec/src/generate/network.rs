//! Random networks of processes: loosely coupled, as models of protocols are, so that reductions have something to do.
//!
//! Every process has a location, some edges that compare and set a few shared scalars, and handshakes with others. Some
//! processes are rings that only move themselves: free inputs. What is asked is that some processes never stand at
//! certain locations together; a few networks also meet errors.

use super::rng::Rng;
use hadal_system::{
    Action, ActionId, BinaryOp, ControlEdge, Domain, Expr, Location, Place, Process, ProcessId, Property,
    PropertyBody, PropertyKind, Role, Shape, Source, Span, Stmt, StmtKind, System, Value, VarId, Variable,
};

/// The network of this seed; always the same one.
pub fn network(seed: u64) -> System {
    let mut network =
        Network { rng: Rng::new(seed ^ 0x6E65_7477), system: empty(seed), locations: Vec::new() };
    let processes = 2 + network.rng.below(4);
    for n in 0..network.rng.below(4) {
        let values = 2 + network.rng.below(2);
        network.add_variable(&format!("v{n}"), values, Role::Data, None);
    }
    let shared: Vec<VarId> = (0..network.system.variables.len() as u32).map(VarId).collect();
    for n in 0..processes {
        network.add_process(n as u32);
    }
    for n in 0..processes {
        if network.rng.chance(25) {
            network.add_ring(n);
        } else {
            network.add_edges(n, &shared);
        }
    }
    for _ in 0..network.rng.below(processes + 1) {
        network.add_handshake();
    }
    network.add_start();
    for n in 0..1 + network.rng.below(2) {
        network.add_invariant(n);
    }
    network.system
}

struct Network {
    rng: Rng,
    system: System,
    /// Per process, its location variable and how many locations there are.
    locations: Vec<(VarId, usize)>,
}

fn empty(seed: u64) -> System {
    System {
        name: format!("network {seed}"),
        source: Source::new("generated", ""),
        domains: Default::default(),
        shapes: Default::default(),
        variables: Vec::new(),
        processes: Vec::new(),
        functions: Vec::new(),
        starts: Vec::new(),
        actions: Vec::new(),
        properties: Vec::new(),
    }
}

impl Network {
    fn add_variable(&mut self, name: &str, values: usize, role: Role, owner: Option<ProcessId>) -> VarId {
        let domain = self.system.domains.add(Domain::range(0, values as Value - 1, false));
        let shape = (self.system.shapes.add(Shape::Scalar(domain), &self.system.domains))
            .expect("a scalar is never too large");
        self.system.variables.push(Variable { name: name.into(), shape, role, owner, span: Span::default() });
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
        let locations = (0..count)
            .map(|l| Location { name: format!("l{l}"), committed: false, accepting: false })
            .collect();
        self.system.processes.push(Process { name: format!("p{n}"), location, locations, edges: Vec::new() });
        self.locations.push((location, count));
    }

    /// Adds an action of these processes, each going from one location to another.
    fn add_action(&mut self, moves: &[(usize, Value, Value)], guard: Vec<Expr>, effects: Vec<Stmt>) {
        let action = ActionId(self.system.actions.len() as u32);
        let at = moves.iter().map(|&(p, from, _)| self.compare(self.locations[p].0, BinaryOp::Equal, from));
        let guard = Expr::all(at.chain(guard).collect::<Vec<_>>());
        let enter = moves.iter().map(|&(p, _, to)| self.set(self.locations[p].0, Expr::constant(to)));
        let body = enter.chain(effects).collect();
        for &(p, from, to) in moves {
            let edges = &mut self.system.processes[p].edges;
            edges.push(ControlEdge { action, from, to, number: edges.len() as u32 });
        }
        self.system.actions.push(Action {
            name: format!("a{}", action.0),
            params: Vec::new(),
            locals: Vec::new(),
            guard,
            body,
            processes: moves.iter().map(|&(p, ..)| ProcessId(p as u32)).collect(),
            span: Span::default(),
        });
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

    fn add_edges(&mut self, process: usize, shared: &[VarId]) {
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
                let other = self.rng.below(self.locations.len());
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

    fn add_handshake(&mut self) {
        let one = self.rng.below(self.locations.len());
        let other = self.rng.below(self.locations.len());
        if one != other {
            let moves = [one, other].map(|p| (p, self.location(p), self.location(p)));
            self.add_action(&moves, Vec::new(), Vec::new());
        }
    }

    fn add_start(&mut self) {
        let variables = 0..self.system.variables.len() as u32;
        let body = variables.map(|v| self.set(VarId(v), Expr::constant(0))).collect();
        self.system.starts.push(Action {
            name: "start".into(),
            params: Vec::new(),
            locals: Vec::new(),
            guard: Expr::constant(1),
            body,
            processes: Vec::new(),
            span: Span::default(),
        });
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
        let wrong = Expr::all(conjuncts);
        let goal = self.rng.chance(20);
        let kind = if goal { PropertyKind::Goal } else { PropertyKind::Invariant };
        let not = hadal_system::ExprKind::Unary(hadal_system::UnaryOp::Not, Box::new(wrong.clone()));
        let condition = if goal { wrong } else { Expr::new(not, Span::default()) };
        self.system.properties.push(Property {
            name: format!("apart{n}"),
            kind,
            params: Vec::new(),
            locals: Vec::new(),
            body: PropertyBody::State(condition),
            span: Span::default(),
        });
    }
}
