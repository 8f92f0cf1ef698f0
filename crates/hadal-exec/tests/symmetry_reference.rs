//! The canonicaliser against the definition of symmetry, on hand-built and generated shapes of states.

use hadal_exec::symmetry::reference::{Values, normalise, orbit, permutations, permute};
use hadal_exec::symmetry::{Canonicaliser, SymmetryMode};
use hadal_system::{
    Domain, DomainId, DomainKind, Domains, Field, Layout, Role, ScalarsetId, Shape, ShapeId, Shapes, Source,
    Span, System, VarId, Variable,
};
use hadal_testkit::Random;

/// A system under construction: scalarsets S and T, an enumeration E and unions of them.
struct Build {
    domains: Domains,
    shapes: Shapes,
    variables: Vec<Variable>,
    next_value: i64,
    next_set: u32,
}

impl Build {
    fn new() -> Build {
        Build {
            domains: Domains::default(),
            shapes: Shapes::default(),
            variables: Vec::new(),
            next_value: 1,
            next_set: 0,
        }
    }

    /// A fresh stretch of values, as front ends number enumerations and scalarsets.
    fn stretch(&mut self, size: i64) -> (i64, i64) {
        let first = self.next_value;
        self.next_value += size + 1;
        (first, first + size - 1)
    }

    /// A scalarset: the domain for indices (never undefined) and the one for variables.
    fn scalarset(&mut self, size: i64) -> (DomainId, DomainId) {
        let (lo, hi) = self.stretch(size);
        let kind = DomainKind::Scalarset(ScalarsetId(self.next_set));
        self.next_set += 1;
        let mut make = |undefined| {
            let kind = kind.clone();
            self.domains.add(Domain { name: None, intervals: vec![(lo, hi)], kind, undefined })
        };
        (make(false), make(true))
    }

    fn enumeration(&mut self, size: i64) -> (DomainId, DomainId) {
        let (lo, hi) = self.stretch(size);
        let kind = DomainKind::Enum((lo..=hi).map(|v| format!("e{v}")).collect());
        let mut make = |undefined| {
            let kind = kind.clone();
            self.domains.add(Domain { name: None, intervals: vec![(lo, hi)], kind, undefined })
        };
        (make(false), make(true))
    }

    fn union(&mut self, members: &[DomainId]) -> (DomainId, DomainId) {
        let mut members = members.to_vec();
        members.sort_by_key(|&m| self.domains[m].min());
        let intervals: Vec<_> =
            members.iter().flat_map(|&m| self.domains[m].intervals.iter().copied()).collect();
        let mut make = |undefined| {
            let kind = DomainKind::Union(members.clone());
            self.domains.add(Domain { name: None, intervals: intervals.clone(), kind, undefined })
        };
        (make(false), make(true))
    }

    fn range(&mut self, size: i64, undefined: bool) -> DomainId {
        self.domains.add(Domain::range(0, size - 1, undefined))
    }

    fn shape(&mut self, shape: Shape) -> ShapeId {
        self.shapes.add(shape, &self.domains).unwrap()
    }

    fn scalar(&mut self, domain: DomainId) -> ShapeId {
        self.shape(Shape::Scalar(domain))
    }

    fn array(&mut self, index: DomainId, element: ShapeId) -> ShapeId {
        self.shape(Shape::Array { index, element })
    }

    fn record(&mut self, fields: &[ShapeId]) -> ShapeId {
        let fields =
            fields.iter().enumerate().map(|(n, &shape)| Field { name: format!("f{n}"), shape }).collect();
        self.shape(Shape::Record(fields))
    }

    fn multiset(&mut self, capacity: i64, value: ShapeId) -> ShapeId {
        let slots = self.range(capacity, false);
        let boolean = self.domains.add(Domain::boolean(false));
        let present = self.scalar(boolean);
        let fields = vec![
            Field { name: "present".into(), shape: present },
            Field { name: "value".into(), shape: value },
        ];
        let element = self.shape(Shape::Record(fields));
        self.shape(Shape::Multiset { slots, element })
    }

    fn variable(&mut self, shape: ShapeId) {
        let name = format!("v{}", self.variables.len());
        self.variables.push(Variable { name, shape, role: Role::Data, owner: None, span: Span::default() });
    }

    fn finish(self) -> System {
        System {
            name: "test".into(),
            source: Source::new("test", ""),
            domains: self.domains,
            shapes: self.shapes,
            variables: self.variables,
            ..System::default()
        }
    }
}

/// A random state; `spread` says how many values of each domain occur, few make symmetric states.
fn random_values(system: &System, random: &mut Random, spread: usize) -> Values {
    system
        .slots()
        .iter()
        .map(|(_, domain)| {
            let domain = &system.domains[*domain];
            if domain.undefined && random.below(3) == 0 {
                return None;
            }
            domain.value_at(random.below((domain.size() as usize).min(spread)) as u64)
        })
        .collect()
}

/// The same state with the elements of every multiset in another order.
fn shuffle(system: &System, values: &mut [Option<i64>], random: &mut Random) {
    let mut rest = values;
    for variable in &system.variables {
        let (own, others) = rest.split_at_mut(system.shapes.slots(variable.shape));
        shuffle_shape(system, variable.shape, own, random);
        rest = others;
    }
}

fn shuffle_shape(system: &System, shape: ShapeId, values: &mut [Option<i64>], random: &mut Random) {
    match &system.shapes[shape] {
        Shape::Scalar(_) => {}
        Shape::Record(fields) => {
            let mut rest = values;
            for field in fields {
                let (own, others) = rest.split_at_mut(system.shapes.slots(field.shape));
                shuffle_shape(system, field.shape, own, random);
                rest = others;
            }
        }
        Shape::Array { element, .. } => {
            let size = system.shapes.slots(*element);
            values.chunks_mut(size).for_each(|one| shuffle_shape(system, *element, one, random));
        }
        Shape::Multiset { element, .. } => {
            let size = system.shapes.slots(*element);
            values.chunks_mut(size).for_each(|one| shuffle_shape(system, *element, one, random));
            for n in (1..values.len() / size).rev() {
                let other = random.below(n + 1);
                for slot in 0..size {
                    values.swap(n * size + slot, other * size + slot);
                }
            }
        }
    }
}

/// Holds every mode against the definition on `states` random states.
fn check(system: &System, seed: u64, states: usize) {
    let mut random = Random::new(seed);
    let mut order: Vec<VarId> = (0..system.variables.len() as u32).map(VarId).collect();
    for n in (1..order.len()).rev() {
        order.swap(n, random.below(n + 1));
    }
    let layout = Layout::ordered(system, order);
    let Some(exact) = Canonicaliser::new(system, &layout, SymmetryMode::Exact) else { return };
    let heuristic = Canonicaliser::new(system, &layout, SymmetryMode::Heuristic).unwrap();
    let (mut scratch, mut quick) = (exact.scratch(), heuristic.scratch());
    let pack = |values: &[Option<i64>]| {
        let mut state = vec![0; layout.words()];
        layout.pack(system, values, &mut state).unwrap();
        state
    };
    for n in 0..states {
        let values = random_values(system, &mut random, 1 + n % 4);
        let orbit = orbit(system, &values);
        let mut canonical = pack(&values);
        exact.canonicalise(&mut canonical, &mut scratch);
        let unpacked = layout.unpack(system, &canonical);
        assert!(orbit.binary_search(&normalise(system, &unpacked)).is_ok(), "left the orbit: {values:?}");
        for permutation in permutations(system) {
            let mut image = permute(system, &values, &permutation);
            shuffle(system, &mut image, &mut random);
            let mut state = pack(&image);
            heuristic.canonicalise(&mut state, &mut quick);
            let unpacked = normalise(system, &layout.unpack(system, &state));
            assert!(orbit.binary_search(&unpacked).is_ok(), "heuristic left the orbit: {values:?}");
            let mut state = pack(&image);
            exact.canonicalise(&mut state, &mut scratch);
            assert_eq!(state, canonical, "two representatives of one orbit: {values:?} and {image:?}");
        }
    }
}

#[test]
fn arrays_indexed_by_and_holding_elements() {
    let mut b = Build::new();
    let (s, s_value) = b.scalarset(4);
    let (flag, held) = (b.range(2, true), b.scalar(s_value));
    let flag = b.scalar(flag);
    let node = b.record(&[flag, held]);
    let nodes = b.array(s, node);
    b.variable(nodes);
    b.variable(held);
    let turns = b.range(3, false);
    let turns = b.array(turns, held);
    b.variable(turns);
    check(&b.finish(), 1, 300);
}

#[test]
fn a_function_from_elements_to_elements() {
    for size in 2..=5 {
        let mut b = Build::new();
        let (s, s_value) = b.scalarset(size);
        let held = b.scalar(s_value);
        let next = b.array(s, held);
        b.variable(next);
        check(&b.finish(), size as u64, 100);
    }
}

#[test]
fn a_matrix_over_one_scalarset() {
    let mut b = Build::new();
    let (s, _) = b.scalarset(4);
    let bit = b.range(2, false);
    let bit = b.scalar(bit);
    let row = b.array(s, bit);
    let matrix = b.array(s, row);
    b.variable(matrix);
    check(&b.finish(), 3, 300);
}

#[test]
fn two_scalarsets_index_each_other() {
    let mut b = Build::new();
    let (s, s_value) = b.scalarset(3);
    let (t, t_value) = b.scalarset(3);
    let (held_s, held_t) = (b.scalar(s_value), b.scalar(t_value));
    let cell = b.record(&[held_s, held_t]);
    let row = b.array(t, cell);
    let table = b.array(s, row);
    b.variable(table);
    let column = b.array(t, held_s);
    b.variable(column);
    check(&b.finish(), 4, 150);
}

#[test]
fn unions_as_values_and_as_indices() {
    let mut b = Build::new();
    let (s, _) = b.scalarset(3);
    let (e, _) = b.enumeration(2);
    let (t, _) = b.scalarset(2);
    let (u, u_value) = b.union(&[s, e, t]);
    let (nested, nested_value) = {
        let (f, _) = b.enumeration(1);
        b.union(&[f, u])
    };
    let held = b.scalar(u_value);
    let by_union = b.array(u, held);
    b.variable(by_union);
    let held = b.scalar(nested_value);
    let by_nested = b.array(nested, held);
    b.variable(by_nested);
    let defined = b.scalar(u);
    b.variable(defined);
    check(&b.finish(), 5, 150);
}

#[test]
fn multisets_of_records_that_hold_elements() {
    let mut b = Build::new();
    let (s, s_value) = b.scalarset(4);
    let held = b.scalar(s_value);
    let kind = b.range(2, true);
    let kind = b.scalar(kind);
    let message = b.record(&[kind, held, held]);
    let net = b.multiset(3, message);
    b.variable(net);
    let own = b.array(s, kind);
    b.variable(own);
    check(&b.finish(), 6, 200);
}

#[test]
fn multisets_below_scalarset_indices_and_inside_multisets() {
    let mut b = Build::new();
    let (s, s_value) = b.scalarset(3);
    let held = b.scalar(s_value);
    let inner = b.multiset(2, held);
    let boxes = b.array(s, inner);
    b.variable(boxes);
    let nested = b.record(&[held, inner]);
    let outer = b.multiset(2, nested);
    b.variable(outer);
    let rows = b.array(s, held);
    let bag_of_rows = b.multiset(2, rows);
    b.variable(bag_of_rows);
    check(&b.finish(), 7, 200);
}

#[test]
fn elements_in_multisets_that_cannot_be_undefined() {
    let mut b = Build::new();
    let (s, _) = b.scalarset(4);
    let held = b.scalar(s);
    let bag = b.multiset(3, held);
    b.variable(bag);
    let map = b.array(s, held);
    b.variable(map);
    check(&b.finish(), 8, 200);
}

#[test]
fn multiset_elements_of_more_than_one_word() {
    let mut b = Build::new();
    let (s, s_value) = b.scalarset(3);
    let held = b.scalar(s_value);
    let wide = b.domains.add(Domain::range(0, i64::MAX - 1, true));
    let wide = b.scalar(wide);
    let message = b.record(&[held, wide, held, wide]);
    let net = b.multiset(3, message);
    let nets = b.array(s, net);
    b.variable(nets);
    check(&b.finish(), 9, 60);
}

/// A random shape over the given index and value domains.
fn random_shape(b: &mut Build, random: &mut Random, depth: usize, pool: &[(DomainId, DomainId)]) -> ShapeId {
    let (index, value) = pool[random.below(pool.len())];
    match random.below(if depth == 0 { 2 } else { 7 }) {
        0 => b.scalar(value),
        1 if random.below(3) == 0 => b.scalar(index),
        1 => {
            let plain = b.range(1 + random.below(3) as i64, random.below(2) == 0);
            b.scalar(plain)
        }
        2..=4 => {
            let element = random_shape(b, random, depth - 1, pool);
            b.array(index, element)
        }
        5 => {
            let fields: Vec<_> =
                (0..1 + random.below(3)).map(|_| random_shape(b, random, depth - 1, pool)).collect();
            b.record(&fields)
        }
        _ => {
            let value = random_shape(b, random, depth - 1, pool);
            let capacity = 1 + random.below(3) as i64;
            b.multiset(capacity, value)
        }
    }
}

#[test]
fn generated_shapes_agree_with_the_definition() {
    for seed in 0..300 {
        let mut random = Random::new(1000 + seed);
        let mut b = Build::new();
        let s = b.scalarset(1 + random.below(4) as i64);
        let e = b.enumeration(1 + random.below(2) as i64);
        let t = b.scalarset(1 + random.below(3) as i64);
        let union = b.union(&[s.0, e.0]);
        let both = b.union(&[s.0, t.0]);
        let pool = [s, s, t, e, union, both];
        for _ in 0..1 + random.below(3) {
            let shape = random_shape(&mut b, &mut random, 3, &pool);
            if b.shapes.slots(shape) <= 60 {
                b.variable(shape);
            }
        }
        check(&b.finish(), seed, 12);
    }
}

#[test]
fn off_only_normalises_multisets() {
    let mut b = Build::new();
    let (s, s_value) = b.scalarset(3);
    let held = b.scalar(s_value);
    let bag = b.multiset(3, held);
    let bags = b.array(s, bag);
    b.variable(bags);
    let system = b.finish();
    let layout = Layout::natural(&system);
    let off = Canonicaliser::new(&system, &layout, SymmetryMode::Off).unwrap();
    assert_eq!(off.mode(), SymmetryMode::Off);
    let mut scratch = off.scratch();
    let mut random = Random::new(10);
    for _ in 0..200 {
        let values = random_values(&system, &mut random, 3);
        let mut state = vec![0; layout.words()];
        layout.pack(&system, &values, &mut state).unwrap();
        off.canonicalise(&mut state, &mut scratch);
        let unpacked = layout.unpack(&system, &state);
        assert_eq!(normalise(&system, &unpacked), normalise(&system, &values));
        let mut again = values.clone();
        shuffle(&system, &mut again, &mut random);
        let mut other = vec![0; layout.words()];
        layout.pack(&system, &again, &mut other).unwrap();
        off.normalise_multisets(&mut other, &mut scratch);
        assert_eq!(state, other);
        for element in unpacked.chunks(2) {
            assert!(element[0] != Some(0) || element[1].is_none(), "an absent element holds something");
        }
    }
}

#[test]
fn nothing_to_do_gives_no_canonicaliser() {
    let mut b = Build::new();
    let (one, _) = b.scalarset(1);
    b.scalarset(4);
    let flag = b.range(2, true);
    let flag = b.scalar(flag);
    let flags = b.array(one, flag);
    b.variable(flags);
    let system = b.finish();
    let layout = Layout::natural(&system);
    assert!(Canonicaliser::new(&system, &layout, SymmetryMode::Auto).is_none());
}

#[test]
fn the_mode_in_force_is_shown() {
    let mut b = Build::new();
    let (s, s_value) = b.scalarset(3);
    let held = b.scalar(s_value);
    let next = b.array(s, held);
    b.variable(next);
    let system = b.finish();
    let auto = Canonicaliser::new(&system, &Layout::natural(&system), SymmetryMode::Auto).unwrap();
    assert_eq!(auto.to_string(), "exact: scalarset0 (3 elements)");
}
