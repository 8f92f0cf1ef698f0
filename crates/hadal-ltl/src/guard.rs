//! Conditions on edges: unions of cubes over at most 64 atoms.

/// A conjunction of atoms and negated atoms, as two masks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cube {
    /// Atoms that must be true.
    pub positive: u64,
    /// Atoms that must be false.
    pub negative: u64,
}

impl Cube {
    /// The cube that is always true.
    pub const TRUE: Cube = Cube { positive: 0, negative: 0 };

    /// One atom, or its negation.
    pub fn literal(atom: u32, positive: bool) -> Cube {
        let mask = 1u64 << atom;
        if positive { Cube { positive: mask, negative: 0 } } else { Cube { positive: 0, negative: mask } }
    }

    /// Both; `None` where they contradict each other.
    pub fn and(self, other: Cube) -> Option<Cube> {
        let both =
            Cube { positive: self.positive | other.positive, negative: self.negative | other.negative };
        (both.positive & both.negative == 0).then_some(both)
    }

    /// Whether it holds under a valuation (bit n: atom n).
    #[inline]
    pub fn holds(self, valuation: u64) -> bool {
        valuation & self.positive == self.positive && valuation & self.negative == 0
    }

    /// Whether every valuation of `other` is one of this cube.
    pub fn contains(self, other: Cube) -> bool {
        self.positive & !other.positive == 0 && self.negative & !other.negative == 0
    }

    /// Whether the cubes together hold wherever this one does.
    pub fn is_covered_by(self, cubes: &[Cube]) -> bool {
        if cubes.iter().any(|cube| cube.contains(self)) {
            return true;
        }
        let touching: Vec<Cube> = cubes.iter().copied().filter(|cube| cube.and(self).is_some()).collect();
        let fixed = self.positive | self.negative;
        let open = touching.iter().fold(0, |open, cube| open | (cube.positive | cube.negative)) & !fixed;
        if open == 0 {
            return false;
        }
        let atom = open.trailing_zeros();
        [true, false].into_iter().all(|positive| {
            self.and(Cube::literal(atom, positive)).is_none_or(|half| half.is_covered_by(&touching))
        })
    }
}

/// A union of cubes; none of them: never true.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Guard {
    cubes: Vec<Cube>,
}

impl Guard {
    /// Always true.
    pub fn always() -> Guard {
        Guard { cubes: vec![Cube::TRUE] }
    }

    /// Never true.
    pub fn never() -> Guard {
        Guard::default()
    }

    /// The union of these cubes.
    pub fn of(cubes: impl IntoIterator<Item = Cube>) -> Guard {
        let mut guard = Guard::default();
        cubes.into_iter().for_each(|cube| guard.add(cube));
        guard
    }

    /// The cubes, none of which the others cover.
    pub fn cubes(&self) -> &[Cube] {
        &self.cubes
    }

    /// Whether it is never true.
    pub fn is_never(&self) -> bool {
        self.cubes.is_empty()
    }

    /// Whether it is always true.
    pub fn is_always(&self) -> bool {
        Cube::TRUE.is_covered_by(&self.cubes)
    }

    /// Whether it holds under a valuation.
    #[inline]
    pub fn holds(&self, valuation: u64) -> bool {
        self.cubes.iter().any(|cube| cube.holds(valuation))
    }

    /// Adds a cube, keeping the list free of what the others cover.
    pub fn add(&mut self, mut cube: Cube) {
        if cube.is_covered_by(&self.cubes) {
            return;
        }
        // A literal may go where the other half is covered already.
        let literals = cube.positive | cube.negative;
        for atom in (0..64).filter(|atom| literals >> atom & 1 == 1) {
            let mask = 1u64 << atom;
            let flipped = Cube { positive: cube.positive ^ mask, negative: cube.negative ^ mask };
            if flipped.is_covered_by(&self.cubes) {
                cube = Cube { positive: cube.positive & !mask, negative: cube.negative & !mask };
            }
        }
        self.cubes.push(cube);
        let mut n = 0;
        while n < self.cubes.len() {
            let one = self.cubes.remove(n);
            if !one.is_covered_by(&self.cubes) {
                self.cubes.insert(n, one);
                n += 1;
            }
        }
        self.cubes.sort_unstable();
    }

    /// Adds everything of `other`.
    pub fn join(&mut self, other: &Guard) {
        other.cubes.iter().for_each(|&cube| self.add(cube));
    }

    /// Both.
    pub fn and(&self, other: &Guard) -> Guard {
        let pairs = self.cubes.iter().flat_map(|a| other.cubes.iter().filter_map(|b| a.and(*b)));
        Guard::of(pairs)
    }

    /// The negation.
    pub fn not(&self) -> Guard {
        let mut rest = Guard::always();
        for cube in &self.cubes {
            let literals = (0..64).filter_map(|atom| {
                let mask = 1u64 << atom;
                ((cube.positive | cube.negative) & mask != 0)
                    .then(|| Cube::literal(atom, cube.negative & mask != 0))
            });
            rest = rest.and(&Guard::of(literals));
        }
        rest
    }

    /// Whether every valuation of `other` is one of this guard.
    pub fn contains(&self, other: &Guard) -> bool {
        other.cubes.iter().all(|cube| cube.is_covered_by(&self.cubes))
    }

    /// The guard over other atoms: the n-th becomes `numbers[n]`. Atoms may become one; atoms without a number stay.
    pub fn renumbered(&self, numbers: &[u32]) -> Guard {
        let number = |atom: u32| numbers.get(atom as usize).copied().unwrap_or(atom);
        let moved = |mask: u64| {
            (0..64u32).filter(|atom| mask >> atom & 1 == 1).fold(0u64, |all, atom| all | 1 << number(atom))
        };
        let cubes = self
            .cubes
            .iter()
            .map(|cube| Cube { positive: moved(cube.positive), negative: moved(cube.negative) });
        Guard::of(cubes.filter(|cube| cube.positive & cube.negative == 0))
    }

    /// How it is written with these names of atoms.
    pub fn show(&self, name: &dyn Fn(u32) -> String) -> String {
        let shown = |cube: &Cube| {
            let literals: Vec<String> = (0..64)
                .filter(|atom| (cube.positive | cube.negative) >> atom & 1 == 1)
                .map(|atom| {
                    let sign = if cube.negative >> atom & 1 == 1 { "!" } else { "" };
                    format!("{sign}({})", name(atom))
                })
                .collect();
            if literals.is_empty() { "1".to_owned() } else { literals.join(" && ") }
        };
        match self.cubes.as_slice() {
            [] => "0".to_owned(),
            [one] => shown(one),
            many => many.iter().map(|cube| format!("({})", shown(cube))).collect::<Vec<_>>().join(" || "),
        }
    }
}
