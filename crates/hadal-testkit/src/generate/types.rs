//! Domains and shapes.

use hadal_system::{Domain, DomainId, DomainKind, Field, ScalarsetId, Shape, ShapeId};

use super::Generator;

impl Generator {
    /// Makes the domains and shapes the system may use, simple ones first.
    pub(super) fn make_types(&mut self) {
        self.make_domains();
        for n in 0..self.domains.len() {
            let shape = self.scalar_shape(self.domains[n]);
            self.shapes.push(shape);
        }
        for _ in 0..4 {
            let element = self.shapes[self.rng.below(self.shapes.len())];
            let shape = match self.rng.below(4) {
                0 | 1 => Shape::Array { index: self.small_domain(), element },
                2 => {
                    let other = self.shapes[self.rng.below(self.shapes.len())];
                    Shape::Record(vec![
                        Field { name: "a".into(), shape: element },
                        Field { name: "b".into(), shape: other },
                    ])
                }
                _ => self.multiset(element),
            };
            self.add_if_small(shape);
        }
        if self.symmetric() {
            let set = self.domains[3];
            let pointer = self.scalar_shape(set);
            let plain = self.domains[self.rng.below(2)];
            let element = self.scalar_shape(plain);
            self.add_if_small(Shape::Array { index: set, element });
            let last = if self.rng.chance(30) {
                let bag = self.multiset(pointer);
                self.shape(bag)
            } else {
                pointer
            };
            self.shapes.push(last);
        }
    }

    fn make_domains(&mut self) {
        let boolean = Domain::boolean(self.rng.chance(50));
        let lo = self.rng.between(-2, 2);
        let range = Domain::range(lo, lo + self.rng.between(1, 3), self.rng.chance(50));
        let names: Vec<String> =
            ["red", "green", "blue"][..2 + self.rng.below(2)].iter().map(|s| s.to_string()).collect();
        let colours = Domain {
            name: Some("colour".into()),
            intervals: vec![(10, 9 + names.len() as i64)],
            kind: DomainKind::Enum(names),
            undefined: self.rng.chance(50),
        };
        // Without undefined, a scalarset's scalar would start at its least value, which is not symmetric.
        let set = Domain {
            name: Some("node".into()),
            intervals: vec![(20, 20 + self.rng.between(1, 2))],
            kind: DomainKind::Scalarset(ScalarsetId(0)),
            undefined: self.symmetric() || self.rng.chance(50),
        };
        let intervals = vec![colours.intervals[0], set.intervals[0]];
        let [boolean, range, colours, set] =
            [boolean, range, colours, set].map(|d| self.system.domains.add(d));
        let union = Domain {
            name: Some("any".into()),
            intervals,
            kind: DomainKind::Union(vec![colours, set]),
            undefined: self.symmetric() || self.rng.chance(50),
        };
        let one = Domain::range(3, 3, self.rng.chance(30));
        let [union, one] = [union, one].map(|d| self.system.domains.add(d));
        self.domains = vec![boolean, range, colours, set, union, one];
        if self.rng.chance(40) {
            let wide = match self.rng.below(3) {
                0 => Domain::range(i64::MIN, i64::MAX, false),
                1 => Domain::range(-3, 1 << 40, self.rng.chance(50)),
                _ => Domain::range(i64::MIN + 1, i64::MAX, true),
            };
            let wide = self.system.domains.add(wide);
            self.domains.push(wide);
        }
    }

    fn multiset(&mut self, value: ShapeId) -> Shape {
        let slots = self.system.domains.add(Domain::range(0, self.rng.between(0, 2), false));
        let present = self.system.domains.add(Domain::boolean(false));
        let present = self.scalar_shape(present);
        let element = self.shape(Shape::Record(vec![
            Field { name: "present".into(), shape: present },
            Field { name: "value".into(), shape: value },
        ]));
        Shape::Multiset { slots, element }
    }

    fn add_if_small(&mut self, shape: Shape) {
        let id = self.shape(shape);
        if self.system.shapes.slots(id) <= 8 {
            self.shapes.push(id);
        }
    }

    fn shape(&mut self, shape: Shape) -> ShapeId {
        // Shapes are made of at most four elements of shapes of at most eight scalars.
        self.system.shapes.add(shape, &self.system.domains).expect("a handful of scalars")
    }

    pub(super) fn scalar_shape(&mut self, domain: DomainId) -> ShapeId {
        self.shape(Shape::Scalar(domain))
    }

    /// A domain with few values.
    pub(super) fn small_domain(&mut self) -> DomainId {
        loop {
            let domain = self.domains[self.rng.below(self.domains.len())];
            if self.system.domains[domain].size() <= 4 {
                return domain;
            }
        }
    }

    /// Whether values of the domain may only be used symmetrically.
    pub(super) fn is_symmetric_domain(&self, domain: DomainId) -> bool {
        self.symmetric()
            && matches!(self.system.domains[domain].kind, DomainKind::Scalarset(_) | DomainKind::Union(_))
    }

    /// Whether `Clear` is allowed: it would write the least element of a scalarset.
    pub(super) fn clearable(&self, shape: ShapeId) -> bool {
        match &self.system.shapes[shape] {
            Shape::Scalar(domain) => !self.is_symmetric_domain(*domain),
            Shape::Array { element, .. } => self.clearable(*element),
            Shape::Record(fields) => fields.iter().all(|f| self.clearable(f.shape)),
            Shape::Multiset { .. } => true,
        }
    }
}
