//! Cache distances: how many distinct states are generated between two generations of one state (Lamborn 2014, sec. 3.4.2.1).
//! A cache that forgets the least recently used state finds exactly the duplicates whose distance is below its size.
//!
//! The distance is counted in a Fenwick tree over moments in which the last generation of a state is marked. Everything is
//! remembered as long as it fits; when it does not, all of it is forgotten and the count begins again, which is told.

use crate::report::CacheDistanceFigures;
use hadal_store::table::StateTable;
use hadal_store::{Governor, OverBudget, Reservation};
use hadal_system::States;

/// Moments that a tree has room for at first.
const FIRST_ROOM: usize = 1 << 12;

pub(crate) struct CacheDistances {
    states: StateTable,
    /// The moment of the last generation of each, by number.
    moments: Vec<u32>,
    /// Marks by moment; entry 0 is not used.
    tree: Vec<u32>,
    now: usize,
    figures: CacheDistanceFigures,
    memory: Reservation,
    governor: Governor,
}

impl CacheDistances {
    /// None yet; takes at most the budget of `governor`.
    pub(crate) fn new(words: usize, governor: Governor) -> Result<Self, OverBudget> {
        let memory = governor.try_reserve(8 * FIRST_ROOM as u64, "cache distances")?;
        Ok(CacheDistances {
            states: StateTable::new(words, 0, 1, &governor)?,
            moments: Vec::new(),
            tree: vec![0; FIRST_ROOM],
            now: 0,
            figures: CacheDistanceFigures::default(),
            memory,
            governor,
        })
    }

    /// Takes note of generated states, in order.
    pub(crate) fn note(&mut self, states: States) -> Result<(), OverBudget> {
        for state in states.iter() {
            if self.note_one(state).is_err() {
                self.forget()?;
                self.note_one(state)?;
            }
        }
        Ok(())
    }

    fn note_one(&mut self, state: &[u64]) -> Result<(), OverBudget> {
        if self.now + 1 >= self.tree.len() {
            self.make_room()?;
        }
        match self.states.find(state) {
            Some(at) => {
                let number = at.number() as usize;
                let before = self.moments[number] as usize;
                let distance = (self.states.len() - u64::from(self.marked_up_to(before))) as usize;
                self.figures.count(distance as u64);
                self.mark(before, u32::wrapping_sub);
                self.now += 1;
                self.moments[number] = self.now as u32;
            }
            None => {
                self.states.insert_all(state, |_, _| {}, |_, _| {})?;
                self.figures.first += 1;
                self.now += 1;
                self.moments.push(self.now as u32);
            }
        }
        self.mark(self.now, u32::wrapping_add);
        Ok(())
    }

    /// How many states were generated for the last time at this moment or before.
    fn marked_up_to(&self, mut moment: usize) -> u32 {
        let mut sum = 0;
        while moment > 0 {
            sum += self.tree[moment];
            moment &= moment - 1;
        }
        sum
    }

    fn mark(&mut self, mut moment: usize, by: fn(u32, u32) -> u32) {
        while moment < self.tree.len() {
            self.tree[moment] = by(self.tree[moment], 1);
            moment += moment & moment.wrapping_neg();
        }
    }

    /// Numbers the moments anew without gaps, in a tree with room for as many again.
    fn make_room(&mut self) -> Result<(), OverBudget> {
        let room = (4 * self.moments.len()).max(FIRST_ROOM).next_power_of_two();
        // The tree, the moments, and the order they are brought into.
        self.memory.try_resize(4 * room as u64 + 16 * self.moments.len() as u64)?;
        let mut order: Vec<u32> = (0..self.moments.len() as u32).collect();
        order.sort_unstable_by_key(|&number| self.moments[number as usize]);
        for (moment, number) in (1..).zip(order) {
            self.moments[number as usize] = moment;
        }
        self.now = self.moments.len();
        self.tree = vec![0; room];
        for moment in 1..=self.now {
            self.mark(moment, u32::wrapping_add);
        }
        Ok(())
    }

    /// Begins again.
    fn forget(&mut self) -> Result<(), OverBudget> {
        self.states.clear()?;
        (self.moments, self.tree, self.now) = (Vec::new(), vec![0; FIRST_ROOM], 0);
        self.memory = self.governor.try_reserve(8 * FIRST_ROOM as u64, "cache distances")?;
        self.figures.restarts += 1;
        Ok(())
    }

    /// What was counted.
    pub(crate) fn figures(&self) -> CacheDistanceFigures {
        self.figures.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_testkit::Random;

    /// What a list in order of use says, which is the definition.
    fn by_list(states: &[u64]) -> CacheDistanceFigures {
        let (mut list, mut figures): (Vec<u64>, _) = (Vec::new(), CacheDistanceFigures::default());
        for state in states {
            match list.iter().rev().position(|other| other == state) {
                Some(distance) => {
                    figures.count(distance as u64);
                    list.remove(list.len() - 1 - distance);
                }
                None => figures.first += 1,
            }
            list.push(*state);
        }
        figures
    }

    #[test]
    fn distances_are_those_of_a_list_in_order_of_use() {
        let mut random = Random::new(7);
        for values in [1, 2, 50, 3000] {
            let states: Vec<u64> = (0..20_000).map(|_| random.bits() % values).collect();
            let mut distances = CacheDistances::new(1, Governor::new(8 << 20)).unwrap();
            distances.note(States::new(1, &states)).unwrap();
            assert_eq!(distances.figures(), by_list(&states), "{values} states");
        }
    }

    #[test]
    fn too_many_states_are_forgotten_and_that_is_told() {
        let states: Vec<u64> = (0..200_000).collect();
        let mut distances = CacheDistances::new(1, Governor::new(1 << 20)).unwrap();
        distances.note(States::new(1, &states)).unwrap();
        let figures = distances.figures();
        assert!(figures.restarts > 0 && figures.first >= 200_000, "{figures:?}");
    }
}
