//! Drops what has no way to goal or metric: variables, numbers, derived facts, and rows that change nothing else.

use hadal_system::rows::{Change, Effect, Metric, Need, RowTask, Term};

/// What a goal or metric may depend on.
struct Relevant {
    variables: Vec<bool>,
    numbers: Vec<bool>,
    derived: Vec<bool>,
    terms: Vec<bool>,
    grew: bool,
}

/// Drops what is irrelevant; returns the new number of each variable, `u32::MAX` where it is gone.
pub(crate) fn drop_irrelevant(task: &mut RowTask) -> Vec<u32> {
    let relevant = Relevant::of(task);
    task.rows.retain_mut(|row| {
        row.effects.retain(|effect| relevant.changes(effect));
        !row.effects.is_empty()
    });
    task.rules.retain(|rule| relevant.derived[rule.head as usize]);
    task.monitors.retain(|monitor| relevant.variables[monitor.variable as usize]);
    let variables = places(&relevant.variables);
    let derived = places(&relevant.derived);
    let numbers = places(&relevant.numbers);
    // Comparisons that only dropped rows and rules named are left alone where their numbers are kept.
    let mut comparisons = vec![u32::MAX; task.comparisons.len()];
    let mut kept = Vec::new();
    for (number, comparison) in task.comparisons.iter().enumerate() {
        if relevant.terms[comparison.term as usize] {
            comparisons[number] = kept.len() as u32;
            kept.push(*comparison);
        }
    }
    task.comparisons = kept;
    let mend = |need: &mut Need| match need {
        Need::Is(variable, _) | Need::IsNot(variable, _) => *variable = variables[*variable as usize],
        Need::Derived(fact) | Need::NotDerived(fact) => *fact = derived[*fact as usize],
        Need::Compares(number) => *number = comparisons[*number as usize],
    };
    for row in &mut task.rows {
        row.needs.iter_mut().for_each(mend);
        for effect in &mut row.effects {
            effect.when.iter_mut().for_each(mend);
            match &mut effect.change {
                Change::Set(variable, _) => *variable = variables[*variable as usize],
                Change::Assign(number, _) | Change::Increase(number, _) => {
                    *number = numbers[*number as usize]
                }
            }
        }
    }
    for rule in &mut task.rules {
        rule.head = derived[rule.head as usize];
        rule.body.iter_mut().for_each(mend);
    }
    for monitor in &mut task.monitors {
        monitor.variable = variables[monitor.variable as usize];
        monitor.steps.iter_mut().for_each(|(_, needs, _)| needs.iter_mut().for_each(mend));
    }
    task.goal.iter_mut().for_each(mend);
    for (number, term) in task.terms.iter_mut().enumerate() {
        match term {
            // Nothing reads these any more.
            _ if !relevant.terms[number] => *term = Term::Constant(0.into()),
            Term::Number(number) => *number = numbers[*number as usize],
            Term::Holds(need) => mend(need),
            _ => {}
        }
    }
    keep(&mut task.variables, &relevant.variables);
    keep(&mut task.numbers, &relevant.numbers);
    keep(&mut task.derived, &relevant.derived);
    variables
}

fn keep<T>(list: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    list.retain(|_| kept.next() == Some(&true));
}

/// New numbers of what is kept.
fn places(kept: &[bool]) -> Vec<u32> {
    let mut next = 0;
    kept.iter()
        .map(|&kept| {
            let place = if kept { next } else { u32::MAX };
            next += u32::from(kept);
            place
        })
        .collect()
}

impl Relevant {
    fn of(task: &RowTask) -> Self {
        let mut relevant = Relevant {
            variables: vec![false; task.variables.len()],
            numbers: vec![false; task.numbers.len()],
            derived: vec![false; task.derived.len()],
            terms: vec![false; task.terms.len()],
            grew: true,
        };
        relevant.needs(task, &task.goal);
        match task.metric {
            Metric::Cost { at_end: Some(term), .. } | Metric::Minimise(term) | Metric::Maximise(term) => {
                relevant.term(task, term);
            }
            Metric::Cost { at_end: None, .. } | Metric::Steps => {}
        }
        let mut looked_at = vec![false; task.rows.len()];
        while std::mem::take(&mut relevant.grew) {
            for (row, done) in task.rows.iter().zip(&mut looked_at) {
                let mut matters = false;
                for effect in row.effects.iter().filter(|effect| relevant.changes(effect)).collect::<Vec<_>>()
                {
                    matters = true;
                    relevant.needs(task, &effect.when);
                    if let Change::Assign(_, term) | Change::Increase(_, term) = effect.change {
                        relevant.term(task, term);
                    }
                }
                if matters && !std::mem::replace(done, true) {
                    relevant.needs(task, &row.needs);
                    if let Some(cost) = row.cost {
                        relevant.term(task, cost);
                    }
                }
            }
            for rule in &task.rules {
                if relevant.derived[rule.head as usize] {
                    relevant.needs(task, &rule.body);
                }
            }
            for monitor in &task.monitors {
                if relevant.variables[monitor.variable as usize] {
                    monitor.steps.iter().for_each(|(_, needs, _)| relevant.needs(task, needs));
                }
            }
        }
        relevant
    }

    fn changes(&self, effect: &Effect) -> bool {
        match effect.change {
            Change::Set(variable, _) => self.variables[variable as usize],
            Change::Assign(number, _) | Change::Increase(number, _) => self.numbers[number as usize],
        }
    }

    fn needs(&mut self, task: &RowTask, needs: &[Need]) {
        for need in needs {
            let grown = match *need {
                Need::Is(variable, _) | Need::IsNot(variable, _) => &mut self.variables[variable as usize],
                Need::Derived(fact) | Need::NotDerived(fact) => &mut self.derived[fact as usize],
                Need::Compares(number) => {
                    self.term(task, task.comparisons[number as usize].term);
                    continue;
                }
            };
            self.grew |= !std::mem::replace(grown, true);
        }
    }

    fn term(&mut self, task: &RowTask, term: u32) {
        let mut open = vec![term];
        while let Some(term) = open.pop() {
            if std::mem::replace(&mut self.terms[term as usize], true) {
                continue;
            }
            self.grew = true;
            match task.terms[term as usize] {
                Term::Constant(_) => {}
                Term::Number(number) => self.numbers[number as usize] = true,
                Term::Holds(need) => self.needs(task, &[need]),
                Term::Add(left, right)
                | Term::Subtract(left, right)
                | Term::Multiply(left, right)
                | Term::Divide(left, right) => open.extend([left, right]),
            }
        }
    }
}
