//! Random ground tasks, for tests: small enough to be explored, with everything that a task may have.

use crate::random::Random;
use hadal_system::rows::{
    Change, Comparison, DerivedFact, DerivedRule, Effect, FiniteVariable, Metric, Monitor, Need,
    NumberVariable, Rational, Row, RowTask, Sense, Sign, Term,
};

/// What a random task may have.
#[derive(Clone, Copy, Debug)]
pub struct Drawing {
    /// Decides everything else.
    pub seed: u64,
    /// Effects with conditions of their own.
    pub conditional: bool,
    /// Facts that follow from others.
    pub derived: bool,
    /// Numbers, compared and changed.
    pub numbers: bool,
    /// Automata that watch states.
    pub monitors: bool,
    /// The largest cost of a row; costs are drawn from zero on. `None` counts steps.
    pub largest_cost: Option<u32>,
}

/// Draws a task.
pub fn task(drawing: Drawing) -> RowTask {
    let mut dice = Random::new(drawing.seed.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(17));
    let mut task = RowTask { name: format!("drawn {}", drawing.seed), ..RowTask::default() };
    task.names.schemas = vec!["move".to_owned(), "turn".to_owned()];
    for at in 0..3 + dice.below(4) {
        let size = 1 + dice.below(4).max(1);
        task.variables.push(FiniteVariable {
            name: format!("v{at}"),
            values: (0..size).map(|value| format!("(at v{at} {value})")).collect(),
            initial: dice.below(size),
        });
    }
    if drawing.numbers {
        draw_numbers(&mut task, &mut dice);
    }
    if drawing.derived {
        draw_rules(&mut task, &mut dice);
    }
    let watched = task.variables.len() as u32;
    for row in 0..6 + dice.below(10) {
        task.names.objects.push(format!("r{row}"));
        let row = draw_row(&mut task, &mut dice, drawing, row);
        task.rows.push(row);
    }
    if drawing.monitors {
        task.variables.push(FiniteVariable {
            name: "watch".to_owned(),
            values: ["idle", "seen", "dead"].map(str::to_owned).to_vec(),
            initial: 0,
        });
        let steps = (0..2)
            .map(|from| (from, vec![draw_need(&task, &mut dice, watched)], 1 + dice.below(2)))
            .collect();
        task.monitors.push(Monitor { variable: watched, steps });
    }
    for _ in 0..1 + dice.below(3) {
        let need = draw_need(&task, &mut dice, task.variables.len() as u32);
        task.goal.push(need);
    }
    if drawing.largest_cost.is_some() {
        task.metric =
            Metric::Cost { at_end: None, offset: Rational::from_integer(0), sense: Sense::Minimise };
    }
    task
}

fn draw_need(task: &RowTask, dice: &mut Random, variables: u32) -> Need {
    if !task.comparisons.is_empty() && dice.one_in(4) {
        return Need::Compares(dice.below(task.comparisons.len() as u32));
    }
    if !task.derived.is_empty() && dice.one_in(4) {
        let fact = dice.below(task.derived.len() as u32);
        return if dice.one_in(3) { Need::NotDerived(fact) } else { Need::Derived(fact) };
    }
    draw_value(task, dice, variables)
}

fn draw_value(task: &RowTask, dice: &mut Random, variables: u32) -> Need {
    let variable = dice.below(variables);
    let value = dice.below(task.variables[variable as usize].values.len() as u32);
    if dice.one_in(6) { Need::IsNot(variable, value) } else { Need::Is(variable, value) }
}

fn draw_numbers(task: &mut RowTask, dice: &mut Random) {
    for at in 0..2u32 {
        let initial = Rational::new(i128::from(dice.below(5)), 2);
        let initial = (!dice.one_in(8)).then_some(initial);
        task.numbers.push(NumberVariable { name: format!("n{at}"), initial });
        task.terms.push(Term::Number(at));
    }
    for at in 0..3u32 {
        task.terms.push(Term::Constant(Rational::new(i128::from(at) + 1, 2)));
    }
    // 5..: n0 + c, n1 - c, n0 - n1, 3 - n0, n1 * 1/2 + ... stay within small bounds by the comparisons below.
    let constant = |dice: &mut Random| 2 + dice.below(3);
    let terms = [
        Term::Add(0, constant(dice)),
        Term::Subtract(1, constant(dice)),
        Term::Subtract(0, 1),
        Term::Subtract(4, 0),
        Term::Add(1, constant(dice)),
        Term::Subtract(3, 1),
    ];
    task.terms.extend(terms);
    for (term, sign) in [
        (7, Sign::Positive),
        (8, Sign::NotNegative),
        (10, Sign::NotNegative),
        (6, Sign::NotNegative),
        (7, Sign::Zero),
    ] {
        task.comparisons.push(Comparison { term, sign });
    }
}

fn draw_rules(task: &mut RowTask, dice: &mut Random) {
    let variables = task.variables.len() as u32;
    for at in 0..4u32 {
        task.derived.push(DerivedFact { name: format!("d{at}"), stratum: at / 2 });
    }
    for _ in 0..7 {
        let head = dice.below(4);
        let stratum = head / 2;
        let mut body = vec![draw_value(task, dice, variables)];
        if dice.one_in(2) {
            body.push(Need::Derived(dice.below(2 * stratum + 2)));
        }
        if stratum > 0 && dice.one_in(2) {
            body.push(Need::NotDerived(dice.below(2)));
        }
        task.rules.push(DerivedRule { head, body });
    }
}

fn draw_row(task: &mut RowTask, dice: &mut Random, drawing: Drawing, number: u32) -> Row {
    let variables = task.variables.len() as u32;
    let mut row = Row { schema: dice.below(2), arguments: vec![number], ..Row::default() };
    for _ in 0..1 + dice.below(3) {
        let need = draw_need(task, dice, variables);
        row.needs.push(need);
    }
    for _ in 0..1 + dice.below(3) {
        let when = match drawing.conditional && dice.one_in(2) {
            true => (0..1 + dice.below(2)).map(|_| draw_need(task, dice, variables)).collect(),
            false => Vec::new(),
        };
        let variable = dice.below(variables);
        let value = dice.below(task.variables[variable as usize].values.len() as u32);
        row.effects.push(Effect { when, change: Change::Set(variable, value) });
    }
    if drawing.numbers && dice.one_in(2) {
        // Guarded, so that numbers stay small: n0 grows while 3/2 - n0 >= 0, n1 shrinks while it is positive.
        let (guard, number, term) = [(1, 0, 5), (3, 1, 6), (2, 1, 9)][dice.below(3) as usize];
        row.needs.push(Need::Compares(guard));
        let change = match (number, dice.one_in(2)) {
            (0, true) => Change::Increase(0, 2),
            _ => Change::Assign(number, term),
        };
        row.effects.push(Effect { when: Vec::new(), change });
    }
    if let Some(largest) = drawing.largest_cost {
        task.terms.push(Term::Constant(Rational::from_integer(i128::from(dice.below(largest + 1)))));
        row.cost = Some(task.terms.len() as u32 - 1);
    }
    row
}
