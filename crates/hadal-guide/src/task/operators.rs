//! The operators in which action instances can fire, taken down once all values are known.

use super::bits::{Bits, FastMap};
use super::ground::{FaultOperator, Ground, Operator, Row, STEP_WORK, UNIT_WORK, Unit, footprint, run_unit};
use super::machine::{Cell, End, Faults, Machine};
use super::universe::Scalar;
use hadal_system::facts::{Facts, Footprint, ValueSet};
use hadal_system::guide::{CalledOff, Meter};
use std::collections::BTreeMap;

/// With more effects than this, all further instances are taken by their static facts.
const MAX_ROWS: usize = 1_000_000;

/// Runs every instance once more and takes down its operators.
pub(super) fn collect<'f>(
    machine: &mut Machine,
    units: &mut [Unit],
    facts: &dyn Fn() -> &'f Facts,
    meter: &dyn Meter,
) -> Result<Ground, CalledOff> {
    let mut ground = Ground { operators: Vec::new(), faults: Vec::new(), coarse: 0 };
    type Key = (Vec<(u32, Bits)>, Vec<Row>);
    let mut known: FastMap<Key, usize> = FastMap::default();
    // Only the scalars of multisets make operators of different instances the same.
    let shared = machine.universe.vars.iter().any(|possible| possible.loose);
    // The operator of all instances that an action's static facts stand for together, if there is one.
    let mut whole: FastMap<usize, Option<usize>> = FastMap::default();
    let mut row_count = 0;
    for unit in units.iter_mut() {
        let mut operators: Vec<Operator> = Vec::new();
        let mut faults: Vec<FaultOperator> = Vec::new();
        let labels = unit.labels;
        let take = |machine: &mut Machine, end: Result<(), End>| match end {
            Ok(()) => operators.push(Operator {
                labels: vec![labels],
                preconditions: preconditions(machine),
                rows: rows(machine),
                exact: !machine.vague,
            }),
            Err(End::Fault) if machine.faults == Faults::Followed => {
                faults.push(FaultOperator { preconditions: preconditions(machine), exact: !machine.vague });
            }
            Err(_) => {}
        };
        let full = unit.limits.instance_fuel.saturating_mul(2);
        let mut fuel = full;
        if unit.coarse || row_count > MAX_ROWS || !run_unit(machine, unit, &mut fuel, take) {
            unit.coarse = true;
            operators.clear();
            faults.clear();
            if unit.whole
                && let Some(operator) = whole.get(&unit.id)
            {
                if let Some(operator) = operator {
                    extend_labels(&mut ground.operators[*operator].labels, labels);
                }
                ground.coarse += u64::from(labels.1 - labels.0) + 1;
                continue;
            }
            coarse_operator(machine, labels, footprint(unit, facts()), &mut operators, &mut faults);
            ground.coarse += u64::from(labels.1 - labels.0) + 1;
        }
        operators.retain(|operator| !operator.rows.is_empty());
        let rows: usize = operators.iter().map(|operator| operator.rows.len()).sum();
        meter.spend(UNIT_WORK + (full - fuel) * STEP_WORK, held(&operators, rows, &faults))?;
        ground.faults.extend(faults);
        row_count += rows;
        if unit.whole {
            whole.insert(unit.id, (!operators.is_empty()).then_some(ground.operators.len()));
        }
        if !shared || unit.whole {
            ground.operators.append(&mut operators);
        }
        for operator in operators {
            let key = (by_var(machine, &operator.preconditions), rows_by_var(machine, &operator.rows));
            match known.get(&key) {
                Some(&n) => ground.operators[n].labels.extend(operator.labels),
                None => {
                    known.insert(key, ground.operators.len());
                    ground.operators.push(operator);
                }
            }
        }
    }
    Ok(ground)
}

/// The bytes that these take, about.
fn held(operators: &[Operator], rows: usize, faults: &[FaultOperator]) -> u64 {
    let preconditions = operators
        .iter()
        .map(|operator| operator.preconditions.len())
        .chain(faults.iter().map(|fault| fault.preconditions.len()));
    let bytes = size_of_val(operators)
        + size_of_val(faults)
        + rows * size_of::<Row>()
        + preconditions.sum::<usize>() * size_of::<(u32, Bits)>();
    bytes as u64
}

/// Adds labels to a list of first and last ones.
fn extend_labels(list: &mut Vec<(u32, u32)>, labels: (u32, u32)) {
    match list.last_mut() {
        Some(last) if last.1 + 1 == labels.0 => last.1 = labels.1,
        _ => list.push(labels),
    }
}

/// Scalars of a multiset stand for each other: operators that differ in them only are the same.
fn by_var(machine: &Machine, preconditions: &[(u32, Bits)]) -> Vec<(u32, Bits)> {
    let mut list: Vec<(u32, Bits)> =
        preconditions.iter().map(|&(slot, bits)| (machine.universe.var_of[slot as usize], bits)).collect();
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

fn preconditions(machine: &Machine) -> Vec<(u32, Bits)> {
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

fn coarse_operator(
    machine: &Machine,
    labels: (u32, u32),
    print: &Footprint,
    operators: &mut Vec<Operator>,
    faults: &mut Vec<FaultOperator>,
) {
    let as_preconditions = |list: &[(u32, ValueSet)]| -> Vec<(u32, Bits)> {
        let known = list.iter().filter(|(slot, _)| !machine.universe.of_slot(*slot).wide);
        known.map(|(slot, set)| (*slot, bits_of(machine, *slot, set))).collect()
    };
    if print.may_fault {
        if print.can_hold {
            faults
                .push(FaultOperator { preconditions: as_preconditions(&print.preconditions), exact: false });
        }
        let guard = print.guard_faults.as_ref().map(|list| as_preconditions(list));
        faults.extend(guard.map(|preconditions| FaultOperator { preconditions, exact: false }));
    }
    let preconditions = as_preconditions(&print.preconditions);
    if !print.can_fire || preconditions.iter().any(|(_, bits)| bits.is_empty()) {
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
    operators.push(Operator { labels: vec![labels], preconditions, rows, exact: false });
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
