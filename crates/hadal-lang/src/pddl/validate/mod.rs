//! Plans checked step by step on the lifted task. Nothing here is shared with grounder, encoding or rows.

mod derive;
mod evaluate;
mod metric;
mod show;
mod state;
mod step;
mod trajectory;

use super::ast::{Action, LiftedTask};
use super::normalise::Traits;
use super::read::read;
use super::tree::{self, Tree};
use crate::diagnostic::{Diagnostics, Refused};
use evaluate::View;
use hadal_system::Source;
use hadal_system::rows::Rational;
use state::State;

/// What became of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validation {
    /// Why it is no plan; `None` where it is one.
    pub flaw: Option<Flaw>,
    /// Steps that were applied.
    pub steps: usize,
    /// The metric in the end, or the number of steps where the problem has none; `None` for a plan with a flaw, and where
    /// the metric is undefined.
    pub metric: Option<Rational>,
    /// Preferences that are violated, by name, and how often.
    pub violated: Vec<(String, u64)>,
}

/// Why a list of steps is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The line of the plan, from 1; none where the end of the plan is at fault.
    pub line: Option<usize>,
    /// The step, from 1; none where the end of the plan is at fault.
    pub step: Option<usize>,
    /// The step as it is written.
    pub action: String,
    /// What is wrong.
    pub reason: String,
}

impl Validation {
    /// Whether it is a plan.
    pub fn is_valid(&self) -> bool {
        self.flaw.is_none()
    }
}

/// Checks a plan in the syntax of the planning competitions: a step `(name object ...)` per line, `;` before comments,
/// optionally `time:` before and `[duration]` after a step. Refuses where domain or problem cannot be read.
pub fn validate(domain: &Source, problem: &Source, plan: &str) -> Result<Validation, Refused> {
    let task = read(domain, problem)?.task;
    Ok(validate_task(&task, plan))
}

/// [`validate`] for a task that was read before.
pub fn validate_task(task: &LiftedTask, plan: &str) -> Validation {
    let text = plan.to_ascii_lowercase();
    let mut findings = Diagnostics::default();
    let trees = tree::read(&text, &mut findings);
    let source = Source::new("plan", text.as_str());
    let line_of = |span| source.locate(span).line;
    if let Some(finding) = findings.list.first() {
        let flaw = Flaw {
            line: Some(line_of(finding.span)),
            step: None,
            action: String::new(),
            reason: finding.message.clone(),
        };
        return Validation { flaw: Some(flaw), steps: 0, metric: None, violated: Vec::new() };
    }
    let mut run = Run::new(task);
    for tree in trees.iter().filter(|tree| !is_timing(tree)) {
        let action = source.slice(tree.span).split_whitespace().collect::<Vec<_>>().join(" ");
        if let Err(reason) = run.step(tree) {
            let (line, step) = (Some(line_of(tree.span)), Some(run.states.len()));
            let flaw = Flaw { line, step, action, reason };
            return Validation {
                flaw: Some(flaw),
                steps: run.states.len() - 1,
                metric: None,
                violated: Vec::new(),
            };
        }
    }
    run.finish()
}

/// Times before steps and durations behind them.
fn is_timing(tree: &Tree) -> bool {
    tree.word().is_some_and(|word| {
        word.strip_suffix(':').is_some_and(|time| time.parse::<f64>().is_ok()) || word.starts_with('[')
    })
}

/// A plan being carried out.
struct Run<'a> {
    task: &'a LiftedTask,
    counters: step::Counters,
    /// All states so far.
    states: Vec<State>,
    /// How often preferences of preconditions were violated, by name.
    violated: Vec<u64>,
}

impl<'a> Run<'a> {
    fn new(task: &'a LiftedTask) -> Self {
        let traits = Traits::of(task);
        let counters = (0..task.functions.len())
            .map(|function| !traits.read_function[function] && !traits.assigned_function[function])
            .collect();
        let mut state = State::initial(task);
        derive::derive(task, &mut state);
        Run { task, counters, states: vec![state], violated: vec![0; task.preferences.len()] }
    }

    fn last(&self) -> &State {
        // There is the initial state at least.
        &self.states[self.states.len() - 1]
    }

    fn step(&mut self, tree: &Tree) -> Result<(), String> {
        let (action, objects) = self.resolve(tree)?;
        let mut next = step::apply(self.task, self.last(), action, &objects, &self.counters)?;
        let view = View { task: self.task, state: self.last() };
        let mut objects = objects;
        for preference in metric::violations(&view, &action.precondition, &mut objects) {
            self.violated[preference as usize] += 1;
        }
        derive::derive(self.task, &mut next);
        // Earlier states matter only where constraints look back.
        if self.task.constraints.is_empty() {
            self.states.push(State::default());
            let place = self.states.len() - 2;
            self.states[place] = State::default();
            self.states[place + 1] = next;
        } else {
            self.states.push(next);
        }
        Ok(())
    }

    fn resolve(&self, tree: &Tree) -> Result<(&'a Action, Vec<u32>), String> {
        let Some(items) = tree.list() else { return Err("it is not a step `(name object ...)`".to_string()) };
        let Some(name) = tree.head() else { return Err("it has no name".to_string()) };
        let Some(action) = self.task.actions.iter().find(|action| action.name == name) else {
            return Err(format!("the domain has no action `{name}`"));
        };
        let arguments = &items[1..];
        if arguments.len() != action.parameters.len() {
            return Err(format!(
                "`{name}` takes {} objects, not {}",
                action.parameters.len(),
                arguments.len()
            ));
        }
        let universe = &self.task.universe;
        let mut objects = Vec::with_capacity(arguments.len());
        for (argument, parameter) in arguments.iter().zip(&action.parameters) {
            let word = argument.word().unwrap_or_default();
            let Some(object) = universe.objects.iter().position(|known| known == word) else {
                return Err(format!("there is no object `{word}`"));
            };
            if !universe.has[parameter.sort as usize][object] {
                return Err(format!("`{word}` is not of the type that `{name}` takes there"));
            }
            objects.push(object as u32);
        }
        Ok((action, objects))
    }

    fn finish(mut self) -> Validation {
        let task = self.task;
        let steps = self.states.len() - 1;
        let judged = trajectory::judge(task, &self.states);
        let view = View { task, state: self.last() };
        let reason = if view.is(&task.goal, true, &mut Vec::new()) {
            judged.broken
        } else {
            Some(format!("the goal is not reached: {}", step::unmet(&view, &task.goal, &mut Vec::new())))
        };
        if let Some(reason) = reason {
            let flaw = Flaw { line: None, step: None, action: String::new(), reason };
            return Validation { flaw: Some(flaw), steps, metric: None, violated: Vec::new() };
        }
        let at_end = metric::violations(&view, &task.goal, &mut Vec::new());
        for preference in judged.violated.into_iter().chain(at_end) {
            self.violated[preference as usize] += 1;
        }
        let view = View { task, state: self.last() };
        let metric = match &task.metric {
            Some(metric) => metric::value(&view, &metric.value, (&self.violated, steps, &self.counters)),
            None => Some(Rational::from_integer(steps as i128)),
        };
        let violated =
            task.preferences.iter().cloned().zip(self.violated).filter(|(_, count)| *count > 0).collect();
        Validation { flaw: None, steps, metric, violated }
    }
}
