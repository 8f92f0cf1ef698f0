//! State spaces to search: protocols and products (structured), a torus, a sliding puzzle.

/// A space of states of `W` words.
pub trait Space<const W: usize> {
    fn bits(&self) -> usize;
    fn initial(&self) -> [u64; W];
    /// Appends the successors of a state.
    fn expand(&self, state: &[u64; W], out: &mut Vec<[u64; W]>);
    /// Layers to search, for spaces that are too large.
    fn depth(&self) -> usize {
        usize::MAX
    }
}

pub fn narrow() -> Vec<(&'static str, Box<dyn Space<1>>)> {
    vec![
        ("torus", Box::new(Torus { bits: 7, side: 128 })),
        ("odd-torus", Box::new(Torus { bits: 8, side: 150 })),
        ("counters", Box::new(Counters { radix: 7, count: 8, spread: 3 })),
        ("anderson", Box::new(Anderson { processes: 6 })),
        ("puzzle", Box::new(Puzzle { depth: 25 })),
    ]
}

pub fn wide() -> Vec<(&'static str, Box<dyn Space<2>>)> {
    vec![("ring", Box::new(Ring { stations: 10, messages: 3 }))]
}

/// Reads and writes fields of a fixed width.
fn get(state: u128, at: usize, bits: usize) -> u128 {
    state >> (at * bits) & ((1 << bits) - 1)
}

fn set(state: u128, at: usize, bits: usize, value: u128) -> u128 {
    state & !(((1 << bits) - 1) << (at * bits)) | value << (at * bits)
}

/// A 3-D torus: layers are growing octahedra.
struct Torus {
    bits: usize,
    side: u128,
}

impl Space<1> for Torus {
    fn bits(&self) -> usize {
        3 * self.bits
    }
    fn initial(&self) -> [u64; 1] {
        [0]
    }
    fn expand(&self, state: &[u64; 1], out: &mut Vec<[u64; 1]>) {
        let state = u128::from(state[0]);
        for axis in 0..3 {
            let here = get(state, axis, self.bits);
            for step in [1, self.side - 1] {
                out.push([set(state, axis, self.bits, (here + step) % self.side) as u64]);
            }
        }
    }
}

/// A ring of counters in mixed radix; neighbours may not drift apart by more than `spread`.
struct Counters {
    radix: u128,
    count: usize,
    spread: u128,
}

impl Space<1> for Counters {
    fn bits(&self) -> usize {
        3 * self.count
    }
    fn initial(&self) -> [u64; 1] {
        [0]
    }
    fn expand(&self, state: &[u64; 1], out: &mut Vec<[u64; 1]>) {
        let state = u128::from(state[0]);
        for at in 0..self.count {
            let here = get(state, at, 3);
            let next = get(state, (at + 1) % self.count, 3);
            if here + 1 < self.radix && here < next + self.spread {
                out.push([set(state, at, 3, here + 1) as u64]);
            } else if here == self.radix - 1 {
                out.push([set(state, at, 3, 0) as u64]);
            }
        }
    }
}

/// Anderson's queue lock: a slot array, a ticket, and a program counter and a ticket per process.
struct Anderson {
    processes: usize,
}

impl Space<1> for Anderson {
    fn bits(&self) -> usize {
        // Process fields of 3 + 3 bits above the ticket (3) and the slots (one bit each).
        6 * self.processes + 3 + self.processes
    }
    fn initial(&self) -> [u64; 1] {
        [1]
    }
    fn expand(&self, state: &[u64; 1], out: &mut Vec<[u64; 1]>) {
        let n = self.processes as u64;
        let state = state[0];
        let ticket = state >> n & 7;
        for process in 0..n {
            let at = n + 3 + 6 * process;
            let (counter, place) = (state >> at & 7, state >> (at + 3) & 7);
            let with = |state: u64, counter: u64, place: u64| {
                state & !(63 << at) | counter << at | place << (at + 3)
            };
            match counter {
                0 => {
                    let taken = state & !(7 << n) | ((ticket + 1) % n) << n;
                    out.push([with(taken, 1, ticket)]);
                }
                1 if state >> place & 1 == 1 => out.push([with(state, 2, place)]),
                2 => out.push([with(state & !(1 << place), 3, place)]),
                3 => out.push([with(state | 1 << ((place + 1) % n), 4, place)]),
                4 => out.push([with(state, 0, place)]),
                _ => {}
            }
        }
    }
}

/// The 3x4 sliding puzzle, four bits a cell: a set with little structure.
struct Puzzle {
    depth: usize,
}

impl Space<1> for Puzzle {
    fn bits(&self) -> usize {
        48
    }
    fn initial(&self) -> [u64; 1] {
        [(0..12u64).fold(0, |state, cell| state | cell << (4 * cell))]
    }
    fn expand(&self, state: &[u64; 1], out: &mut Vec<[u64; 1]>) {
        let state = state[0];
        let blank = (0..12).find(|cell| state >> (4 * cell) & 15 == 0).expect("the blank is somewhere");
        let mut slide = |from: u64| {
            let tile = state >> (4 * from) & 15;
            out.push([state & !(15 << (4 * from)) | tile << (4 * blank)]);
        };
        if blank >= 4 {
            slide(blank - 4);
        }
        if blank < 8 {
            slide(blank + 4);
        }
        if blank % 4 > 0 {
            slide(blank - 1);
        }
        if blank % 4 < 3 {
            slide(blank + 1);
        }
    }
    fn depth(&self) -> usize {
        self.depth
    }
}

/// Stations in a ring with one-place channels that lose messages; few messages are on their way.
struct Ring {
    stations: usize,
    messages: u32,
}

impl Ring {
    const STATION: usize = 8;
}

impl Space<2> for Ring {
    fn bits(&self) -> usize {
        Self::STATION * self.stations
    }
    fn initial(&self) -> [u64; 2] {
        [0, 0]
    }
    /// A station: mode in the low 4 bits, its outgoing channel in the high 4 (0: empty).
    fn expand(&self, state: &[u64; 2], out: &mut Vec<[u64; 2]>) {
        let whole = u128::from(state[1]) << 64 | u128::from(state[0]);
        let busy = (0..self.stations).filter(|&at| get(whole, 2 * at + 1, 4) != 0).count() as u32;
        let mut push = |state: u128| out.push([state as u64, (state >> 64) as u64]);
        for at in 0..self.stations {
            let next = (at + 1) % self.stations;
            let (mode, sent) = (get(whole, 2 * at, 4), get(whole, 2 * at + 1, 4));
            let heard = get(whole, 2 * next, 4);
            if sent == 0 && mode < 2 && busy < self.messages {
                push(set(set(whole, 2 * at + 1, 4, mode + 5), 2 * at, 4, mode + 1));
            }
            if sent != 0 {
                push(set(whole, 2 * at + 1, 4, 0));
                if heard == 2 || heard == 0 && sent == 5 {
                    push(set(set(whole, 2 * at + 1, 4, 0), 2 * next, 4, (heard + sent) % 3));
                }
            }
        }
    }
}
