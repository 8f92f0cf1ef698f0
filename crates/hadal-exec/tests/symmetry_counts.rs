//! Published numbers of states and rules fired with symmetry (`murphi/KNOWN.tsv` of the corpus and the tail comments
//! of its files), met through the interpreter.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};

use hadal_exec::{Engine, Model, ModelOptions, SymmetryMode};
use hadal_system::{Source, StateSpace, Successors};

/// The corpus, if it is there.
fn corpus() -> Option<PathBuf> {
    hadal_testkit::corpus::find("murphi")?.parent().map(Path::to_owned)
}

/// States and transitions of a model, constants overridden.
fn count(corpus: &Path, file: &str, constants: &[(&str, i64)], symmetry: SymmetryMode) -> (usize, usize) {
    let path = corpus.join("murphi").join(file);
    let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
    let overrides: Vec<_> = constants.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let loaded = hadal_lang::murphi::load(Source::new(file, text), &overrides)
        .unwrap_or_else(|refused| panic!("{file}: {refused:?}"));
    let model = Model::new(loaded.system, ModelOptions { engine: Engine::Interpreted, symmetry }).unwrap();
    let mut worker = model.worker();
    let mut out = Successors::new(model.words());
    worker.initial(&mut out);
    let mut seen: HashSet<Vec<u64>> = out.iter().map(|(_, state)| state.to_vec()).collect();
    let mut queue: VecDeque<Vec<u64>> = seen.iter().cloned().collect();
    let mut fired = 0;
    while let Some(state) = queue.pop_front() {
        out.clear();
        worker.successors(&state, &mut out);
        assert!(out.faults().is_empty(), "{file} met an error of the model");
        fired += out.len();
        for (_, state) in out.iter() {
            if !seen.contains(state) {
                seen.insert(state.to_vec());
                queue.push_back(state.to_vec());
            }
        }
    }
    (seen.len(), fired)
}

/// File, constants, mode, states and rules fired as published.
type Row = (&'static str, &'static [(&'static str, i64)], SymmetryMode, usize, usize);

use SymmetryMode::{Exact, Off};

const SMALL: &[Row] = &[
    ("cmurphi/mux/mcslock1.m", &[("N", 3)], Off, 7597, 22791),
    ("cmurphi/mux/mcslock1.m", &[("N", 4)], Exact, 23636, 94544),
    ("cmurphi/mux/n_peterson.m", &[("N", 5)], Exact, 6770, 33850),
    ("cmurphi/sym/list6.m", &[("CellCount", 4)], Off, 8893, 29584),
    ("cmurphi/sym/list6.m", &[("CellCount", 4)], Exact, 1489, 4956),
    ("cmurphi/multiset-sym/newlist6.m", &[("CellCount", 3)], Off, 211, 507),
    ("cmurphi/multiset-sym/newlist6.m", &[("CellCount", 3)], Exact, 107, 258),
    ("cmurphi/multiset-sym/newlist6.m", &[("CellCount", 4)], Off, 6228, 20046),
    ("cmurphi/multiset-sym/newlist6.m", &[("CellCount", 4)], Exact, 1069, 3455),
    ("cmurphi/multiset-sym/newlist6.m", &[("CellCount", 5)], Exact, 13044, 53595),
    ("cmurphi/sym/cache3.m", &[("ProcCount", 4), ("ValueCount", 2)], Exact, 16169, 121494),
];

const LARGE: &[Row] = &[
    ("cmurphi/mux/n_peterson.m", &[("N", 7)], Exact, 163298, 1143086),
    ("cmurphi/mux/mcslock2.m", &[("N", 3)], Exact, 540219, 1620657),
    ("cmurphi/sym/cache3.m", &[("ProcCount", 5), ("ValueCount", 2)], Exact, 31433, 264758),
    ("cmurphi/sym/list6.m", &[("CellCount", 5)], Exact, 23410, 99874),
    // Its tail comment says "6 remove cells": six cells, five of them remote.
    ("cmurphi/multiset-sym/newlist6.m", &[("CellCount", 6)], Exact, 196548, 987835),
];

fn meet(rows: &[Row]) {
    let Some(corpus) = corpus() else { return };
    let mut wrong = Vec::new();
    for &(file, constants, mode, states, fired) in rows {
        let found = count(&corpus, file, constants, mode);
        println!("{file} {constants:?} {mode}: {found:?}");
        if found != (states, fired) {
            wrong.push(format!("{file} {constants:?} {mode}: {found:?}, published ({states}, {fired})"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn small_published_counts_are_met() {
    meet(SMALL);
}

#[test]
#[ignore = "a minute in the interpreter"]
fn large_published_counts_are_met() {
    meet(LARGE);
}
