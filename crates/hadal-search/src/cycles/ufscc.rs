//! Strongly connected components on several threads that grow them together.
//!
//! Bloemen, Laarman and van de Pol, "Multi-core on-the-fly SCC decomposition" (PPoPP 2016), with acceptance sets as in
//! Bloemen, Duret-Lutz and van de Pol, "Explicit state model checking with generalized Büchi and Rabin automata"
//! (SPIN 2017). States known to be in one component are one set of a union-find forest, which every thread that searches
//! in it helps to finish. One lock guards the forest; successors are generated outside it.

use super::graph::End;
use super::shared::{Hand, Shared, Step};
use crate::resting::{Share, together};
use hadal_store::table::{StateRef, Writer};
use hadal_store::{OverBudget, Reservation};
use std::sync::Mutex;

/// What an edge leads to.
enum Claimed {
    /// A component that is finished.
    Dead,
    /// One that this thread is searching in.
    Found,
    /// One that it was not searching in before.
    New,
}

#[derive(Clone, Default)]
struct Cell {
    /// A word of the state nearer to the root; its own in the root.
    parent: u64,
    /// Everything of this state is explored.
    done: bool,
    /// Of the root: threads that search in the set.
    threads: u64,
    /// Of the root: acceptance sets met inside.
    marks: u64,
    /// Of the root: the set is a whole component, explored to the end.
    dead: bool,
    /// Of the root: states that may not be done yet.
    busy: Vec<u64>,
    known: bool,
}

/// A union-find forest over states.
struct Forest {
    cells: Vec<Vec<Cell>>,
    memory: Reservation,
}

impl Forest {
    /// Takes memory for so many states.
    fn expect(&mut self, states: u64) -> Result<(), OverBudget> {
        let bytes = states.next_power_of_two() * (size_of::<Cell>() as u64 + 16);
        if bytes > self.memory.bytes() { self.memory.try_resize(bytes) } else { Ok(()) }
    }

    fn cell(&mut self, word: u64) -> &mut Cell {
        let (writer, number) = StateRef::split_word(word);
        let cells = &mut self.cells[writer];
        let n = number as usize;
        if cells.len() <= n {
            cells.resize((n + 1).next_power_of_two(), Cell::default());
        }
        let cell = &mut cells[n];
        if !cell.known {
            (cell.known, cell.parent) = (true, word);
            cell.busy.push(word);
        }
        cell
    }

    fn root(&mut self, mut word: u64) -> u64 {
        loop {
            let parent = self.cell(word).parent;
            if parent == word {
                return word;
            }
            let above = self.cell(parent).parent;
            self.cell(word).parent = above;
            word = above;
        }
    }

    fn claim(&mut self, word: u64, thread: usize) -> Claimed {
        let root = self.root(word);
        let cell = self.cell(root);
        if cell.dead {
            return Claimed::Dead;
        }
        let mask = 1 << thread;
        if cell.threads & mask != 0 {
            return Claimed::Found;
        }
        cell.threads |= mask;
        Claimed::New
    }

    fn are_together(&mut self, a: u64, b: u64) -> bool {
        self.root(a) == self.root(b)
    }

    fn unite(&mut self, a: u64, b: u64) {
        let (mut a, mut b) = (self.root(a), self.root(b));
        if a == b {
            return;
        }
        if self.cell(a).busy.len() < self.cell(b).busy.len() {
            (a, b) = (b, a);
        }
        let below = self.cell(b);
        below.parent = a;
        let (mut busy, threads, marks) = (std::mem::take(&mut below.busy), below.threads, below.marks);
        let above = self.cell(a);
        above.busy.append(&mut busy);
        above.threads |= threads;
        above.marks |= marks;
    }

    /// A state of the set that is not done; where there is none, the set is a finished component.
    fn pick(&mut self, word: u64, thread: usize) -> Option<u64> {
        let root = self.root(word);
        let mut busy = std::mem::take(&mut self.cell(root).busy);
        let mut picked = None;
        while !busy.is_empty() {
            // Threads take different ones where there are several.
            let at = busy.len() - 1 - thread % busy.len();
            if !self.cell(busy[at]).done {
                picked = Some(busy[at]);
                break;
            }
            busy.swap_remove(at);
        }
        let cell = self.cell(root);
        cell.busy = busy;
        cell.dead |= picked.is_none();
        picked
    }

    /// Takes note of a transition inside a set; all marks met there.
    fn mark(&mut self, word: u64, marks: u64) -> u64 {
        let root = self.root(word);
        let cell = self.cell(root);
        cell.marks |= marks;
        cell.marks
    }

    /// All states of a set.
    fn members(&mut self, word: u64) -> Vec<u64> {
        let root = self.root(word);
        let mut members = Vec::new();
        for writer in 0..self.cells.len() {
            for n in 0..self.cells[writer].len() {
                let other = StateRef::join_word(writer, n as u64);
                if self.cells[writer][n].known && self.root(other) == root {
                    members.push(other);
                }
            }
        }
        members
    }
}

/// A state on an accepted cycle, and all states of the component as far as it is known.
pub(super) struct Component {
    pub(super) seed: Vec<u64>,
    pub(super) among: Vec<Vec<u64>>,
}

/// An accepted cycle's component.
pub(super) async fn search(shared: &Shared<'_>, writers: Vec<Writer<'_>>) -> Option<Component> {
    let threads = shared.threads.max(1);
    let forest = Mutex::new(Forest {
        cells: vec![Vec::new(); threads],
        memory: shared.governor.empty("components of states"),
    });
    let found: Mutex<Option<Component>> = Mutex::new(None);
    let share = |writer| -> Share {
        let mut walk = ComponentWalk { hand: Hand::new(shared, writer), forest: &forest, edges: Vec::new() };
        let found = &found;
        Box::pin(async move {
            match walk.all().await {
                Ok(Some(seed)) => {
                    let members = walk.locked(|forest| forest.members(seed));
                    let state = |word| shared.state(shared.reference(word)).to_vec();
                    let among = members.into_iter().map(state).collect();
                    *found.lock().unwrap_or_else(|e| e.into_inner()) =
                        Some(Component { seed: state(seed), among });
                    shared.stop();
                }
                Ok(None) => {}
                Err(reason) => shared.end(reason),
            }
        })
    };
    together(writers.into_iter().map(share).collect()).await;
    found.into_inner().unwrap_or_else(|e| e.into_inner())
}

struct ComponentWalk<'s, 'a> {
    hand: Hand<'s, 'a>,
    forest: &'s Mutex<Forest>,
    edges: Vec<Step>,
}

struct Frame {
    /// The state that the search entered the set with.
    entered: u64,
    /// The state of the set whose transitions are looked at.
    current: Option<u64>,
    edges: usize,
    next: usize,
}

impl ComponentWalk<'_, '_> {
    fn locked<T>(&self, act: impl FnOnce(&mut Forest) -> T) -> T {
        act(&mut self.forest.lock().unwrap_or_else(|e| e.into_inner()))
    }

    async fn all(&mut self) -> Result<Option<u64>, End> {
        let number = self.hand.number;
        for start in self.hand.initial()? {
            let word = start.to_word();
            if matches!(self.locked(|forest| forest.claim(word, number)), Claimed::New)
                && let Some(seed) = self.from(word).await?
            {
                return Ok(Some(seed));
            }
        }
        Ok(None)
    }

    /// Whether the set of `word`, with a transition inside it that has these marks, has an accepted cycle.
    fn accepts(&mut self, word: u64, marks: u64) -> bool {
        let met = self.locked(|forest| forest.mark(word, marks));
        let acceptance = self.hand.shared.acceptance;
        let always = if acceptance.weak { 0 } else { acceptance.always() };
        met & always == always && self.hand.component(self.hand.shared.reference(word)).is_some()
    }

    async fn from(&mut self, start: u64) -> Result<Option<u64>, End> {
        let number = self.hand.number;
        let mut roots = vec![start];
        let mut path = vec![Frame { entered: start, current: None, edges: 0, next: 0 }];
        while let Some(frame) = path.last_mut() {
            if self.hand.shared.is_over() {
                return Ok(None);
            }
            let entered = frame.entered;
            if let (Some(current), true) = (frame.current, frame.next < self.edges.len()) {
                let Step { to, marks } = self.edges[frame.next];
                let to = to.to_word();
                let claimed = self.forest.lock().unwrap_or_else(|e| e.into_inner()).claim(to, number);
                match claimed {
                    Claimed::Dead => frame.next += 1,
                    Claimed::New => {
                        // The transition is looked at again when the search comes back.
                        roots.push(to);
                        let edges = self.edges.len();
                        path.push(Frame { entered: to, current: None, edges, next: edges });
                    }
                    Claimed::Found => {
                        frame.next += 1;
                        self.locked(|forest| {
                            while !forest.are_together(to, entered) {
                                let (Some(last), Some(&before)) = (roots.pop(), roots.last()) else { break };
                                forest.unite(last, before);
                            }
                        });
                        if self.accepts(current, marks) {
                            return Ok(Some(current));
                        }
                    }
                }
                continue;
            }
            if let Some(current) = frame.current.take() {
                self.edges.truncate(frame.edges);
                self.locked(|forest| forest.cell(current).done = true);
            }
            match self.locked(|forest| forest.pick(entered, number)) {
                Some(picked) => {
                    self.hand.successors(self.hand.shared.reference(picked), &mut self.edges).await?;
                    if let Some(frame) = path.last_mut() {
                        (frame.current, frame.next) = (Some(picked), frame.edges);
                    }
                    let states = self.hand.shared.len();
                    self.locked(|forest| forest.expect(states))?;
                }
                None => {
                    if roots.last() == Some(&entered) {
                        roots.pop();
                    }
                    path.pop();
                }
            }
        }
        Ok(None)
    }
}
