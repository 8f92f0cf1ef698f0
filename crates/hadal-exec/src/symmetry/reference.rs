//! The meaning of symmetry, written to be read: on unpacked values, one permutation at a time.
//!
//! Slow on purpose. The tests hold [`super::Canonicaliser`] against it.

use hadal_system::{DomainId, DomainKind, ScalarsetId, Shape, ShapeId, System, Value};

/// The values of all slots of a state.
pub type Values = Vec<Option<Value>>;

/// For each scalarset that is permuted: where each of its elements goes.
pub type Permutation = Vec<(ScalarsetId, Vec<usize>)>;

/// Every permutation of every scalarset of the system, combined in all ways.
pub fn permutations(system: &System) -> Vec<Permutation> {
    let mut all: Vec<Permutation> = vec![Vec::new()];
    for (_, domain) in system.domains.iter() {
        let DomainKind::Scalarset(id) = domain.kind else { continue };
        if all[0].iter().any(|(known, _)| *known == id) {
            continue;
        }
        let mut longer = Vec::new();
        for permutation in &all {
            for arrangement in arrangements(domain.size() as usize) {
                let mut with = permutation.clone();
                with.push((id, arrangement));
                longer.push(with);
            }
        }
        all = longer;
    }
    all
}

/// All orders of `0..size`.
fn arrangements(size: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..size {
        let mut longer = Vec::new();
        for arrangement in &all {
            for next in (0..size).filter(|next| !arrangement.contains(next)) {
                let mut with: Vec<usize> = arrangement.clone();
                with.push(next);
                longer.push(with);
            }
        }
        all = longer;
    }
    all
}

/// The value that takes the place of `value` in a scalar or index of this domain.
pub fn image(system: &System, domain: DomainId, value: Value, permutation: &Permutation) -> Value {
    let this = &system.domains[domain];
    match &this.kind {
        DomainKind::Scalarset(id) => {
            let goes = permutation.iter().find(|(permuted, _)| permuted == id);
            let position = this.position(value);
            match (goes, position) {
                (Some((_, goes)), Some(position)) => {
                    this.value_at(goes[position as usize] as u64).unwrap_or(value)
                }
                _ => value,
            }
        }
        DomainKind::Union(members) => members
            .iter()
            .find(|&&member| system.domains[member].contains(value))
            .map_or(value, |&member| image(system, member, value, permutation)),
        _ => value,
    }
}

/// The state in which the elements have changed names.
pub fn permute(system: &System, values: &[Option<Value>], permutation: &Permutation) -> Values {
    let mut result = Vec::new();
    let mut rest = values;
    for variable in &system.variables {
        let (own, others) = rest.split_at(system.shapes.slots(variable.shape));
        result.extend(permute_shape(system, variable.shape, own, permutation));
        rest = others;
    }
    result
}

fn permute_shape(system: &System, shape: ShapeId, values: &[Option<Value>], how: &Permutation) -> Values {
    match &system.shapes[shape] {
        Shape::Scalar(domain) => vec![values[0].map(|value| image(system, *domain, value, how))],
        Shape::Record(fields) => {
            let mut result = Vec::new();
            let mut rest = values;
            for field in fields {
                let (own, others) = rest.split_at(system.shapes.slots(field.shape));
                result.extend(permute_shape(system, field.shape, own, how));
                rest = others;
            }
            result
        }
        Shape::Array { index, element } => {
            let size = system.shapes.slots(*element);
            let mut result = vec![None; values.len()];
            for (from, value) in system.domains[*index].values().enumerate() {
                let goes = image(system, *index, value, how);
                let Some(to) = system.domains[*index].position(goes) else { continue };
                let moved = permute_shape(system, *element, &values[from * size..][..size], how);
                result[to as usize * size..][..size].copy_from_slice(&moved);
            }
            result
        }
        Shape::Multiset { element, .. } => {
            let size = system.shapes.slots(*element);
            values.chunks(size).flat_map(|one| permute_shape(system, *element, one, how)).collect()
        }
    }
}

/// The state with every multiset sorted, absent elements last and blank.
pub fn normalise(system: &System, values: &[Option<Value>]) -> Values {
    let mut result = Vec::new();
    let mut rest = values;
    for variable in &system.variables {
        let (own, others) = rest.split_at(system.shapes.slots(variable.shape));
        result.extend(normalise_shape(system, variable.shape, own));
        rest = others;
    }
    result
}

fn normalise_shape(system: &System, shape: ShapeId, values: &[Option<Value>]) -> Values {
    match &system.shapes[shape] {
        Shape::Scalar(_) => values.to_vec(),
        Shape::Record(fields) => {
            let mut result = Vec::new();
            let mut rest = values;
            for field in fields {
                let (own, others) = rest.split_at(system.shapes.slots(field.shape));
                result.extend(normalise_shape(system, field.shape, own));
                rest = others;
            }
            result
        }
        Shape::Array { element, .. } => {
            let size = system.shapes.slots(*element);
            values.chunks(size.max(1)).flat_map(|one| normalise_shape(system, *element, one)).collect()
        }
        Shape::Multiset { element, .. } => {
            let size = system.shapes.slots(*element);
            let mut elements: Vec<Values> =
                values.chunks(size).map(|one| normalise_shape(system, *element, one)).collect();
            for one in &mut elements {
                if one[0] == Some(0) {
                    *one = blank(system, *element);
                }
            }
            elements.sort_by_key(|one| (one[0] == Some(0), one.clone()));
            elements.concat()
        }
    }
}

/// Every scalar undefined, or its least value where it cannot be.
fn blank(system: &System, shape: ShapeId) -> Values {
    let mut values = Vec::new();
    system.shapes.for_each_scalar(&system.domains, shape, "", &mut |_, domain| {
        let domain = &system.domains[domain];
        values.push(if domain.undefined { None } else { Some(domain.min()) });
    });
    values
}

/// All states equivalent to this one in their normal form, ascending, each once.
pub fn orbit(system: &System, values: &[Option<Value>]) -> Vec<Values> {
    let mut orbit: Vec<Values> = permutations(system)
        .iter()
        .map(|permutation| normalise(system, &permute(system, values, permutation)))
        .collect();
    orbit.sort();
    orbit.dedup();
    orbit
}
