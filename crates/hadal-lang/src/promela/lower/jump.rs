//! `d_step` with jumps: its statements as numbered points, carried out one after the other until the last is left.

use super::super::model::{Op, Step};
use super::step::blocks;
use super::term::equal;
use super::{Env, Lowering};
use hadal_system::{Expr, LocalKind, Place, Span, Stmt, StmtKind};
use std::collections::HashMap;
use std::rc::Rc;

/// What happens at a point.
enum Point<'s> {
    Op(&'s Op, Span, usize),
    /// The first statements of the options, and where they begin.
    Choice(Vec<(&'s [Step], usize)>, Span),
    Pass(usize),
    Jump(Rc<str>),
}

#[derive(Default)]
struct Points<'s> {
    list: Vec<Point<'s>>,
    labels: HashMap<Rc<str>, usize>,
}

impl<'s> Points<'s> {
    fn push(&mut self, point: Point<'s>) -> usize {
        self.list.push(point);
        self.list.len() - 1
    }

    /// Adds a sequence, last statement first; where it begins.
    fn sequence(&mut self, steps: &'s [Step], end: usize, after_loop: usize) -> usize {
        let mut next = end;
        for step in steps.iter().rev() {
            next = match step {
                Step::Op(op, span) => self.push(Point::Op(op, *span, next)),
                Step::Break => self.push(Point::Pass(after_loop)),
                Step::Goto(name) => self.push(Point::Jump(name.clone())),
                Step::Label(name) => {
                    let here = self.push(Point::Pass(next));
                    self.labels.insert(name.clone(), here);
                    here
                }
                Step::If(options, span) => {
                    let begins = options.iter().map(|option| {
                        let at = stacker::maybe_grow(64 << 10, 1 << 20, || {
                            self.sequence(option, next, after_loop)
                        });
                        (&option[..], at)
                    });
                    let begins = begins.collect();
                    self.push(Point::Choice(begins, *span))
                }
                Step::Do(options, span) => {
                    let here = self.push(Point::Pass(0));
                    let begins = options.iter().map(|option| {
                        let at = stacker::maybe_grow(64 << 10, 1 << 20, || self.sequence(option, here, next));
                        (&option[..], at)
                    });
                    let begins = begins.collect();
                    self.list[here] = Point::Choice(begins, *span);
                    here
                }
            };
        }
        next
    }
}

/// Whether a sequence has a jump anywhere.
pub(super) fn has_jumps(steps: &[Step]) -> bool {
    steps.iter().any(|step| match step {
        Step::Goto(_) => true,
        Step::If(options, _) | Step::Do(options, _) => options.iter().any(|option| has_jumps(option)),
        _ => false,
    })
}

impl Lowering<'_> {
    /// The body of a sequence with jumps.
    pub(super) fn jumping_step(&mut self, steps: &[Step], slot: usize, env: Env) -> Vec<Stmt> {
        let mut points = Points::default();
        // Point 0 is behind the last statement.
        points.push(Point::Pass(0));
        let begin = points.sequence(steps, 0, 0);
        let shape = self.range_shape(0, points.list.len() as i64);
        let local = self.local("point", shape, LocalKind::Variable);
        let at = Place::local(local, shape, Span::default());
        let go = |to: usize| Stmt::new(StmtKind::Assign(at.clone(), Expr::constant(to as i64)), at.span);
        let mut branches = Vec::new();
        for (n, point) in points.list.iter().enumerate().skip(1) {
            let body = match point {
                Point::Pass(to) => vec![go(*to)],
                Point::Jump(name) => vec![go(points.labels.get(name).copied().unwrap_or(0))],
                Point::Op(op, span, next) => {
                    let mut body = self.checked_op(op, *span, slot, env);
                    body.push(go(*next));
                    body
                }
                Point::Choice(options, span) => {
                    let mut chosen = Vec::new();
                    let mut otherwise = vec![blocks(*span)];
                    for (option, begin) in options {
                        if let Some(Step::Op(Op::Else, _)) = option.first() {
                            otherwise = vec![go(*begin)];
                            continue;
                        }
                        chosen.push((self.first_executable(option, slot, env), vec![go(*begin)]));
                    }
                    vec![Stmt::new(StmtKind::If { branches: chosen, otherwise }, *span)]
                }
            };
            branches.push((equal(at.clone().read(), Expr::constant(n as i64)), body));
        }
        let turn = Stmt::new(StmtKind::If { branches, otherwise: Vec::new() }, at.span);
        vec![go(begin), Stmt::new(StmtKind::While(at.clone().read(), vec![turn]), at.span)]
    }
}
