//! Infinite words of the form stem, then loop for ever: formulas and automata evaluated on them directly.
//!
//! Nothing here is shared with the translation, so that each checks the other.

use crate::automaton::Automaton;
use crate::components::components;
use crate::formula::Ltl;

/// A word: letters are valuations of the atoms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    letters: Vec<u64>,
    loop_from: usize,
}

impl Word {
    /// The word of these letters, of which those from `loop_from` on repeat. `None` where none repeats.
    pub fn new(letters: Vec<u64>, loop_from: usize) -> Option<Word> {
        (loop_from < letters.len()).then_some(Word { letters, loop_from })
    }

    fn next(&self, position: usize) -> usize {
        if position + 1 < self.letters.len() { position + 1 } else { self.loop_from }
    }

    /// Whether the word has the formula.
    pub fn satisfies(&self, formula: &Ltl) -> bool {
        self.positions(formula)[0]
    }

    /// For every position whether the rest of the word has the formula.
    fn positions(&self, formula: &Ltl) -> Vec<bool> {
        let n = self.letters.len();
        let of = |part: &Ltl| self.positions(part);
        match formula {
            Ltl::True => vec![true; n],
            Ltl::False => vec![false; n],
            Ltl::Atom(atom) => self.letters.iter().map(|letter| letter >> atom & 1 == 1).collect(),
            Ltl::Not(a) => of(a).into_iter().map(|a| !a).collect(),
            Ltl::And(a, b) => of(a).into_iter().zip(of(b)).map(|(a, b)| a && b).collect(),
            Ltl::Or(a, b) => of(a).into_iter().zip(of(b)).map(|(a, b)| a || b).collect(),
            Ltl::Next(a) => {
                let a = of(a);
                (0..n).map(|p| a[self.next(p)]).collect()
            }
            Ltl::Until(a, b) => self.fixpoint(of(a), of(b), false),
            Ltl::Release(a, b) => {
                let negated = |values: Vec<bool>| values.into_iter().map(|v| !v).collect();
                negated(self.fixpoint(negated(of(a)), negated(of(b)), false))
            }
        }
    }

    /// The least solution of `x = b || (a && next x)`.
    fn fixpoint(&self, a: Vec<bool>, b: Vec<bool>, start: bool) -> Vec<bool> {
        let mut x = vec![start; a.len()];
        loop {
            let mut changed = false;
            for p in (0..a.len()).rev() {
                let value = b[p] || a[p] && x[self.next(p)];
                changed |= value != x[p];
                x[p] = value;
            }
            if !changed {
                return x;
            }
        }
    }

    /// Whether the automaton accepts the word.
    pub fn is_accepted_by(&self, automaton: &Automaton) -> bool {
        let n = self.letters.len();
        let node = |state: u32, position: usize| state as usize * n + position;
        let mut graph = vec![Vec::new(); automaton.len() * n];
        let mut marked = vec![Vec::new(); automaton.len() * n];
        for (state, edges) in automaton.edges.iter().enumerate() {
            for (position, &letter) in self.letters.iter().enumerate() {
                for edge in edges.iter().filter(|edge| edge.guard.holds(letter)) {
                    let target = node(edge.target, self.next(position)) as u32;
                    graph[node(state as u32, position)].push(target);
                    marked[node(state as u32, position)].push((target, edge.marks));
                }
            }
        }
        let found = components(&graph);
        let mut marks = vec![0u64; found.count as usize];
        for (from, edges) in marked.iter().enumerate() {
            for &(target, edge_marks) in edges {
                if found.of[from] == found.of[target as usize] {
                    marks[found.of[from] as usize] |= edge_marks;
                }
            }
        }
        let mut seen = vec![false; graph.len()];
        let mut open = vec![node(automaton.initial, 0)];
        while let Some(at) = open.pop() {
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            let component = found.of[at] as usize;
            if found.cyclic[component] && marks[component] == automaton.all_marks() {
                return true;
            }
            open.extend(graph[at].iter().map(|&t| t as usize));
        }
        false
    }
}

impl Word {
    /// The word over atoms of which the n-th is this word's atom `number[n]`.
    pub fn renamed(&self, number: &[u32]) -> Word {
        let letter = |&letter: &u64| {
            number.iter().enumerate().fold(0, |new, (n, &old)| new | (letter >> old & 1) << n)
        };
        Word { letters: self.letters.iter().map(letter).collect(), loop_from: self.loop_from }
    }
}
