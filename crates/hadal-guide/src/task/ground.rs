//! Grounding: which values each variable can come to have, and in which ways each action instance can fire.
//!
//! Values spread from the initial states until nothing new is found, as if variables changed independently of each other:
//! a superset of what is reachable. An instance that is too much to look at is taken by its static facts.

use super::bits::Bits;
use super::machine::{Cell, End, Faults, Machine};
use super::universe::Scalar;
use hadal_system::facts::{Facts, Footprint, ValueSet};
use hadal_system::system::{instance_count, instance_values};
use hadal_system::{Action, System, Value};
use std::collections::{BTreeMap, HashMap, HashSet};

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
/// With more effects than this, all further instances are taken by their static facts.
const MAX_ROWS: usize = 1_000_000;

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

/// One way for some action instances to fire: a path through guard and body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// First and last label.
    pub labels: Vec<(u32, u32)>,
    /// What each scalar must be.
    pub demands: Vec<(u32, Bits)>,
    /// What is written.
    pub rows: Vec<Row>,
    /// Whether it says exactly what happens.
    pub exact: bool,
}

/// A path into an error of the model.
#[derive(Clone, Debug)]
pub struct FaultWay {
    pub demands: Vec<(u32, Bits)>,
    /// Whether the error is surely met.
    pub exact: bool,
}

/// What grounding finds.
pub struct Ground {
    pub ways: Vec<Way>,
    /// What the scalars are where an instance meets an error of the model, or may.
    pub faults: Vec<FaultWay>,
    /// Labels taken by their static facts only.
    pub coarse: u64,
}

struct Unit<'a> {
    action: &'a Action,
    id: usize,
    /// The instance, or all of them.
    instance: Option<u64>,
    labels: (u32, u32),
    coarse: bool,
    /// Whether it is taken together with the other instances of its action.
    whole: bool,
    limits: Limits,
    looked: Vec<u32>,
}

/// What one path writes, by value: numbers are not settled before all values are known.
enum Written {
    Value(Scalar),
    Everything,
}

/// Finds the values and ways. The machine's universe must hold the values of the initial states.
pub fn ground(machine: &mut Machine, faults: Faults, limits: Limits) -> Ground {
    let system = machine.system;
    let facts = std::cell::OnceCell::new();
    let labels = system.label_bases(&system.actions).last().copied().unwrap_or(0);
    let look = || if labels > limits.instances { Facts::coarse(system) } else { Facts::of(system) };
    let mut units = units(system, limits);
    let mut fuel = limits.total_fuel;
    machine.faults = Faults::Skipped;
    loop {
        spread(machine, &mut units, &mut fuel, &|| facts.get_or_init(look));
        machine.universe.sort();
        machine.faults = faults;
        let before = units.iter().filter(|unit| unit.coarse).count();
        let found = collect(machine, &mut units, &|| facts.get_or_init(look));
        if units.iter().filter(|unit| unit.coarse).count() == before {
            return found;
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
            });
        }
    }
    units
}

/// Runs every instance until no new values appear.
fn spread<'f>(machine: &mut Machine, units: &mut [Unit], fuel: &mut u64, facts: &dyn Fn() -> &'f Facts) {
    let mut readers: HashMap<u32, Vec<u32>> = HashMap::new();
    let mut pending: Vec<u32> = (0..units.len() as u32).collect();
    let mut coarse_instances: HashMap<usize, u32> = HashMap::new();
    let mut written_whole: HashSet<usize> = HashSet::new();
    while !pending.is_empty() {
        let mut changed: Vec<u32> = Vec::new();
        for &n in &pending {
            let unit = &mut units[n as usize];
            let mut written: Vec<(u32, Written)> = Vec::new();
            if !unit.coarse && !run_unit(machine, unit, fuel, |machine, end| note(machine, end, &mut written))
            {
                unit.coarse = true;
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
            for &var in &unit.looked {
                let list = readers.entry(var).or_default();
                if list.last() != Some(&n) && !list.contains(&n) {
                    list.push(n);
                }
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
}

/// Runs one instance on every path; false where it is too much.
fn run_unit(
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
    unit.looked = machine.looked.iter().copied().collect();
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
            machine.enter(&action.locals)?;
            for (param, &value) in action.params.iter().zip(values) {
                machine.bind(param.local, value);
            }
            Ok(())
        };
        enter(self)?;
        self.assume(&action.guard, true)?;
        self.restore_state();
        self.leave(self.state_slots);
        enter(self)?;
        self.block(&action.body)?;
        Ok(())
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

fn footprint<'f>(unit: &Unit, facts: &'f Facts) -> &'f Footprint {
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

/// Runs every instance once more and takes down its ways.
fn collect<'f>(machine: &mut Machine, units: &mut [Unit], facts: &dyn Fn() -> &'f Facts) -> Ground {
    let mut ground = Ground { ways: Vec::new(), faults: Vec::new(), coarse: 0 };
    type Key = (Vec<(u32, Bits)>, Vec<Row>);
    let mut known: HashMap<Key, usize> = HashMap::new();
    // Only the scalars of multisets make ways of different instances the same.
    let shared = machine.universe.vars.iter().any(|possible| possible.loose);
    // The way of all instances that an action's static facts stand for together, if there is one.
    let mut whole: HashMap<usize, Option<usize>> = HashMap::new();
    let mut row_count = 0;
    for unit in units.iter_mut() {
        let mut ways: Vec<Way> = Vec::new();
        let mut faults: Vec<FaultWay> = Vec::new();
        let labels = unit.labels;
        let take = |machine: &mut Machine, end: Result<(), End>| match end {
            Ok(()) => ways.push(Way {
                labels: vec![labels],
                demands: demands(machine),
                rows: rows(machine),
                exact: !machine.vague,
            }),
            Err(End::Fault) if machine.faults == Faults::Followed => {
                faults.push(FaultWay { demands: demands(machine), exact: !machine.vague });
            }
            Err(_) => {}
        };
        let mut fuel = unit.limits.instance_fuel.saturating_mul(2);
        if unit.coarse || row_count > MAX_ROWS || !run_unit(machine, unit, &mut fuel, take) {
            unit.coarse = true;
            ways.clear();
            faults.clear();
            if unit.whole
                && let Some(way) = whole.get(&unit.id)
            {
                if let Some(way) = way {
                    extend_labels(&mut ground.ways[*way].labels, labels);
                }
                ground.coarse += u64::from(labels.1 - labels.0) + 1;
                continue;
            }
            coarse_way(machine, labels, footprint(unit, facts()), &mut ways, &mut faults);
            ground.coarse += u64::from(labels.1 - labels.0) + 1;
        }
        ground.faults.extend(faults);
        ways.retain(|way| !way.rows.is_empty());
        row_count += ways.iter().map(|way| way.rows.len()).sum::<usize>();
        if unit.whole {
            whole.insert(unit.id, (!ways.is_empty()).then_some(ground.ways.len()));
        }
        if !shared || unit.whole {
            ground.ways.append(&mut ways);
        }
        for way in ways {
            let key = (by_var(machine, &way.demands), rows_by_var(machine, &way.rows));
            match known.get(&key) {
                Some(&n) => ground.ways[n].labels.extend(way.labels),
                None => {
                    known.insert(key, ground.ways.len());
                    ground.ways.push(way);
                }
            }
        }
    }
    ground
}

/// Adds labels to a list of first and last ones.
fn extend_labels(list: &mut Vec<(u32, u32)>, labels: (u32, u32)) {
    match list.last_mut() {
        Some(last) if last.1 + 1 == labels.0 => last.1 = labels.1,
        _ => list.push(labels),
    }
}

/// Scalars of a multiset stand for each other: ways that differ in them only are the same.
fn by_var(machine: &Machine, demands: &[(u32, Bits)]) -> Vec<(u32, Bits)> {
    let mut list: Vec<(u32, Bits)> =
        demands.iter().map(|&(slot, bits)| (machine.universe.var_of[slot as usize], bits)).collect();
    list.sort_unstable();
    list
}

fn rows_by_var(machine: &Machine, rows: &[Row]) -> Vec<Row> {
    let var = |slot: u32| machine.universe.var_of[slot as usize];
    let renamed = rows.iter().map(|row| Row {
        condition: row.condition.map(|(slot, bits)| (var(slot), bits)),
        slot: var(row.slot),
        values: row.values,
    });
    renamed.collect()
}

fn demands(machine: &Machine) -> Vec<(u32, Bits)> {
    let all = |slot: u32| machine.universe.of_slot(slot).whole;
    machine.know.iter().map(|(&slot, &bits)| (slot, bits)).filter(|&(slot, bits)| bits != all(slot)).collect()
}

fn rows(machine: &Machine) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut dirty = machine.dirty.clone();
    dirty.sort_unstable();
    dirty.dedup();
    for multiset in machine.universe.multisets_of(&dirty) {
        for &(slot, blank) in &multiset.blanks {
            let possible = machine.universe.of_slot(slot);
            let at = possible.values.iter().position(|&value| value == blank);
            rows.extend(at.map(|at| Row { condition: None, slot, values: Bits::one(at) }));
        }
    }
    for slot in dirty {
        let possible = machine.universe.of_slot(slot);
        if possible.wide {
            continue;
        }
        let place = |value: Scalar| possible.values.iter().position(|&v| v == value);
        match &machine.cells[slot as usize] {
            Cell::Start => {}
            Cell::Known(value) => {
                let Some(at) = place(*value) else { continue };
                // Where it surely had that value before, nothing happens to it.
                if possible.loose || machine.known(slot).only() != Some(at) {
                    rows.push(Row { condition: None, slot, values: Bits::one(at) });
                }
            }
            Cell::Map(from, table) => {
                let mut by_value: BTreeMap<usize, Bits> = BTreeMap::new();
                for n in machine.known(*from).iter() {
                    if let Some(at) = place(table[n]).filter(|&at| *from != slot || at != n) {
                        by_value.entry(at).or_default().insert(n);
                    }
                }
                rows.extend(by_value.into_iter().map(|(at, when)| Row {
                    condition: Some((*from, when)),
                    slot,
                    values: Bits::one(at),
                }));
            }
            Cell::Any => {
                rows.push(Row { condition: None, slot, values: possible.whole });
            }
        }
    }
    rows
}

fn coarse_way(
    machine: &Machine,
    labels: (u32, u32),
    print: &Footprint,
    ways: &mut Vec<Way>,
    faults: &mut Vec<FaultWay>,
) {
    let as_demands = |list: &[(u32, ValueSet)]| -> Vec<(u32, Bits)> {
        let known = list.iter().filter(|(slot, _)| !machine.universe.of_slot(*slot).wide);
        known.map(|(slot, set)| (*slot, bits_of(machine, *slot, set))).collect()
    };
    if print.may_fault {
        if print.can_hold {
            faults.push(FaultWay { demands: as_demands(&print.demands), exact: false });
        }
        let guard = print.guard_faults.as_ref().map(|list| as_demands(list));
        faults.extend(guard.map(|demands| FaultWay { demands, exact: false }));
    }
    let demands = as_demands(&print.demands);
    if !print.can_fire || demands.iter().any(|(_, bits)| bits.is_empty()) {
        return;
    }
    let mut rows = Vec::new();
    for slot in print.may_write.iter() {
        let possible = machine.universe.of_slot(slot);
        if possible.wide {
            continue;
        }
        let values = match print.result(slot) {
            Some(set) => bits_of(machine, slot, set),
            None => possible.whole,
        };
        rows.push(Row { condition: None, slot, values });
    }
    ways.push(Way { labels: vec![labels], demands, rows, exact: false });
}

/// The possible values of a scalar that are in the set.
fn bits_of(machine: &Machine, slot: u32, set: &ValueSet) -> Bits {
    let values = machine.universe.of_slot(slot).values.iter().enumerate();
    let inside = values.filter(|(_, value)| match value {
        Some(value) => set.contains(*value),
        None => set.may_be_undefined(),
    });
    inside.map(|(n, _)| n).collect()
}
