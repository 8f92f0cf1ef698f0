//! Pattern databases (Edelkamp 2001; Wehrle 2011, sec. 2.7): true distances in projections to a few variables, looked up.
//!
//! A projection is explored forwards from the projected initial states, then backwards from what is looked for; in RAM where
//! the room given has place for it, otherwise on disk, with the same distances. Each alternative of what is looked for has
//! a table of its own, and the least of them counts: a table that lacks the variables of one alternative would know
//! nothing of the others.

mod choose;
mod disk;
mod projection;
mod ram;

use crate::GuideError;
use crate::room::Room;
use crate::task::{AbstractTask, Formula};
use choose::Chooser;
use disk::DiskTable;
use hadal_exec::Model;
use hadal_store::error::{MergeError, ReadError, WriteError};
use hadal_store::run::RunLookup;
use hadal_store::{OverBudget, RunFile};
use hadal_system::guide::CalledOff;
use hadal_system::guide::Mask;
use hadal_system::guide::{Distance, Estimator, Guide, Promises};
use hadal_system::{StateSpace, Successors};
use projection::Projection;
use ram::RamTable;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Combinations of values of all tables together, where the user does not say.
const MAX_STATES: u64 = 1 << 22;
/// Edges of an abstract graph for each of these.
const EDGES_PER_STATE: u64 = 2;
/// The same where the user says how large tables may be, or which variables are in them.
const ASKED_EDGES_PER_STATE: u64 = 64;
const ASKED_EDGES: u64 = 1 << 23;
/// Combinations of values of one table, at most.
const MOST_STATES: u64 = 1 << 48;
/// Alternatives that get a table of their own.
const MAX_ALTERNATIVES: usize = 64;
/// Tables for this many masks are kept by one estimator.
const MAX_MASKS: usize = 256;
/// Work that an edge of a projection is, in nanoseconds.
const EDGE_WORK: u64 = 50;
/// The share of the room, in percent, for the caches of tables on disk.
const CACHE_SHARE: u64 = 60;

const UNREACHED: u16 = u16::MAX;

/// Why there is no table.
enum Unbuilt {
    /// The abstract graph has too many edges.
    ManyEdges,
    /// The memory is not enough.
    NoRoom,
    /// It is not wanted any more.
    CalledOff,
    /// The disk failed.
    Failed(String),
}

/// Distances in projections.
pub struct Patterns<'m> {
    name: String,
    task: Arc<AbstractTask>,
    /// Outer: the least counts. Inner: the greatest.
    tables: Vec<Vec<Table>>,
    trouble: Trouble<'m>,
}

struct Table {
    projection: Projection,
    place: Place,
}

enum Place {
    Ram(RamTable),
    Disk(DiskTable),
}

/// What made tables unreadable during a search.
struct Trouble<'m> {
    first: Mutex<Option<String>>,
    alarm: Option<&'m (dyn Fn() + Sync)>,
}

/// A table to make: of a projection, from these starts, with at most so many edges.
#[derive(Clone, Copy)]
struct TablePlan<'p> {
    projection: &'p Projection,
    starts: &'p [Vec<u16>],
    most_edges: u64,
}

/// A projection whose table is made, but not yet prepared to be looked up.
enum Made {
    Ram(RamTable),
    Disk(RunFile),
}

impl<'m> Patterns<'m> {
    /// Patterns chosen by what is looked for, of so many combinations of values together.
    pub fn automatic(
        model: &Model,
        task: Arc<AbstractTask>,
        asked: Option<u64>,
        room: &Room<'m>,
    ) -> Result<Self, GuideError> {
        let starts = starts(model, &task);
        let alternatives: Vec<Formula> = match &task.goal {
            Formula::Or(parts) if parts.len() <= MAX_ALTERNATIVES => parts.clone(),
            whole => vec![whole.clone()],
        };
        let chooser = Chooser::new(&task);
        let (most, per_state) = match asked {
            Some(states) => (states.min(MOST_STATES), ASKED_EDGES_PER_STATE),
            None => (MAX_STATES, EDGES_PER_STATE),
        };
        let most_edges = most.saturating_mul(per_state).max(ASKED_EDGES);
        let mut budget = most / alternatives.len().max(1) as u64;
        let mut made = Vec::new();
        for goal in alternatives {
            let table = loop {
                let vars = chooser.choose(&goal, budget);
                let projection = Projection::new(&task, vars, goal.clone());
                let plan = TablePlan { projection: &projection, starts: &starts, most_edges };
                match make(model, &task, plan, room) {
                    Ok(table) => break (projection, table),
                    // A smaller projection; one without variables always fits.
                    Err(Unbuilt::ManyEdges) if budget > 0 => budget /= 8,
                    // With a disk, the projection is the same for every budget: a run may be resumed with another.
                    Err(Unbuilt::NoRoom) if budget > 0 && !room.has_disk() => budget /= 8,
                    Err(why) => return Err(why.told("pdb")),
                }
            };
            made.push(vec![table]);
        }
        let name = asked.map_or("pdb".into(), |states| format!("pdb={states}"));
        Patterns::of(name, task, made, room)
    }

    /// Patterns given by the names of their variables: `a,b;c,d`. Their greatest value counts.
    pub fn given(
        model: &Model,
        task: Arc<AbstractTask>,
        list: &str,
        room: &Room<'m>,
    ) -> Result<Self, GuideError> {
        let starts = starts(model, &task);
        let name = format!("pdb:{list}");
        let wrong = |reason: String| GuideError::Malformed { name: name.clone(), reason };
        let mut made = Vec::new();
        for pattern in list.split(';') {
            let vars = choose::named(model, &task, pattern).map_err(wrong)?;
            let size = choose::combinations(&task, &vars);
            if size > MOST_STATES {
                return Err(wrong(format!("the values of `{pattern}` have more than 2^48 combinations")));
            }
            let projection = Projection::new(&task, vars, task.goal.clone());
            let most_edges = size.saturating_mul(ASKED_EDGES_PER_STATE).max(ASKED_EDGES);
            let plan = TablePlan { projection: &projection, starts: &starts, most_edges };
            match make(model, &task, plan, room) {
                Ok(table) => made.push((projection, table)),
                Err(why) => return Err(why.told(&format!("`{pattern}`"))),
            }
        }
        Patterns::of(name, task, vec![made], room)
    }

    fn of(
        name: String,
        task: Arc<AbstractTask>,
        made: Vec<Vec<(Projection, Made)>>,
        room: &Room<'m>,
    ) -> Result<Self, GuideError> {
        let on_disk = made.iter().flatten().filter(|(_, table)| matches!(table, Made::Disk(_))).count();
        // What is held by now are tables in RAM.
        let free = room.budget().available();
        let cache = (free / 100).saturating_mul(CACHE_SHARE) / on_disk.max(1) as u64;
        let open = |(projection, made): (Projection, Made)| {
            let place = match made {
                Made::Ram(table) => Place::Ram(table),
                Made::Disk(run) => {
                    // Whatever the budget, a cache larger than the table is of no use.
                    let most = 17 * run.records() * room.threads() as u64 + (1 << 20);
                    let table = DiskTable::open(run, room.threads(), cache.min(most));
                    Place::Disk(table.map_err(|why| why.told(&name))?)
                }
            };
            Ok(Table { projection, place })
        };
        let tables = made.into_iter().map(|alternative| alternative.into_iter().map(open).collect());
        let tables = tables.collect::<Result<_, GuideError>>()?;
        let trouble = Trouble { first: Mutex::new(None), alarm: room.alarm() };
        Ok(Patterns { name, task, tables, trouble })
    }
}

/// The table of a projection, in RAM if there is room for it.
fn make(model: &Model, task: &AbstractTask, plan: TablePlan<'_>, room: &Room) -> Result<Made, Unbuilt> {
    let TablePlan { projection, starts, most_edges } = plan;
    if room.allows_ram() {
        match RamTable::build(task, projection, starts, most_edges, room) {
            Err(Unbuilt::NoRoom) => {}
            other => return other.map(Made::Ram),
        }
    }
    let disk = room.disk().map_err(|error| Unbuilt::Failed(error.to_string()))?;
    let disk = disk.ok_or(Unbuilt::NoRoom)?;
    let name = disk::name(model.fingerprint(), task, projection);
    DiskTable::build(projection, starts, most_edges, name, (room, disk)).map(Made::Disk)
}

/// The numbers of all single variables in each initial state.
fn starts(model: &Model, task: &AbstractTask) -> Vec<Vec<u16>> {
    let mut out = Successors::new(model.words());
    // Not the model's own worker: with symmetry it would give representatives only.
    model.interpreter().initial(&mut out, &mut vec![0; model.properties().len()]);
    let numbers = |state: &[u64]| {
        task.variables.iter().map(|v| if v.is_single() { v.number(state) } else { 0 }).collect()
    };
    let mut starts: Vec<Vec<u16>> = out.iter().map(|(_, state)| numbers(state)).collect();
    starts.sort_unstable();
    starts.dedup();
    starts
}

impl Unbuilt {
    fn told(self, what: &str) -> GuideError {
        match self {
            Unbuilt::ManyEdges => GuideError::Storage(format!("{what} has too many transitions")),
            Unbuilt::NoRoom => {
                GuideError::Storage(format!("{what} does not fit the memory that tables of guides may take"))
            }
            Unbuilt::CalledOff => GuideError::CalledOff,
            Unbuilt::Failed(why) => GuideError::Storage(why),
        }
    }
}

impl From<OverBudget> for Unbuilt {
    fn from(_: OverBudget) -> Self {
        Unbuilt::NoRoom
    }
}

impl From<CalledOff> for Unbuilt {
    fn from(_: CalledOff) -> Self {
        Unbuilt::CalledOff
    }
}

impl From<ReadError> for Unbuilt {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::OverBudget(_) => Unbuilt::NoRoom,
            other => Unbuilt::Failed(other.to_string()),
        }
    }
}

impl From<WriteError> for Unbuilt {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::OverBudget(_) => Unbuilt::NoRoom,
            other => Unbuilt::Failed(other.to_string()),
        }
    }
}

impl From<MergeError> for Unbuilt {
    fn from(error: MergeError) -> Self {
        match error {
            MergeError::Read(error) => error.into(),
            MergeError::Write(error) => error.into(),
        }
    }
}

impl Trouble<'_> {
    #[cold]
    fn note(&self, error: ReadError) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error.to_string());
        if let Some(alarm) = self.alarm {
            alarm();
        }
    }
}

impl Guide for Patterns<'_> {
    fn name(&self) -> String {
        self.name.clone()
    }

    /// Every transition of the model is an edge of the projection or leaves it where it is.
    fn promises(&self) -> Promises {
        Promises { admissible: true, consistent: true, safe: true, monotone: true }
    }

    fn estimator(&self) -> Box<dyn Estimator + '_> {
        let lookup = |table: &Table| match &table.place {
            Place::Ram(_) => None,
            Place::Disk(table) => table.lookup().map_err(|error| self.trouble.note(error)).ok(),
        };
        let lookups = self.tables.iter().flatten().map(lookup).collect();
        Box::new(PatternEstimator { guide: self, lookups, masked: HashMap::new() })
    }

    fn failure(&self) -> Option<String> {
        self.trouble.first.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

struct PatternEstimator<'g> {
    guide: &'g Patterns<'g>,
    /// Ways into the tables on disk, in the order of the guide's tables.
    lookups: Vec<Option<RunLookup>>,
    /// Tables by mask, in the order of the guide's; none where the mask is not looked at.
    masked: HashMap<Mask, Vec<Option<Vec<u16>>>>,
}

impl Estimator for PatternEstimator<'_> {
    fn estimate(&mut self, state: &[u64], off: Option<&Mask>) -> Distance {
        let guide = self.guide;
        let masked = match off.filter(|off| !off.is_empty()) {
            None => None,
            Some(off) => {
                if !self.masked.contains_key(off) {
                    if self.masked.len() == MAX_MASKS {
                        self.masked.clear();
                    }
                    let tables = guide.tables.iter().flatten().map(|table| match &table.place {
                        Place::Ram(ram) => ram.masked(&guide.task, &table.projection, off),
                        Place::Disk(_) => None,
                    });
                    self.masked.insert(off.clone(), tables.collect());
                }
                self.masked.get(off)
            }
        };
        let mut n = 0;
        let mut least = Distance::INFINITE;
        for alternative in &guide.tables {
            let mut greatest = Distance::ZERO;
            for table in alternative {
                if let Some(number) = table.projection.number_of(&guide.task, state) {
                    let distance = match (&table.place, masked.and_then(|tables| tables[n].as_ref())) {
                        (_, Some(own)) => own[number as usize],
                        (Place::Ram(table), None) => table.distance(number),
                        (Place::Disk(_), None) => look_up(&mut self.lookups[n], number, &guide.trouble),
                    };
                    greatest = greatest.max(match distance {
                        UNREACHED => Distance::INFINITE,
                        distance => Distance(u32::from(distance)),
                    });
                }
                n += 1;
            }
            least = least.min(greatest);
        }
        least
    }
}

/// The distance in a table on disk. Of one that cannot be read any more nothing is known; the guide says so.
#[inline]
fn look_up(lookup: &mut Option<RunLookup>, number: u64, trouble: &Trouble) -> u16 {
    let Some(open) = lookup else { return 0 };
    match disk::distance(open, number) {
        Ok(distance) => distance,
        Err(error) => {
            trouble.note(error);
            *lookup = None;
            0
        }
    }
}
