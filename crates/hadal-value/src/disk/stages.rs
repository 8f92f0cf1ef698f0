//! In which order equations are solved: nodes are cut into cells, and cells that lead to each other are one stage (Tarjan 1972).
//! A stage is solved when everything that it leads to is (topological value iteration; Dai, Goldsmith 2007). Cells depend on
//! the equations alone, so all tiers have the same stages.

use super::DiskError;
use super::equations::Equations;
use std::ops::Range;

/// At most so many cells of the same size, and as many between places that are crossed in one direction only.
const CELLS: u64 = 512;
/// So many such places are remembered at most.
const PLACES: usize = 1 << 20;

/// Cells of nodes and their stages.
#[derive(Debug)]
pub(super) struct Stages {
    /// Where each cell begins, and the end.
    begins: Vec<u64>,
    /// By cell.
    stage_of: Vec<u32>,
    /// By stage: how many stages it leads to, one after the other.
    depth: Vec<u32>,
}

impl Stages {
    /// The stages of some equations, the first to be solved first.
    pub fn of(equations: &Equations) -> Result<Self, DiskError> {
        let begins = cells(equations)?;
        let cells = begins.len() - 1;
        let mut leads = vec![false; cells * cells];
        equations.scan(|node, row| {
            let from = cell_of(&begins, node);
            for &(to, _) in row.branches.iter().filter(|b| b.0 < equations.nodes) {
                leads[from * cells + cell_of(&begins, to)] = true;
            }
        })?;
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
        let (stage_of, stages) = (search.stage_of, search.stages);
        let mut depth = vec![0u32; stages as usize];
        // Stages are numbered from the end: what a stage leads to has lower numbers.
        for stage in 0..stages {
            for from in (0..cells).filter(|&c| stage_of[c] == stage) {
                for to in (0..cells).filter(|&to| leads[from * cells + to] && stage_of[to] != stage) {
                    depth[stage as usize] = depth[stage as usize].max(depth[stage_of[to] as usize] + 1);
                }
            }
        }
        Ok(Stages { begins, stage_of, depth })
    }

    /// How many.
    pub fn count(&self) -> u32 {
        self.depth.len() as u32
    }

    /// The stage of a node.
    #[inline]
    pub fn of_node(&self, node: u64) -> u32 {
        self.stage_of[cell_of(&self.begins, node)]
    }

    /// The nodes of a stage, as ranges in their order.
    pub fn ranges(&self, stage: u32) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for cell in (0..self.stage_of.len()).filter(|&c| self.stage_of[c] == stage) {
            let (first, end) = (self.begins[cell], self.begins[cell + 1]);
            match ranges.last_mut() {
                Some(last) if last.end == first => last.end = end,
                _ => ranges.push(first..end),
            }
        }
        ranges
    }

    /// How far bounds may lie apart in a stage so that those of all stages are as near as `wanted`: a guess needs room beyond
    /// the bounds of what the stage leads to.
    pub fn precision(&self, stage: u32, wanted: f64) -> f64 {
        let deepest = f64::from(self.depth.iter().copied().max().unwrap_or(0));
        let depth = f64::from(self.depth.get(stage as usize).copied().unwrap_or(0));
        wanted * (deepest + 1.0 + depth) / (2.0 * deepest + 1.0)
    }
}

fn cell_of(begins: &[u64], node: u64) -> usize {
    begins.partition_point(|&begin| begin <= node) - 1
}

/// Where cells begin, and the end: at regular distances, and where edges lead across in one direction only.
fn cells(equations: &Equations) -> Result<Vec<u64>, DiskError> {
    let nodes = equations.nodes;
    let size = nodes.div_ceil(CELLS).max(1);
    // Nothing leads from before such a place to behind it; from behind it to before it.
    let (mut no_way_on, mut no_way_back) = (Vec::new(), Vec::new());
    let mut farthest = 0;
    equations.scan(|node, row| {
        if farthest < node {
            no_way_on.push(node);
        }
        no_way_back.push(node);
        for to in row.branches.iter().map(|b| b.0).filter(|&to| to < nodes) {
            farthest = farthest.max(to);
            while no_way_back.last().is_some_and(|&place| place > to) {
                no_way_back.pop();
            }
        }
        for places in [&mut no_way_on, &mut no_way_back] {
            if places.len() > PLACES {
                let mut nth = 0u64;
                places.retain(|_| {
                    nth += 1;
                    nth % 2 == 0
                });
            }
        }
    })?;
    let mut begins: Vec<u64> = (0..nodes).step_by(size as usize).collect();
    for places in [no_way_on, no_way_back] {
        let mut last = None;
        for place in places {
            if last.is_none_or(|last| place >= last + size) {
                begins.push(place);
                last = Some(place);
            }
        }
    }
    begins.push(nodes);
    begins.sort_unstable();
    begins.dedup();
    Ok(begins)
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
