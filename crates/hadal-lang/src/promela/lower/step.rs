//! `d_step`: many statements as one, the first option that can, and an error where none can.

use super::super::model::{Op, Step};
use super::{Env, Lowering};
use hadal_system::{Expr, LocalKind, Place, Span, Stmt, StmtKind};

/// What surrounds the statements being lowered.
#[derive(Clone)]
struct Within {
    env: Env,
    slot: usize,
    /// Says whether the innermost loop goes on.
    running: Option<Place>,
}

impl Lowering<'_> {
    /// The body of a `d_step` whose first statement can be carried out.
    pub(super) fn d_step(&mut self, steps: &[Step], slot: usize, env: Env) -> Vec<Stmt> {
        if super::jump::has_jumps(steps) {
            return self.jumping_step(steps, slot, env);
        }
        self.steps(steps, &Within { env, slot, running: None }, true)
    }

    /// What follows the first statement of a `d_step`.
    pub(super) fn rest_of_step(&mut self, steps: &[Step], slot: usize, env: Env) -> Vec<Stmt> {
        if super::jump::has_jumps(steps) {
            return self.jumping_step(steps, slot, env);
        }
        self.steps(steps, &Within { env, slot, running: None }, false)
    }

    /// Statements; `first` where the first one is known to be possible.
    fn steps(&mut self, steps: &[Step], within: &Within, first: bool) -> Vec<Stmt> {
        let mut body = Vec::new();
        for (n, step) in steps.iter().enumerate() {
            let possible = first && n == 0;
            stacker::maybe_grow(128 << 10, 1 << 20, || match step {
                Step::Op(op, span) => body.extend(self.step_op(op, *span, within, possible)),
                Step::If(options, span) => body.push(self.choice(options, *span, within)),
                Step::Do(options, span) => body.extend(self.repeat(options, *span, within)),
                Step::Break => {
                    if let Some(running) = &within.running {
                        let stop = StmtKind::Assign(running.clone(), Expr::constant(0));
                        body.push(Stmt::new(stop, Span::default()));
                    }
                }
                // Sequences with jumps are lowered elsewhere.
                Step::Goto(_) | Step::Label(_) => {}
            });
            // What follows something that may leave the loop happens only where it was not left.
            let rest = &steps[n + 1..];
            if let (Step::If(options, span), Some(running), false) = (step, &within.running, rest.is_empty())
                && options.iter().any(|option| leaves(option))
            {
                let rest = self.steps(rest, within, false);
                let branches = vec![(running.clone().read(), rest)];
                body.push(Stmt::new(StmtKind::If { branches, otherwise: Vec::new() }, *span));
                break;
            }
        }
        body
    }

    fn step_op(&mut self, op: &Op, span: Span, within: &Within, possible: bool) -> Vec<Stmt> {
        match possible {
            true => self.any_effect(op, span, within.env),
            false => self.checked_op(op, span, within.slot, within.env),
        }
    }

    /// A statement inside a `d_step`, which must not block.
    pub(super) fn checked_op(&mut self, op: &Op, span: Span, slot: usize, env: Env) -> Vec<Stmt> {
        let effect = self.any_effect(op, span, env);
        let can = self.op_executable(op, slot, env);
        if can.as_const().is_some_and(|value| value != 0) {
            return effect;
        }
        let branches = vec![(can, effect)];
        vec![Stmt::new(StmtKind::If { branches, otherwise: vec![blocks(span)] }, span)]
    }

    fn choice(&mut self, options: &[Vec<Step>], span: Span, within: &Within) -> Stmt {
        let mut branches = Vec::new();
        let mut otherwise = vec![blocks(span)];
        for option in options {
            if let Some(Step::Op(Op::Else, _)) = option.first() {
                otherwise = self.steps(option, within, true);
                continue;
            }
            let can = self.first_executable(option, within.slot, within.env);
            let body = self.steps(option, within, true);
            branches.push((can, body));
        }
        Stmt::new(StmtKind::If { branches, otherwise }, span)
    }

    fn repeat(&mut self, options: &[Vec<Step>], span: Span, within: &Within) -> Vec<Stmt> {
        let domain = self.domains.add(hadal_system::Domain::boolean(false));
        let shape = self.shape(hadal_system::Shape::Scalar(domain), span);
        let local = self.local("running", shape, LocalKind::Variable);
        let running = Place::local(local, shape, span);
        let inside = Within { running: Some(running.clone()), ..within.clone() };
        let body = vec![self.choice(options, span, &inside)];
        vec![
            Stmt::new(StmtKind::Assign(running.clone(), Expr::constant(1)), span),
            Stmt::new(StmtKind::While(running.read(), body), span),
        ]
    }
}

/// Whether an option may leave the loop around it.
fn leaves(steps: &[Step]) -> bool {
    steps.iter().any(|step| match step {
        Step::Break => true,
        Step::If(options, _) => options.iter().any(|option| leaves(option)),
        _ => false,
    })
}

pub(super) fn blocks(span: Span) -> Stmt {
    Stmt::new(StmtKind::Fail("the d_step blocks here".into()), span)
}
