//! Static facts that steer compilation: what functions write and how large the code of each part would be.

use hadal_system::{Argument, Base, Expr, ExprKind, LocalKind, Place, Stmt, StmtKind, System};

use super::walk::{self, Node};

/// What is known about one function before it is compiled.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Summary {
    /// Estimated instructions, callees not counted.
    pub cost: usize,
    /// May write the state, or through a reference.
    pub writes: bool,
    /// May meet a failed assumption statement.
    pub drops: bool,
    /// May call itself.
    pub recursive: bool,
}

/// Summaries of all functions.
#[derive(Debug)]
pub(super) struct Plan {
    functions: Vec<Summary>,
    /// Of each function, the locals that something may write.
    assigned: Vec<Vec<bool>>,
    /// Whether calls must be counted because some function may call itself.
    pub counts_depth: bool,
}

impl Plan {
    pub fn new(system: &System) -> Self {
        let calls: Vec<Vec<usize>> = system.functions.iter().map(|f| callees_of_block(&f.body)).collect();
        let mut functions: Vec<Summary> = system
            .functions
            .iter()
            .enumerate()
            .map(|(n, f)| Summary {
                cost: block_cost(&f.body),
                writes: block_writes(&f.body, &|local| f.locals[local].kind == LocalKind::Reference),
                drops: block_drops(&f.body),
                recursive: reaches(&calls, n, n),
            })
            .collect();
        loop {
            let before: Vec<_> = functions.iter().map(|f| (f.writes, f.drops)).collect();
            for (n, list) in calls.iter().enumerate() {
                for &callee in list {
                    functions[n].writes |= functions[callee].writes;
                    functions[n].drops |= functions[callee].drops;
                }
            }
            if functions.iter().map(|f| (f.writes, f.drops)).eq(before) {
                break;
            }
        }
        let deep = system.functions.len() >= hadal_system::MAX_CALL_DEPTH as usize;
        let counts_depth = deep || functions.iter().any(|f| f.recursive);
        let assigned = system.functions.iter().map(|f| assigned_locals(&f.body, f.locals.len())).collect();
        Plan { functions, assigned, counts_depth }
    }

    /// Whether something in the function may write this local of it.
    pub fn is_assigned(&self, function: usize, local: usize) -> bool {
        self.assigned[function][local]
    }

    /// What is known about a function.
    pub fn function(&self, n: usize) -> Summary {
        self.functions[n]
    }

    /// Whether evaluating the expression may write the state.
    pub fn expr_writes(&self, expr: &Expr) -> bool {
        let mut list = Vec::new();
        walk::expr(expr, &mut |node| note_callee(node, &mut list));
        list.iter().any(|&callee| self.functions[callee].writes)
    }
}

/// Estimated instructions of an expression, every loop counted once.
pub(super) fn expr_cost(expr: &Expr) -> usize {
    let mut cost = 0;
    walk::expr(expr, &mut |node| cost += node_cost(node));
    cost
}

/// Estimated instructions of statements, every loop counted once.
pub(super) fn block_cost(body: &[Stmt]) -> usize {
    let mut cost = 0;
    walk::block(body, &mut |node| cost += node_cost(node));
    cost
}

fn node_cost(node: Node) -> usize {
    match node {
        Node::Expr(e) => match e.kind {
            ExprKind::Const(_) => 0,
            ExprKind::Quantified { .. } => 6,
            ExprKind::Call(..) => 8,
            ExprKind::Same(..) => 12,
            _ => 2,
        },
        Node::Place(p) => 3 + 4 * p.steps.len(),
        Node::Stmt(s) => match s.kind {
            StmtKind::Assign(..) => 4,
            StmtKind::Copy { .. } | StmtKind::Clear(_) | StmtKind::Undefine(_) => 12,
            StmtKind::Call(..) => 8,
            StmtKind::For { .. } | StmtKind::While(..) => 6,
            _ => 2,
        },
    }
}

fn callees_of_block(body: &[Stmt]) -> Vec<usize> {
    let mut list = Vec::new();
    walk::block(body, &mut |node| note_callee(node, &mut list));
    list.sort_unstable();
    list.dedup();
    list
}

fn note_callee(node: Node, list: &mut Vec<usize>) {
    match node {
        Node::Expr(Expr { kind: ExprKind::Call(id, _), .. })
        | Node::Stmt(Stmt { kind: StmtKind::Call(id, _), .. }) => list.push(id.0 as usize),
        _ => {}
    }
}

fn reaches(calls: &[Vec<usize>], from: usize, to: usize) -> bool {
    let mut seen = vec![false; calls.len()];
    let mut open = vec![from];
    while let Some(n) = open.pop() {
        for &callee in &calls[n] {
            if callee == to {
                return true;
            }
            if !std::mem::replace(&mut seen[callee], true) {
                open.push(callee);
            }
        }
    }
    false
}

/// Whether statements write anything but locals of their own.
fn block_writes(body: &[Stmt], is_reference: &dyn Fn(usize) -> bool) -> bool {
    let outside = |place: &Place| match place.base {
        Base::Global(_) => true,
        Base::Local(local) => is_reference(local.0 as usize),
    };
    let mut writes = false;
    walk::block(body, &mut |node| {
        let Node::Stmt(stmt) = node else { return };
        writes |= match &stmt.kind {
            StmtKind::Assign(place, _)
            | StmtKind::Copy { to: place, .. }
            | StmtKind::Clear(place)
            | StmtKind::Undefine(place) => outside(place),
            _ => false,
        };
    });
    writes
}

/// The locals that statements may write, directly or by handing out a reference.
fn assigned_locals(body: &[Stmt], locals: usize) -> Vec<bool> {
    let mut assigned = vec![false; locals];
    let mut note = |place: &Place| {
        if let Base::Local(local) = place.base {
            assigned[local.0 as usize] = true;
        }
    };
    walk::block(body, &mut |node| match node {
        Node::Stmt(stmt) => match &stmt.kind {
            StmtKind::Assign(place, _)
            | StmtKind::Copy { to: place, .. }
            | StmtKind::Clear(place)
            | StmtKind::Undefine(place)
            | StmtKind::Bind { place, .. } => note(place),
            StmtKind::Call(_, arguments) => references(arguments).for_each(&mut note),
            _ => {}
        },
        Node::Expr(Expr { kind: ExprKind::Call(_, arguments), .. }) => {
            references(arguments).for_each(&mut note);
        }
        _ => {}
    });
    assigned
}

fn references(arguments: &[Argument]) -> impl Iterator<Item = &Place> {
    arguments.iter().filter_map(|argument| match argument {
        Argument::Reference(place) => Some(place),
        _ => None,
    })
}

fn block_drops(body: &[Stmt]) -> bool {
    let mut drops = false;
    walk::block(body, &mut |node| {
        if let Node::Stmt(Stmt { kind: StmtKind::Check { kind, .. }, .. }) = node {
            drops |= *kind == hadal_system::CheckKind::Assume;
        }
    });
    drops
}

/// Whether an argument's evaluation calls a function.
pub(super) fn argument_calls(argument: &Argument) -> bool {
    let mut list = Vec::new();
    let mut visit = |node: Node| note_callee(node, &mut list);
    match argument {
        Argument::Value(e) => walk::expr(e, &mut visit),
        Argument::Copy(p) | Argument::Reference(p) => walk::place(p, &mut visit),
    }
    !list.is_empty()
}
