//! Strong stubborn sets for planning (Alkhazraji, Wehrle, Mattmüller and Helmert 2012, "A stubborn set algorithm for
//! optimal planning"; Wehrle and Helmert 2014): of the rows that can fire in a state, those that suffice for a cheapest
//! plan from there. Whatever plan there is has a permutation that begins with one of them.
//!
//! A set begins with all rows that achieve an unmet goal. For a row of the set that cannot fire, all rows that achieve one
//! of its unmet needs join; for one that can, all rows that may fire beside it and interfere. Only tasks whose rows set
//! finite variables unconditionally are handled.

use hadal_exec::rows::{Place, RowSpace};
use hadal_system::rows::{Change, Need, RowTask};
use std::sync::Arc;

/// Expansions before it is looked at whether pruning is worth it.
const TRIED: u64 = 1000;

/// What a row asks of a variable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wish {
    Is(u32),
    IsNot(u32),
}

impl Wish {
    fn allows(self, value: u32) -> bool {
        match self {
            Wish::Is(wanted) => value == wanted,
            Wish::IsNot(barred) => value != barred,
        }
    }

    /// Whether no value meets both.
    fn excludes(self, other: Wish) -> bool {
        match (self, other) {
            (Wish::Is(a), Wish::Is(b)) => a != b,
            (Wish::Is(a), Wish::IsNot(b)) | (Wish::IsNot(b), Wish::Is(a)) => a == b,
            (Wish::IsNot(_), Wish::IsNot(_)) => false,
        }
    }
}

struct RowFacts {
    needs: Vec<(u32, Wish)>,
    sets: Vec<(u32, u32)>,
}

/// What the rows of a task ask for and set: the same for all threads.
struct Facts {
    places: Vec<Place>,
    rows: Vec<RowFacts>,
    goal: Vec<(u32, Wish)>,
    /// For each variable, the rows that set it, with the value.
    setters: Vec<Vec<(u32, u32)>>,
    /// The number of each variable's first value, over all variables.
    first: Vec<u32>,
    /// For each value of each variable, how many rows set it.
    achievers: Vec<u32>,
    /// For each variable, the rows that ask something of it.
    askers: Vec<Vec<u32>>,
}

/// Prunes transitions.
pub struct Stubborn {
    facts: Arc<Facts>,
    /// Wishes whose achievers joined in this round: for each value, to have it and to have another one.
    joined: Vec<[u32; 2]>,
    interfering: Vec<Option<Box<[u32]>>>,
    kept: usize,
    /// Numbers that lists of interfering rows may hold altogether; what is beyond is computed each time.
    most_kept: usize,
    /// Rows of the set of this round.
    chosen: Vec<u32>,
    round: u32,
    queue: Vec<u32>,
}

impl Facts {
    fn new(space: &RowSpace) -> Option<Self> {
        let task = space.task();
        if !(task.derived.is_empty() && task.monitors.is_empty() && task.numbers.is_empty()) {
            return None;
        }
        let mut rows = Vec::with_capacity(task.rows.len());
        let mut setters = vec![Vec::new(); task.variables.len()];
        let mut askers = vec![Vec::new(); task.variables.len()];
        let mut first = Vec::with_capacity(task.variables.len());
        let mut count = 0;
        for variable in &task.variables {
            first.push(count);
            count += variable.values.len() as u32;
        }
        let mut achievers = vec![0; count as usize];
        for (row, number) in task.rows.iter().zip(0u32..) {
            let needs = wishes(task, &row.needs)?;
            let mut sets: Vec<(u32, u32)> = Vec::new();
            for effect in &row.effects {
                let Change::Set(variable, value) = effect.change else { return None };
                if !effect.when.is_empty() {
                    return None;
                }
                sets.retain(|&(of, _)| of != variable);
                sets.push((variable, value));
            }
            for &(variable, value) in &sets {
                setters[variable as usize].push((number, value));
                achievers[(first[variable as usize] + value) as usize] += 1;
            }
            for &(variable, _) in &needs {
                let askers: &mut Vec<u32> = &mut askers[variable as usize];
                if askers.last() != Some(&number) {
                    askers.push(number);
                }
            }
            rows.push(RowFacts { needs, sets });
        }
        let goal = wishes(task, &task.goal)?;
        let places = space.layout().finite.clone();
        Some(Facts { places, rows, goal, setters, first, achievers, askers })
    }

    /// Where a wish is kept among those whose achievers joined.
    fn place(&self, variable: u32, wish: Wish) -> (usize, usize) {
        let first = self.first[variable as usize];
        match wish {
            Wish::Is(value) => ((first + value) as usize, 0),
            Wish::IsNot(value) => ((first + value) as usize, 1),
        }
    }

    fn interferers(&self, row: u32) -> Box<[u32]> {
        let it = &self.rows[row as usize];
        let mut list = Vec::new();
        for &(variable, value) in &it.sets {
            // It disables them, or they set the variable otherwise.
            list.extend(self.askers[variable as usize].iter().copied().filter(|&other| {
                self.rows[other as usize]
                    .needs
                    .iter()
                    .any(|&(of, wish)| of == variable && !wish.allows(value))
            }));
            let setters = self.setters[variable as usize].iter();
            list.extend(setters.filter(|&&(_, set)| set != value).map(|&(other, _)| other));
        }
        for &(variable, wish) in &it.needs {
            let setters = self.setters[variable as usize].iter();
            list.extend(setters.filter(|&&(_, set)| !wish.allows(set)).map(|&(other, _)| other));
        }
        list.sort_unstable();
        list.dedup();
        // Rows that never can fire in the same state do not get in each other's way.
        list.retain(|&other| other != row && !self.exclude(row, other));
        list.into_boxed_slice()
    }

    fn exclude(&self, one: u32, other: u32) -> bool {
        self.rows[one as usize].needs.iter().any(|&(variable, wish)| {
            let asked = &self.rows[other as usize].needs;
            asked.iter().any(|&(of, asked)| of == variable && wish.excludes(asked))
        })
    }
}

/// What pruning came to so far: it is given up where too little goes for the time that it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Rows that could fire.
    pub seen: u64,
    /// Those of them that were left.
    pub left: u64,
    /// States.
    pub expanded: u64,
}

impl Pruned {
    /// Whether enough states were seen to judge.
    pub fn is_tried(&self) -> bool {
        self.expanded >= TRIED
    }

    /// Whether a fifth goes.
    pub fn pays(&self) -> bool {
        self.seen > 0 && self.left * 5 <= self.seen * 4
    }

    fn is_given_up(&self) -> bool {
        self.is_tried() && !self.pays()
    }
}

impl Stubborn {
    /// For the task of `space`, where it is one that can be handled. Which rows interfere is kept in up to `bytes`.
    pub fn new(space: &RowSpace, bytes: u64) -> Option<Self> {
        Some(Stubborn::of(Arc::new(Facts::new(space)?), (bytes / size_of::<u32>() as u64) as usize))
    }

    /// The same for another thread.
    pub fn another(&self) -> Self {
        Stubborn::of(Arc::clone(&self.facts), self.most_kept)
    }

    fn of(facts: Arc<Facts>, most_kept: usize) -> Self {
        Stubborn {
            joined: vec![[0; 2]; facts.achievers.len()],
            interfering: vec![None; facts.rows.len()],
            chosen: vec![0; facts.rows.len()],
            facts,
            kept: 0,
            most_kept,
            round: 0,
            queue: Vec::new(),
        }
    }

    /// Leaves of the rows that can fire in `state` those that suffice, unless `pruned` says that it does not pay.
    pub fn prune(&mut self, state: &[u64], applicable: &mut Vec<u32>, pruned: &mut Pruned) {
        if pruned.is_given_up() || applicable.len() < 2 {
            return;
        }
        // What joined before must not matter: the same state always keeps the same rows.
        self.begin_round();
        let Some(unmet) = self.unmet(state, Of::Goal) else { return };
        self.add_achievers(unmet);
        while let Some(row) = self.queue.pop() {
            match self.unmet(state, Of::Row(row)) {
                Some(unmet) => self.add_achievers(unmet),
                None => self.add_interfering(row),
            }
        }
        pruned.seen += applicable.len() as u64;
        let (chosen, round) = (&self.chosen, self.round);
        applicable.retain(|&row| chosen[row as usize] == round);
        pruned.left += applicable.len() as u64;
        pruned.expanded += 1;
    }

    fn begin_round(&mut self) {
        self.queue.clear();
        self.round = self.round.checked_add(1).unwrap_or_else(|| {
            self.joined.fill([0; 2]);
            self.chosen.fill(0);
            1
        });
    }

    /// Bytes that lists of interfering rows hold.
    pub fn bytes(&self) -> u64 {
        (self.kept * size_of::<u32>()) as u64
    }

    /// An unmet condition whose achievers are chosen already, else the one with the fewest achievers.
    fn unmet(&self, state: &[u64], of: Of) -> Option<(u32, Wish)> {
        let wishes = match of {
            Of::Goal => &self.facts.goal,
            Of::Row(row) => &self.facts.rows[row as usize].needs,
        };
        let mut found: Option<(u32, (u32, Wish))> = None;
        for &(variable, wish) in wishes {
            if wish.allows(self.facts.places[variable as usize].get(state) as u32) {
                continue;
            }
            let (at, which) = self.facts.place(variable, wish);
            if self.joined[at][which] == self.round {
                return Some((variable, wish));
            }
            let count = match wish {
                Wish::Is(_) => self.facts.achievers[at],
                Wish::IsNot(_) => {
                    self.facts.setters[variable as usize].len() as u32 - self.facts.achievers[at]
                }
            };
            if found.is_none_or(|(least, _)| count < least) {
                found = Some((count, (variable, wish)));
            }
        }
        found.map(|(_, unmet)| unmet)
    }

    fn add(&mut self, row: u32) {
        if std::mem::replace(&mut self.chosen[row as usize], self.round) != self.round {
            self.queue.push(row);
        }
    }

    fn add_achievers(&mut self, (variable, wish): (u32, Wish)) {
        let (at, which) = self.facts.place(variable, wish);
        if std::mem::replace(&mut self.joined[at][which], self.round) == self.round {
            return;
        }
        for at in 0..self.facts.setters[variable as usize].len() {
            let (row, value) = self.facts.setters[variable as usize][at];
            if wish.allows(value) {
                self.add(row);
            }
        }
    }

    fn add_interfering(&mut self, row: u32) {
        let known = self.interfering[row as usize].take();
        let fresh = known.is_none();
        let list = known.unwrap_or_else(|| self.facts.interferers(row));
        list.iter().for_each(|&other| self.add(other));
        if fresh && self.kept + list.len() > self.most_kept {
            return;
        }
        self.kept += if fresh { list.len() } else { 0 };
        self.interfering[row as usize] = Some(list);
    }
}

#[derive(Clone, Copy)]
enum Of {
    Goal,
    Row(u32),
}

/// What a condition asks of finite variables; `None` where it asks for more.
fn wishes(task: &RowTask, needs: &[Need]) -> Option<Vec<(u32, Wish)>> {
    let has = |variable: u32, value: u32| (value as usize) < task.variables[variable as usize].values.len();
    let mut wishes = Vec::with_capacity(needs.len());
    for need in needs {
        match *need {
            Need::Is(variable, value) if has(variable, value) => wishes.push((variable, Wish::Is(value))),
            Need::IsNot(variable, value) if has(variable, value) => {
                wishes.push((variable, Wish::IsNot(value)));
            }
            // Nothing has a value that there is not.
            Need::IsNot(..) => {}
            _ => return None,
        }
    }
    Some(wishes)
}
