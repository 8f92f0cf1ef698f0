//! The rows of a task as flat tables over packed words: conditions as masks, effects as `word & keep | set`.

use super::generator::Generator;
use super::layout::RowLayout;
use hadal_system::rows::{Change, Effect, Need, RowTask};

/// A conjunction: every word test, then everything else.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Condition {
    equal: (u32, u32),
    other: (u32, u32),
}

/// A part of a condition that is not a value of a finite variable.
#[derive(Clone, Copy, Debug)]
pub(super) enum Other {
    Differs { word: u32, mask: u64, bits: u64 },
    Derived(u32),
    NotDerived(u32),
    Compares(u32),
    Never,
}

/// What a row does, in the order of its effects.
#[derive(Clone, Copy, Debug)]
pub(super) enum Deed {
    /// Overwrites bits of a word.
    Write { word: u32, keep: u64, set: u64 },
    /// The same where a condition holds in the state before.
    WriteWhen { when: When, word: u32, keep: u64, set: u64 },
    /// A numeric variable gets the value of a term, where a condition holds.
    Assign { when: When, number: u32, term: u32 },
    /// A numeric variable grows by the value of a term, where a condition holds.
    Increase { when: When, number: u32, term: u32 },
}

/// The number of an effect's condition.
#[derive(Clone, Copy, Debug)]
pub(super) struct When(u32);

/// All conditions and effects of a task.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    equal: Vec<(u32, u64, u64)>,
    other: Vec<Other>,
    /// What a row needs beyond what the generator tests.
    pub(super) needs: Vec<Condition>,
    deeds: Vec<Deed>,
    /// Conditions of deeds.
    whens: Vec<Condition>,
    /// Where the deeds of each row begin; one more than there are rows.
    begins: Vec<u32>,
}

impl Table {
    pub(super) fn new(task: &RowTask, layout: &RowLayout) -> (Table, Generator) {
        let sizes: Vec<u32> = task.variables.iter().map(|variable| variable.values.len() as u32).collect();
        let (generator, left) = Generator::new(&task.rows, &layout.finite, &sizes);
        let mut table = Table::default();
        for (row, at) in task.rows.iter().zip(0..) {
            let rest: Vec<Need> = row
                .needs
                .iter()
                .copied()
                .filter(|need| !matches!(need, Need::Is(..)))
                .chain(left.of(at).iter().map(|&(variable, value)| Need::Is(variable, value)))
                .collect();
            let needs = table.condition(&rest, layout, &sizes);
            table.needs.push(needs);
            table.begins.push(table.deeds.len() as u32);
            table.add_deeds(&row.effects, layout, &sizes);
        }
        table.begins.push(table.deeds.len() as u32);
        table.deeds.shrink_to_fit();
        table.needs.shrink_to_fit();
        (table, generator)
    }

    /// Adds a condition to the tables.
    pub(super) fn condition(&mut self, needs: &[Need], layout: &RowLayout, sizes: &[u32]) -> Condition {
        let begin = (self.equal.len(), self.other.len());
        for &need in needs {
            match need {
                Need::Is(variable, value) => {
                    let place = layout.finite[variable as usize];
                    if value >= sizes[variable as usize] {
                        self.other.push(Other::Never);
                        continue;
                    }
                    let (mask, bits) = (place.mask(), place.bits(u64::from(value)));
                    let at = self.equal[begin.0..].iter_mut().find(|test| test.0 == place.word);
                    match at {
                        Some(test) if test.1 & mask == 0 => {
                            test.1 |= mask;
                            test.2 |= bits;
                        }
                        _ if mask == 0 => {}
                        _ => self.equal.push((place.word, mask, bits)),
                    }
                }
                Need::IsNot(variable, value) => {
                    let place = layout.finite[variable as usize];
                    if value < sizes[variable as usize] {
                        let (mask, bits) = (place.mask(), place.bits(u64::from(value)));
                        self.other.push(Other::Differs { word: place.word, mask, bits });
                    }
                }
                Need::Derived(fact) => self.other.push(Other::Derived(fact)),
                Need::NotDerived(fact) => self.other.push(Other::NotDerived(fact)),
                Need::Compares(comparison) => self.other.push(Other::Compares(comparison)),
            }
        }
        Condition {
            equal: (begin.0 as u32, self.equal.len() as u32),
            other: (begin.1 as u32, self.other.len() as u32),
        }
    }

    fn add_deeds(&mut self, effects: &[Effect], layout: &RowLayout, sizes: &[u32]) {
        let first = self.deeds.len();
        // A write joins one of the same word where none between could overwrite it.
        let mut barrier = first;
        for effect in effects {
            let condition = self.condition(&effect.when, layout, sizes);
            match effect.change {
                Change::Set(variable, value) => {
                    let place = layout.finite[variable as usize];
                    let (word, keep, set) = (place.word, !place.mask(), place.bits(u64::from(value)));
                    if !condition.is_empty() {
                        let when = self.when(condition);
                        self.deeds.push(Deed::WriteWhen { when, word, keep, set });
                        barrier = self.deeds.len();
                        continue;
                    }
                    let joined = self.deeds[barrier..].iter_mut().find_map(|deed| match deed {
                        Deed::Write { word: other, keep, set } if *other == word => Some((keep, set)),
                        _ => None,
                    });
                    match joined {
                        Some((held_keep, held_set)) => {
                            *held_keep &= keep;
                            *held_set = *held_set & keep | set;
                        }
                        None => self.deeds.push(Deed::Write { word, keep, set }),
                    }
                }
                Change::Assign(number, term) => {
                    let when = self.when(condition);
                    self.deeds.push(Deed::Assign { when, number, term });
                }
                Change::Increase(number, term) => {
                    let when = self.when(condition);
                    self.deeds.push(Deed::Increase { when, number, term });
                }
            }
        }
    }

    fn when(&mut self, condition: Condition) -> When {
        self.whens.push(condition);
        When(self.whens.len() as u32 - 1)
    }

    /// The condition of a deed.
    #[inline]
    pub(super) fn condition_of(&self, when: When) -> Condition {
        self.whens[when.0 as usize]
    }

    /// What a row does.
    #[inline]
    pub(super) fn deeds(&self, row: u32) -> &[Deed] {
        &self.deeds[self.begins[row as usize] as usize..self.begins[row as usize + 1] as usize]
    }

    /// Whether the word tests of a condition hold.
    #[inline]
    pub(super) fn words_hold(&self, condition: Condition, state: &[u64]) -> bool {
        self.equal[condition.equal.0 as usize..condition.equal.1 as usize]
            .iter()
            .all(|&(word, mask, bits)| state[word as usize] & mask == bits)
    }

    /// What else a condition asks.
    #[inline]
    pub(super) fn others(&self, condition: Condition) -> &[Other] {
        &self.other[condition.other.0 as usize..condition.other.1 as usize]
    }

    /// Bytes that the tables and the decision tree of a task take while they are made; not less than they do.
    pub(super) fn foreseen_bytes(task: &RowTask) -> u64 {
        let (mut needs, mut effects, mut conditions) = (0, 0, 0);
        for row in &task.rows {
            needs += row.needs.len();
            effects += row.effects.len();
            conditions += row.effects.iter().map(|effect| effect.when.len()).sum::<usize>();
        }
        let tests = size_of::<(u32, u64, u64)>().max(size_of::<Other>());
        let deeds = effects * (size_of::<Deed>() + size_of::<Condition>()) + (needs + conditions) * tests;
        let rows = task.rows.len() * (size_of::<Condition>() + 4 + Generator::ROW_BYTES);
        // Lists that grow have up to twice the room.
        (2 * (deeds + rows) + needs * 8) as u64
    }

    /// Bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        self.equal.len() * size_of::<(u32, u64, u64)>()
            + self.other.len() * size_of::<Other>()
            + self.needs.len() * size_of::<Condition>()
            + self.deeds.len() * size_of::<Deed>()
            + self.whens.len() * size_of::<Condition>()
            + self.begins.len() * 4
    }
}

impl Condition {
    pub(super) fn is_empty(self) -> bool {
        self.equal.0 == self.equal.1 && self.other.0 == self.other.1
    }
}
