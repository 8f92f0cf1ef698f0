//! Deadlocks of the dining philosophers and the optical telegraph, guided by the number of active processes: the closed
//! forms and counts behind the published tables (Jabbar 2008, sec. 5.10), without the initial part of those models.

use crate::harness::{Explored, Run, replayed_cost};
use hadal_search::{DeadlockNotion, Verdict, ViolationKind};
use hadal_system::guide::{Distance, Estimator, Guide, Mask, Promises};
use hadal_system::{Label, StateSpace, Successors, Worker};

/// Processes that step one at a time; states are two words.
trait Processes: Sync {
    fn count(&self) -> usize;
    fn start(&self) -> u128;
    /// Calls `step` with every state that process `n` can go to.
    fn steps(&self, n: usize, state: u128, step: &mut dyn FnMut(u128));
}

struct Composed<'a>(&'a dyn Processes);

fn join(state: &[u64]) -> u128 {
    u128::from(state[1]) << 64 | u128::from(state[0])
}

impl StateSpace for Composed<'_> {
    fn words(&self) -> usize {
        2
    }
    fn fingerprint(&self) -> u64 {
        self.0.count() as u64
    }
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(Composed(self.0))
    }
    fn may_fault(&self) -> bool {
        false
    }
    fn render_label(&self, label: Label) -> String {
        format!("process {}", label.0)
    }
    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        vec![("state".into(), format!("{:x}", join(state)))]
    }
}

impl Worker for Composed<'_> {
    fn initial(&mut self, out: &mut Successors) {
        let start = self.0.start();
        out.push(Label(0), &[start as u64, (start >> 64) as u64]);
    }
    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        for n in 0..self.0.count() {
            self.0
                .steps(n, join(state), &mut |to| out.push(Label(n as u32), &[to as u64, (to >> 64) as u64]));
        }
    }
}

/// How many processes can move. A step may block two, so it promises nothing.
struct Active<'a>(&'a dyn Processes);

impl Guide for Active<'_> {
    fn name(&self) -> String {
        "active".into()
    }
    fn promises(&self) -> Promises {
        Promises { admissible: false, consistent: false, safe: true, monotone: true }
    }
    fn estimator(&self) -> Box<dyn Estimator + '_> {
        Box::new(Active(self.0))
    }
}

impl Estimator for Active<'_> {
    fn estimate(&mut self, state: &[u64], _: Option<&Mask>) -> Distance {
        let moves = |n: usize| {
            let mut can = false;
            self.0.steps(n, join(state), &mut |_| can = true);
            can
        };
        Distance((0..self.0.count()).filter(|&n| moves(n)).count() as u32)
    }
}

fn deadlock(processes: &dyn Processes, threads: usize, budget: u64) -> (u64, Explored) {
    let (space, guide) = (Composed(processes), Active(processes));
    let run = Run { deadlock: DeadlockNotion::Stuck, threads, budget, ..Run::new(&space, &guide) };
    let explored = run.done();
    let Verdict::Violated(found) = &explored.report.verdict else { panic!("no deadlock") };
    assert_eq!(found.kind, ViolationKind::Deadlock);
    assert!(!found.shortest, "this guide proves nothing");
    (replayed_cost(&space, &explored).unwrap(), explored)
}

/// Each takes the fork on one side, then the other, and returns them in that order.
struct Philosophers(usize);

impl Processes for Philosophers {
    fn count(&self) -> usize {
        self.0
    }
    fn start(&self) -> u128 {
        0
    }
    fn steps(&self, n: usize, state: u128, step: &mut dyn FnMut(u128)) {
        let at = |n: usize| state >> (2 * n) & 3;
        let (left, right) = ((n + self.0 - 1) % self.0, (n + 1) % self.0);
        // A fork is gone while its first user holds it, or the neighbour has taken it as the second.
        let free = match at(n) {
            0 => at(left) < 2,
            1 => !(1..=2).contains(&at(right)),
            _ => true,
        };
        if free {
            step(state & !(3 << (2 * n)) | ((at(n) + 1) % 4) << (2 * n));
        }
    }
}

#[test]
fn philosophers_follow_the_closed_forms() {
    for n in [4u64, 5, 8, 12, 20, 40] {
        let (depth, explored) = deadlock(&Philosophers(n as usize), 1, 64 << 20);
        let figures = &explored.figures;
        assert_eq!(depth, n);
        // The deadlock itself is counted too.
        assert_eq!(figures.states.expanded, 2 * n * n - 3 * n + 1 + 1, "{n}");
        assert_eq!(figures.states.generated, n * n * n - n, "{n}");
        assert_eq!(figures.states.stored, n * n * n - 2 * n * n + 3 * n + 2, "{n}");
    }
}

const START: u128 = 1;
const ATTENTION: u128 = 2;
const DATA: u128 = 3;
const STOP: u128 = 4;

/// Stations in a ring, two processes each; lines that are busy or not, and one place for a message each way.
struct Telegraph(usize);

/// What a process does.
enum Act {
    Receive(u128),
    Send(u128),
    Take,
    Free,
}

impl Telegraph {
    fn program(at: u128) -> Vec<(Act, u128)> {
        match at {
            0 => vec![(Act::Receive(START), 1), (Act::Take, 7)],
            1 => vec![(Act::Take, 2)],
            2 => vec![(Act::Send(ATTENTION), 3)],
            3 => vec![(Act::Receive(DATA), 4), (Act::Receive(STOP), 5)],
            4 => vec![(Act::Send(DATA), 3)],
            5 => vec![(Act::Send(STOP), 6)],
            6 | 12 => vec![(Act::Free, 0)],
            7 => vec![(Act::Send(START), 8)],
            8 => vec![(Act::Receive(ATTENTION), 9)],
            9 => vec![(Act::Send(DATA), 10), (Act::Send(STOP), 11)],
            10 => vec![(Act::Receive(DATA), 9)],
            _ => vec![(Act::Receive(STOP), 12)],
        }
    }
}

impl Processes for Telegraph {
    fn count(&self) -> usize {
        2 * self.0
    }
    fn start(&self) -> u128 {
        0
    }
    fn steps(&self, n: usize, state: u128, step: &mut dyn FnMut(u128)) {
        let (stations, id) = (self.0, n / 2);
        let before = (id + stations - 1) % stations;
        let (up, down) = (8 * stations + stations, 8 * stations + 4 * stations);
        let (input, output) = match n % 2 {
            0 => (up + 3 * before, down + 3 * before),
            _ => (down + 3 * id, up + 3 * id),
        };
        let (place, busy) = (4 * n, 8 * stations + id);
        let with = |state: u128, at: usize, width: u32, value: u128| {
            state & !(((1 << width) - 1) << at) | value << at
        };
        for (act, to) in Telegraph::program(state >> place & 15) {
            let moved = with(state, place, 4, to);
            match act {
                Act::Receive(message) if state >> input & 7 == message => step(with(moved, input, 3, 0)),
                Act::Send(message) if state >> output & 7 == 0 => step(with(moved, output, 3, message)),
                Act::Take if state >> busy & 1 == 0 => step(with(moved, busy, 1, 1)),
                Act::Free => step(with(moved, busy, 1, 0)),
                _ => {}
            }
        }
    }
}

#[test]
fn the_optical_telegraph_meets_the_counts_behind_the_published_table() {
    for (stations, depth, stored) in [(3, 7, 292), (4, 8, 810), (5, 11, 10_874), (6, 12, 19_014)] {
        for (threads, budget) in [(1, 64 << 20), (2, 2 << 20)] {
            let (found, explored) = deadlock(&Telegraph(stations), threads, budget);
            let figures = &explored.figures;
            let deadlocks = figures.buckets.last().unwrap().expanded;
            // The figures are of a search that takes the first deadlock out of the last bucket; here all are taken.
            assert_eq!(
                (found, figures.states.stored - deadlocks + 1),
                (depth, stored),
                "{stations} stations"
            );
            if stations == 6 {
                assert_eq!(figures.states.expanded - deadlocks, 5_777);
            }
        }
    }
}
