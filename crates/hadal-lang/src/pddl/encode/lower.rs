//! Writes the rows, rules, goal and metric over variables.

use super::effects::{effects_of, needs_of};
use super::numbers::Numbers;
use super::soft::SoftWriter;
use super::variables::{Place, Variables, atom_name};
use crate::pddl::SoftGoals;
use crate::pddl::ground::{GroundTask, Join, RowError};
use hadal_system::rows::{
    DerivedFact, DerivedRule, FiniteVariable, Metric, Names, Need, Rational, Row, RowTask, Sense,
};

/// Rows between two looks at the budget.
const LOOK_EVERY: usize = 1 << 10;

/// The task over variables.
pub(crate) fn lower(task: &GroundTask, variables: &Variables, goals: SoftGoals) -> Result<RowTask, RowError> {
    let mut numbers = Numbers::of(task, variables)?;
    let ast = task.builder.task;
    let mut out = RowTask {
        name: ast.name.clone(),
        variables: variables.describe(task),
        names: Names {
            schemas: ast.actions.iter().map(|action| action.name.clone()).collect(),
            objects: ast.universe.objects.clone(),
        },
        ..RowTask::default()
    };
    out.rows.reserve(task.rows.len());
    let mut bytes = 0;
    for (number, row) in task.rows.iter().enumerate() {
        if number % LOOK_EVERY == LOOK_EVERY - 1 {
            task.builder.facts.has_room(task.builder.row_bytes + bytes).map_err(RowError::Excess)?;
        }
        let Some(needs) = needs_of(&row.needs, variables).and_then(|needs| numbers.needs(needs)) else {
            continue;
        };
        let mut effects = effects_of(&row.effects, &needs, variables);
        if !numbers.effects(&mut effects)? {
            continue;
        }
        if effects.is_empty() {
            continue;
        }
        let cost = match row.cost {
            Some(cost) => Some(numbers.term(cost).ok_or(RowError::Overflow)?),
            None => None,
        };
        let (schema, arguments, hidden) = (row.schema, row.arguments.clone(), row.hidden);
        let row = Row { schema, arguments, needs, effects, cost, hidden };
        bytes += row.bytes();
        out.rows.push(row);
    }
    let unreachable = |out: &mut RowTask| {
        out.variables.push(FiniteVariable {
            name: "(goal)".to_string(),
            values: vec!["out of reach".to_string(), "reached".to_string()],
            initial: 0,
        });
        vec![Need::Is(out.variables.len() as u32 - 1, 1)]
    };
    let goal = task.goal.as_ref().and_then(|goal| needs_of(goal, variables));
    out.goal = match goal.and_then(|goal| numbers.needs(goal)) {
        Some(goal) => goal,
        None => unreachable(&mut out),
    };
    derive(task, variables, &mut numbers, &mut out);
    let at_end = |term: u32| numbers.term(term).ok_or(RowError::Overflow);
    out.metric = match task.metric {
        Metric::Steps => Metric::Steps,
        Metric::Cost { at_end: Some(term), offset, sense } => {
            Metric::Cost { at_end: Some(at_end(term)?), offset, sense }
        }
        Metric::Cost { at_end: None, offset, sense } => Metric::Cost { at_end: None, offset, sense },
        Metric::Minimise(term) => Metric::Minimise(at_end(term)?),
        Metric::Maximise(term) => Metric::Maximise(at_end(term)?),
    };
    SoftWriter { task, variables, numbers: &mut numbers, out: &mut out, first: 0 }.write(goals)?;
    read_at_end(&mut numbers, &mut out)?;
    numbers.finish(task, &mut out);
    Ok(out)
}

/// A metric to which no step adds is one that is read in the last state.
fn read_at_end(numbers: &mut Numbers, out: &mut RowTask) -> Result<(), RowError> {
    let Metric::Cost { at_end: Some(term), offset, sense } = out.metric else { return Ok(()) };
    let zero = numbers.constant(Rational::from_integer(0));
    if out.rows.iter().any(|row| row.cost.is_some_and(|cost| cost != zero)) {
        return Ok(());
    }
    out.rows.iter_mut().for_each(|row| row.cost = None);
    let offset = numbers.constant(offset);
    out.metric = match sense {
        Sense::Minimise => Metric::Minimise(numbers.join(Join::Add, offset, term)?),
        Sense::Maximise => Metric::Maximise(numbers.join(Join::Subtract, offset, term)?),
    };
    Ok(())
}

/// Derived facts and their rules, by strata.
fn derive(task: &GroundTask, variables: &Variables, numbers: &mut Numbers, out: &mut RowTask) {
    for (atom, place) in variables.place.iter().enumerate() {
        if let Place::Derived(_) = place {
            out.derived.push(DerivedFact { name: atom_name(task, atom as u32), stratum: 0 });
        }
    }
    for (head, body) in &task.rules {
        let Place::Derived(head) = variables.place[*head as usize] else { continue };
        if let Some(body) = needs_of(body, variables).and_then(|body| numbers.needs(body)) {
            out.rules.push(DerivedRule { head, body });
        }
    }
    // Rules are stratified by predicate (the reader checks it), so this ends.
    let mut changed = true;
    while changed {
        changed = false;
        for rule in &out.rules {
            let wanted = rule.body.iter().map(|need| match need {
                Need::Derived(fact) => out.derived[*fact as usize].stratum,
                Need::NotDerived(fact) => out.derived[*fact as usize].stratum + 1,
                _ => 0,
            });
            let wanted = wanted.max().unwrap_or(0);
            let head = &mut out.derived[rule.head as usize];
            if head.stratum < wanted {
                head.stratum = wanted;
                changed = true;
            }
        }
    }
    out.rules.sort_by_key(|rule| (out.derived[rule.head as usize].stratum, rule.head));
}
