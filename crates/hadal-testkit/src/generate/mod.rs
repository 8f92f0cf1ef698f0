//! Random well-formed systems from a seed, for property tests: engines must agree on them, strategies must agree on
//! them, reductions must keep their answers.
//!
//! Together the seeds cover every kind of domain, shape, expression, statement, call and property, and every error of
//! a model except the runaway loop (which is too slow to be met everywhere). Domains are tiny, so that most state
//! spaces stay small; writes are steered into their domain and reads onto defined scalars most of the time, so that
//! most systems do more than meet an error at once.

mod expr;
mod function;
mod network;
mod place;
mod stmt;
mod symmetric;
mod types;

use crate::random::Random;
use hadal_system::{
    Action, BinaryOp, DomainId, Expr, FunctionId, Local, LocalId, LocalKind, Param, ParamValues, ProcessId,
    Property, PropertyBody, PropertyKind, Role, ShapeId, Source, Span, Stmt, StmtKind, System, VarId,
    Variable,
};
pub use network::{components, network};

/// How large the system may become and what it may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Variables at most; at least one.
    pub variables: usize,
    /// Actions at most; at least one.
    pub actions: usize,
    /// Functions at most.
    pub functions: usize,
    /// How deep expressions and statements nest.
    pub depth: usize,
    /// How scalarsets are used.
    pub scalarsets: Scalarsets,
}

/// How scalarsets are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalarsets {
    /// Like any other values: permuting them may change the system.
    Freely,
    /// Only so that every permutation of a scalarset maps the system to itself; there is at least one.
    Symmetrically,
}

impl Size {
    /// What a test can afford hundreds of.
    pub const SMALL: Size =
        Size { variables: 5, actions: 8, functions: 3, depth: 3, scalarsets: Scalarsets::Freely };

    /// The same, symmetric in its scalarsets.
    pub const SYMMETRIC: Size = Size { scalarsets: Scalarsets::Symmetrically, ..Size::SMALL };
}

/// The system of this seed and size; always the same one.
pub fn system(seed: u64, size: Size) -> System {
    Generator::of(seed, size).system
}

/// The same system with costs: constants, some that do not fit, and expressions over the state and the parameters.
pub fn priced(seed: u64, size: Size) -> System {
    let mut generator = Generator::of(seed, size);
    generator.make_costs();
    generator.system
}

/// The system under construction.
struct Generator {
    rng: Random,
    size: Size,
    system: System,
    /// Shapes that variables and locals may have.
    shapes: Vec<ShapeId>,
    /// Domains that scalars, parameters and loops may have.
    domains: Vec<DomainId>,
    functions: Vec<Facts>,
}

/// A system of nothing.
fn empty_system(name: String) -> System {
    System { name, source: Source::new("generated", ""), ..System::default() }
}

fn variable(name: String, shape: ShapeId, role: Role, owner: Option<ProcessId>) -> Variable {
    Variable { name, shape, role, owner, span: Span::default() }
}

/// An action without parameters, locals and processes.
fn action(name: String, guard: Expr, body: Vec<Stmt>) -> Action {
    Action { name, guard, body, ..Action::default() }
}

/// A property without parameters and locals.
fn property(name: String, kind: PropertyKind, body: PropertyBody) -> Property {
    Property { name, kind, params: Vec::new(), locals: Vec::new(), body, span: Span::default() }
}

/// What callers must know of a function.
#[derive(Clone, Copy, Debug)]
struct Facts {
    id: FunctionId,
    /// Writes nothing but its own locals, and counts nothing: may be called in guards and properties.
    pure: bool,
}

/// What the code being generated can see.
struct Scope {
    locals: Vec<Local>,
    /// Locals that may be read now.
    visible: Vec<LocalId>,
    /// Locals that may be written now.
    writable: Vec<LocalId>,
    /// Whether variables of the state may be written and impure functions called.
    may_write: bool,
    /// Inside a function: the domain of its result, if it has one.
    returns: Option<Option<DomainId>>,
}

impl Scope {
    fn new(may_write: bool) -> Self {
        Scope { locals: Vec::new(), visible: Vec::new(), writable: Vec::new(), may_write, returns: None }
    }

    /// Adds a local that nothing refers to yet.
    fn local(&mut self, name: &str, shape: ShapeId, kind: LocalKind) -> LocalId {
        let id = LocalId(self.locals.len() as u32);
        self.locals.push(Local { name: format!("{name}{}", id.0), shape, kind });
        id
    }
}

impl Generator {
    fn new(seed: u64, size: Size) -> Self {
        Generator {
            rng: Random::new(seed),
            size,
            system: empty_system(format!("seed{seed}")),
            shapes: Vec::new(),
            domains: Vec::new(),
            functions: Vec::new(),
        }
    }

    /// With a whole system.
    fn of(seed: u64, size: Size) -> Self {
        let mut generator = Generator::new(seed, size);
        generator.make_types();
        generator.make_variables();
        generator.make_covers();
        generator.make_functions();
        generator.make_starts();
        generator.make_actions();
        generator.make_properties();
        generator
    }

    fn make_costs(&mut self) {
        for at in 0..self.system.actions.len() {
            let mut scope = Scope::new(false);
            scope.locals.clone_from(&self.system.actions[at].locals);
            scope.visible.extend(self.system.actions[at].params.iter().map(|param| param.local));
            let cost = match self.rng.below(8) {
                0 => None,
                1 => Some(Expr::constant(self.rng.between(-1, 1_000_000))),
                2 => {
                    Some(Expr::constant([0, i64::from(u32::MAX) - 1, i64::from(u32::MAX)][self.rng.below(3)]))
                }
                3 | 4 => {
                    let far =
                        Expr::binary(BinaryOp::Multiply, self.number(&mut scope, 2), Expr::constant(500_000));
                    Some(Expr::binary(BinaryOp::Add, far, Expr::constant(3_000_000)))
                }
                _ => Some(self.number(&mut scope, 3)),
            };
            let action = &mut self.system.actions[at];
            (action.locals, action.cost) = (scope.locals, cost);
        }
    }

    fn symmetric(&self) -> bool {
        self.size.scalarsets == Scalarsets::Symmetrically
    }

    /// From about half of `most` up to `most`, at least one.
    fn count(&mut self, most: usize) -> usize {
        let least = most.div_ceil(2).max(1);
        least + self.rng.below(most.saturating_sub(least) + 1)
    }

    fn make_variables(&mut self) {
        for n in 0..self.count(self.size.variables) {
            // Every shape has a chance; the first variables of a symmetric system are made for it.
            let shape = self.shapes[if self.symmetric() && n < 2 {
                self.shapes.len() - 1 - n
            } else {
                self.rng.below(self.shapes.len())
            }];
            self.system.variables.push(variable(format!("v{n}"), shape, Role::Data, None));
        }
    }

    fn make_covers(&mut self) {
        for n in 0..self.rng.below(3) {
            self.property(
                format!("cover{n}"),
                PropertyKind::Cover,
                Scope::new(false),
                PropertyBody::Statements,
            );
        }
    }

    fn make_starts(&mut self) {
        for n in 0..1 + self.rng.below(2) {
            let mut scope = Scope::new(true);
            let params = if self.rng.chance(30) { self.params(&mut scope, 1) } else { Vec::new() };
            scope.may_write = false;
            let guard = if self.rng.chance(20) { self.condition(&mut scope, 1) } else { Expr::constant(1) };
            scope.may_write = true;
            let mut body = Vec::new();
            for n in 0..self.system.variables.len() {
                let whole = self.system.whole(VarId(n as u32));
                if self.clearable(whole.shape) && self.rng.chance(90) {
                    body.push(Stmt::new(StmtKind::Clear(whole), Span::default()));
                }
            }
            for _ in 0..2 {
                if self.rng.chance(10) {
                    body.extend(self.block(&mut scope, 1));
                } else {
                    body.extend(self.advance(&mut scope));
                }
            }
            let action = self.action(format!("start{n}"), params, scope, (guard, body));
            self.system.starts.push(action);
        }
    }

    fn make_actions(&mut self) {
        for n in 0..self.count(self.size.actions) {
            let mut scope = Scope::new(true);
            let most = self.rng.below(3);
            let params = self.params(&mut scope, most);
            scope.may_write = false;
            let guard = match self.rng.below(10) {
                0 | 1 => Expr::constant(1),
                2..6 => self.location_test(&mut scope),
                6 | 7 => {
                    let test = self.location_test(&mut scope);
                    Expr::binary(BinaryOp::And, test, self.condition(&mut scope, 2))
                }
                _ => self.condition(&mut scope, 2),
            };
            scope.may_write = true;
            let action = if self.rng.chance(35)
                && let Some((params, guard, body)) =
                    self.multiset_action(&mut scope, params.clone(), guard.clone())
            {
                self.action(format!("multiset{n}"), params, scope, (guard, body))
            } else {
                self.declare_variables(&mut scope);
                let mut body: Vec<Stmt> = self.advance(&mut scope).into_iter().collect();
                if self.rng.chance(65) {
                    body.extend(self.block(&mut scope, self.size.depth));
                }
                self.action(format!("action{n}"), params, scope, (guard, body))
            };
            self.system.actions.push(action);
        }
    }

    fn make_properties(&mut self) {
        let kinds = [
            (PropertyKind::Invariant, 60),
            (PropertyKind::Invariant, 30),
            (PropertyKind::Assumption, 15),
            (PropertyKind::Cover, 30),
            (PropertyKind::Liveness, 20),
            (PropertyKind::Goal, 30),
        ];
        for (n, (kind, percent)) in kinds.into_iter().enumerate() {
            if !self.rng.chance(percent) {
                continue;
            }
            let mut scope = Scope::new(false);
            let params = if self.rng.chance(30) { self.params(&mut scope, 1) } else { Vec::new() };
            let mut condition = self.condition(&mut scope, 2);
            if kind == PropertyKind::Assumption {
                // Most states should exist.
                let other = self.condition(&mut scope, 1);
                condition = Expr::binary(BinaryOp::Or, condition, other);
            }
            let at = self.system.properties.len();
            self.property(format!("property{n}"), kind, scope, PropertyBody::State(condition));
            self.system.properties[at].params = params;
        }
    }

    fn property(&mut self, name: String, kind: PropertyKind, scope: Scope, body: PropertyBody) {
        self.system.properties.push(Property { locals: scope.locals, ..property(name, kind, body) });
    }

    fn action(
        &mut self,
        name: String,
        params: Vec<Param>,
        scope: Scope,
        (guard, body): (Expr, Vec<Stmt>),
    ) -> Action {
        Action { params, locals: scope.locals, ..action(name, guard, body) }
    }

    /// Up to `most` parameters, visible in the scope.
    fn params(&mut self, scope: &mut Scope, most: usize) -> Vec<Param> {
        let mut params = Vec::new();
        for _ in 0..most {
            let domain = self.small_domain();
            let shape = self.scalar_shape(domain);
            let local = scope.local("p", shape, LocalKind::Bound);
            let values = if self.is_symmetric_domain(domain) || self.rng.chance(70) {
                ParamValues::Domain(domain)
            } else {
                let (from, by) = (self.rng.between(-2, 3), [1, 2, -1][self.rng.below(3)]);
                ParamValues::Steps { from, to: from + by * self.rng.between(0, 2), by }
            };
            scope.visible.push(local);
            params.push(Param { local, values });
        }
        params
    }
}
