//! What processes were given when they started, where nobody starts them again.
//!
//! A variable that is written only where its process starts or ends stays as it is while that process lives. Where the
//! steps that start it cannot come any more (they belong to a process that has left them behind), its steps may be
//! looked at with that value in place of the variable: then it is known which channels a process uses that was given
//! them. What can fire from such a state, ever, is what can fire in the model with those values.

use super::cycles::follows;
use hadal_system::facts::{Facts, SlotSet};
use hadal_system::fold::Fold;
use hadal_system::state::get_bits;
use hadal_system::{Expr, Layout, System, Value, VarId};
use std::collections::BTreeSet;

/// The variables that stay as they are, and how a state tells that they do.
pub(super) struct Frozen {
    given: Vec<Given>,
    /// The steps that start processes.
    births: BTreeSet<usize>,
    starters: Vec<Starter>,
    /// Number of a word of the state, and the bits of given variables in it.
    places: Vec<(u32, u64)>,
}

struct Given {
    var: VarId,
    owner: usize,
    offset: u32,
    width: u32,
    /// The value of code 0, and whether that is the undefined one.
    least: Value,
    undefined: bool,
}

/// A process that starts others.
struct Starter {
    offset: u32,
    width: u32,
    /// By location, whether it may still do so.
    may_start: Vec<bool>,
}

impl Frozen {
    /// Finds them; `None` where there is nothing to gain.
    pub(super) fn find(system: &System, layout: &Layout, facts: &Facts) -> Option<Self> {
        let first_slots = system.first_slots();
        let slot = |var: VarId| first_slots[var.0 as usize] as u32;
        let writers = |slot: u32| {
            let all = facts.actions.iter().take(system.actions.len()).enumerate();
            all.filter(move |(_, it)| it.whole.may_write.contains(slot)).map(|(n, _)| n)
        };
        let moves = |p: usize, n: usize| {
            let process = &system.processes[p];
            follows(process, n, &facts.actions[n].whole, slot(process.location))
        };
        // Of each process, the steps that move it otherwise than along its edges.
        let starting: Vec<Vec<usize>> = (0..system.processes.len())
            .map(|p| writers(slot(system.processes[p].location)).filter(|&n| !moves(p, n)).collect())
            .collect();
        let starter_of = |n: usize| {
            let moved = |p: &usize| system.processes[*p].edges.iter().any(|e| e.action.0 as usize == n);
            (0..system.processes.len()).find(|p| starting[*p].is_empty() && moved(p))
        };
        let mut births = BTreeSet::new();
        let mut given = Vec::new();
        for (v, variable) in system.variables.iter().enumerate() {
            let var = VarId(v as u32);
            let Some(owner) = variable.owner.map(|owner| owner.0 as usize) else { continue };
            let scalar = system.shapes.scalar(variable.shape).is_some();
            if !scalar || system.processes.iter().any(|process| process.location == var) {
                continue;
            }
            let edges = &system.processes[owner].edges;
            // One that is started stands nowhere before, at location 0.
            if starting[owner].is_empty() || edges.iter().any(|edge| edge.from == 0) {
                continue;
            }
            let ends = |n: usize| {
                moves(owner, n) && edges.iter().any(|e| e.action.0 as usize == n && e.from != 0 && e.to == 0)
            };
            let mut by: Vec<usize> = writers(slot(var)).filter(|&n| !ends(n)).collect();
            by.extend(&starting[owner]);
            let place = &layout.slots()[slot(var) as usize];
            let domain = &system.domains[place.domain];
            let &[(least, _)] = domain.intervals.as_slice() else { continue };
            let own = |n: usize| edges.iter().any(|edge| edge.action.0 as usize == n);
            if by.iter().any(|&n| own(n) || starter_of(n).is_none()) {
                continue;
            }
            births.extend(by);
            let (offset, width, undefined) = (place.offset, place.width, domain.undefined);
            given.push(Given { var, owner, offset, width, least, undefined });
        }
        if given.is_empty() {
            return None;
        }
        let starters: BTreeSet<usize> = births.iter().filter_map(|&n| starter_of(n)).collect();
        let plain = |p: &usize| {
            let domain = &system.domains[layout.slots()[slot(system.processes[*p].location) as usize].domain];
            !domain.undefined && domain.min() == 0
        };
        if !starters.iter().all(plain) {
            return None;
        }
        let starter = |p: usize| {
            let location = &layout.slots()[slot(system.processes[p].location) as usize];
            let may_start = still(&system.processes[p], &births);
            Starter { offset: location.offset, width: location.width, may_start }
        };
        let starters = starters.into_iter().map(starter).collect();
        let mut bits = SlotSet::new();
        given.iter().for_each(|it| bits.insert_range(it.offset, it.offset + it.width));
        let mut places: Vec<(u32, u64)> = Vec::new();
        for bit in bits.iter() {
            match places.last_mut() {
                Some((word, bits)) if *word == bit / 64 => *bits |= 1 << (bit % 64),
                _ => places.push((bit / 64, 1 << (bit % 64))),
            }
        }
        Some(Frozen { given, births, starters, places })
    }

    /// Whether nobody is started any more.
    pub(super) fn holds(&self, state: &[u64]) -> bool {
        self.starters.iter().all(|it| {
            let location = get_bits(state, it.offset, it.width) as usize;
            it.may_start.get(location) == Some(&false)
        })
    }

    /// What has been given, as words.
    pub(super) fn key<'a>(&'a self, state: &'a [u64]) -> impl Iterator<Item = u64> + 'a {
        self.places.iter().map(|&(word, bits)| state[word as usize] & bits)
    }

    /// The system from `state` on.
    pub(super) fn system(&self, system: &System, state: &[u64]) -> System {
        let mut fixed = system.clone();
        for (n, action) in fixed.actions.iter_mut().enumerate() {
            if self.births.contains(&n) {
                (action.guard, action.body) = (Expr::constant(0), Vec::new());
                continue;
            }
            let takes_part = |p: usize| {
                let mut edges = system.processes[p].edges.iter();
                edges.any(|edge| edge.action.0 as usize == n && edge.from != 0 && edge.to != 0)
            };
            let known = self.given.iter().filter(|it| takes_part(it.owner)).filter_map(|it| {
                let code = get_bits(state, it.offset, it.width);
                let place = code.checked_sub(it.undefined.into())?;
                Some((it.var, it.least.wrapping_add(place as Value)))
            });
            let fold = Fold::new(system, []).fixing(known);
            (action.guard, action.body) = (fold.expr(&action.guard), fold.stmts(&action.body));
        }
        fixed
    }
}

/// By location, whether one of these steps may still come.
fn still(process: &hadal_system::Process, steps: &BTreeSet<usize>) -> Vec<bool> {
    let mut may = vec![false; process.locations.len()];
    loop {
        let before = may.clone();
        for edge in &process.edges {
            let (Ok(from), Ok(to)) = (usize::try_from(edge.from), usize::try_from(edge.to)) else { continue };
            let leads = steps.contains(&(edge.action.0 as usize)) || may.get(to) == Some(&true);
            if let (true, Some(here)) = (leads, may.get_mut(from)) {
                *here = true;
            }
        }
        if may == before {
            return may;
        }
    }
}
