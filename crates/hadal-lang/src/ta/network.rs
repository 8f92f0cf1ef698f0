//! What both readers make of their text: processes, edges and the steps they take together.

use hadal_system::timed::{Bound, Reset};
use hadal_system::{Expr, Local, Span, Stmt, System};

/// A network of timed automata before its processes are composed.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// Domains, shapes, variables, functions, starts and properties; no processes and actions yet.
    pub system: System,
    /// Names of the clocks, the first being number 1.
    pub clocks: Vec<String>,
    /// The processes.
    pub processes: Vec<Automaton>,
}

/// A process.
#[derive(Clone, Debug, Default)]
pub struct Automaton {
    /// Its name.
    pub name: String,
    /// Its locations.
    pub locations: Vec<Place>,
    /// Where it may start.
    pub initial: Vec<usize>,
    /// Its edges.
    pub edges: Vec<Edge>,
    /// Where it stands.
    pub span: Span,
}

/// A location.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// Its name.
    pub name: String,
    /// What its invariant asks of clocks.
    pub invariant: Vec<Bound>,
    /// What its invariant asks of variables.
    pub condition: Option<Expr>,
    /// Only steps that leave such a location may be taken while someone is in one; no time passes.
    pub committed: bool,
    /// No time passes.
    pub urgent: bool,
    /// What a unit of time costs.
    pub rate: Option<Expr>,
    /// Labels.
    pub labels: Vec<String>,
    /// Where it stands.
    pub span: Span,
}

/// What an edge does, in order.
#[derive(Clone, Debug)]
pub enum Effect {
    /// To variables.
    Stmt(Stmt),
    /// To a clock.
    Reset(Reset),
}

/// An edge. Its locals are numbered from 0.
#[derive(Clone, Debug, Default)]
pub struct Edge {
    /// Source location.
    pub from: usize,
    /// Target location.
    pub to: usize,
    /// Locals of its statements.
    pub locals: Vec<Local>,
    /// What its guard asks of variables.
    pub guard: Option<Expr>,
    /// What its guard asks of clocks.
    pub bounds: Vec<Bound>,
    /// What it does.
    pub effects: Vec<Effect>,
    /// What it costs.
    pub price: Option<Expr>,
    /// Where it stands.
    pub span: Span,
}

/// A process with one of its edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The process.
    pub process: usize,
    /// The edge.
    pub edge: usize,
}

/// What happens at once: the effects of the members run in order.
#[derive(Clone, Debug, Default)]
pub struct Joint {
    /// Who takes part in any case.
    pub members: Vec<Member>,
    /// Processes that take part with one of these edges where they can, after the members.
    pub listeners: Vec<Vec<Member>>,
    /// What must hold besides.
    pub guard: Vec<Expr>,
    /// No time passes where it is possible.
    pub urgent: bool,
    /// What it is called besides its members.
    pub name: String,
}
