//! PPDDL (Younes, Littman 2004): effects left to chance become one schema per outcome, so that the grounder needs to know
//! nothing of them; outcomes of the same instance are put together again by their numbers.
//!
//! Probabilistic effects that stand side by side are independent draws; nested ones multiply; under `when` the draw matters
//! only where the condition holds. An initial state left to chance is drawn by a first action. What outcomes cost is written
//! down beside them: what `total-cost` grows and `reward` shrinks by.

use super::ast::{
    Action, Atom, Effect, Formula, Init, LiftedTask, Number, Operator, Symbol, Term, Update, Variable,
};
use super::{Options, Read, encode, explain, ground, normalise, read, refuse};
use crate::diagnostic::{Diagnostic, Refused};
use hadal_system::rows::{Rational, RowTask};
use hadal_system::{Source, Span};
use num_traits::{CheckedAdd, CheckedMul, Zero};
use std::collections::HashMap;

/// More outcomes of one schema than this are refused.
const MAX_OUTCOMES: usize = 4096;

/// A ground task whose rows are outcomes.
#[derive(Clone, Debug)]
pub struct Chances {
    /// One row per outcome of a ground action. Outcomes that change nothing may be missing.
    pub task: RowTask,
    /// By row: which ground action it is an outcome of, and which outcome.
    pub outcome_of: Vec<(u32, u32)>,
    /// By ground action: how likely each of its outcomes is.
    pub weights: Vec<Vec<Rational>>,
    /// By ground action: how many steps it is; 0 for the draw of the initial state.
    pub steps: Vec<Rational>,
    /// By ground action: what it costs on average; `None` where costs depend on the state or something is gained.
    pub costs: Option<Vec<Rational>>,
    /// What the reader may want to know, each with the text it is about.
    pub warnings: Vec<(Source, Diagnostic)>,
}

/// The domain and the problem of one text that has both.
pub fn split(both: &Source) -> Option<(Source, Source)> {
    let lower = both.text.to_ascii_lowercase();
    let at = lower.rfind("(define").filter(|&at| lower[at..].contains("(problem"))?;
    lower[..at].find("(domain")?;
    let part = |text: &str| Source::new(&*both.name, text);
    Some((part(&both.text[..at]), part(&both.text[at..])))
}

/// Reads and grounds a domain and a problem whose effects may be left to chance.
pub fn load_chances(domain: Source, problem: Source, options: Options) -> Result<Chances, Refused> {
    let Read { mut task, warnings, .. } = read(&domain, &problem)?;
    let drawn = !task.init.draws.is_empty();
    if drawn && !draw_first(&mut task) {
        let message = "numbers that are left to chance at the start are not supported";
        return Err(refuse(&problem, Diagnostic::error(Span::default(), message)));
    }
    // What is asked is the goal: neither metric nor rewards bear on it.
    task.metric = None;
    task.goal_reward = None;
    let mut actions = Vec::new();
    // By new schema: the schema it comes from, which outcome it is, and how likely.
    let mut of: Vec<(u32, u32)> = Vec::new();
    let mut weights: Vec<Vec<Rational>> = Vec::new();
    let mut costs: Vec<Option<Rational>> = Vec::new();
    for (number, action) in task.actions.iter().enumerate() {
        let outcomes = outcomes(&task, &action.effect).ok_or_else(|| {
            let message = format!("this action has more than {MAX_OUTCOMES} outcomes");
            refuse(&domain, Diagnostic::error(action.span, message))
        })?;
        costs.push(mean_cost(&task, &outcomes));
        weights.push(outcomes.iter().map(|o| o.0).collect());
        for (n, (_, effect)) in outcomes.into_iter().enumerate() {
            let effect = without_rewards(&task, &effect);
            of.push((number as u32, n as u32));
            actions.push(Action { effect, ..action.clone() });
        }
    }
    let first = drawn.then(|| task.actions.len() as u32 - 1);
    task.actions = actions;
    let traits = normalise::Traits::of(&task);
    let grounded = ground::ground(&task, &traits, options.budget())
        .map_err(|error| explain(error, &domain, &problem))?;
    let task = encode::encode(grounded, options.soft, encode::Rows::All)
        .map_err(|error| explain(error, &domain, &problem))?;
    let mut instances: HashMap<(u32, Vec<u32>), u32> = HashMap::new();
    let mut outcome_of = Vec::with_capacity(task.rows.len());
    let (mut of_instance, mut steps, mut of_cost) = (Vec::new(), Vec::new(), Vec::new());
    for row in &task.rows {
        let (schema, outcome) = of.get(row.schema as usize).copied().unwrap_or((0, 0));
        let next = instances.len() as u32;
        let instance = *instances.entry((schema, row.arguments.clone())).or_insert(next);
        if instance == next {
            of_instance.push(weights[schema as usize].clone());
            steps.push(Rational::from_integer(i128::from(Some(schema) != first)));
            of_cost.push(costs[schema as usize]);
        }
        outcome_of.push((instance, outcome));
    }
    let costs = of_cost.into_iter().collect();
    Ok(Chances { task, outcome_of, weights: of_instance, steps, costs, warnings })
}

/// Leaves the initial state to a first action, which alone is possible at the start; whether that can be said.
fn draw_first(task: &mut LiftedTask) -> bool {
    fn effect(init: &Init) -> Option<Effect> {
        if !init.values.is_empty() {
            return None;
        }
        let add = |(symbol, objects): &(u32, Vec<u32>)| {
            let terms = objects.iter().map(|&object| Term::Object(object)).collect();
            Effect::Add(Atom { symbol: *symbol, terms })
        };
        let mut list: Vec<Effect> = init.atoms.iter().map(add).collect();
        for draw in &init.draws {
            let drawn = draw.iter().map(|(p, init)| Some((*p, effect(init)?)));
            list.push(Effect::Probabilistic(drawn.collect::<Option<_>>()?));
        }
        Some(Effect::And(list))
    }
    let begun = Atom { symbol: task.predicates.len() as u32, terms: Vec::new() };
    let draws = Init { draws: std::mem::take(&mut task.init.draws), ..Init::default() };
    let Some(drawn) = effect(&draws) else { return false };
    task.predicates.push(Symbol { name: "(begun)".into(), sorts: Vec::new(), derived: false });
    let after = |formula: &mut Formula| {
        let old = std::mem::take(formula);
        *formula = Formula::And(vec![Formula::Atom(begun.clone()), old]);
    };
    task.actions.iter_mut().for_each(|action| after(&mut action.precondition));
    after(&mut task.goal);
    task.actions.push(Action {
        name: "begin".into(),
        span: Span::default(),
        parameters: Vec::new(),
        precondition: Formula::Not(Box::new(Formula::Atom(begun.clone()))),
        effect: Effect::And(vec![Effect::Add(begun), drawn]),
    });
    true
}

/// What an action costs on average; `None` where that depends on the state, or where something is gained.
fn mean_cost(task: &LiftedTask, outcomes: &[(Rational, Effect)]) -> Option<Rational> {
    let mut mean = Rational::zero();
    for (p, effect) in outcomes {
        mean = mean.checked_add(&p.checked_mul(&cost(task, effect)?)?)?;
    }
    (mean >= Rational::zero()).then_some(mean)
}

/// What one outcome costs.
fn cost(task: &LiftedTask, effect: &Effect) -> Option<Rational> {
    match effect {
        Effect::And(list) => {
            list.iter().try_fold(Rational::zero(), |sum, e| sum.checked_add(&cost(task, e)?))
        }
        Effect::Forall(_, inner) | Effect::When(_, inner) => {
            // Nothing is counted as often as it holds.
            cost(task, inner).filter(Rational::is_zero)
        }
        Effect::Probabilistic(_) => None,
        Effect::Add(_) | Effect::Delete(_) => Some(Rational::zero()),
        Effect::Update(update) => {
            let name = task.functions.get(update.target.symbol as usize).map(|f| f.name.as_str());
            let sign = match (name, update.operator) {
                (Some("total-cost"), Operator::Increase) | (Some("reward"), Operator::Decrease) => 1,
                (Some("total-cost"), Operator::Decrease) | (Some("reward"), Operator::Increase) => -1,
                (Some("total-cost" | "reward"), _) => return None,
                _ => return Some(Rational::zero()),
            };
            match &update.value {
                Number::Constant(value) => Some(value * Rational::from_integer(sign)),
                _ => None,
            }
        }
    }
}

/// The effect without what it earns.
fn without_rewards(task: &LiftedTask, effect: &Effect) -> Effect {
    let nothing = || Effect::And(Vec::new());
    match effect {
        Effect::And(list) => Effect::And(list.iter().map(|e| without_rewards(task, e)).collect()),
        Effect::Forall(variables, e) => Effect::Forall(variables.clone(), Box::new(without_rewards(task, e))),
        Effect::When(condition, e) => Effect::When(condition.clone(), Box::new(without_rewards(task, e))),
        Effect::Probabilistic(list) => {
            Effect::Probabilistic(list.iter().map(|(p, e)| (*p, without_rewards(task, e))).collect())
        }
        Effect::Update(update) => match task.functions.get(update.target.symbol as usize) {
            Some(function) if function.name == "reward" => nothing(),
            _ => effect.clone(),
        },
        Effect::Add(_) | Effect::Delete(_) => effect.clone(),
    }
}

/// Every way the effect may turn out; `None` where there are too many.
fn outcomes(task: &LiftedTask, effect: &Effect) -> Option<Vec<(Rational, Effect)>> {
    let one = Rational::from_integer(1);
    Some(match effect {
        Effect::And(list) => product(list.iter().map(|e| outcomes(task, e)))?,
        Effect::When(condition, inner) => outcomes(task, inner)?
            .into_iter()
            .map(|(p, e)| (p, Effect::When(condition.clone(), Box::new(e))))
            .collect(),
        Effect::Forall(variables, inner) => {
            if !is_chancy(inner) {
                return Some(vec![(one, effect.clone())]);
            }
            let Some(first) = variables.first().map(|v| v.slot) else { return outcomes(task, inner) };
            let mut bindings = vec![Binding { first, objects: Vec::new() }];
            for variable in variables {
                let members = task.universe.members.get(variable.sort as usize)?;
                let mut more = Vec::new();
                for binding in &bindings {
                    for &object in members {
                        let mut next = binding.clone();
                        next.objects.push(object);
                        more.push(next);
                    }
                }
                bindings = more;
            }
            product(bindings.iter().map(|binding| outcomes(task, &bound_effect(inner, binding))))?
        }
        Effect::Probabilistic(list) => {
            let mut all = Vec::new();
            let mut left = one;
            for (p, inner) in list {
                left -= p;
                for (q, e) in outcomes(task, inner)? {
                    all.push((p.checked_mul(&q)?, e));
                }
            }
            if !left.is_zero() {
                all.push((left, Effect::And(Vec::new())));
            }
            all.retain(|(p, _)| !p.is_zero());
            all
        }
        Effect::Add(_) | Effect::Delete(_) | Effect::Update(_) => vec![(one, effect.clone())],
    })
}

/// Independent draws side by side.
fn product(parts: impl Iterator<Item = Option<Vec<(Rational, Effect)>>>) -> Option<Vec<(Rational, Effect)>> {
    let mut all = vec![(Rational::from_integer(1), Vec::new())];
    for part in parts {
        let part = part?;
        if all.len().checked_mul(part.len())? > MAX_OUTCOMES {
            return None;
        }
        let mut more = Vec::with_capacity(all.len() * part.len());
        for (p, done) in &all {
            for (q, e) in &part {
                let mut together: Vec<Effect> = done.clone();
                together.push(e.clone());
                more.push((p.checked_mul(q)?, together));
            }
        }
        all = more;
    }
    Some(all.into_iter().map(|(p, list)| (p, Effect::And(list))).collect())
}

fn is_chancy(effect: &Effect) -> bool {
    match effect {
        Effect::And(list) => list.iter().any(is_chancy),
        Effect::Forall(_, inner) | Effect::When(_, inner) => is_chancy(inner),
        Effect::Probabilistic(_) => true,
        Effect::Add(_) | Effect::Delete(_) | Effect::Update(_) => false,
    }
}

/// Objects for the variables of one quantifier. Slots count the variables around a place: where the quantifier goes, those
/// inside it move up.
#[derive(Clone)]
struct Binding {
    first: u32,
    objects: Vec<u32>,
}

impl Binding {
    fn slot(&self, slot: u32) -> u32 {
        let own = self.objects.len() as u32;
        if slot >= self.first + own { slot - own } else { slot }
    }

    fn variables(&self, variables: &[Variable]) -> Vec<Variable> {
        variables.iter().map(|v| Variable { slot: self.slot(v.slot), ..v.clone() }).collect()
    }
}

fn bound_term(term: &Term, binding: &Binding) -> Term {
    match term {
        Term::Variable(slot) => {
            let at = slot.checked_sub(binding.first).and_then(|at| binding.objects.get(at as usize));
            at.map_or(Term::Variable(binding.slot(*slot)), |&object| Term::Object(object))
        }
        Term::Object(_) => *term,
    }
}

fn bound_atom(atom: &Atom, binding: &Binding) -> Atom {
    Atom { symbol: atom.symbol, terms: atom.terms.iter().map(|t| bound_term(t, binding)).collect() }
}

fn bound_formula(formula: &Formula, binding: &Binding) -> Formula {
    let one = |f: &Formula| Box::new(bound_formula(f, binding));
    let all = |list: &[Formula]| list.iter().map(|f| bound_formula(f, binding)).collect();
    let kept = |variables: &Vec<Variable>| binding.variables(variables);
    match formula {
        Formula::Constant(_) => formula.clone(),
        Formula::Atom(atom) => Formula::Atom(bound_atom(atom, binding)),
        Formula::Equal(l, r) => Formula::Equal(bound_term(l, binding), bound_term(r, binding)),
        Formula::Compare(how, l, r) => {
            Formula::Compare(*how, Box::new(bound_number(l, binding)), Box::new(bound_number(r, binding)))
        }
        Formula::Not(f) => Formula::Not(one(f)),
        Formula::And(list) => Formula::And(all(list)),
        Formula::Or(list) => Formula::Or(all(list)),
        Formula::Exists(variables, f) => Formula::Exists(kept(variables), one(f)),
        Formula::Forall(variables, f) => Formula::Forall(kept(variables), one(f)),
        Formula::Preference(name, f) => Formula::Preference(*name, one(f)),
    }
}

fn bound_number(number: &Number, binding: &Binding) -> Number {
    let one = |n: &Number| Box::new(bound_number(n, binding));
    let all = |list: &[Number]| list.iter().map(|n| bound_number(n, binding)).collect();
    match number {
        Number::Fluent(atom) => Number::Fluent(bound_atom(atom, binding)),
        Number::Add(list) => Number::Add(all(list)),
        Number::Multiply(list) => Number::Multiply(all(list)),
        Number::Subtract(l, r) => Number::Subtract(one(l), one(r)),
        Number::Divide(l, r) => Number::Divide(one(l), one(r)),
        Number::Constant(_) | Number::Violated(_) | Number::TotalTime | Number::GoalAchieved => {
            number.clone()
        }
    }
}

fn bound_effect(effect: &Effect, binding: &Binding) -> Effect {
    let one = |e: &Effect| Box::new(bound_effect(e, binding));
    match effect {
        Effect::And(list) => Effect::And(list.iter().map(|e| bound_effect(e, binding)).collect()),
        Effect::Forall(variables, e) => Effect::Forall(binding.variables(variables), one(e)),
        Effect::When(condition, e) => Effect::When(bound_formula(condition, binding), one(e)),
        Effect::Add(atom) => Effect::Add(bound_atom(atom, binding)),
        Effect::Delete(atom) => Effect::Delete(bound_atom(atom, binding)),
        Effect::Update(update) => Effect::Update(Update {
            target: bound_atom(&update.target, binding),
            value: bound_number(&update.value, binding),
            ..update.clone()
        }),
        Effect::Probabilistic(list) => {
            Effect::Probabilistic(list.iter().map(|(p, e)| (*p, bound_effect(e, binding))).collect())
        }
    }
}
