use super::*;
use hadal_search::Explored as Found;
use hadal_search::directed::not_begun;
use hadal_search::explore::{Explorer, Phase};
use hadal_search::strategies::Resumes;
use hadal_search::tiles::Tiles;
use hadal_search::{DeadlockNotion, Limits, Question};
use hadal_system::StateSpace;

fn nothing_seen(verdict: Verdict) -> Report {
    let tiles = Tiles::parse("0123").expect("a board of two by two");
    let question = Question::everything(tiles.properties(), DeadlockNotion::Off);
    let control = Control::new(Limits::default());
    let task = SearchTask { space: &tiles, question: &question, control: &control };
    let report = not_begun(task, &Governor::unlimited(), StopReason::Interrupted);
    Report { verdict, ..report }
}

/// A search with layers of equal work that finds something in one of them.
struct Layers {
    layer: u64,
    done: u64,
    decides: u64,
}

impl Explorer for Layers {
    fn step(&mut self, _: u64) -> Result<Progress, Trouble> {
        self.done += 1;
        Ok(self.progress())
    }

    fn progress(&self) -> Progress {
        let phase = if self.done > self.decides { Phase::Over } else { Phase::Between };
        let (states, work) = (self.done, self.done * self.layer);
        let (transitions, memory, disk, ahead) = (0, 0, 0, self.layer);
        Progress { phase, depth: None, states, transitions, work, ahead, memory, disk }
    }

    fn finish(self: Box<Self>) -> Result<Found, Trouble> {
        let verdict = match self.done > self.decides {
            true => Verdict::Holds,
            false => Verdict::Stopped(StopReason::Interrupted),
        };
        let report = Report { states: self.done, ..nothing_seen(verdict) };
        Ok(Found { report, resumes: Resumes::Nothing, partition: None, payload: None })
    }
}

/// States that the blind search had seen before the turn that the guided one is in.
fn blind_seen(race: Race) -> u64 {
    let mut standing = race.standing.into_inner();
    standing.blind_after(standing.guided_turns).expect("it ran").0
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Running {
    Together,
    InTurns,
}

/// Plays both searches: the guided one finds something after `guided` work, the blind one in its layer `blind`, layers
/// being of `layer` work. Who decides, and what the other had done by then.
fn play(running: Running, guided: u64, layer: u64, blind: u64) -> (&'static str, u64) {
    let turns = Turns { start: 1000 };
    let control = Control::new(Limits::default());
    let begin = || BlindSearch {
        turns,
        made: 0,
        explorer: Some(Box::new(Layers { layer, done: 0, decides: blind })),
    };
    let lead = |beside| {
        let race = Race::new(turns, beside, DepthSearch::new(None), &control);
        for work in (0..).step_by(10) {
            if work >= guided {
                return ("guided", blind_seen(race));
            }
            if race.await_turn(work).is_some() {
                return ("blind", work);
            }
        }
        unreachable!("the search ends")
    };
    if running == Running::InTurns {
        return lead(Beside::InTurns(Box::new(begin())));
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        scope.spawn(|| {
            let mut search = begin();
            let sender = sender;
            loop {
                let turn = search.turn(&|| is_over.load(Ordering::Relaxed));
                let goes_on = matches!(turn, Turn::Mark(_));
                if sender.send(turn).is_err() || !goes_on {
                    return;
                }
            }
        });
        let led = lead(Beside::Ahead(receiver));
        is_over.store(true, Ordering::Relaxed);
        led
    })
}

#[test]
fn the_answer_is_the_same_together_and_in_turns() {
    for guided in [0, 500, 1000, 1010, 5000, 20_000] {
        for (layer, blind) in [(1, 1), (300, 2), (300, 9), (300, 70), (7000, 1), (7000, 3)] {
            let alone = play(Running::InTurns, guided, layer, blind);
            for _ in 0..20 {
                assert_eq!(play(Running::Together, guided, layer, blind), alone, "{guided} {layer} {blind}");
            }
        }
    }
}

#[test]
fn neither_search_costs_much_more_than_the_other() {
    assert_eq!(play(Running::InTurns, 900, 10, 50), ("guided", 0), "the guided search has a start");
    let (first, waited) = play(Running::InTurns, 1 << 40, 100, 640);
    assert_eq!(first, "blind");
    assert!(waited <= 1000 + 64_000 / 5, "{waited}");
    let (first, layers) = play(Running::InTurns, 9000, 100, 1 << 30);
    assert_eq!(first, "guided");
    assert!((1300..=1700).contains(&layers), "{layers}");
}

#[test]
fn a_blind_search_that_ends_without_an_answer_leaves_the_guided_one_alone() {
    let turns = Turns { start: 1000 };
    let control = Control::new(Limits::default());
    let report = Box::new(nothing_seen(Verdict::Stopped(StopReason::TimeLimit)));
    let (sender, receiver) = channel();
    sender.send(Turn::Over(report)).expect("it is received");
    let race = Race::new(turns, Beside::Ahead(receiver), DepthSearch::new(None), &control);
    assert_eq!(race.prepare(400), None);
    assert_eq!(race.prepare(1 << 50), None);
    assert_eq!(race.allowance(0), SLICE);
    assert_eq!(blind_seen(race), 0);
}

/// Breadth-first search that used up its memory, and a guided search that went on until the time was over.
#[test]
fn what_both_saw_counts_where_time_is_over() {
    let control = Control::new(Limits::default());
    let stopped = |reason, states| Report { states, ..nothing_seen(Verdict::Stopped(reason)) };
    let joined = |guided| {
        let (_, receiver) = channel();
        let race =
            Race::new(Turns { start: 1000 }, Beside::Ahead(receiver), DepthSearch::new(None), &control);
        let blind = Box::new(stopped(StopReason::Memory { needed: 1 }, 5));
        race.standing.borrow_mut().blind = Some(Ok(blind));
        let report = stopped(guided, 3);
        let governor = Governor::unlimited();
        let guided = Explored { report, decisions: Vec::new() };
        race.joined(guided, &governor, &governor).expect("both are over").explored.report
    };
    let report = joined(StopReason::TimeLimit);
    assert_eq!((report.verdict, report.states), (Verdict::Stopped(StopReason::TimeLimit), 8));
    // Where the guided search has just seen all it would see, another one goes on with more room.
    let report = joined(StopReason::Incomplete);
    assert_eq!(report.verdict, Verdict::Stopped(StopReason::Memory { needed: 1 }));
}
