//! The zone kernel against brute force: every operation means what it says on points of a grid of halves.

use hadal_exec::zones::dbm::{INFINITY, NONE, Zone, is_within_alu, strict, weak};
use hadal_testkit::Random;

/// Clocks besides the reference.
const CLOCKS: usize = 2;
/// Constants lie between 0 and this.
const LARGEST: i32 = 3;
/// Points per unit: halves tell all zones with integer bounds of two clocks apart, quarters lie between them.
const PARTS: i32 = 4;
/// Points go up to this: closing adds constants up.
const REACH: i32 = 2 * LARGEST + 2;

struct Dice(Random);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    fn bound(&mut self) -> i32 {
        let constant = self.below(2 * LARGEST as u64 + 1) as i32 - LARGEST;
        if self.below(2) == 0 { weak(constant) } else { strict(constant) }
    }

    /// A zone that is not empty, of a few constraints.
    fn zone(&mut self) -> Zone {
        loop {
            let mut zone = Zone::all(CLOCKS);
            let holds = (0..self.below(5)).all(|_| {
                let (i, j) = (self.below(3) as usize, self.below(3) as usize);
                i == j || zone.constrain(i, j, self.bound())
            });
            if holds {
                return zone;
            }
        }
    }
}

type Point = [i32; CLOCKS + 1];

fn points() -> impl Iterator<Item = Point> {
    let range = 0..=REACH * PARTS;
    range.clone().flat_map(move |x| range.clone().map(move |y| [0, x, y]))
}

fn satisfies(point: Point, i: usize, j: usize, bound: i32) -> bool {
    let difference = point[i] - point[j];
    bound == INFINITY
        || if bound & 1 == 1 { difference <= (bound >> 1) * PARTS } else { difference < (bound >> 1) * PARTS }
}

fn contains(zone: &Zone, point: Point) -> bool {
    (0..=CLOCKS).all(|i| (0..=CLOCKS).all(|j| i == j || satisfies(point, i, j, zone.entry(i, j))))
}

/// Points on halves.
fn inner() -> impl Iterator<Item = Point> {
    points().filter(|p| p[1] % 2 == 0 && p[2] % 2 == 0)
}

#[test]
fn the_example_of_the_sheet_is_closed() {
    // x <= 4, y <= 3, x - y <= 3, y - x <= 1
    let mut zone = Zone::all(2);
    for (i, j, c) in [(1, 0, 4), (2, 0, 3), (1, 2, 3), (2, 1, 1)] {
        assert!(zone.constrain(i, j, weak(c)));
    }
    let mut again = zone.clone();
    assert!(again.close());
    assert_eq!(again, zone, "constraining keeps the matrix closed");
    assert_eq!((zone.entry(1, 0), zone.entry(2, 0)), (weak(4), weak(3)));
    assert!(!zone.clone().constrain(0, 1, strict(-4)), "x > 4 leaves nothing");
}

#[test]
fn every_operation_means_what_it_says_on_points() {
    let mut random = Dice(Random::new(0x9E37_79B9_7F4A_7C15));
    for _ in 0..400 {
        let zone = random.zone();
        let mut again = zone.clone();
        assert!(again.close());
        assert_eq!(again, zone, "closed");
        let (i, j, bound) = (random.below(3) as usize, random.below(3) as usize, random.bound());
        if i != j {
            let mut less = zone.clone();
            let left = less.constrain(i, j, bound);
            let expected: Vec<Point> =
                points().filter(|&p| contains(&zone, p) && satisfies(p, i, j, bound)).collect();
            assert_eq!(zone.meets(i, j, bound), left);
            assert!(left || expected.is_empty());
            assert!(!left || points().filter(|&p| contains(&less, p)).eq(expected));
        }
        let (mut up, mut down) = (zone.clone(), zone.clone());
        up.up();
        down.down();
        let clock = 1 + random.below(2) as usize;
        let value = random.below(LARGEST as u64) as i32;
        let (mut reset, mut free, mut copy) = (zone.clone(), zone.clone(), zone.clone());
        reset.reset(clock, value);
        free.free(clock);
        let other = 3 - clock;
        copy.copy_clock(clock, other, value);
        for p in inner() {
            let before = |d: i32| [0, p[1] - d, p[2] - d];
            let earlier = (0..=p[1].min(p[2])).any(|d| contains(&zone, before(d)));
            assert_eq!(contains(&up, p), earlier, "up {zone:?} {p:?}");
            let later = (0..=REACH * PARTS).any(|d| contains(&zone, [0, p[1] + d, p[2] + d]));
            assert_eq!(contains(&down, p), later, "down {zone:?} {p:?}");
            let with = |v: i32| {
                let mut q = p;
                q[clock] = v;
                q
            };
            let some = (0..=2 * REACH * PARTS).any(|v| contains(&zone, with(v)));
            assert_eq!(contains(&reset, p), p[clock] == value * PARTS && some, "reset {zone:?} {p:?}");
            assert_eq!(contains(&free, p), some, "free {zone:?} {p:?}");
            let copied = p[clock] == p[other] + value * PARTS && some;
            assert_eq!(contains(&copy, p), copied, "copy {zone:?} {p:?}");
        }
    }
}

#[test]
fn subtraction_leaves_exactly_the_rest_in_disjoint_parts() {
    let mut random = Dice(Random::new(77));
    for _ in 0..600 {
        let (zone, other) = (random.zone(), random.zone());
        let parts = zone.subtract(&other);
        let mut both = zone.clone();
        let meet = both.intersect(&other);
        for p in points() {
            let expected = contains(&zone, p) && !contains(&other, p);
            assert_eq!(parts.iter().filter(|part| contains(part, p)).count(), usize::from(expected));
            assert_eq!(meet && contains(&both, p), contains(&zone, p) && contains(&other, p));
        }
        let within = points().filter(|&p| contains(&zone, p)).all(|p| contains(&other, p));
        // Points beyond the grid may tell them apart.
        assert!(!zone.is_within(&other) || within);
    }
}

/// LU-simulation of points (Behrmann, Bouyer, Larsen and Pelánek 2006): `above` can do whatever `below` can.
fn simulated(below: Point, above: Point, lower: &[i32], upper: &[i32]) -> bool {
    (1..=CLOCKS).all(|x| {
        let (v, w) = (below[x], above[x]);
        (w >= v || w > lower[x] * PARTS) && (w <= v || v > upper[x] * PARTS)
    })
}

#[test]
fn abstractions_lie_between_the_zone_and_its_lu_closure() {
    let mut random = Dice(Random::new(4242));
    for _ in 0..150 {
        let zone = random.zone();
        let mut constant = || if random.below(4) == 0 { NONE } else { random.below(LARGEST as u64) as i32 };
        let (lower, upper) = ([0, constant(), constant()], [0, constant(), constant()]);
        let (mut lu, mut plus) = (zone.clone(), zone.clone());
        lu.extrapolate_lu(&lower, &upper);
        plus.extrapolate_lu_plus(&lower, &upper);
        assert!(zone.is_within(&lu) && lu.is_within(&plus), "{zone:?} {lower:?} {upper:?}");
        let most: Vec<i32> = lower.iter().zip(&upper).map(|(l, u)| *l.max(u)).collect();
        let mut max = zone.clone();
        max.extrapolate_max(&most);
        assert!(zone.is_within(&max) && max.is_within(&lu));
        for p in inner().filter(|&p| contains(&plus, p) && !contains(&zone, p)) {
            // Some point of the zone, perhaps beyond the grid, can do what this one can.
            let far = (REACH + 2) * PARTS;
            let found = (0..=far).any(|x| {
                (0..=far).any(|y| contains(&zone, [0, x, y]) && simulated(p, [0, x, y], &lower, &upper))
            });
            assert!(found, "{p:?} of {plus:?} is not simulated in {zone:?} with {lower:?} {upper:?}");
        }
    }
}

#[test]
fn inclusion_in_alu_is_inclusion_of_simulated_points() {
    let mut random = Dice(Random::new(99));
    let (mut yes, mut no) = (0, 0);
    for _ in 0..600 {
        let (small, big) = (random.zone(), random.zone());
        let mut constant = || if random.below(4) == 0 { NONE } else { random.below(LARGEST as u64) as i32 };
        let (lower, upper) = ([0, constant(), constant()], [0, constant(), constant()]);
        let far = (REACH + 2) * PARTS;
        let every: Vec<Point> = (0..=far)
            .flat_map(|x| (0..=far).map(move |y| [0, x, y]))
            .filter(|&q| contains(&big, q))
            .collect();
        let expected = inner()
            .filter(|&p| contains(&small, p))
            .all(|p| every.iter().any(|&q| simulated(p, q, &lower, &upper)));
        let found = is_within_alu(&small, &big, &lower, &upper);
        assert_eq!(found, expected, "{small:?} in {big:?} with {lower:?} {upper:?}");
        if found { yes += 1 } else { no += 1 }
    }
    assert!(yes > 50 && no > 50, "both answers occur: {yes}, {no}");
}
