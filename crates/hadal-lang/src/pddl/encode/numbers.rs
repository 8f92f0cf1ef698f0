//! Numbers: those that never change are constants, those that nothing reads are dropped, terms are written anew.

use super::variables::{Encoded, Variables, written};
use crate::pddl::ground::{Compared, GroundChange, GroundTask, Join, Literal, RowError, Terms};
use hadal_system::rows::{Change, Effect, Metric, Need, NumberVariable, Rational, RowTask, Term};

/// The terms of a ground task over its variables.
pub(crate) struct Numbers {
    terms: Terms,
    /// New number of an old term; `None` where it is undefined in every state.
    term: Vec<Option<u32>>,
    /// What became of an old comparison.
    comparison: Vec<Compared>,
}

impl Numbers {
    /// Writes all terms anew.
    pub(crate) fn of(task: &GroundTask, variables: &Variables) -> Result<Self, RowError> {
        let builder = &task.builder;
        let mut changes = vec![false; builder.numbers.len()];
        for effect in task.rows.iter().flat_map(|row| &row.effects) {
            if let GroundChange::Assign(number, _) | GroundChange::Increase(number, _) = effect.change {
                changes[number as usize] = true;
            }
        }
        let mut own = Numbers { terms: Terms::default(), term: Vec::new(), comparison: Vec::new() };
        let mut comparisons = builder.terms.comparisons.iter().peekable();
        for term in &builder.terms.list {
            let new = own.rewrite(*term, task, variables, &changes)?;
            own.term.push(new);
            // A term may name comparisons of earlier terms.
            while let Some(comparison) = comparisons.next_if(|next| (next.term as usize) < own.term.len()) {
                own.comparison.push(match own.term[comparison.term as usize] {
                    Some(term) => own.terms.compare(term, comparison.sign),
                    None => Compared::Decided(false),
                });
            }
        }
        Ok(own)
    }

    fn rewrite(
        &mut self,
        term: Term,
        task: &GroundTask,
        variables: &Variables,
        changes: &[bool],
    ) -> Result<Option<u32>, RowError> {
        let mut join = |how: Join, left: u32, right: u32| -> Result<Option<u32>, RowError> {
            match (self.term[left as usize], self.term[right as usize]) {
                (Some(left), Some(right)) => Ok(self.terms.join(how, left, right)?),
                _ => Ok(None),
            }
        };
        Ok(match term {
            Term::Constant(value) => Some(self.terms.constant(value)),
            Term::Number(number) if changes[number as usize] => Some(self.terms.number(number)),
            Term::Number(number) => {
                let (function, tuple) = &task.builder.numbers[number as usize];
                task.builder.facts.initial(*function, tuple).map(|value| self.terms.constant(value))
            }
            Term::Holds(need) => {
                let encoded = match need {
                    Need::Is(atom, value) => variables.encode(Literal::Atom(atom, value == 1)),
                    need => Encoded::Need(need),
                };
                Some(match encoded {
                    Encoded::Decided(value) => self.terms.constant(i128::from(value).into()),
                    Encoded::Need(Need::Compares(number)) => match self.comparison[number as usize] {
                        Compared::Decided(value) => self.terms.constant(i128::from(value).into()),
                        Compared::Open(number) => self.terms.holds(Need::Compares(number)),
                    },
                    Encoded::Need(need) => self.terms.holds(need),
                })
            }
            Term::Add(left, right) => join(Join::Add, left, right)?,
            Term::Subtract(left, right) => join(Join::Subtract, left, right)?,
            Term::Multiply(left, right) => join(Join::Multiply, left, right)?,
            Term::Divide(left, right) => join(Join::Divide, left, right)?,
        })
    }

    /// A constant.
    pub(crate) fn constant(&mut self, value: Rational) -> u32 {
        self.terms.constant(value)
    }

    /// Two terms joined.
    pub(crate) fn join(&mut self, how: Join, left: u32, right: u32) -> Result<u32, RowError> {
        self.terms.join(how, left, right)?.ok_or(RowError::Overflow)
    }

    /// `total`, plus `weight` where one of `needs` holds.
    pub(crate) fn plus_price(
        &mut self,
        total: u32,
        weight: Rational,
        needs: &[Vec<Need>],
    ) -> Result<u32, RowError> {
        let one = self.terms.constant(1.into());
        let mut none = one;
        for needs in needs {
            let mut all = one;
            for need in needs {
                let holds = self.terms.holds(*need);
                all = self.join(Join::Multiply, all, holds)?;
            }
            let not = self.join(Join::Subtract, one, all)?;
            none = self.join(Join::Multiply, none, not)?;
        }
        let some = self.join(Join::Subtract, one, none)?;
        let weight = self.terms.constant(weight);
        let price = self.join(Join::Multiply, weight, some)?;
        self.join(Join::Add, total, price)
    }

    /// A term's new number.
    pub(crate) fn term(&self, old: u32) -> Option<u32> {
        self.term[old as usize]
    }

    /// Needs with new numbers of comparisons; `None` where one is false.
    pub(crate) fn needs(&self, needs: Vec<Need>) -> Option<Vec<Need>> {
        if !needs.iter().any(|need| matches!(need, Need::Compares(_))) {
            return Some(needs);
        }
        let mut list = Vec::with_capacity(needs.len());
        for need in needs {
            match need {
                Need::Compares(number) => match self.comparison[number as usize] {
                    Compared::Decided(true) => {}
                    Compared::Decided(false) => return None,
                    Compared::Open(number) => list.push(Need::Compares(number)),
                },
                other => list.push(other),
            }
        }
        list.sort_unstable();
        list.dedup();
        Some(list)
    }

    /// Effects with new numbers of terms; false where a number that is never defined would be read.
    pub(crate) fn effects(&mut self, effects: &mut Vec<Effect>) -> Result<bool, RowError> {
        let mut defined = true;
        let undefined = effects
            .iter()
            .any(|effect| !effect.when.is_empty() && !matches!(effect.change, Change::Set(..)))
            .then(|| self.terms.undefined());
        effects.retain_mut(|effect| {
            match self.needs(std::mem::take(&mut effect.when)) {
                Some(when) => effect.when = when,
                None => return false,
            }
            if let Change::Assign(_, term) | Change::Increase(_, term) = &mut effect.change {
                match self.term[*term as usize] {
                    Some(new) => *term = new,
                    None => match undefined.filter(|_| !effect.when.is_empty()) {
                        Some(undefined) => *term = undefined,
                        None => defined = false,
                    },
                }
            }
            true
        });
        Ok(defined)
    }

    /// Drops numbers that nothing reads and writes numbers, terms and comparisons into `out`.
    pub(crate) fn finish(self, task: &GroundTask, out: &mut RowTask) {
        let builder = &task.builder;
        let mut read = vec![false; builder.numbers.len()];
        let mut open: Vec<u32> = self.terms.comparisons.iter().map(|comparison| comparison.term).collect();
        open.extend(out.rows.iter().filter_map(|row| row.cost));
        match out.metric {
            Metric::Cost { at_end: Some(term), .. } | Metric::Minimise(term) | Metric::Maximise(term) => {
                open.push(term)
            }
            Metric::Cost { at_end: None, .. } | Metric::Steps => {}
        }
        let mut seen = vec![false; self.terms.list.len()];
        while let Some(term) = open.pop() {
            if std::mem::replace(&mut seen[term as usize], true) {
                continue;
            }
            match self.terms.list[term as usize] {
                Term::Constant(_) | Term::Holds(_) => {}
                Term::Number(number) => {
                    if !std::mem::replace(&mut read[number as usize], true) {
                        // What changes it is read with it.
                        for effect in out.rows.iter().flat_map(|row| &row.effects) {
                            match effect.change {
                                Change::Assign(changed, term) | Change::Increase(changed, term)
                                    if changed == number =>
                                {
                                    open.push(term);
                                }
                                _ => {}
                            }
                        }
                    }
                }
                Term::Add(left, right)
                | Term::Subtract(left, right)
                | Term::Multiply(left, right)
                | Term::Divide(left, right) => open.extend([left, right]),
            }
        }
        let mut place = vec![u32::MAX; read.len()];
        for (number, (function, tuple)) in builder.numbers.iter().enumerate() {
            if read[number] {
                place[number] = out.numbers.len() as u32;
                out.numbers.push(NumberVariable {
                    name: written(
                        &builder.task.functions[*function as usize].name,
                        tuple,
                        &builder.task.universe.objects,
                    ),
                    initial: builder.facts.initial(*function, tuple),
                });
            }
        }
        for row in &mut out.rows {
            row.effects.retain_mut(|effect| match &mut effect.change {
                Change::Assign(number, _) | Change::Increase(number, _) => {
                    *number = place[*number as usize];
                    *number != u32::MAX
                }
                Change::Set(..) => true,
            });
        }
        out.rows.retain(|row| !row.effects.is_empty());
        out.terms = self.terms.list;
        for term in &mut out.terms {
            if let Term::Number(number) = term {
                // A term that nothing reads may keep a number that is gone.
                match place[*number as usize] {
                    u32::MAX => *term = Term::Constant(0.into()),
                    new => *number = new,
                }
            }
        }
        out.comparisons = self.terms.comparisons;
    }
}
