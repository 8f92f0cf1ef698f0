//! The response time of states: how long they may last at most, from entering them to leaving them.
//!
//! A clock that every step outside these states sets to zero measures the stay; the longest one is the least bound that the
//! clock cannot exceed there, found by asking about larger bounds and then about those between.

use super::{TimedCheck, zones};
use crate::error::CheckError;
use crate::options::Options;
use crate::timed::Deadlocks;
use hadal_exec::zones::{ZoneError, ZoneSpace};
use hadal_search::{DeadlockNotion, Question, Verdict, ViolationKind};
use hadal_system::timed::{Bound, ClockRef, Moment, Reset, Strictness, TimedSystem};
use hadal_system::{Expr, ExprKind, Span, UnaryOp};

/// The longest stay that is looked for.
const LONGEST: i64 = 1 << 20;

/// How long states last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// No such state is reachable.
    Unreachable,
    /// As long as this, and no longer.
    AtMost(i64),
    /// Nearly as long as this.
    LessThan(i64),
    /// Longer than this, perhaps for ever.
    MoreThan(i64),
}

impl std::fmt::Display for Response {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Response::Unreachable => write!(f, "none (no such state is reachable)"),
            Response::AtMost(time) => write!(f, "{time}"),
            Response::LessThan(time) => write!(f, "less than {time}, as near to it as one likes"),
            Response::MoreThan(time) => write!(f, "more than {time}, perhaps without end"),
        }
    }
}

/// Why the response time is not known.
#[derive(Debug, thiserror::Error)]
pub enum ResponseError {
    /// The model has no zone graph.
    #[error(transparent)]
    Zones(#[from] ZoneError),
    /// The question makes no sense, or a search ended before it knew.
    #[error(transparent)]
    Check(#[from] CheckError),
}

/// How long the states of the goal `goal` last at most.
pub fn response(timed: &TimedSystem, goal: usize, options: &Options) -> Result<Response, ResponseError> {
    let question = |what: &str| ResponseError::Check(CheckError::Question(what.into()));
    let formula = timed.formulas.get(goal).and_then(Option::as_ref);
    let clauses = formula.map(|formula| formula.clauses.as_slice()).unwrap_or_default();
    if clauses.is_empty() || clauses.iter().any(|it| it.going_on.is_some() || !it.bounds.is_empty()) {
        return Err(question(
            "--response-time is about states given by locations and variables, not by clocks",
        ));
    }
    let mut measured = timed.clone();
    measured.clocks.push("response".into());
    let clock = ClockRef::One(measured.clocks.len() as u32);
    let outside = clauses
        .iter()
        .map(|it| Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(it.when.clone())), it.when.span));
    let outside = Expr::all(outside);
    for timing in &mut measured.timing {
        timing.resets.push(Reset {
            when: Some(outside.clone()),
            clock: clock.clone(),
            from: ClockRef::Zero,
            value: Expr::constant(0),
            moment: Moment::Before,
        });
    }
    let search = Measured { timed: measured, goal, clock, options };
    if !search.lasts(0, Strictness::Weak)? {
        return Ok(Response::Unreachable);
    }
    // Longer than `long`, not longer than `short`.
    let (mut long, mut short) = (-1, 1);
    while search.lasts(short, Strictness::Strict)? {
        long = short;
        if short >= LONGEST {
            return Ok(Response::MoreThan(short));
        }
        short *= 4;
    }
    while short - long > 1 {
        let between = long + (short - long) / 2;
        match search.lasts(between, Strictness::Strict)? {
            true => long = between,
            false => short = between,
        }
    }
    match search.lasts(short, Strictness::Weak)? {
        true => Ok(Response::AtMost(short)),
        false => Ok(Response::LessThan(short)),
    }
}

struct Measured<'o> {
    timed: TimedSystem,
    goal: usize,
    clock: ClockRef,
    options: &'o Options,
}

impl Measured<'_> {
    /// Whether a stay may last so long, or longer.
    fn lasts(&self, time: i64, strictness: Strictness) -> Result<bool, ResponseError> {
        let mut timed = self.timed.clone();
        if let Some(formula) = &mut timed.formulas[self.goal] {
            for clause in &mut formula.clauses {
                clause.bounds.push(Bound {
                    when: None,
                    left: ClockRef::Zero,
                    minus: self.clock.clone(),
                    strictness,
                    value: Expr::constant(-time),
                    span: Span::default(),
                });
            }
        }
        let mut asked = vec![false; timed.system.properties.len()];
        asked[self.goal] = true;
        let options = zones(self.options, &asked, Deadlocks::NotAsked, None)?;
        let space = ZoneSpace::new(timed, options)?;
        let question = Question { deadlock: DeadlockNotion::Off, asked };
        let outcome = TimedCheck::of(&space, question, self.options.clone()).begin()?.finish()?;
        match outcome.report.verdict {
            Verdict::Holds => Ok(false),
            Verdict::Violated(found) => match found.kind {
                ViolationKind::Goal(_) | ViolationKind::Invariant(_) => Ok(true),
                _ => Err(CheckError::Question(
                    "an error of the model comes before: check without --response-time".into(),
                )
                .into()),
            },
            Verdict::Stopped(_) => {
                Err(CheckError::Question("a limit was met before the response time was known".into()).into())
            }
        }
    }
}
