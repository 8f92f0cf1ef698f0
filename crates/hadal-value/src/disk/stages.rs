//! In which order equations are solved: nodes are cut into cells, and cells that lead to each other are one stage (Tarjan 1972).
//! A stage is solved when everything that it leads to is (topological value iteration; Dai, Goldsmith 2007). Nodes are numbered
//! anew, stage by stage. Cells depend on the equations alone, so all tiers have the same stages.

use super::DiskError;
use super::company::Company;
use super::equations::Equations;
use super::sweep::Shares;
use std::ops::Range;

/// At most so many cells of the same size, and as many between places that are crossed in one direction only.
const CELLS: u64 = 512;
/// So many such places are remembered at most.
const PLACES: usize = 1 << 20;
/// A stage has at least one node in so many, and at least this many, unless it is the last: every stage costs some sweeps.
const PART: u64 = 32;
const LEAST: u64 = 64;

/// Stages of nodes, which are numbered anew so that the nodes of a stage stand together.
#[derive(Clone, Debug)]
pub(super) struct Stages {
    /// Where each cell began before, and the end.
    cells: Vec<u64>,
    /// Where each cell begins now.
    places: Vec<u64>,
    /// Where each stage begins now, and the end.
    begins: Vec<u64>,
    /// By stage: how many stages it leads to, one after the other.
    depth: Vec<u32>,
}

impl Stages {
    /// The stages of some equations, the first to be solved first.
    pub fn of(equations: &Equations) -> Result<Self, DiskError> {
        let mut cutting = Cutting::new(equations.nodes);
        equations.scan(|node, row| {
            let places = row.branches.iter().map(|b| b.0).filter(|&to| to < equations.nodes);
            let (least, most) = places.fold((u64::MAX, 0), |(l, m), to| (l.min(to), m.max(to)));
            cutting.next(node, (least, most));
        })?;
        let mut leads = Leads::new(cutting.finish());
        equations.scan(|node, row| {
            row.branches.iter().filter(|b| b.0 < equations.nodes).for_each(|b| leads.add(node, b.0));
        })?;
        Ok(Stages::along(leads))
    }

    /// The stages of cells that lead to each other so.
    pub fn along(leads: Leads) -> Self {
        let Leads { begins, leads } = leads;
        let cells = begins.len() - 1;
        let mut search = Search {
            cells,
            leads: &leads,
            number: vec![0; cells],
            low: vec![0; cells],
            open: Vec::new(),
            count: 0,
            stage_of: vec![u32::MAX; cells],
            stages: 0,
        };
        for cell in 0..cells {
            if search.number[cell] == 0 {
                search.visit(cell);
            }
        }
        let (mut stage_of, components) = (search.stage_of, search.stages);
        let stages = join_small(&mut stage_of, components, &begins);
        let mut this = Stages { places: vec![0; cells], begins: vec![0], depth: Vec::new(), cells: begins };
        let mut place = 0;
        // Stages are numbered from the end: what a stage leads to has lower numbers.
        for stage in 0..stages {
            let mut depth = 0;
            for from in (0..cells).filter(|&c| stage_of[c] == stage) {
                this.places[from] = place;
                place += this.cells[from + 1] - this.cells[from];
                let others = (0..cells).filter(|&to| leads[from * cells + to] && stage_of[to] != stage);
                depth = others.map(|to| this.depth[stage_of[to] as usize] + 1).fold(depth, u32::max);
            }
            this.begins.push(place);
            this.depth.push(depth);
        }
        this
    }

    /// How many.
    pub fn count(&self) -> u32 {
        self.depth.len() as u32
    }

    /// The number of a node now.
    pub fn renumbered(&self, node: u64) -> u64 {
        let cell = cell_of(&self.cells, node);
        self.places[cell] + (node - self.cells[cell])
    }

    /// The nodes of a stage.
    #[inline]
    pub fn range(&self, stage: u32) -> Range<u64> {
        self.begins[stage as usize]..self.begins[stage as usize + 1]
    }

    /// The nodes of this worker: its part of each stage.
    pub fn parts(&self, company: &Company) -> Vec<Range<u64>> {
        let part = |stage| {
            let nodes = self.range(stage);
            let part = company.shares().part(company.me(), nodes.end - nodes.start);
            nodes.start + part.start..nodes.start + part.end
        };
        (0..self.count()).map(part).collect()
    }

    /// Whose a node is.
    pub fn owner(&self, node: u64, company: &Company) -> usize {
        let stage = self.begins.partition_point(|&begin| begin <= node).clamp(1, self.depth.len()) - 1;
        let nodes = self.range(stage as u32);
        company.shares().part_of(node - nodes.start, nodes.end - nodes.start)
    }

    pub fn encode(&self) -> Vec<u64> {
        let counts = [self.places.len() as u64, self.depth.len() as u64];
        let depth = self.depth.iter().map(|&d| u64::from(d));
        let lists = self.cells.iter().chain(&self.places).chain(&self.begins).copied();
        counts.into_iter().chain(lists).chain(depth).collect()
    }

    pub fn decode(words: &[u64]) -> Option<Self> {
        let (&[cells, stages], rest) = words.split_first_chunk::<2>()?;
        let (cells, stages) = (cells as usize, stages as usize);
        if rest.len() != 2 * cells + 1 + 2 * stages + 1 {
            return None;
        }
        let (bounds, rest) = rest.split_at(cells + 1);
        let (places, rest) = rest.split_at(cells);
        let (begins, depth) = rest.split_at(stages + 1);
        Some(Stages {
            cells: bounds.to_vec(),
            places: places.to_vec(),
            begins: begins.to_vec(),
            depth: depth.iter().map(|&d| d as u32).collect(),
        })
    }

    /// How far bounds may lie apart in a stage so that those of all stages are as near as `wanted`: a guess needs room beyond
    /// the bounds of what the stage leads to.
    pub fn precision(&self, stage: u32, wanted: f64) -> Shares {
        let deepest = f64::from(self.depth.iter().copied().max().unwrap_or(0));
        let depth = f64::from(self.depth.get(stage as usize).copied().unwrap_or(0));
        let own = wanted / (2.0 * deepest + 1.0);
        Shares { whole: own * (deepest + 1.0 + depth), own }
    }
}

fn cell_of(begins: &[u64], node: u64) -> usize {
    begins.partition_point(|&begin| begin <= node) - 1
}

/// Finds where cells begin: at regular distances, and where edges lead across in one direction only.
pub(super) struct Cutting {
    nodes: u64,
    /// Nothing leads from before such a place to behind it; from behind it to before it.
    no_way_on: Vec<u64>,
    no_way_back: Vec<u64>,
    farthest: u64,
}

impl Cutting {
    pub fn new(nodes: u64) -> Self {
        Cutting { nodes, no_way_on: Vec::new(), no_way_back: Vec::new(), farthest: 0 }
    }

    /// Takes the next node, with the least and the greatest node that it leads to: `u64::MAX` and 0 where there is none.
    pub fn next(&mut self, node: u64, (least, most): (u64, u64)) {
        if self.farthest < node {
            self.no_way_on.push(node);
        }
        self.no_way_back.push(node);
        self.farthest = self.farthest.max(most);
        while self.no_way_back.last().is_some_and(|&place| place > least) {
            self.no_way_back.pop();
        }
        for places in [&mut self.no_way_on, &mut self.no_way_back] {
            if places.len() > PLACES {
                let mut nth = 0u64;
                places.retain(|_| {
                    nth += 1;
                    nth.is_multiple_of(2)
                });
            }
        }
    }

    /// Where cells begin, and the end.
    pub fn finish(self) -> Vec<u64> {
        let size = self.nodes.div_ceil(CELLS).max(1);
        let mut begins: Vec<u64> = (0..self.nodes).step_by(size as usize).collect();
        for places in [self.no_way_on, self.no_way_back] {
            let mut last = None;
            for place in places {
                if last.is_none_or(|last| place >= last + size) {
                    begins.push(place);
                    last = Some(place);
                }
            }
        }
        begins.push(self.nodes);
        begins.sort_unstable();
        begins.dedup();
        begins
    }
}

/// Which cells lead to which.
pub(super) struct Leads {
    begins: Vec<u64>,
    leads: Vec<bool>,
}

impl Leads {
    /// Of cells that begin here, and end; none leads anywhere.
    pub fn new(begins: Vec<u64>) -> Self {
        let cells = begins.len() - 1;
        Leads { begins, leads: vec![false; cells * cells] }
    }

    /// A node leads to another.
    pub fn add(&mut self, from: u64, to: u64) {
        let cells = self.begins.len() - 1;
        let cell = |node| cell_of(&self.begins, node);
        let at = cell(from) * cells + cell(to);
        self.leads[at] = true;
    }

    /// By cell and cell.
    pub fn all(&mut self) -> &mut [bool] {
        &mut self.leads
    }
}

/// Makes components, in their order, one stage until it is large enough; how many stages there are.
fn join_small(stage_of: &mut [u32], components: u32, begins: &[u64]) -> u32 {
    let mut nodes = vec![0u64; components as usize];
    for (cell, &component) in stage_of.iter().enumerate() {
        nodes[component as usize] += begins[cell + 1] - begins[cell];
    }
    let least = (nodes.iter().sum::<u64>() / PART).max(LEAST);
    let (mut stage, mut sum, mut becomes) = (0, 0, Vec::with_capacity(nodes.len()));
    for nodes in nodes {
        if sum >= least {
            stage += 1;
            sum = 0;
        }
        sum += nodes;
        becomes.push(stage);
    }
    stage_of.iter_mut().for_each(|component| *component = becomes[*component as usize]);
    stage + 1
}

struct Search<'l> {
    cells: usize,
    leads: &'l [bool],
    number: Vec<u32>,
    low: Vec<u32>,
    open: Vec<usize>,
    count: u32,
    stage_of: Vec<u32>,
    stages: u32,
}

impl Search<'_> {
    /// Recursion is as deep as there are cells.
    fn visit(&mut self, cell: usize) {
        self.count += 1;
        self.number[cell] = self.count;
        self.low[cell] = self.count;
        self.open.push(cell);
        for to in 0..self.cells {
            if !self.leads[cell * self.cells + to] {
                continue;
            }
            if self.number[to] == 0 {
                self.visit(to);
                self.low[cell] = self.low[cell].min(self.low[to]);
            } else if self.stage_of[to] == u32::MAX {
                self.low[cell] = self.low[cell].min(self.number[to]);
            }
        }
        if self.low[cell] == self.number[cell] {
            while let Some(member) = self.open.pop() {
                self.stage_of[member] = self.stages;
                if member == cell {
                    break;
                }
            }
            self.stages += 1;
        }
    }
}
