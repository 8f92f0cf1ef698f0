//! Counting the states of Promela models, alone and watched by a claim.

use hadal_exec::model::{Engine, Model, ModelOptions};
use hadal_exec::product::{Fairness, Product};
use hadal_lang::diagnostic::render_plain;
use hadal_lang::promela::{self, Options};
use hadal_system::{
    CheckKind, Expr, PropertyId, PropertyKind, Source, StateSpace, Stmt, StmtKind, Successors, System,
};
use std::collections::HashMap;
use std::path::Path;

/// A model, or what is wrong with it.
pub fn load(name: &str, text: &str, folder: &Path) -> Result<System, String> {
    load_as(name, text, folder, false)
}

/// A model whose statements are merged, where asked for.
#[allow(dead_code)]
pub fn load_as(name: &str, text: &str, folder: &Path, merge: bool) -> Result<System, String> {
    let include = |name: &str| {
        let bytes = std::fs::read(folder.join(name)).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let options = Options { include: &include, merge, ..Options::default() };
    promela::load(Source::new(name, text), options).map(|loaded| loaded.system).map_err(|refused| {
        refused.diagnostics.list.iter().map(|finding| render_plain(&refused.source_text, finding)).collect()
    })
}

/// The model with assertions that always hold, as `pan -A` runs it.
#[allow(dead_code)]
pub fn without_assertions(mut system: System) -> System {
    fn drop(body: &mut [Stmt]) {
        for stmt in body {
            match &mut stmt.kind {
                StmtKind::Check { kind: CheckKind::Assert, condition, .. } => *condition = Expr::constant(1),
                StmtKind::If { branches, otherwise } => {
                    branches.iter_mut().for_each(|(_, body)| drop(body));
                    drop(otherwise);
                }
                StmtKind::While(_, body) => drop(body),
                _ => {}
            }
        }
    }
    system.actions.iter_mut().for_each(|action| drop(&mut action.body));
    system
}

/// What an exploration saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub states: usize,
    pub transitions: usize,
    /// Steps that meet an error.
    pub faults: usize,
    /// States of the model that nothing leads out of.
    pub stuck: usize,
}

/// Everything that can be reached, as long as there are no more states than `most`.
pub fn count(system: System, engine: Engine, most: usize) -> Counts {
    let model = Model::new(system, ModelOptions { engine, ..ModelOptions::default() }).expect("it runs");
    explore(&model, most).0
}

/// The product with the first claim, and whether some run of it is accepted.
#[allow(dead_code)]
pub fn count_watched(system: System, most: usize) -> (Counts, bool) {
    let model = Model::new(system, ModelOptions::default()).expect("it runs");
    let is_claim = |property: &hadal_system::PropertyInfo| property.kind == PropertyKind::Formula;
    let Some(id) = model.properties().iter().position(is_claim) else {
        return (explore(&model, most).0, false);
    };
    let product = Product::new(&model, &model, PropertyId(id as u32), Fairness::Off).expect("a product");
    let (mut counts, edges) = explore(&product, most);
    counts.stuck = explore(&model, most).0.stuck;
    let graph: Vec<Vec<u32>> =
        edges.iter().map(|list| list.iter().map(|(to, _)| *to as u32).collect()).collect();
    let found = hadal_ltl::components::components(&graph);
    let accepted = edges
        .iter()
        .enumerate()
        .any(|(from, list)| list.iter().any(|(to, marks)| *marks != 0 && found.of[from] == found.of[*to]));
    (counts, accepted)
}

/// What there is, and for every state its successors with the acceptance sets on the way.
fn explore(space: &dyn StateSpace, most: usize) -> (Counts, Vec<Vec<(usize, u64)>>) {
    let mut worker = space.worker();
    let mut out = Successors::new(space.words());
    let mut marks = Vec::new();
    worker.initial(&mut out);
    let mut open: Vec<Vec<u64>> = out.iter().map(|(_, state)| state.to_vec()).collect();
    let mut seen: HashMap<Vec<u64>, usize> =
        open.iter().enumerate().map(|(n, state)| (state.clone(), n)).collect();
    let mut counts = Counts::default();
    let mut edges = Vec::new();
    while edges.len() < open.len() && open.len() <= most {
        out.clear();
        worker.successors(&open[edges.len()], &mut out);
        counts.transitions += out.len();
        counts.faults += out.faults().len();
        counts.stuck += usize::from(out.is_empty() && out.faults().is_empty());
        marks.clear();
        match space.acceptance() {
            Some(_) => worker.marks(&open[edges.len()], &out, &mut marks),
            None => marks.resize(out.len(), 0),
        }
        let mut list = Vec::with_capacity(out.len());
        for (n, (_, state)) in out.iter().enumerate() {
            let next = open.len();
            let at = *seen.entry(state.to_vec()).or_insert(next);
            if at == next {
                open.push(state.to_vec());
            }
            list.push((at, marks[n]));
        }
        edges.push(list);
    }
    counts.states = open.len();
    edges.resize(open.len(), Vec::new());
    (counts, edges)
}
