//! Facts that follow from the state: stratum by stratum, each rule with a counter of the facts of its own stratum that it
//! still waits for (Thiebaux, Hoffmann and Nebel 2005 give the meaning).

use super::layout::RowLayout;
use super::table::{Condition, Table};
use hadal_system::rows::{Need, RowTask};

struct Rule {
    head: u32,
    /// Everything but facts of its own stratum.
    base: Condition,
    /// How many facts of its own stratum it needs.
    waits: u32,
}

/// The rules of a task.
pub(super) struct Derivation {
    rules: Vec<Rule>,
    /// Where each stratum's rules begin.
    strata: Vec<usize>,
    /// The rules that wait for each fact.
    waiting: Vec<Vec<u32>>,
}

/// What deriving needs to remember, per thread.
#[derive(Clone, Debug, Default)]
pub(super) struct Derived {
    /// The truth of each fact.
    pub(super) facts: Vec<bool>,
    counters: Vec<u32>,
    queue: Vec<u32>,
}

impl Derivation {
    pub(super) fn new(task: &RowTask, layout: &RowLayout, table: &mut Table, sizes: &[u32]) -> Self {
        let stratum = |fact: u32| task.derived[fact as usize].stratum;
        let mut order: Vec<usize> = (0..task.rules.len()).collect();
        order.sort_by_key(|&at| stratum(task.rules[at].head));
        let mut derivation = Derivation {
            rules: Vec::new(),
            strata: Vec::new(),
            waiting: vec![Vec::new(); task.derived.len()],
        };
        let mut last = None;
        for at in order {
            let rule = &task.rules[at];
            let own = stratum(rule.head);
            if last != Some(own) {
                derivation.strata.push(derivation.rules.len());
                last = Some(own);
            }
            let (mut inside, mut base) = (Vec::new(), Vec::new());
            for &need in &rule.body {
                match need {
                    Need::Derived(fact) if stratum(fact) >= own => inside.push(fact),
                    other => base.push(other),
                }
            }
            inside.sort_unstable();
            inside.dedup();
            for &fact in &inside {
                derivation.waiting[fact as usize].push(derivation.rules.len() as u32);
            }
            let base = table.condition(&base, layout, sizes);
            derivation.rules.push(Rule { head: rule.head, base, waits: inside.len() as u32 });
        }
        derivation.strata.push(derivation.rules.len());
        derivation
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Derives every fact. `holds` tells whether a condition holds, given the facts derived so far.
    pub(super) fn derive(&self, derived: &mut Derived, mut holds: impl FnMut(Condition, &[bool]) -> bool) {
        let Derived { facts, counters, queue } = derived;
        facts.clear();
        facts.resize(self.waiting.len(), false);
        counters.clear();
        // A rule whose other conditions fail never fires.
        counters.resize(self.rules.len(), u32::MAX);
        for stratum in self.strata.windows(2) {
            queue.clear();
            let own = stratum[0]..stratum[1];
            for (rule, counter) in self.rules[own.clone()].iter().zip(&mut counters[own]) {
                if holds(rule.base, facts) {
                    *counter = rule.waits;
                    if rule.waits == 0 {
                        queue.push(rule.head);
                    }
                }
            }
            while let Some(fact) = queue.pop() {
                if std::mem::replace(&mut facts[fact as usize], true) {
                    continue;
                }
                for &rule in &self.waiting[fact as usize] {
                    let counter = &mut counters[rule as usize];
                    if *counter != u32::MAX && *counter > 0 {
                        *counter -= 1;
                        if *counter == 0 {
                            queue.push(self.rules[rule as usize].head);
                        }
                    }
                }
            }
        }
    }
}
