//! Pattern databases on disk: the same distances as in RAM, within the budget, and no wrong one from a damaged file.

mod truth;

use hadal_exec::Model;
use hadal_guide::registry::Prepared;
use hadal_guide::{CalledOff, Goal, Guide, GuideError, Meter, OpenDisk, Room};
use hadal_store::vfs::{IoThreads, Vfs};
use hadal_store::{Disk, Governor, WriteError};
use hadal_system::{Source, StateSpace};
use hadal_testkit::generate::{self, Size};
use hadal_testkit::{Faults, FaultyFolder, Random};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use truth::{assert_promises, model, truth, with_a_far_goal};

fn opener(folder: &FaultyFolder) -> impl Fn(&Governor) -> Result<Disk, WriteError> + '_ {
    let numbers = |name: &str| name.split(['-', '.']).filter_map(|part| part.parse::<u64>().ok()).max();
    move |budget| {
        let files = folder.list().expect("a folder in RAM");
        let next = files.iter().filter_map(|file| numbers(&file.name)).max().map_or(1, |last| last + 1);
        Ok(Disk::new(Arc::new(folder.clone()), IoThreads::new(1), budget.clone(), next))
    }
}

fn guide_on_disk<'m>(
    model: &'m Model,
    goal: &Goal,
    name: &str,
    budget: &Governor,
    open: &'m OpenDisk<'m>,
) -> Box<dyn Guide + 'm> {
    let room = Room::new(budget.clone(), 1).with_disk(open).without_ram();
    Prepared::new(model, goal).expect("the properties exist").within(room).guide(name).expect("a guide")
}

/// `count` counters below `bound` that go up and down, one of them only while the next is not at its end.
fn counters(count: u32, bound: u32) -> Model {
    let text = format!(
        "var c : array [0..{last}] of 0..{top};
         ruleset i : 0..{last} do
           rule \"up\" c[i] < {top} & (i = {last} | c[(i + 1) % {count}] != {top}) ==> c[i] := c[i] + 1; end;
           rule \"down\" c[i] > 0 ==> c[i] := c[i] - 1; end;
         end;
         startstate for i : 0..{last} do c[i] := 0; end; end;
         invariant \"corner\" !(forall i : 0..{last} do c[i] = {top} end);",
        last = count - 1,
        top = bound - 1,
    );
    let loaded = hadal_lang::murphi::load(Source::new("counters.m", text), &[]);
    model(loaded.unwrap_or_else(|error| panic!("{error:?}")).system).expect("it runs")
}

#[test]
fn estimates_on_disk_are_those_in_ram() {
    let mut compared = 0;
    for seed in 0..40 {
        let Some(system) = with_a_far_goal(generate::system(seed, Size::SMALL), 600) else { continue };
        let Some(model) = model(system) else { continue };
        for faults in [false, true] {
            let goal = Goal { faults, ..Goal::of_properties(model.properties()) };
            let Some(truth) = truth(&model, &goal, 600) else { continue };
            let folder = FaultyFolder::new(Faults::default());
            let (budget, open) = (Governor::new(4 << 20), opener(&folder));
            let on_disk = guide_on_disk(&model, &goal, "pdb", &budget, &open);
            let in_ram =
                Prepared::new(&model, &goal).expect("the properties exist").guide("pdb").expect("pdb");
            assert_promises(&*on_disk, &truth, &Default::default(), &format!("seed {seed}"));
            let (mut disk, mut ram) = (on_disk.estimator(), in_ram.estimator());
            for state in &truth.states {
                let estimate = disk.estimate(state, None);
                assert_eq!(estimate, ram.estimate(state, None), "seed {seed}");
                compared += u32::from(estimate.is_finite() && estimate.0 > 1);
            }
            assert!(on_disk.failure().is_none() && budget.peak() <= budget.limit());
        }
    }
    assert!(compared > 50, "{compared}");
}

#[test]
fn a_table_far_larger_than_its_budget_is_made_and_looked_up_within_it() {
    let model = counters(5, 10);
    let goal = Goal::of_properties(model.properties());
    let folder = FaultyFolder::new(Faults::default());
    let (budget, open) = (Governor::new(1 << 20), opener(&folder));
    let list = "pdb:c[0],c[1],c[2],c[3],c[4]";
    // 10^5 states and some ten edges of each.
    let room = Room::new(budget.clone(), 2).with_disk(&open);
    let prepared = Prepared::new(&model, &goal).expect("a property").within(room);
    let guide = prepared.guide(list).expect("a guide");
    let in_ram = Prepared::new(&model, &goal).expect("a property").guide(list).expect("a guide");
    let (mut disk, mut ram) = (guide.estimator(), in_ram.estimator());
    let mut second = guide.estimator();
    let (mut worker, mut out) = (model.worker(), hadal_system::Successors::new(model.words()));
    worker.initial(&mut out);
    let mut state = out.state(0).to_vec();
    assert_eq!(disk.estimate(&state, None).0, 45);
    let mut random = Random::new(1);
    for _ in 0..20_000 {
        out.clear();
        worker.successors(&state, &mut out);
        state = out.state(random.below(out.len())).to_vec();
        let expected = ram.estimate(&state, None);
        assert_eq!(disk.estimate(&state, None), expected);
        assert_eq!(second.estimate(&state, None), expected);
    }
    assert!(folder.list().expect("files").iter().any(|file| file.name.starts_with("distances-")));
    assert!(budget.peak() <= budget.limit() && budget.peak() > budget.limit() / 2, "{}", budget.peak());
    assert!(guide.failure().is_none());
}

#[test]
fn a_damaged_table_is_noticed_and_made_again() {
    let model = counters(3, 20);
    let goal = Goal::of_properties(model.properties());
    let folder = FaultyFolder::new(Faults::default());
    let (budget, open) = (Governor::new(4 << 20), opener(&folder));
    let alarmed = AtomicBool::new(false);
    let alarm = || alarmed.store(true, Ordering::Relaxed);
    let states = truth(&model, &goal, 10_000).expect("8000 states").states;
    let table = |folder: &FaultyFolder| {
        let files = folder.list().expect("files");
        let tables: Vec<_> = files.into_iter().filter(|file| file.name.starts_with("distances-")).collect();
        assert_eq!(tables.len(), 1, "what it was made of is gone: {tables:?}");
        tables[0].clone()
    };
    let room = Room::new(budget.clone(), 1).with_disk(&open).without_ram().with_alarm(&alarm);
    let prepared = Prepared::new(&model, &goal).expect("a property").within(room);
    let guide = prepared.guide("pdb").expect("a guide");
    let healthy: Vec<_> = {
        let mut estimator = guide.estimator();
        states.iter().map(|state| estimator.estimate(state, None)).collect()
    };
    let file = table(&folder);
    folder.flip(&file.name, file.bytes as usize / 2, 4);
    let mut estimator = guide.estimator();
    for (state, &expected) in states.iter().zip(&healthy) {
        let estimate = estimator.estimate(state, None);
        assert!(estimate == expected || alarmed.load(Ordering::Relaxed));
        assert!(estimate <= expected, "what is not known is near");
    }
    assert!(alarmed.load(Ordering::Relaxed));
    assert!(guide.failure().is_some_and(|why| why.contains("corrupted")));
    drop(estimator);
    drop(guide);
    let again = guide_on_disk(&model, &goal, "pdb", &budget, &open);
    let mut estimator = again.estimator();
    states.iter().zip(&healthy).for_each(|(state, &far)| assert_eq!(estimator.estimate(state, None), far));
    let name = table(&folder).name;
    assert_ne!(name, file.name, "the damaged one was not used");
    // One that is whole is taken up, whatever it is looked up by; another question has another one.
    let third = guide_on_disk(&model, &goal, "pdb", &budget, &open);
    assert_eq!((table(&folder).name, third.failure()), (name, None));
    guide_on_disk(&model, &goal, "pdb:c[0]", &budget, &open);
    assert_eq!(folder.list().expect("files").len(), 2);
}

#[test]
fn what_does_not_fit_is_refused_with_a_reason() {
    let model = counters(5, 10);
    let goal = Goal::of_properties(model.properties());
    let folder = FaultyFolder::new(Faults { capacity: Some(200_000), ..Faults::default() });
    let (small, open) = (Governor::new(1 << 20), opener(&folder));
    let refused = |room: Room, name: &str| {
        let prepared = Prepared::new(&model, &goal).expect("a property").within(room);
        prepared.guide(name).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let list = "pdb:c[0],c[1],c[2],c[3],c[4]";
    let full = refused(Room::new(small.clone(), 1).with_disk(&open), list);
    assert!(full.contains("disk is full"), "{full}");
    let no_disk = refused(Room::new(small.clone(), 1), list);
    assert!(no_disk.contains("does not fit the memory"), "{no_disk}");
    assert!(refused(Room::default(), "pdb=many").contains("64M"));
    assert_eq!(small.current(), 0, "nothing is held for what was refused");
    // Without a disk a pattern that is not asked for by name is made smaller instead.
    let room = Room::new(small.clone(), 1);
    let prepared = Prepared::new(&model, &goal).expect("a property").within(room);
    let mut out = hadal_system::Successors::new(model.words());
    model.worker().initial(&mut out);
    let estimate = prepared.guide("pdb").expect("a guide").estimator().estimate(out.state(0), None);
    assert!(estimate.0 >= 9 && estimate.0 < 45, "{estimate:?}");
}

/// Calls off after so many calls.
struct Patience(std::cell::Cell<u32>);

impl Meter for Patience {
    fn spend(&self, _: u64, _: u64) -> Result<(), CalledOff> {
        self.0.set(self.0.get().saturating_sub(1));
        if self.0.get() == 0 { Err(CalledOff) } else { Ok(()) }
    }
}

#[test]
fn making_a_table_can_be_called_off() {
    let model = counters(5, 10);
    let goal = Goal::of_properties(model.properties());
    let folder = FaultyFolder::new(Faults::default());
    let open = opener(&folder);
    for (budget, ram) in [(1 << 30, true), (1 << 20, false)] {
        for calls in [1, 5, 20] {
            let (budget, patience) = (Governor::new(budget), Patience(calls.into()));
            let room = Room::new(budget.clone(), 1).with_disk(&open).with_meter(&patience);
            let room = if ram { room } else { room.without_ram() };
            let prepared = Prepared::new(&model, &goal).expect("a property").within(room);
            assert!(matches!(prepared.guide("pdb").err(), Some(GuideError::CalledOff)), "{calls}");
            assert_eq!((budget.current(), folder.list().expect("files").len()), (0, 0));
        }
    }
}
