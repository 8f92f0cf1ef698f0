//! A graph as the explicit files that PRISM and Storm read: transitions (`.tra`), states (`.sta`), labels (`.lab`) and
//! rewards of transitions (`.trew`).
//!
//! Weights are written as decimals, rounded where they have to be: the files are for other tools, not for proofs.

use crate::build::{BuildError, BuildOptions, Built, build};
use crate::graph::Graph;
use crate::numbers::nearest;
use hadal_system::chance::{Chance, Reward};
use hadal_system::{PropertyId, StateSpace};
use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::path::{Path, PathBuf};

/// Why files cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// There is no graph.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// There is no file.
    #[error("{0}")]
    File(#[from] std::io::Error),
}

/// What a model is made of, as far as its files say it.
pub struct Described<'a> {
    /// How choices are resolved.
    pub chance: Chance,
    /// Labels with the propositions behind them.
    pub labels: &'a [(String, PropertyId)],
    /// Rewards; each gets a file of its own.
    pub rewards: &'a [Reward],
}

/// Explores `space` and writes its files beside `stem`; returns their names.
pub fn export(
    space: &dyn StateSpace,
    described: &Described,
    stem: &Path,
    limits: &BuildOptions,
) -> std::result::Result<Vec<PathBuf>, ExportError> {
    let marks = described.labels.iter().map(|(_, property)| *property).collect();
    let built = build(space, &BuildOptions { reward: None, marks, ..limits.clone() })?;
    let labels: Vec<String> = described.labels.iter().map(|(name, _)| name.clone()).collect();
    let chain = described.chance != Chance::Chosen;
    let explicit = Explicit { built: &built, space, chain, labels: &labels };
    let mut files = explicit.write(stem)?;
    for (number, reward) in described.rewards.iter().enumerate() {
        let name = if reward.name.is_empty() { (number + 1).to_string() } else { reward.name.clone() };
        let file = beside(stem, &format!("{name}.trew"));
        let options = BuildOptions { reward: Some(number), marks: Vec::new(), ..limits.clone() };
        explicit.write_rewards(&build(space, &options)?.graph, &file)?;
        files.push(file);
    }
    Ok(files)
}

/// What is written.
struct Explicit<'a> {
    built: &'a Built,
    space: &'a dyn StateSpace,
    /// Whether every state has one choice, which is not numbered then.
    chain: bool,
    /// The names of the propositions that the states were marked with.
    labels: &'a [String],
}

impl Explicit<'_> {
    /// Writes transitions, states and labels; returns the names of the files.
    fn write(&self, stem: &Path) -> Result<Vec<PathBuf>> {
        let files = [beside(stem, "tra"), beside(stem, "sta"), beside(stem, "lab")];
        let mut to = create(&files[0])?;
        self.transitions(&mut to)?;
        to.flush()?;
        let mut to = create(&files[1])?;
        self.states(&mut to)?;
        to.flush()?;
        let mut to = create(&files[2])?;
        self.marks(&mut to)?;
        to.flush()?;
        Ok(files.into())
    }

    fn transitions(&self, to: &mut impl Write) -> Result<()> {
        let Built { graph, labels, .. } = self.built;
        match self.chain {
            true => writeln!(to, "{} {}", graph.states(), graph.branches())?,
            false => writeln!(to, "{} {} {}", graph.states(), graph.choices(), graph.branches())?,
        }
        each_branch(graph, |branch| {
            let Branch { state, choice, within, target, weight } = branch;
            if self.chain {
                return writeln!(to, "{state} {target} {weight}");
            }
            let label = labels[choice];
            let action = match label.0 == u32::MAX {
                true => String::new(),
                false => action(&self.space.render_label(label)),
            };
            writeln!(to, "{state} {within} {target} {weight}{action}")
        })
    }

    fn states(&self, to: &mut impl Write) -> Result<()> {
        for number in 0..self.built.graph.states() {
            let values = self.space.render_state(self.built.states.state(number));
            if number == 0 {
                let names: Vec<&str> = values.iter().map(|(name, _)| name.as_str()).collect();
                writeln!(to, "({})", names.join(","))?;
            }
            let values: Vec<&str> = values.iter().map(|(_, value)| value.as_str()).collect();
            writeln!(to, "{number}:({})", values.join(","))?;
        }
        Ok(())
    }

    fn marks(&self, to: &mut impl Write) -> Result<()> {
        let graph = &self.built.graph;
        let names = ["init", "deadlock"].into_iter().chain(self.labels.iter().map(String::as_str));
        let heads: Vec<String> = names.enumerate().map(|(n, name)| format!("{n}=\"{name}\"")).collect();
        writeln!(to, "{}", heads.join(" "))?;
        for state in 0..graph.states() {
            let mut numbers = String::new();
            let mut add = |number: usize, holds: bool| {
                if holds {
                    numbers.push_str(&format!(" {number}"));
                }
            };
            add(0, graph.initial.contains(&(state as u32)));
            add(1, graph.deadlocks.binary_search(&(state as u32)).is_ok());
            for (n, marks) in self.built.marks.iter().enumerate() {
                add(n + 2, marks[state]);
            }
            if !numbers.is_empty() {
                writeln!(to, "{state}:{numbers}")?;
            }
        }
        Ok(())
    }

    /// Writes what choices earn, branch by branch, where that is not nothing.
    fn write_rewards(&self, graph: &Graph, file: &Path) -> Result<()> {
        let mut to = create(file)?;
        let mut earning = 0;
        each_branch(graph, |branch| {
            earning += usize::from(graph.reward_of(branch.choice) != 0);
            Ok(())
        })?;
        match self.chain {
            true => writeln!(to, "{} {earning}", graph.states())?,
            false => writeln!(to, "{} {} {earning}", graph.states(), graph.choices())?,
        }
        each_branch(graph, |Branch { state, choice, within, target, .. }| {
            let reward = graph.reward_of(choice);
            if reward == 0 {
                return Ok(());
            }
            let reward = nearest(&graph.numbers.exact(reward));
            match self.chain {
                true => writeln!(to, "{state} {target} {reward}"),
                false => writeln!(to, "{state} {within} {target} {reward}"),
            }
        })?;
        to.flush()
    }
}

struct Branch {
    state: usize,
    choice: usize,
    /// The number of the choice among those of its state.
    within: usize,
    target: u32,
    weight: f64,
}

fn each_branch(graph: &Graph, mut tell: impl FnMut(Branch) -> Result<()>) -> Result<()> {
    for state in 0..graph.states() {
        for (within, choice) in graph.choices_of(state).enumerate() {
            for branch in graph.branches_of(choice) {
                let weight = nearest(&graph.numbers.exact(graph.weights[branch]));
                tell(Branch { state, choice, within, target: graph.targets[branch], weight })?;
            }
        }
    }
    Ok(())
}

/// The action of a label, behind a space; nothing where it has no name.
fn action(label: &str) -> String {
    let name = label.split(", outcome:").next().unwrap_or_default();
    let name: String = name.chars().map(|c| if c.is_whitespace() { '_' } else { c }).collect();
    if name.is_empty() { name } else { format!(" {name}") }
}

fn create(path: &Path) -> Result<BufWriter<File>> {
    File::create(path).map(BufWriter::new)
}

/// `stem` with this extension; a dot that is part of the name stays.
fn beside(stem: &Path, extension: &str) -> PathBuf {
    let mut name = stem.as_os_str().to_owned();
    name.push(format!(".{extension}"));
    name.into()
}
