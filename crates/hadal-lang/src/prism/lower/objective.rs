//! Questions: PRISM's properties to [`Objective`]s over propositions of the system.

use super::super::ast::{Bound, Earning, Expr, Kind, ModelKind, Op, Path, Property, Query, RewardName, Use};
use super::Lowered;
use super::names::Placed;
use crate::Diagnostics;
use hadal_system::Span;
use hadal_system::chance::{
    Amount, Asked, Averaged, Formula, Horizon, Limit, Measure, Objective, Path as Paths, Relation, Reward,
    RewardItem, Sense, Summary,
};
use hadal_system::rows::Rational;
use hadal_system::units::counted;
use std::collections::HashMap;

impl Lowered {
    /// Adds the constants, labels and formulas of a property file.
    pub fn extend(
        &mut self,
        file: &super::File,
        given: &HashMap<String, Rational>,
        diagnostics: &mut Diagnostics,
    ) {
        self.names.define(&file.constants, given, diagnostics);
        for label in &file.labels {
            self.labels.insert(label.name.clone(), label.value.clone());
        }
        for formula in &file.formulas {
            self.names.formulas.insert(formula.name.clone(), formula.value.clone());
        }
    }

    /// The labels by name, each with the number of its proposition.
    pub fn label_propositions(&mut self) -> Placed<Vec<(String, usize)>> {
        let mut labels: Vec<(String, Expr)> = self.labels.clone().into_iter().collect();
        labels.sort_by(|one, other| one.0.cmp(&other.0));
        let mut list = Vec::new();
        for (name, value) in labels {
            let condition = self.names.condition(&value)?;
            list.push((name, self.proposition(condition, value.span)));
        }
        Ok(list)
    }

    /// The question behind a property. `others` are the properties it may name.
    pub fn objective(&mut self, property: &Property, text: String, others: &[Property]) -> Placed<Objective> {
        let name = property.name.clone().unwrap_or_default();
        let mut asking = Asking { model: self, others, depth: 0 };
        let (asked, states, summary) = asking.question(&property.asks)?;
        Ok(Objective { name, text, asked, states, summary })
    }
}

pub(super) struct Asking<'a> {
    model: &'a mut Lowered,
    others: &'a [Property],
    depth: usize,
}

impl Asking<'_> {
    fn question(&mut self, expr: &Expr) -> Placed<(Asked, Formula, Summary)> {
        if let Kind::Filter(op, what, states) = &expr.kind {
            let states = match states {
                Some(states) => self.formula(states)?,
                None => Formula::Constant(true),
            };
            let summary = summary(op).ok_or_else(|| (expr.span, format!("there is no filter `{op}`")))?;
            let (asked, ..) = self.question(what)?;
            return Ok((asked, states, summary));
        }
        let (asked, filter) = match &expr.kind {
            Kind::Probability(query) => {
                let measure = Measure::Probability(self.path(&query.of)?);
                (self.used(measure, query, expr.span)?, &query.filter)
            }
            Kind::Reward(name, query) => {
                let measure = self.rewarded(name.as_ref(), &query.of, expr.span)?;
                (self.used(measure, query, expr.span)?, &query.filter)
            }
            Kind::Average(query) => {
                let measure = self.share(&query.of)?;
                (self.used(measure, query, expr.span)?, &query.filter)
            }
            _ => return Ok((Asked::Truth(self.formula(expr)?), Formula::Initial, Summary::All)),
        };
        let of_all = match &asked {
            Asked::Value(_, Sense::Least) => Summary::Least,
            Asked::Value(_, Sense::Greatest) => Summary::Greatest,
            Asked::Truth(_) => Summary::All,
        };
        let Some((states, op)) = filter else { return Ok((asked, Formula::Initial, of_all)) };
        let summary = match op {
            Some(op) => summary(op).ok_or_else(|| (expr.span, format!("there is no filter `{op}`")))?,
            None => Summary::Only,
        };
        Ok((asked, self.formula(states)?, summary))
    }

    fn used<T>(&mut self, measure: Measure, query: &Query<T>, span: Span) -> Placed<Asked> {
        match &query.used {
            Use::Value(Some(sense)) => Ok(Asked::Value(measure, *sense)),
            Use::Value(None) if self.model.kind != ModelKind::Mdp => Ok(Asked::Value(measure, Sense::Least)),
            Use::Value(None) => {
                Err((span, "in a model with choices write `min=?` or `max=?` instead of `=?`".into()))
            }
            Use::Compare(relation, bound) => Ok(Asked::Truth(self.compares(measure, *relation, bound)?)),
        }
    }

    fn compares(&mut self, measure: Measure, relation: Relation, bound: &Expr) -> Placed<Formula> {
        let value = self.model.names.term(bound)?.constant();
        let bound =
            value.ok_or_else(|| (bound.span, "a bound has to be known before the search".to_owned()))?;
        Ok(Formula::Compares { value: Box::new(measure), relation, bound })
    }

    /// A predicate on states, some of whose parts may ask for values.
    pub(super) fn formula(&mut self, expr: &Expr) -> Placed<Formula> {
        if let Some(plain) = self.plain(expr) {
            let condition = self.model.names.condition(&plain)?;
            return Ok(match condition.as_const() {
                Some(value) => Formula::Constant(value != 0),
                None => Formula::Proposition(self.model.proposition(condition, expr.span)),
            });
        }
        match &expr.kind {
            Kind::Label(name) => self.label(name, expr.span),
            Kind::Not(operand) => Ok(Formula::Not(Box::new(self.formula(operand)?))),
            Kind::Binary(op, left, right) => {
                let (left, right) = (Box::new(self.formula(left)?), Box::new(self.formula(right)?));
                match op {
                    Op::And => Ok(Formula::And(left, right)),
                    Op::Or => Ok(Formula::Or(left, right)),
                    Op::Implies => Ok(Formula::Or(Box::new(Formula::Not(left)), right)),
                    Op::Iff => {
                        let both = Formula::And(left.clone(), right.clone());
                        let neither =
                            Formula::And(Box::new(Formula::Not(left)), Box::new(Formula::Not(right)));
                        Ok(Formula::Or(Box::new(both), Box::new(neither)))
                    }
                    _ => Err((expr.span, "values cannot be compared with each other here".into())),
                }
            }
            Kind::Probability(query) => {
                let measure = Measure::Probability(self.path(&query.of)?);
                self.nested(measure, query, expr.span)
            }
            Kind::Reward(name, query) => {
                let measure = self.rewarded(name.as_ref(), &query.of, expr.span)?;
                self.nested(measure, query, expr.span)
            }
            Kind::Average(query) => {
                let measure = self.share(&query.of)?;
                self.nested(measure, query, expr.span)
            }
            Kind::Paths(some, of) => self.quantified(*some, of, expr.span),
            Kind::Path(_) => Err((expr.span, "a formula about runs needs P, E or A around it".into())),
            _ => Err((expr.span, "this question is not allowed here".into())),
        }
    }

    fn nested<T>(&mut self, measure: Measure, query: &Query<T>, span: Span) -> Placed<Formula> {
        match &query.used {
            Use::Compare(relation, bound) => self.compares(measure, *relation, bound),
            Use::Value(_) => Err((span, "inside a formula a bound such as `>=0.5` is needed".into())),
        }
    }

    fn label(&mut self, name: &str, span: Span) -> Placed<Formula> {
        match name {
            "init" => return Ok(Formula::Initial),
            "deadlock" => return Ok(Formula::Deadlock),
            _ => {}
        }
        let named = self.others.iter().find(|p| p.name.as_deref() == Some(name));
        match named {
            Some(property) if self.depth < 64 => {
                self.depth += 1;
                let formula = self.formula(&property.asks);
                self.depth -= 1;
                formula
            }
            _ => Err((span, format!("there is no label \"{name}\""))),
        }
    }

    /// The expression without labels, where it asks for no value.
    fn plain(&self, expr: &Expr) -> Option<Expr> {
        let one = |e: &Expr| self.plain(e).map(Box::new);
        let kind = match &expr.kind {
            Kind::Label(name) => return self.model.labels.get(name).cloned(),
            Kind::Not(operand) => Kind::Not(one(operand)?),
            Kind::Negate(operand) => Kind::Negate(one(operand)?),
            Kind::Binary(op, left, right) => Kind::Binary(*op, one(left)?, one(right)?),
            Kind::If(condition, then, otherwise) => Kind::If(one(condition)?, one(then)?, one(otherwise)?),
            Kind::Call(name, arguments) => {
                Kind::Call(name.clone(), arguments.iter().map(|a| self.plain(a)).collect::<Option<_>>()?)
            }
            Kind::Probability(_)
            | Kind::Reward(..)
            | Kind::Average(_)
            | Kind::Filter(..)
            | Kind::Path(_)
            | Kind::Paths(..)
            | Kind::Unsupported(_) => return None,
            other => other.clone(),
        };
        Some(Expr { kind, span: expr.span })
    }

    /// `E [ ... ]` and `A [ ... ]` where some path is one of positive probability.
    fn quantified(&mut self, some: bool, path: &Path, span: Span) -> Placed<Formula> {
        let never = |path| Formula::Compares {
            value: Box::new(Measure::Probability(path)),
            relation: Relation::AtMost,
            bound: Rational::from_integer(0),
        };
        match (some, self.path(path)?) {
            (true, path @ (Paths::Next(_) | Paths::Until(..))) => Ok(Formula::Not(Box::new(never(path)))),
            (false, Paths::Not(path)) if matches!(*path, Paths::Until(..)) => Ok(never(*path)),
            (false, Paths::Next(formula)) => Ok(never(Paths::Next(Formula::Not(Box::new(formula))))),
            _ => Err((
                span,
                "hadal answers E [ F p ], E [ p U q ], A [ G p ] and their like; write P>=1 or P>0".into(),
            )),
        }
    }

    fn path(&mut self, path: &Path) -> Placed<Paths> {
        if !path.is_simple() {
            let mut atoms = Vec::new();
            let formula = self.temporal(path, &mut atoms)?;
            return Ok(Paths::Ltl { formula, atoms });
        }
        let truth = || Formula::Constant(true);
        let not = |f: Formula| Formula::Not(Box::new(f));
        Ok(match path {
            Path::State(expr) => Paths::Until(truth(), self.formula(expr)?, Limit::Steps(0, Some(0))),
            Path::Next(of, _) => Paths::Next(self.state(of)?),
            Path::Finally(of, bounds, _) => Paths::Until(truth(), self.state(of)?, self.limit(bounds)?),
            Path::Globally(of, bounds, _) => {
                Paths::Not(Box::new(Paths::Until(truth(), not(self.state(of)?), self.limit(bounds)?)))
            }
            Path::Until(left, right, bounds, _) => {
                Paths::Until(self.state(left)?, self.state(right)?, self.limit(bounds)?)
            }
            Path::WeakUntil(left, right, bounds, _) => {
                let (left, right) = (self.state(left)?, self.state(right)?);
                let fails = Formula::And(Box::new(not(left)), Box::new(not(right.clone())));
                Paths::Not(Box::new(Paths::Until(not(right), fails, self.limit(bounds)?)))
            }
            Path::Release(left, right, bounds, _) => {
                let (left, right) = (self.state(left)?, self.state(right)?);
                Paths::Not(Box::new(Paths::Until(not(left), not(right), self.limit(bounds)?)))
            }
        })
    }

    fn state(&mut self, path: &Path) -> Placed<Formula> {
        match path {
            Path::State(expr) => self.formula(expr),
            Path::Next(_, span)
            | Path::Finally(_, _, span)
            | Path::Globally(_, _, span)
            | Path::Until(_, _, _, span)
            | Path::WeakUntil(_, _, _, span)
            | Path::Release(_, _, _, span) => Err((*span, "this has to be a formula about states".into())),
        }
    }

    pub(super) fn limit(&mut self, bounds: &[Bound]) -> Placed<Limit> {
        let bound = match bounds {
            [] => return Ok(Limit::None),
            [bound] => bound,
            [_, second, ..] => return Err((second.span, "hadal takes one bound at a time".into())),
        };
        if self.model.kind == ModelKind::Ctmc && bound.reward.is_none() {
            let mut moment = |bound: &Option<(Expr, bool)>| match bound {
                Some((expr, _)) => self.moment(expr).map(Some),
                None => Ok(None),
            };
            // At a single moment nothing happens: whether it is excluded does not matter.
            let (low, high) = (moment(&bound.low)?, moment(&bound.high)?);
            return Ok(Limit::Time(low.unwrap_or_default(), high));
        }
        let mut number = |bound: &Option<(Expr, bool)>, outward: i64| -> Placed<Option<u64>> {
            let Some((expr, strict)) = bound else { return Ok(None) };
            let value = self.model.names.number(expr)? + if *strict { outward } else { 0 };
            u64::try_from(value).map(Some).map_err(|_| (expr.span, "a bound is not negative".into()))
        };
        let (low, high) = (number(&bound.low, 1)?, number(&bound.high, -1)?);
        match &bound.reward {
            None => Ok(Limit::Steps(low.unwrap_or(0), high)),
            Some(name) => match (low, high) {
                (None, Some(high)) => Ok(Limit::Reward(self.reward(name.as_ref(), bound.span)?, high)),
                _ => Err((bound.span, "a bound on rewards is an upper one".into())),
            },
        }
    }

    /// A moment of continuous time, for which states have to say how long they last.
    fn moment(&mut self, expr: &Expr) -> Placed<Rational> {
        let value = self.model.names.term(expr)?.constant();
        let value =
            value.ok_or_else(|| (expr.span, "a bound has to be known before the search".to_owned()))?;
        if value < Rational::from_integer(0) {
            return Err((expr.span, "a bound is not negative".into()));
        }
        self.lasts(expr.span);
        Ok(value)
    }

    /// Makes how long states last a reward, in continuous time.
    fn lasts(&mut self, span: Span) {
        if self.model.kind != ModelKind::Ctmc || self.model.system.quantities.sojourn.is_some() {
            return;
        }
        let when = self.model.proposition(hadal_system::Expr::constant(1), span);
        let amount = Amount::Constant(Rational::from_integer(1));
        let items = vec![RewardItem { actions: None, when, amount, span }];
        let quantities = &mut self.model.system.quantities;
        quantities.sojourn = Some(quantities.rewards.len());
        quantities.rewards.push(Reward { name: String::new(), items });
    }

    /// The share of a long run that is spent in such states.
    fn share(&mut self, of: &Expr) -> Placed<Measure> {
        self.lasts(of.span);
        Ok(Measure::Average(Averaged::Share(self.formula(of)?)))
    }

    /// What is earned.
    fn rewarded(&mut self, name: Option<&RewardName>, of: &Earning, span: Span) -> Placed<Measure> {
        let reward = self.reward(name, span)?;
        if *of == Earning::LongRun {
            self.lasts(span);
            return Ok(Measure::Average(Averaged::Earned(reward)));
        }
        let reward = if let Earning::Instant(_) = of { self.of_states(reward) } else { reward };
        Ok(Measure::Earned(reward, self.horizon(of)?))
    }

    /// What states earn of a reward: at an instant, actions earn nothing. One that only actions earn stays as it is.
    fn of_states(&mut self, reward: usize) -> usize {
        let rewards = &mut self.model.system.quantities.rewards;
        let mut of_states = rewards[reward].clone();
        of_states.items.retain(|item| item.actions.is_none());
        if of_states.items.is_empty() || of_states.items.len() == rewards[reward].items.len() {
            return reward;
        }
        let spans = |reward: &Reward| reward.items.iter().map(|item| item.span).collect::<Vec<_>>();
        let same = |reward: &Reward| spans(reward) == spans(&of_states);
        rewards.iter().position(same).unwrap_or_else(|| {
            rewards.push(of_states);
            rewards.len() - 1
        })
    }

    fn reward(&self, name: Option<&RewardName>, span: Span) -> Placed<usize> {
        let rewards = &self.model.system.quantities.rewards[..self.model.rewards];
        match name {
            None if rewards.is_empty() => Err((span, "the model has no rewards".into())),
            None => Ok(0),
            Some(RewardName::Name(name, span)) => rewards
                .iter()
                .position(|r| r.name == *name)
                .ok_or_else(|| (*span, format!("the model has no rewards \"{name}\""))),
            Some(RewardName::Number(n, span)) => {
                usize::try_from(*n - 1).ok().filter(|&n| n < rewards.len()).ok_or_else(|| {
                    (*span, format!("the model has {}", counted(rewards.len() as u64, "reward structure")))
                })
            }
        }
    }

    fn horizon(&mut self, earning: &Earning) -> Placed<Horizon> {
        let mut steps = |expr: &Expr| -> Placed<u64> {
            let value = self.model.names.number(expr)?;
            u64::try_from(value).map_err(|_| (expr.span, "a number of steps is not negative".into()))
        };
        let timed = self.model.kind == ModelKind::Ctmc;
        Ok(match earning {
            Earning::Reach(expr) => Horizon::Reach(self.formula(expr)?),
            Earning::Cumulative(expr) if timed => Horizon::Time(self.moment(expr)?),
            Earning::Instant(expr) if timed => Horizon::Moment(self.moment(expr)?),
            Earning::Cumulative(expr) => Horizon::Steps(steps(expr)?),
            Earning::Instant(expr) => Horizon::Instant(steps(expr)?),
            Earning::Total | Earning::LongRun => Horizon::Total,
        })
    }
}

fn summary(op: &str) -> Option<Summary> {
    Some(match op {
        "min" => Summary::Least,
        "max" => Summary::Greatest,
        "sum" | "+" => Summary::Sum,
        "avg" => Summary::Mean,
        "count" => Summary::Count,
        "forall" | "&" => Summary::All,
        "exists" | "|" => Summary::Some,
        "state" => Summary::Only,
        _ => return None,
    })
}
