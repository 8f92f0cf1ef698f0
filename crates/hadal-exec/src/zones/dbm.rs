//! Zones as difference bound matrices (Dill 1989): entry (i, j) bounds `x_i - x_j`, clock 0 being the constant zero.
//!
//! A bound is one integer: `2c + 1` for `<= c`, `2c` for `< c`, [`INFINITY`] for none; smaller is tighter. Every
//! operation but [`Zone::entry_mut`] keeps the matrix closed: no bound follows from others more tightly than it stands.
//! Extrapolations: Extra_M, Extra_LU and Extra_LU+ of Behrmann, Bouyer, Larsen and Pelánek (2006).

/// No bound.
pub const INFINITY: i32 = i32::MAX;

/// Constants of models stay below this, so that sums of bounds do not overflow.
pub const LARGEST_CONSTANT: i64 = 1 << 26;

/// `<= c`
#[inline]
pub const fn weak(c: i32) -> i32 {
    2 * c + 1
}

/// `< c`
#[inline]
pub const fn strict(c: i32) -> i32 {
    2 * c
}

/// The constant of a finite bound.
#[inline]
pub const fn constant(bound: i32) -> i32 {
    bound >> 1
}

/// The bound that follows from two.
#[inline]
pub const fn add(a: i32, b: i32) -> i32 {
    if a == INFINITY || b == INFINITY { INFINITY } else { a + b - ((a | b) & 1) }
}

/// A set of clock valuations bounded by differences.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Zone {
    size: usize,
    bounds: Vec<i32>,
}

impl Zone {
    /// The point where `clocks` clocks (the reference not counted) show zero.
    pub fn zero(clocks: usize) -> Self {
        let size = clocks + 1;
        Zone { size, bounds: vec![weak(0); size * size] }
    }

    /// Every valuation without negative clocks.
    pub fn all(clocks: usize) -> Self {
        let size = clocks + 1;
        let mut zone = Zone { size, bounds: vec![INFINITY; size * size] };
        for i in 0..size {
            zone.bounds[i * size + i] = weak(0);
            zone.bounds[i] = weak(0);
        }
        zone
    }

    /// Clocks and the reference.
    #[inline]
    pub fn size(&self) -> usize {
        self.size
    }

    /// The bound on `x_i - x_j`.
    #[inline]
    pub fn entry(&self, i: usize, j: usize) -> i32 {
        self.bounds[i * self.size + j]
    }

    /// Writes a bound without closing the matrix: [`Zone::close`] must follow.
    #[inline]
    pub fn entry_mut(&mut self, i: usize, j: usize) -> &mut i32 {
        &mut self.bounds[i * self.size + j]
    }

    /// All bounds, row by row.
    #[inline]
    pub fn bounds(&self) -> &[i32] {
        &self.bounds
    }

    /// All bounds, to be filled with those of a closed matrix.
    #[inline]
    pub fn bounds_mut(&mut self) -> &mut [i32] {
        &mut self.bounds
    }

    /// Takes over another zone of the same size.
    #[inline]
    pub fn copy_from(&mut self, other: &Zone) {
        self.bounds.copy_from_slice(&other.bounds);
    }

    /// Makes every bound as tight as it follows from the others; false where the zone is empty.
    pub fn close(&mut self) -> bool {
        let n = self.size;
        for k in 0..n {
            for i in (0..n).filter(|&i| i != k) {
                let through = self.bounds[i * n + k];
                if through != INFINITY {
                    let (row, by) = two_rows(&mut self.bounds, n, i, k);
                    tighten(row, through, by);
                }
            }
        }
        (0..n).all(|i| self.bounds[i * n + i] >= weak(0))
    }

    /// Keeps what satisfies `x_i - x_j` bounded so; false where nothing is left (the matrix is then worth nothing).
    #[inline]
    pub fn constrain(&mut self, i: usize, j: usize, bound: i32) -> bool {
        let n = self.size;
        if bound >= self.bounds[i * n + j] {
            return true;
        }
        if i == j || add(self.bounds[j * n + i], bound) < weak(0) {
            return false;
        }
        self.bounds[i * n + j] = bound;
        for a in 0..n {
            let before = add(self.bounds[a * n + i], bound);
            // The row of `j` itself cannot become tighter: the zone would be empty.
            if before == INFINITY || a == j || (a != i && before >= self.bounds[a * n + j]) {
                continue;
            }
            let (row, by) = two_rows(&mut self.bounds, n, a, j);
            tighten(row, before, by);
        }
        true
    }

    /// Whether some valuation satisfies the bound as well.
    #[inline]
    pub fn meets(&self, i: usize, j: usize, bound: i32) -> bool {
        add(self.entry(j, i), bound) >= weak(0) && (i != j || bound >= weak(0))
    }

    /// Lets time pass.
    pub fn up(&mut self) {
        for i in 1..self.size {
            self.bounds[i * self.size] = INFINITY;
        }
    }

    /// What may become one of these valuations by letting time pass.
    pub fn down(&mut self) {
        let n = self.size;
        for j in 1..n {
            let least = (1..n).map(|i| self.bounds[i * n + j]).min().unwrap_or(weak(0));
            self.bounds[j] = weak(0).min(least);
        }
    }

    /// Sets a clock to a value that is not negative.
    pub fn reset(&mut self, clock: usize, value: i32) {
        let n = self.size;
        for i in 0..n {
            if i != clock {
                self.bounds[clock * n + i] = add(weak(value), self.bounds[i]);
                self.bounds[i * n + clock] = add(self.bounds[i * n], weak(-value));
            }
        }
        self.bounds[clock * n + clock] = weak(0);
    }

    /// Sets a clock to what another one shows, plus a value that keeps it from becoming negative.
    pub fn copy_clock(&mut self, clock: usize, from: usize, value: i32) {
        let n = self.size;
        if clock == from {
            // `x := x + value`
            for i in (0..n).filter(|&i| i != clock) {
                self.bounds[clock * n + i] = add(self.bounds[clock * n + i], weak(value));
                self.bounds[i * n + clock] = add(self.bounds[i * n + clock], weak(-value));
            }
            return;
        }
        for i in (0..n).filter(|&i| i != clock) {
            self.bounds[clock * n + i] = add(weak(value), self.bounds[from * n + i]);
            self.bounds[i * n + clock] = add(self.bounds[i * n + from], weak(-value));
        }
    }

    /// Forgets what a clock shows.
    pub fn free(&mut self, clock: usize) {
        let n = self.size;
        for i in (0..n).filter(|&i| i != clock) {
            self.bounds[clock * n + i] = INFINITY;
            self.bounds[i * n + clock] = self.bounds[i * n];
        }
        self.bounds[clock] = weak(0);
    }

    /// Whether every valuation is one of the other's.
    pub fn is_within(&self, other: &Zone) -> bool {
        self.bounds.iter().zip(&other.bounds).all(|(mine, theirs)| mine <= theirs)
    }

    /// Keeps what lies in both; false where nothing does.
    pub fn intersect(&mut self, other: &Zone) -> bool {
        let n = self.size;
        (0..n).all(|i| (0..n).all(|j| i == j || self.constrain(i, j, other.bounds[i * n + j])))
    }

    /// What lies here and not in `other`, in disjoint zones.
    pub fn subtract(&self, other: &Zone) -> Vec<Zone> {
        let mut rest = self.clone();
        let mut parts = Vec::new();
        for i in 0..self.size {
            for j in 0..self.size {
                let bound = other.entry(i, j);
                if i == j || bound == INFINITY || bound >= rest.entry(i, j) {
                    continue;
                }
                // not (x_i - x_j <= c)  is  x_j - x_i < -c
                let mut outside = rest.clone();
                if outside.constrain(j, i, 1 - bound) {
                    parts.push(outside);
                }
                if !rest.constrain(i, j, bound) {
                    return parts;
                }
            }
        }
        parts
    }

    /// Extra_M: bounds beyond the largest constant of a clock say nothing. [`NONE`] stands for no constant.
    pub fn extrapolate_max(&mut self, max: &[i32]) {
        self.extrapolate_lu(max, max);
    }

    /// Extra_LU, by the largest lower and upper bounds.
    pub fn extrapolate_lu(&mut self, lower: &[i32], upper: &[i32]) {
        let n = self.size;
        let mut changed = false;
        for i in 0..n {
            for j in 0..n {
                let bound = self.bounds[i * n + j];
                if i == j || bound == INFINITY {
                    continue;
                }
                let looser = if i > 0 && (lower[i] < 0 || constant(bound) > lower[i]) {
                    INFINITY
                } else if j > 0 && upper[j] < 0 {
                    if i == 0 { weak(0) } else { INFINITY }
                } else if j > 0 && -constant(bound) > upper[j] {
                    strict(-upper[j])
                } else {
                    continue;
                };
                changed |= looser != bound;
                self.bounds[i * n + j] = looser;
            }
        }
        if changed {
            self.close();
        }
    }

    /// Extra_LU+, by the largest lower and upper bounds.
    pub fn extrapolate_lu_plus(&mut self, lower: &[i32], upper: &[i32]) {
        let n = self.size;
        let mut changed = false;
        // The first row decides for the others and is changed last.
        for i in 1..n {
            let all = -constant(self.bounds[i]) > lower[i];
            for j in 0..n {
                let bound = self.bounds[i * n + j];
                if i == j || bound == INFINITY {
                    continue;
                }
                if all || constant(bound) > lower[i] || -constant(self.bounds[j]) > upper[j] {
                    self.bounds[i * n + j] = INFINITY;
                    changed = true;
                }
            }
        }
        for j in 1..n {
            if -constant(self.bounds[j]) > upper[j] {
                self.bounds[j] = if upper[j] < 0 { weak(0) } else { strict(-upper[j]) };
                changed = true;
            }
        }
        if changed {
            self.close();
        }
    }
}

/// Two different rows of a matrix, the first to be written.
#[inline]
fn two_rows(bounds: &mut [i32], n: usize, write: usize, read: usize) -> (&mut [i32], &[i32]) {
    debug_assert_ne!(write, read);
    if write < read {
        let (before, after) = bounds.split_at_mut(read * n);
        (&mut before[write * n..write * n + n], &after[..n])
    } else {
        let (before, after) = bounds.split_at_mut(write * n);
        (&mut after[..n], &before[read * n..read * n + n])
    }
}

/// `row[j] = min(row[j], through + by[j])`, in a loop without branches; `through` is finite.
#[inline]
fn tighten(row: &mut [i32], through: i32, by: &[i32]) {
    for (entry, &bound) in row.iter_mut().zip(by) {
        let sum = through.wrapping_add(bound).wrapping_sub((through | bound) & 1);
        let sum = if bound == INFINITY { INFINITY } else { sum };
        *entry = (*entry).min(sum);
    }
}

/// Stands for a clock without lower or upper bounds in the model.
pub const NONE: i32 = -1;

/// Whether `small` lies in the abstraction aLU of `big`: O(n²), without computing it (Herbreteau, Srivathsan and
/// Walukiewicz, LICS 2012).
pub fn is_within_alu(small: &Zone, big: &Zone, lower: &[i32], upper: &[i32]) -> bool {
    let n = small.size();
    for x in 0..n {
        if (x > 0 && upper[x] < 0) || small.entry(0, x) < weak(-upper[x].max(0)) {
            continue;
        }
        for y in 0..n {
            if x == y || (y > 0 && lower[y] < 0) {
                continue;
            }
            let (theirs, mine) = (big.entry(y, x), small.entry(y, x));
            if theirs < mine && add(theirs, strict(-lower[y].max(0))) < small.entry(0, x) {
                return false;
            }
        }
    }
    true
}
