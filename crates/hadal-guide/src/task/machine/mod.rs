//! Runs guards, bodies and predicates for all states at once, one *path* at a time: an abstract machine that splits.
//!
//! A scalar's value is a known one, a function of the value that one scalar of the state had at the start, or unknown.
//! Where the way goes on depends on such a value, the run splits by what it may have been and is repeated for each part.
//! What a path has assumed about the state is a conjunction of sets of values, one per scalar: the path's *knowledge*.
//! Together the paths cover everything that can happen; more paths than are allowed make the machine give up.

mod cell;
mod following;

use super::bits::Bits;
use super::universe::{Scalar, Universe};
use hadal_system::machine::{self, Frame};
use hadal_system::{DomainId, Expr, Shape, ShapeId, Stmt, System};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// What is known of a scalar's present value.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    /// It is what it was at the start. Only for scalars of the state.
    Start,
    /// This one.
    Known(Scalar),
    /// By the place of this scalar's value at the start among its possible ones.
    Map(u32, Rc<[Scalar]>),
    /// Anything.
    Any,
}

/// Why a path ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// An error of the model.
    Fault,
    /// An assumption dropped the transition.
    Dropped,
    /// What was assumed cannot be.
    Impossible,
    /// There is too much to look at.
    GiveUp,
    /// The frame was left; [`Machine::returned`] has the result. Never seen outside of it.
    Returned,
}

/// Where a place is.
#[derive(Clone, Copy, Debug)]
pub enum Spot {
    /// Its first scalar.
    At(u32),
    /// Somewhere among these scalars, from and up to.
    Within(u32, u32),
}

/// Whether ways into errors of the model are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Faults {
    Followed,
    Skipped,
}

pub(super) struct Machine<'a> {
    pub system: &'a System,
    pub universe: Universe,
    first_slots: Vec<usize>,
    /// Scalars of the state, then of the locals of the running frames.
    pub cells: Vec<Cell>,
    state_slots: usize,
    /// Scalars of the state that are not as at the start.
    pub dirty: Vec<u32>,
    /// What the present path has assumed.
    pub know: BTreeMap<u32, Bits>,
    /// What every path assumes from its beginning.
    pub given: Option<(u32, Bits)>,
    frames: Vec<Frame<'a, Self>>,
    /// What the frame that is being left returns.
    returned: Option<Cell>,
    pub faults: Faults,
    /// Variables looked at since they were last asked for.
    pub looked: BTreeSet<u32>,
    /// Whether the path went on although it is not known that it can.
    pub vague: bool,
    /// Steps left.
    pub fuel: u64,
    /// How deep expressions, statements and calls are nested now.
    depth: u32,
    decisions: Vec<(u32, u32)>,
    cursor: usize,
}

impl<'a> Machine<'a> {
    pub fn new(system: &'a System, universe: Universe) -> Self {
        let state_slots = universe.var_of.len();
        Machine {
            system,
            universe,
            first_slots: system.first_slots(),
            cells: vec![Cell::Start; state_slots],
            state_slots,
            dirty: Vec::new(),
            know: BTreeMap::new(),
            given: None,
            frames: Vec::new(),
            returned: None,
            faults: Faults::Skipped,
            looked: BTreeSet::new(),
            vague: false,
            fuel: 0,
            depth: 0,
            decisions: Vec::new(),
            cursor: 0,
        }
    }

    /// Runs `run` once per path and shows each to `each`. `Err` where there are more than `paths`, or the fuel ran out.
    pub fn paths<T>(
        &mut self,
        paths: usize,
        mut run: impl FnMut(&mut Self) -> Result<T, End>,
        mut each: impl FnMut(&mut Self, Result<T, End>),
    ) -> Result<(), End> {
        self.decisions.clear();
        for _ in 0..paths {
            self.cursor = 0;
            self.reset();
            let end = run(self);
            if matches!(end, Err(End::GiveUp)) {
                self.reset();
                return Err(End::GiveUp);
            }
            each(self, end);
            while self.decisions.last().is_some_and(|&(chosen, count)| chosen + 1 == count) {
                self.decisions.pop();
            }
            match self.decisions.last_mut() {
                Some((chosen, _)) => *chosen += 1,
                None => {
                    self.reset();
                    return Ok(());
                }
            }
        }
        self.reset();
        Err(End::GiveUp)
    }

    fn reset(&mut self) {
        self.restore_state();
        self.know.clear();
        self.know.extend(self.given);
        self.frames.clear();
        self.cells.truncate(self.state_slots);
        self.returned = None;
        self.depth = 0;
        self.vague = false;
    }

    /// Makes the state what it was at the start.
    pub fn restore_state(&mut self) {
        for slot in self.dirty.drain(..) {
            self.cells[slot as usize] = Cell::Start;
        }
    }

    /// One of `count` ways to go on: another one each time the run is repeated.
    pub fn choose(&mut self, count: usize) -> usize {
        let chosen = match self.decisions.get(self.cursor) {
            Some(&(chosen, _)) => chosen,
            None => {
                self.decisions.push((0, count as u32));
                0
            }
        };
        self.cursor += 1;
        chosen as usize
    }

    pub fn burn(&mut self, steps: u64) -> Result<(), End> {
        self.fuel = self.fuel.checked_sub(steps.max(1)).ok_or(End::GiveUp)?;
        Ok(())
    }

    /// What the path allows a scalar to have been at the start.
    pub fn known(&self, slot: u32) -> Bits {
        match self.know.get(&slot) {
            Some(bits) => *bits,
            None => self.universe.of_slot(slot).whole,
        }
    }

    /// Follows only the ways on which a scalar was in `bits` at the start.
    pub fn restrict(&mut self, slot: u32, bits: Bits) -> Result<(), End> {
        let kept = self.known(slot).and(&bits);
        self.know.insert(slot, kept);
        if kept.is_empty() { Err(End::Impossible) } else { Ok(()) }
    }

    /// An error of the model where a scalar was in `bits` at the start; goes on with the rest.
    pub fn fault_where(&mut self, slot: u32, bits: Bits) -> Result<(), End> {
        let known = self.known(slot);
        let (bad, good) = (known.and(&bits), known.without(&bits));
        if bad.is_empty() {
            return Ok(());
        }
        if good.is_empty() {
            return Err(End::Fault);
        }
        if self.faults == Faults::Followed && self.choose(2) == 1 {
            self.know.insert(slot, bad);
            return Err(End::Fault);
        }
        self.know.insert(slot, good);
        Ok(())
    }

    /// An error of the model may be met, nobody knows when.
    pub fn may_fault(&mut self) -> Result<(), End> {
        if self.faults == Faults::Followed && self.choose(2) == 1 {
            self.vague = true;
            return Err(End::Fault);
        }
        Ok(())
    }

    /// What stands in a scalar.
    pub fn cell(&mut self, slot: u32) -> Cell {
        match &self.cells[slot as usize] {
            Cell::Start => {
                let var = self.universe.var_of[slot as usize];
                self.looked.insert(var);
                let possible = &self.universe.vars[var as usize];
                if possible.wide {
                    return Cell::Any;
                }
                let values = possible.values.clone();
                self.settle(Cell::Map(slot, values))
            }
            other => {
                let other = other.clone();
                self.settle(other)
            }
        }
    }

    /// The same, as a known value where the path leaves only one.
    pub fn settle(&self, cell: Cell) -> Cell {
        let Cell::Map(slot, table) = &cell else { return cell };
        let known = self.known(*slot);
        let mut values = known.iter().map(|n| table[n]);
        match values.next() {
            Some(first) if values.all(|v| v == first) => Cell::Known(first),
            _ => cell,
        }
    }

    /// Puts something into a scalar.
    pub fn put(&mut self, slot: u32, cell: Cell) {
        if (slot as usize) < self.state_slots {
            // Where it gets back what it was, nothing has changed.
            let same = match &cell {
                Cell::Map(from, table) if *from == slot => {
                    let values = &self.universe.of_slot(slot).values;
                    self.known(slot).iter().all(|n| table[n] == values[n])
                }
                _ => false,
            };
            if same {
                self.cells[slot as usize] = Cell::Start;
                return;
            }
            self.dirty.push(slot);
        }
        self.cells[slot as usize] = cell;
    }

    /// Splits by the value, which is then known.
    pub fn concrete(&mut self, cell: Cell) -> Result<Option<Scalar>, End> {
        match self.settle(cell) {
            Cell::Known(value) => Ok(Some(value)),
            Cell::Any | Cell::Start => Ok(None),
            Cell::Map(slot, table) => {
                let known = self.known(slot);
                let mut values: Vec<Scalar> = known.iter().map(|n| table[n]).collect();
                values.sort_unstable();
                values.dedup();
                if values.is_empty() {
                    return Err(End::Impossible);
                }
                let value = values[self.choose(values.len())];
                self.restrict(slot, known.iter().filter(|&n| table[n] == value).collect())?;
                Ok(Some(value))
            }
        }
    }

    /// Splits by whether the value is not 0.
    pub fn split(&mut self, cell: Cell) -> Result<bool, End> {
        match self.settle(cell) {
            Cell::Known(value) => Ok(value != Some(0)),
            Cell::Any | Cell::Start => {
                self.vague = true;
                Ok(self.choose(2) == 0)
            }
            Cell::Map(slot, table) => {
                let known = self.known(slot);
                let (yes, no) = truths(&known, &table);
                if yes.is_empty() || no.is_empty() {
                    return Ok(no.is_empty());
                }
                let holds = self.choose(2) == 0;
                self.restrict(slot, if holds { yes } else { no })?;
                Ok(holds)
            }
        }
    }

    /// Gives up the locals of every frame.
    pub fn leave_all(&mut self) {
        self.frames.clear();
        self.cells.truncate(self.state_slots);
    }

    /// The value of an expression, which is defined.
    fn value(&mut self, expr: &'a Expr) -> Result<Cell, End> {
        machine::value(self, expr)
    }

    /// Runs a body to its end, or to where it returns.
    pub fn body(&mut self, body: &'a [Stmt]) -> Result<(), End> {
        match machine::block(self, body) {
            Err(End::Returned) => Ok(()),
            end => end,
        }
    }
}

/// Which of the known values are not 0, and which are.
fn truths(known: &Bits, table: &[Scalar]) -> (Bits, Bits) {
    let yes: Bits = known.iter().filter(|&n| table[n] != Some(0)).collect();
    (yes, known.without(&yes))
}

/// What a scalar holds before anything is written to it.
fn blank(system: &System, domain: DomainId) -> Scalar {
    let domain = &system.domains[domain];
    if domain.undefined { None } else { Some(domain.min()) }
}

/// Calls `visit` for the domain of every scalar of a shape, in order.
fn each_domain(system: &System, shape: ShapeId, visit: &mut impl FnMut(DomainId)) {
    match &system.shapes[shape] {
        Shape::Scalar(domain) => visit(*domain),
        Shape::Record(fields) => fields.iter().for_each(|f| each_domain(system, f.shape, visit)),
        Shape::Array { index, element } | Shape::Multiset { slots: index, element } => {
            (0..system.domains[*index].size()).for_each(|_| each_domain(system, *element, visit));
        }
    }
}
