//! Reading a variable of the abstract task from a packed state.

use super::bits::Bits;
use super::universe::{Scalar, Universe};
use hadal_exec::Model;
use hadal_system::state::get_bits;

/// A variable of the abstract task.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Path name of its first scalar.
    pub name: String,
    /// Its values, by number, ascending; undefined first.
    pub values: Vec<Scalar>,
    /// Their packed codes.
    pub codes: Vec<u64>,
    /// Whether it is the location of a process, and of which.
    pub process: Option<u32>,
    /// Offset and width of each scalar it stands for; more than one for a multiset.
    fields: Vec<(u32, u32)>,
    loose: bool,
    numbers: Numbers,
}

/// No number: a code that was not thought possible.
pub const NO_NUMBER: u16 = u16::MAX;

#[derive(Clone, Debug)]
enum Numbers {
    Table(Vec<u16>),
    /// Sorted by code.
    List(Vec<(u64, u16)>),
}

/// Codes of at most this many bits are looked up in a table.
const TABLE_BITS: u32 = 10;

impl Variable {
    /// The variables of a universe; those that are wide have no values and stand in no condition.
    pub(super) fn all(model: &Model, universe: &Universe) -> Vec<Variable> {
        let system = model.system();
        let mut process_of = vec![None; universe.var_of.len()];
        let first_slots = system.first_slots();
        for (n, process) in system.processes.iter().enumerate() {
            process_of[first_slots[process.location.0 as usize]] = Some(n as u32);
        }
        let names = system.slots();
        let slots = model.layout().slots();
        let make = |possible: &super::universe::Possible| {
            let first = possible.slots[0] as usize;
            let domain = &system.domains[possible.domain];
            let codes: Vec<u64> = possible.values.iter().filter_map(|&v| domain.encode(v)).collect();
            let fields = possible.slots.iter().map(|&s| &slots[s as usize]).map(|s| (s.offset, s.width));
            let width = slots[first].width;
            let numbered = codes.iter().enumerate().map(|(n, &code)| (code, n as u16));
            let numbers = if width <= TABLE_BITS {
                let mut table = vec![NO_NUMBER; 1 << width];
                numbered.for_each(|(code, n)| table[code as usize] = n);
                Numbers::Table(table)
            } else {
                Numbers::List(numbered.collect())
            };
            Variable {
                name: names[first].0.clone(),
                values: possible.values.to_vec(),
                codes,
                process: process_of[first],
                fields: fields.collect(),
                loose: possible.loose,
                numbers,
            }
        };
        universe.vars.iter().map(make).collect()
    }

    /// Whether it is one scalar that keeps its value until it is written. Scalars of multisets do not.
    pub fn is_single(&self) -> bool {
        !self.loose
    }

    /// The number of a single variable's value in a state, or [`NO_NUMBER`].
    #[inline]
    pub fn number(&self, state: &[u64]) -> u16 {
        let (offset, width) = self.fields[0];
        self.number_of(get_bits(state, offset, width))
    }

    /// Calls `visit` for the number of each scalar's value.
    #[inline]
    pub fn each_number(&self, state: &[u64], mut visit: impl FnMut(u16)) {
        for &(offset, width) in &self.fields {
            visit(self.number_of(get_bits(state, offset, width)));
        }
    }

    #[inline]
    fn number_of(&self, code: u64) -> u16 {
        match &self.numbers {
            Numbers::Table(table) => table[code as usize],
            Numbers::List(list) => match list.binary_search_by_key(&code, |entry| entry.0) {
                Ok(at) => list[at].1,
                Err(_) => NO_NUMBER,
            },
        }
    }

    /// Whether the state has one of the values (a value not thought possible counts as any).
    pub fn has(&self, state: &[u64], values: &Bits) -> bool {
        let mut found = false;
        self.each_number(state, |n| found |= n == NO_NUMBER || values.contains(n as usize));
        found
    }

    /// Calls `visit` for the packed code of each scalar.
    pub fn each_code(&self, state: &[u64], mut visit: impl FnMut(u64)) {
        for &(offset, width) in &self.fields {
            visit(get_bits(state, offset, width));
        }
    }

    /// Where its scalars lie: offset and width.
    pub fn fields(&self) -> &[(u32, u32)] {
        &self.fields
    }
}
