//! Grounding: which values each variable can come to have, and by which operators each action instance can fire.
//!
//! Values spread from the initial states until nothing new is found, as if variables changed independently of each other:
//! a superset of what is reachable. An instance that is too much to look at is taken by its static facts.

use super::bits::{Bits, FastMap};
use super::machine::{Cell, End, Faults, Machine};
use super::operators::collect;
use super::universe::Scalar;
use hadal_system::facts::{Facts, Footprint};
use hadal_system::guide::{CalledOff, Meter};
use hadal_system::machine::AbstractMachine;
use hadal_system::system::{instance_count, instance_values};
use hadal_system::{Action, System, Value};
use std::collections::HashSet;

/// How much is looked at before an action instance is taken by its static facts only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Paths through one action instance.
    pub paths: usize,
    /// Steps for one action instance.
    pub instance_fuel: u64,
    /// Steps for all of them together.
    pub total_fuel: u64,
    /// Instances that are told apart.
    pub instances: u64,
}

/// More coarse instances of one action than this are taken together.
const MAX_COARSE: u32 = 64;

/// What a step of an action instance counts as, and what looking at one adds: about nanoseconds.
pub(super) const STEP_WORK: u64 = 60;
pub(super) const UNIT_WORK: u64 = 1000;

impl Default for Limits {
    fn default() -> Self {
        Limits { paths: 600, instance_fuel: 60_000, total_fuel: 14_000_000, instances: 30_000 }
    }
}

/// A row of an effect: where the condition was true, the scalar gets one of the values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    pub condition: Option<(u32, Bits)>,
    pub slot: u32,
    pub values: Bits,
}

/// One operator: a path of some action instances through guard and body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// First and last label.
    pub labels: Vec<(u32, u32)>,
    /// What each scalar must be.
    pub preconditions: Vec<(u32, Bits)>,
    /// What is written.
    pub rows: Vec<Row>,
    /// Whether it says exactly what happens.
    pub exact: bool,
}

/// A path into an error of the model.
#[derive(Clone, Debug)]
pub struct FaultOperator {
    pub preconditions: Vec<(u32, Bits)>,
    /// Whether the error is surely met.
    pub exact: bool,
}

/// What grounding finds.
pub struct Ground {
    pub operators: Vec<Operator>,
    /// What the scalars are where an instance meets an error of the model, or may.
    pub faults: Vec<FaultOperator>,
    /// Labels taken by their static facts only.
    pub coarse: u64,
}

pub(super) struct Unit<'a> {
    action: &'a Action,
    pub(super) id: usize,
    /// The instance, or all of them.
    instance: Option<u64>,
    pub(super) labels: (u32, u32),
    pub(super) coarse: bool,
    /// Whether it is taken together with the other instances of its action.
    pub(super) whole: bool,
    pub(super) limits: Limits,
    looked: Vec<u32>,
    /// How many values each of these variables had when the instance was last run, and whether these were all of their
    /// domain; empty where it was not run.
    seen: Vec<(u32, bool)>,
}

/// What one path writes, by value: numbers are not settled before all values are known.
enum Written {
    Value(Scalar),
    Everything,
}

/// Finds the values and operators. The machine's universe must hold the values of the initial states.
pub fn ground(
    machine: &mut Machine,
    faults: Faults,
    limits: Limits,
    meter: &dyn Meter,
) -> Result<Ground, CalledOff> {
    let system = machine.system;
    let facts = std::cell::OnceCell::new();
    let labels = system.label_bases(&system.actions).last().copied().unwrap_or(0);
    let look = || if labels > limits.instances { Facts::coarse(system) } else { Facts::of(system) };
    let mut units = units(system, limits);
    let mut fuel = limits.total_fuel;
    machine.faults = Faults::Skipped;
    loop {
        spread(machine, &mut units, &mut fuel, &|| facts.get_or_init(look), meter)?;
        machine.universe.sort();
        machine.faults = faults;
        let before = units.iter().filter(|unit| unit.coarse).count();
        let found = collect(machine, &mut units, &|| facts.get_or_init(look), meter)?;
        if units.iter().filter(|unit| unit.coarse).count() == before {
            return Ok(found);
        }
        machine.faults = Faults::Skipped;
    }
}

fn units(system: &System, limits: Limits) -> Vec<Unit<'_>> {
    let mut units = Vec::new();
    let mut told_apart = 0;
    let bases = system.label_bases(&system.actions);
    for (id, action) in system.actions.iter().enumerate() {
        let count = instance_count(&action.params, &system.domains);
        let first = bases[id] as u32;
        if count == 0 {
            continue;
        }
        if told_apart + count <= limits.instances {
            told_apart += count;
            units.extend((0..count).map(|n| Unit {
                action,
                id,
                instance: Some(n),
                labels: (first + n as u32, first + n as u32),
                coarse: false,
                whole: false,
                limits,
                looked: Vec::new(),
                seen: Vec::new(),
            }));
        } else {
            let labels = (first, first + (count - 1) as u32);
            units.push(Unit {
                action,
                id,
                instance: None,
                labels,
                coarse: true,
                whole: true,
                limits,
                looked: Vec::new(),
                seen: Vec::new(),
            });
        }
    }
    units
}

/// Runs every instance until no new values appear.
fn spread<'f>(
    machine: &mut Machine,
    units: &mut [Unit],
    fuel: &mut u64,
    facts: &dyn Fn() -> &'f Facts,
    meter: &dyn Meter,
) -> Result<(), CalledOff> {
    let mut readers: FastMap<u32, Vec<u32>> = FastMap::default();
    let mut pending: Vec<u32> = (0..units.len() as u32).collect();
    let mut coarse_instances: FastMap<usize, u32> = FastMap::default();
    let mut written_whole: HashSet<usize> = HashSet::new();
    for unit in units.iter_mut() {
        unit.looked.clear();
        unit.seen.clear();
    }
    while !pending.is_empty() {
        let mut changed: Vec<u32> = Vec::new();
        for &n in &pending {
            let unit = &mut units[n as usize];
            let mut written: Vec<(u32, Written)> = Vec::new();
            let (before, known) = (*fuel, unit.looked.len());
            if !unit.coarse {
                unit.coarse = !run_again(machine, unit, fuel, &mut written);
            }
            if unit.coarse {
                written.clear();
                let count = coarse_instances.entry(unit.id).or_default();
                *count += 1;
                unit.whole |= *count > MAX_COARSE;
                if !unit.whole || written_whole.insert(unit.id) {
                    written = coarse_writes(machine, footprint(unit, facts()));
                }
            }
            meter.spend(UNIT_WORK + (before - *fuel) * STEP_WORK, 0)?;
            for &var in &unit.looked[known..] {
                readers.entry(var).or_default().push(n);
            }
            for (slot, written) in written {
                let var = machine.universe.var_of[slot as usize];
                let grown = match written {
                    Written::Value(value) => machine.universe.add(machine.system, var, value),
                    Written::Everything => machine.universe.add_all(machine.system, var),
                };
                if grown {
                    changed.push(var);
                }
            }
        }
        changed.sort_unstable();
        changed.dedup();
        pending = changed.iter().filter_map(|var| readers.get(var)).flatten().copied().collect();
        pending.sort_unstable();
        pending.dedup();
        pending.retain(|&n| !units[n as usize].coarse);
    }
    Ok(())
}

/// Runs an instance on the paths that it can take since it was last run; false where it is too much.
///
/// Where only values were added to what it looks at, paths without any of them are known: it runs once for each variable
/// that has new ones, on the paths on which that has one of them.
fn run_again(
    machine: &mut Machine,
    unit: &mut Unit,
    fuel: &mut u64,
    written: &mut Vec<(u32, Written)>,
) -> bool {
    let mut news: Vec<(u32, Bits)> = Vec::new();
    let mut anew = unit.seen.is_empty();
    for (&var, &(count, whole)) in unit.looked.iter().zip(&unit.seen) {
        let possible = &machine.universe.vars[var as usize];
        let now = possible.values.len();
        if possible.is_whole() != whole || possible.loose && now > count as usize {
            anew = true;
        } else if now > count as usize {
            news.push((possible.slots[0], Bits::below(now).without(&Bits::below(count as usize))));
        }
    }
    let mut done = true;
    if anew {
        done = run_unit(machine, unit, fuel, |machine, end| note(machine, end, written));
    } else {
        for new in news {
            machine.given = Some(new);
            done &= run_unit(machine, unit, fuel, |machine, end| note(machine, end, written));
        }
        machine.given = None;
    }
    let state = |var: &u32| {
        let possible = &machine.universe.vars[*var as usize];
        (possible.values.len() as u32, possible.is_whole())
    };
    unit.seen = unit.looked.iter().map(state).collect();
    done
}

/// Runs one instance on every path; false where it is too much.
pub(super) fn run_unit(
    machine: &mut Machine,
    unit: &mut Unit,
    fuel: &mut u64,
    mut each: impl FnMut(&mut Machine, Result<(), End>),
) -> bool {
    let Some(instance) = unit.instance else { return false };
    let action = unit.action;
    let values = instance_values(&action.params, &machine.system.domains, instance);
    machine.looked.clear();
    let granted = unit.limits.instance_fuel.min(*fuel);
    machine.fuel = granted;
    let done = fire_paths(machine, unit, &values, &mut each);
    *fuel -= granted - machine.fuel;
    let known: HashSet<u32> = unit.looked.iter().copied().collect();
    unit.looked.extend(machine.looked.iter().filter(|var| !known.contains(var)));
    done
}

fn fire_paths(
    machine: &mut Machine,
    unit: &Unit,
    values: &[Value],
    each: &mut impl FnMut(&mut Machine, Result<(), End>),
) -> bool {
    let done = machine.paths(
        unit.limits.paths,
        |machine| machine.fire(unit.id, values),
        |machine, end| each(machine, end),
    );
    done.is_ok()
}

impl<'a> Machine<'a> {
    /// Fires an action: guard, then body from the same state with fresh locals.
    fn fire(&mut self, action: usize, values: &[Value]) -> Result<(), End> {
        let action = &self.system.actions[action];
        let enter = |machine: &mut Self| -> Result<(), End> {
            machine.enter(None, &action.locals)?;
            for (param, &value) in action.params.iter().zip(values) {
                let slot = machine.local_slot(param.local);
                machine.bind(slot, value);
            }
            Ok(())
        };
        enter(self)?;
        self.assume(&action.guard, true)?;
        self.restore_state();
        self.leave_all();
        enter(self)?;
        self.body(&action.body)
    }
}

/// Notes what the path that just ended has written.
fn note(machine: &mut Machine, end: Result<(), End>, written: &mut Vec<(u32, Written)>) {
    if end.is_err() {
        return;
    }
    for n in 0..machine.dirty.len() {
        let slot = machine.dirty[n];
        match machine.cells[slot as usize].clone() {
            Cell::Start => {}
            Cell::Known(value) => written.push((slot, Written::Value(value))),
            Cell::Map(from, table) => {
                let known = machine.known(from);
                written.extend(known.iter().map(|n| (slot, Written::Value(table[n]))));
            }
            Cell::Any => written.push((slot, Written::Everything)),
        }
    }
    for multiset in machine.universe.multisets_of(&machine.dirty) {
        written.extend(multiset.blanks.iter().map(|&(slot, blank)| (slot, Written::Value(blank))));
    }
}

pub(super) fn footprint<'f>(unit: &Unit, facts: &'f Facts) -> &'f Footprint {
    match unit.instance {
        Some(n) if !unit.whole => facts.actions[unit.id].instance(n),
        _ => &facts.actions[unit.id].whole,
    }
}

fn coarse_writes(machine: &Machine, print: &Footprint) -> Vec<(u32, Written)> {
    let mut written = Vec::new();
    if !print.can_fire {
        return written;
    }
    for slot in print.may_write.iter() {
        let domain = &machine.system.domains[machine.universe.of_slot(slot).domain];
        match print.result(slot).filter(|set| set.count() <= 64) {
            Some(set) => {
                let inside = set.values().filter(|&v| domain.contains(v)).map(Some);
                let undefined = (set.may_be_undefined() && domain.undefined).then_some(None);
                written.extend(inside.chain(undefined).map(|v| (slot, Written::Value(v))));
            }
            None => written.push((slot, Written::Everything)),
        }
    }
    written
}
