//! A decision process on disk: states numbered by their rank, edges by two external sorts, no sort per sweep.
//!
//! Breadth-first layers are subtracted from all earlier ones; the merged layers number the states. Each state is expanded
//! once more in the order of ranks and sends `(target state, source rank, position)`; sorted by target these meet the states
//! and become `(source rank, position, target rank)`, sorted back. Of several workers each expands the states of its range; edges
//! travel to the worker that has their target, and back.

use super::company::{Changes, Company};
use super::earning::{COLUMN, Column, Earned, Writing};
use super::explore::explore;
use super::journal::Journal;
use super::ranges::Ranges;
use super::rows::{LAST, Row, Rows, States, payload};
use crate::numbers::Numbers;
use hadal_store::error::{MergeError, ReadError, WriteError};
use hadal_store::sort::Sorter;
use hadal_store::{Disk, RecordShape, RunFile, RunOptions, RunReader};
use hadal_system::{ChoiceFault, Choices, PropertyId, StateSpace, Successors, Worker};
use std::collections::HashMap;

/// Choices with more branches are long.
const LONG: usize = 32;
/// Branches of one state that can be told apart.
pub(super) const POSITIONS: u32 = 24;

/// Usual settings for runs of records of `words` words, under a budget of `limit` bytes.
pub(crate) fn run_options(words: usize, fingerprint: u64, limit: u64) -> RunOptions {
    // A small budget cannot spare the usual buffers for each of a dozen open runs.
    let most = (limit / 256).max(4 << 10) as usize;
    let usual = RunOptions::new(RecordShape::states(words), fingerprint);
    RunOptions { block_bytes: usual.block_bytes.min(most), chunk_bytes: usual.chunk_bytes.min(most), ..usual }
}

/// Why a graph cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// The model has an error.
    #[error("the model has an error in a state: {0}")]
    Fault(String),
    /// Reading failed.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Writing failed.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Merging failed.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// The values do not fit the budget.
    #[error("the values of {states} states take {bytes} bytes, more than the budget")]
    Values {
        /// How many states.
        states: u64,
        /// What their values take.
        bytes: u64,
    },
    /// Another worker cannot be reached.
    #[error(transparent)]
    Lost(#[from] hadal_search::exchange::Lost),
    /// More than can be numbered.
    #[error("a state has more branches than {}", 1u32 << POSITIONS)]
    TooLarge,
    /// The folder cannot be used.
    #[error("{0}")]
    Folder(String),
    /// A file of the folder does not belong to this model, or is damaged.
    #[error("{0}")]
    Damaged(String),
    /// A file operation failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// A graph on disk.
#[derive(Debug)]
pub struct DiskGraph {
    /// How many states.
    pub states: u64,
    /// How many choices.
    pub choices: u64,
    /// How many branches.
    pub branches: u64,
    /// Weights and rewards.
    pub numbers: Numbers,
    /// States without a choice of their own: they loop.
    pub deadlocks: u64,
    /// Ranks of the initial states.
    pub initial: Vec<u64>,
    /// For each proposition asked for, whether each state has it.
    pub marks: Vec<Vec<bool>>,
    /// The states, sorted: a state's place is its rank. Of several workers, those of this one's range.
    pub ranks: RunFile,
    /// What choices earn of other rewards.
    pub(super) columns: Vec<Column>,
    edges: RunFile,
    company: Company,
    /// Who has which states.
    ranges: Ranges,
}

/// What a graph is written for.
#[derive(Clone, Debug, Default)]
pub struct DiskOptions {
    /// Which reward is written down.
    pub reward: Option<usize>,
    /// Other rewards, which are written down beside the edges.
    pub others: Vec<usize>,
    /// The propositions whose states are marked.
    pub marks: Vec<PropertyId>,
    /// Whether states without a choice of their own are marked, too, behind all others.
    pub deadlock: bool,
}

impl DiskGraph {
    /// Explores `space` and writes its graph.
    pub fn build(space: &dyn StateSpace, wanted: &DiskOptions, disk: &Disk) -> Result<Self, DiskError> {
        DiskGraph::build_in(space, wanted, &mut Journal::passing(disk))
    }

    /// Explores `space` and writes its graph, going on from what the journal has.
    pub fn build_in(
        space: &dyn StateSpace,
        wanted: &DiskOptions,
        journal: &mut Journal,
    ) -> Result<Self, DiskError> {
        let limit = journal.disk().governor.limit();
        let ranks = explore(space, journal)?;
        let company = journal.company().clone();
        let ranges = Ranges::recall(&company, &ranks, journal)?;
        journal.owns(ranges.of(company.me()));
        company.stands(ranks.records(), journal.moment());
        let mut graph = DiskGraph { company, ..DiskGraph::over((ranks, ranges), wanted) };
        if let Some(edges) = journal.run("edges", &run_options(3, space.fingerprint(), limit))? {
            graph.edges = edges;
            graph.recall(wanted, journal)?;
            return Ok(graph);
        }
        graph.edges = graph.write_edges(space, wanted, journal, |_| true)?;
        graph.note(journal);
        journal.put_run("edges", &graph.edges);
        journal.commit()?;
        Ok(graph)
    }

    /// The graph of some states, of which those that are not `expanded` rest.
    pub(super) fn of_part(
        space: &dyn StateSpace,
        wanted: &DiskOptions,
        (states, expanded): (&RunFile, &[bool]),
        journal: &Journal,
    ) -> Result<Self, DiskError> {
        let ranges = Ranges::whole(states.records());
        let mut graph = DiskGraph::over((states.clone(), ranges), wanted);
        graph.edges = graph.write_edges(space, wanted, journal, |rank| expanded[rank as usize])?;
        Ok(graph)
    }

    /// One without edges.
    fn over((ranks, ranges): (RunFile, Ranges), wanted: &DiskOptions) -> Self {
        DiskGraph {
            states: ranges.states(),
            choices: 0,
            branches: 0,
            numbers: Numbers::default(),
            deadlocks: 0,
            initial: Vec::new(),
            marks: vec![Vec::new(); wanted.marks.len() + usize::from(wanted.deadlock)],
            columns: Vec::new(),
            edges: ranks.clone(),
            ranks,
            company: Company::alone(),
            ranges,
        }
    }

    /// Writes down what is not in files.
    fn note(&self, journal: &mut Journal) {
        journal.put_words("counts", vec![self.choices, self.branches, self.deadlocks]);
        journal.put_words("initial", self.initial.clone());
        journal.put_words("numbers", self.numbers.encode());
        for (n, mark) in self.marks.iter().enumerate() {
            let word = |chunk: &[bool]| chunk.iter().rev().fold(0, |word, &bit| word << 1 | u64::from(bit));
            journal.put_words(format!("mark-{n}"), mark.chunks(64).map(word).collect());
        }
        for column in &self.columns {
            if let Earned::Run(run) = &column.kept {
                journal.put_run(format!("reward-{}", column.reward), run);
            }
        }
    }

    /// Reads what [`DiskGraph::note`] wrote down.
    fn recall(&mut self, wanted: &DiskOptions, journal: &mut Journal) -> Result<(), DiskError> {
        let options = run_options(COLUMN, 0, journal.disk().governor.limit());
        let lost = || DiskError::Damaged("the graph on disk is not whole".into());
        let words = |name: &str| journal.words(name).ok_or_else(lost);
        let [choices, branches, deadlocks] = *words("counts")? else { return Err(lost()) };
        (self.choices, self.branches, self.deadlocks) = (choices, branches, deadlocks);
        self.initial = words("initial")?.to_vec();
        self.numbers = Numbers::decode(words("numbers")?).ok_or_else(lost)?;
        let states = self.states as usize;
        for (n, mark) in self.marks.iter_mut().enumerate() {
            let bits = words(&format!("mark-{n}"))?;
            if bits.len() != states.div_ceil(64) {
                return Err(lost());
            }
            *mark = (0..states).map(|s| bits[s / 64] >> (s % 64) & 1 == 1).collect();
        }
        for &reward in &wanted.others {
            let run = journal.run(&format!("reward-{reward}"), &options)?.ok_or_else(lost)?;
            self.columns.push(Column { reward, kept: Earned::Run(run) });
        }
        Ok(())
    }

    fn write_edges(
        &mut self,
        space: &dyn StateSpace,
        wanted: &DiskOptions,
        journal: &Journal,
        expands: impl Fn(u64) -> bool,
    ) -> Result<RunFile, DiskError> {
        let disk = journal.disk().clone();
        let (words, limit) = (space.words(), disk.governor.limit());
        let mut worker = space.worker();
        let mut starts = Successors::new(words);
        worker.initial(&mut starts);
        let mut initial: Vec<&[u64]> = starts.iter().map(|(_, state)| state).collect();
        initial.sort_unstable();
        initial.dedup();

        let options = run_options(words + 2, space.fingerprint(), limit);
        let mut by_target = Sorter::new(&disk, options, limit / 4);
        let (company, ranges) = (self.company.clone(), self.ranges.clone());
        let own = ranges.of(company.me());
        let mut post = company.post(RecordShape::with_payload(words, 2));
        let mut take = |record: &[u64]| by_target.push(record).map_err(DiskError::from);
        let mut choices = Choices::new(words, wanted.reward);
        let mut known: Vec<u32> = Vec::new();
        let mut others = Vec::with_capacity(wanted.others.len());
        for &reward in &wanted.others {
            others.push(Other {
                worker: space.worker(),
                choices: Choices::new(words, Some(reward)),
                known: Vec::new(),
                writing: Writing::new(&disk)?,
            });
        }
        let mut record = vec![0; words + 2];
        let mut kept: Vec<(usize, u32)> = Vec::new();
        let (mut reader, mut block) = (RunReader::open(&self.ranks)?, Vec::new());
        let mut rank = own.start;
        while reader.next_block(&mut block)? {
            for state in block.chunks_exact(words) {
                if initial.binary_search(&state).is_ok() {
                    self.initial.push(rank);
                }
                let told =
                    |f: ChoiceFault| DiskError::Fault(format!("{f:?} in {:?}", space.render_state(state)));
                for (mark, &property) in self.marks.iter_mut().zip(&wanted.marks) {
                    let wrong = ChoiceFault::Proposition(property.0 as usize);
                    mark.push(worker.satisfies(state, property).ok_or_else(|| told(wrong))?);
                }
                choices.clear();
                let expanded = expands(rank);
                if expanded {
                    worker.choices(state, &mut choices).map_err(told)?;
                }
                if let (true, Some(mark)) = (wanted.deadlock, self.marks.last_mut()) {
                    mark.push(choices.is_empty());
                }
                for number in &choices.numbers[known.len()..] {
                    known.push(self.numbers.add(*number));
                }
                for other in &mut others {
                    other.choices.clear();
                    other.worker.choices(state, &mut other.choices).map_err(told)?;
                    other.write(rank, &mut self.numbers)?;
                }
                if choices.branches.len() >= 1 << POSITIONS {
                    return Err(DiskError::TooLarge);
                }
                let mut push = |position: usize, target: &[u64], weight: u32, reward: u32, last: bool| {
                    record[0] = payload(weight, reward, last);
                    record[1] = rank << POSITIONS | position as u64;
                    record[2..].copy_from_slice(target);
                    post.push(ranges.owner_of_state(target), &record, &mut take)
                };
                for n in 0..choices.len() {
                    let reward = known[choices.rewards[n] as usize];
                    kept.clear();
                    // Short lists are searched, long ones looked up.
                    let range = choices.range(n);
                    let mut place_of: Option<HashMap<&[u64], usize>> =
                        (range.len() > LONG).then(|| HashMap::with_capacity(range.len()));
                    for b in range {
                        let weight = known[choices.weights[b] as usize];
                        let state = choices.branches.state(b);
                        let same = match &mut place_of {
                            Some(places) => {
                                let next = kept.len();
                                Some(*places.entry(state).or_insert(next)).filter(|&at| at < next)
                            }
                            None => kept.iter().position(|k| choices.branches.state(k.0) == state),
                        };
                        match same.map(|at| &mut kept[at]) {
                            Some(first) => {
                                first.1 = self.numbers.sum(first.1, weight).ok_or(DiskError::TooLarge)?;
                            }
                            None => kept.push((b, weight)),
                        }
                    }
                    for (n, &(b, weight)) in kept.iter().enumerate() {
                        push(b, choices.branches.state(b), weight, reward, n + 1 == kept.len())?;
                    }
                    self.branches += kept.len() as u64;
                }
                if choices.is_empty() {
                    let earned = if expanded { known[choices.resting as usize] } else { 0 };
                    push(0, state, 1, earned, true)?;
                    self.branches += u64::from(expanded);
                    self.deadlocks += u64::from(expanded);
                }
                self.choices += if expanded { choices.len().max(1) as u64 } else { 0 };
                rank += 1;
            }
        }
        drop(reader);
        for (&reward, other) in wanted.others.iter().zip(others) {
            self.columns.push(Column { reward, kept: Earned::Run(other.writing.finish()?) });
        }
        post.end(&[], &mut take)?;
        let called = self.agree(own.start, &disk)?;
        let by_target = by_target.into_run()?;
        self.join(&by_target, (words, &called), space.fingerprint(), &disk)
    }

    /// Makes what is known of all states of what every worker knows of its own. Numbers get other names; these are told.
    fn agree(&mut self, first: u64, disk: &Disk) -> Result<Vec<u32>, DiskError> {
        if self.company.is_alone() {
            return Ok(Vec::new());
        }
        let (mut numbers, mut called) = (Numbers::default(), Vec::new());
        let heard = self.company.agree(&self.numbers.encode())?;
        for (worker, words) in heard.iter().enumerate() {
            let others = Numbers::decode(words).ok_or(DiskError::TooLarge)?;
            let names = (0..others.len() as u32).map(|at| numbers.add(others.exact(at)));
            let names: Vec<u32> = names.collect();
            if worker == self.company.me() {
                called = names;
            }
        }
        self.numbers = numbers;
        for column in &mut self.columns {
            *column = column.clone().renamed(&called, disk)?;
        }
        let heard = self.company.agree(&[self.choices, self.branches, self.deadlocks])?;
        let total = |at: usize| heard.iter().filter_map(|words| words.get(at)).sum::<u64>();
        (self.choices, self.branches, self.deadlocks) = (total(0), total(1), total(2));
        self.initial = self.company.agree(&self.initial)?.concat();
        for mark in &mut self.marks {
            let mut all = vec![false; self.states as usize];
            let mut changes = Changes::among(Some(&self.company), self.states);
            for at in (0..mark.len()).filter(|&at| mark[at]) {
                all[first as usize + at] = true;
                changes.note(first + at as u64);
            }
            changes.meet(&mut all, |_, new| new)?;
            *mark = all;
        }
        Ok(called)
    }

    /// Replaces target states by their ranks and sorts edges by where they come from. Numbers are `called` otherwise now, if there
    /// are such names.
    fn join(
        &self,
        by_target: &RunFile,
        (words, called): (usize, &[u32]),
        fingerprint: u64,
        disk: &Disk,
    ) -> Result<RunFile, DiskError> {
        let limit = disk.governor.limit();
        let mut by_source = Sorter::new(disk, run_options(3, fingerprint, limit), limit / 4);
        let mut take = |edge: &[u64]| {
            let told = if called.is_empty() { edge[0] } else { renamed(edge[0], called) };
            by_source.push(&[told, edge[1], edge[2]]).map_err(DiskError::from)
        };
        let mut post = self.company.post(RecordShape::with_payload(1, 2));
        let mut states = Cursor::open(&self.ranks, words)?;
        let mut edges = Cursor::open(by_target, words + 2)?;
        let mut rank = self.ranges.of(self.company.me()).start;
        while let Some(edge) = edges.head()? {
            loop {
                match states.head()? {
                    Some(state) if state == &edge[2..] => break,
                    Some(_) => {
                        states.step();
                        rank += 1;
                    }
                    None => {
                        return Err(DiskError::Damaged("an edge leads to a state that was not found".into()));
                    }
                }
            }
            let to = self.ranges.owner(edge[1] >> POSITIONS);
            post.push(to, &[edge[0], rank, edge[1]], &mut take)?;
            edges.step();
        }
        post.end(&[], &mut take)?;
        Ok(by_source.into_run()?)
    }

    /// What the files take, in bytes.
    pub fn bytes(&self) -> u64 {
        self.ranks.bytes() + self.edges.bytes()
    }
}

impl States for DiskGraph {
    fn tell(&self, mut each: impl FnMut(u64, &[u64])) -> Result<(), DiskError> {
        let words = self.ranks.options().shape.words();
        let (mut reader, mut block) = (RunReader::open(&self.ranks)?, Vec::new());
        let mut rank = self.ranges.of(self.company.me()).start;
        while reader.next_block(&mut block)? {
            for state in block.chunks_exact(words) {
                each(rank, state);
                rank += 1;
            }
        }
        Ok(())
    }
}

impl Rows for DiskGraph {
    fn states(&self) -> u64 {
        self.states
    }

    fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    fn company(&self) -> Option<&Company> {
        Some(&self.company).filter(|company| !company.is_alone())
    }

    fn scan(&self, mut each: impl FnMut(u64, &Row)) -> Result<(), DiskError> {
        let (mut reader, mut block) = (RunReader::open(&self.edges)?, Vec::new());
        let mut row = Row::default();
        let mut current = self.ranges.of(self.company.me()).start;
        while reader.next_block(&mut block)? {
            for record in block.chunks_exact(3) {
                let source = record[2] >> POSITIONS;
                if source != current {
                    each(current, &row);
                    row.clear();
                    current = source;
                }
                row.push(record[1], record[0]);
            }
        }
        if !row.branches.is_empty() {
            each(current, &row);
        }
        Ok(())
    }
}

/// What a branch says, with numbers as they are called now.
fn renamed(told: u64, called: &[u32]) -> u64 {
    let (weight, reward) = (told as u32, (told >> 32) as u32 & 0x7FFF_FFFF);
    let name = |number: u32| called.get(number as usize).copied().unwrap_or(number);
    payload(name(weight), name(reward), told & LAST != 0)
}

/// A reward that is written down beside the edges.
struct Other<'s> {
    /// Of its own: a worker knows the numbers of one list of choices.
    worker: Box<dyn Worker + 's>,
    choices: Choices,
    /// The worker's numbers in those of the graph.
    known: Vec<u32>,
    writing: Writing,
}

impl Other<'_> {
    /// Writes down what the choices of a state earn.
    fn write(&mut self, rank: u64, numbers: &mut Numbers) -> Result<(), DiskError> {
        for number in &self.choices.numbers[self.known.len()..] {
            self.known.push(numbers.add(*number));
        }
        if self.choices.is_empty() {
            return self.writing.push(rank, 0, self.known[self.choices.resting as usize]);
        }
        for (n, &reward) in self.choices.rewards.iter().enumerate() {
            self.writing.push(rank, n, self.known[reward as usize])?;
        }
        Ok(())
    }
}

/// One record after the other.
pub(crate) struct Cursor {
    reader: RunReader,
    stride: usize,
    block: Vec<u64>,
    at: usize,
}

impl Cursor {
    pub fn open(run: &RunFile, stride: usize) -> Result<Self, ReadError> {
        Ok(Cursor { reader: RunReader::open(run)?, stride, block: Vec::new(), at: 0 })
    }

    pub fn head(&mut self) -> Result<Option<&[u64]>, ReadError> {
        if self.at >= self.block.len() {
            self.at = 0;
            if !self.reader.next_block(&mut self.block)? {
                self.block.clear();
                return Ok(None);
            }
        }
        Ok(Some(&self.block[self.at..self.at + self.stride]))
    }

    pub fn step(&mut self) {
        self.at += self.stride;
    }
}
