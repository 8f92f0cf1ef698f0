//! How far back duplicates can lie, from the rows alone (Jabbar 2008, sec. 9.5): where every row begins a sequence of at most k
//! rows that changes nothing, every step can be taken back in k - 1 steps, and duplicates lie at most k layers back.
//!
//! A sequence counts where it can always be run: what its rows need follows from what the first one needs and from what the
//! rows before made true. It changes nothing where every value that was set is one that the first row asked for. The answer
//! is a bound or nothing: that no such sequence was found proves nothing.

use hadal_exec::rows::RowSpace;
use hadal_system::rows::{Change, Need, Rational, Row, RowTask, Term};
use num_traits::Zero;
use std::collections::HashMap;

/// Every row begins a sequence that changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoOps {
    /// Rows of the longest of the sequences that were found: duplicates lie at most so many layers back.
    pub longest: u32,
    /// Whether every row is taken back by a single one of the same cost.
    pub same_cost: bool,
}

impl NoOps {
    /// Looks for sequences of at most `longest` rows, with so much work; `None` where some row has none that was found.
    pub fn of(space: &RowSpace, longest: u32, work: u64) -> Option<NoOps> {
        let task = space.task();
        if !task.monitors.is_empty() {
            return None;
        }
        let mut search = Search::new(task, work);
        let mut found = NoOps { longest: 1, same_cost: true };
        for row in 0..task.rows.len() as u32 {
            // The shortest first.
            let (length, last) = (1..=longest).find_map(|most| search.from(row, most))?;
            found.longest = found.longest.max(length);
            let cost = space.fixed_cost(row);
            found.same_cost &=
                length <= 2 && cost.is_some() && (length == 1 || space.fixed_cost(last) == cost);
        }
        Some(found)
    }
}

/// Numerators and denominators of amounts that are added up.
const SMALL: u128 = 1 << 30;

/// A value that is not known.
const UNKNOWN: u32 = u32::MAX;

struct Search<'t> {
    task: &'t RowTask,
    /// The rows that set a variable to a value, and only if so.
    setting: HashMap<(u32, u32), Vec<u32>>,
    /// The rows by one of the values that they ask for.
    asking: HashMap<(u32, u32), Vec<u32>>,
    /// What is known of the variables before the first row, and now.
    before: Vec<u32>,
    now: Vec<u32>,
    /// The variables of which something is known.
    known: Vec<u32>,
    numbers: HashMap<u32, Rational>,
    work: u64,
}

impl<'t> Search<'t> {
    fn new(task: &'t RowTask, work: u64) -> Self {
        let (mut setting, mut asking) = (HashMap::<_, Vec<u32>>::new(), HashMap::<_, Vec<u32>>::new());
        for (at, row) in (0u32..).zip(&task.rows) {
            if !is_plain(task, row) {
                continue;
            }
            let asked = row.needs.iter().find_map(|need| match *need {
                Need::Is(variable, value) => Some((variable, value)),
                _ => None,
            });
            if let Some(fact) = asked {
                asking.entry(fact).or_default().push(at);
            }
            for effect in &row.effects {
                if let Change::Set(variable, value) = effect.change {
                    setting.entry((variable, value)).or_default().push(at);
                }
            }
        }
        let unknown = vec![UNKNOWN; task.variables.len()];
        let (before, now) = (unknown.clone(), unknown);
        Search { task, setting, asking, before, now, known: Vec::new(), numbers: HashMap::new(), work }
    }

    /// A sequence of at most `most` rows that begins with this one and changes nothing: its length and its last row.
    fn from(&mut self, row: u32, most: u32) -> Option<(u32, u32)> {
        for variable in std::mem::take(&mut self.known) {
            (self.before[variable as usize], self.now[variable as usize]) = (UNKNOWN, UNKNOWN);
        }
        self.numbers.clear();
        let first = &self.task.rows[row as usize];
        if !changes_alike(self.task, first) {
            return None;
        }
        for need in &first.needs {
            if let Need::Is(variable, value) = *need {
                (self.before[variable as usize], self.now[variable as usize]) = (value, value);
                self.known.push(variable);
            }
        }
        // A value that is set without having been asked for may have been any other.
        let pinned = |effect: &hadal_system::rows::Effect| match effect.change {
            Change::Set(variable, _) => self.before[variable as usize] != UNKNOWN,
            Change::Assign(..) | Change::Increase(..) => true,
        };
        if !first.effects.iter().all(pinned) {
            return None;
        }
        self.apply(first);
        self.go_on(row, 1, most)
    }

    fn go_on(&mut self, last: u32, length: u32, most: u32) -> Option<(u32, u32)> {
        let away = self.known.iter().copied().find(|&v| self.now[v as usize] != self.before[v as usize]);
        let counted = self.numbers.values().any(|change| !change.is_zero());
        if away.is_none() && !counted {
            return Some((length, last));
        }
        if length == most {
            return None;
        }
        let candidates: Vec<u32> = match away.filter(|_| length + 1 == most) {
            // The last row must set right whatever is wrong.
            Some(variable) => {
                self.setting.get(&(variable, self.before[variable as usize])).cloned().unwrap_or_default()
            }
            None => {
                let facts = self.known.iter().map(|&variable| (variable, self.now[variable as usize]));
                facts.flat_map(|fact| self.asking.get(&fact).into_iter().flatten().copied()).collect()
            }
        };
        for row in candidates {
            self.work = self.work.checked_sub(1)?;
            let tried = &self.task.rows[row as usize];
            let pinned = tried.effects.iter().all(|effect| match effect.change {
                Change::Set(variable, _) => self.before[variable as usize] != UNKNOWN,
                Change::Assign(..) | Change::Increase(..) => true,
            });
            if !pinned || !self.follows(&tried.needs) {
                continue;
            }
            let (now, numbers) =
                (self.known.iter().map(|&v| self.now[v as usize]).collect::<Vec<_>>(), self.numbers.clone());
            self.apply(tried);
            if let Some(found) = self.go_on(row, length + 1, most) {
                return Some(found);
            }
            for (at, value) in now.into_iter().enumerate() {
                self.now[self.known[at] as usize] = value;
            }
            self.numbers = numbers;
        }
        None
    }

    fn follows(&self, needs: &[Need]) -> bool {
        needs.iter().all(|need| match *need {
            Need::Is(variable, value) => self.now[variable as usize] == value,
            Need::IsNot(variable, value) => {
                let now = self.now[variable as usize];
                now != UNKNOWN && now != value
            }
            Need::Derived(_) | Need::NotDerived(_) | Need::Compares(_) => false,
        })
    }

    fn apply(&mut self, row: &Row) {
        for effect in &row.effects {
            match effect.change {
                Change::Set(variable, value) => self.now[variable as usize] = value,
                Change::Increase(number, term) => {
                    if let Term::Constant(by) = self.task.terms[term as usize] {
                        *self.numbers.entry(number).or_insert_with(Rational::zero) += by;
                    }
                }
                // Rows with assignments are not applied.
                Change::Assign(..) => {}
            }
        }
    }
}

/// Whether a row changes the same in every state: no conditions, no values that depend on the state.
fn changes_alike(task: &RowTask, row: &Row) -> bool {
    row.effects.iter().all(|effect| {
        effect.when.is_empty()
            && match effect.change {
                Change::Set(..) => true,
                // Of a few such numbers, every sum has room.
                Change::Increase(_, term) => matches!(
                    task.terms[term as usize],
                    Term::Constant(by) if by.numer().unsigned_abs() < SMALL && by.denom().unsigned_abs() < SMALL
                ),
                Change::Assign(..) => false,
            }
    })
}

/// Whether a row may stand in a sequence after its first: it can fire wherever its needs on variables hold.
fn is_plain(task: &RowTask, row: &Row) -> bool {
    let fixed = row.cost.is_none_or(|cost| matches!(task.terms[cost as usize], Term::Constant(_)));
    // A number that it counts up or down may be undefined, unless it begins with a value: nothing makes it undefined.
    let defined = row.effects.iter().all(|effect| match effect.change {
        Change::Increase(number, _) => task.numbers[number as usize].initial.is_some(),
        _ => true,
    });
    fixed && defined && changes_alike(task, row)
}
