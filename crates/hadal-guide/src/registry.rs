//! Guides by name, as they are written on the command line.

use crate::estimate::blind::Blind;
use crate::estimate::formula::{Combine, FormulaGuide, Graphs, Other, Shape};
use crate::estimate::hamming::Hamming;
use crate::guide::Guide;
use crate::target::{GuideError, Target};
use crate::task::Task;
use hadal_exec::Model;
use std::sync::Arc;

/// Every name with a line about it.
pub const NAMES: &[(&str, &str)] = &[
    ("auto", "chosen by what is known of the model"),
    ("blind", "0 everywhere"),
    ("hamming", "bits that differ from what is looked for"),
    ("formula", "unmet parts of what is looked for, added up; distances for locations"),
    ("formula:max", "the greatest of them"),
    ("dl", "greatest distance of a process to the location looked for"),
    ("dl:all", "the same over all variables"),
    ("du", "sum of these distances"),
    ("du:all", "the same over all variables"),
    ("control", "half the sum, rounded up: steps of two processes count for both"),
];

/// What `auto` stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The name of a guide.
    pub name: &'static str,
    /// Why, in one line.
    pub reason: String,
}

/// What `auto` stands for in this model.
pub fn choose(model: &Model, target: &Target) -> Result<Choice, GuideError> {
    Ok(choose_for(&Task::of(model, target)?))
}

fn choose_for(task: &Task) -> Choice {
    let (coarse, all) = task.coarse;
    let known = format!("{} of {all} action instances are understood", all - coarse);
    Choice { name: "formula", reason: known }
}

/// The guide of this name for a model and what is looked for in it.
pub fn build<'m>(name: &str, model: &'m Model, target: &Target) -> Result<Box<dyn Guide + 'm>, GuideError> {
    let name = name.trim();
    if name == "blind" {
        return Ok(Box::new(Blind));
    }
    let task = Arc::new(Task::of(model, target)?);
    let system = model.system();
    let shape = |name, other, graphs, combine| Shape { name, other, graphs, combine, divisor: 1 };
    let structural = |shape| -> Result<Box<dyn Guide + 'm>, GuideError> {
        Ok(Box::new(FormulaGuide::new(system, task.clone(), shape)))
    };
    use {Combine::*, Graphs::*, Other::*};
    let name = if name == "auto" { choose_for(&task).name } else { name };
    match name {
        "formula" => structural(shape("formula", One, Locations, Sum)),
        "formula:max" => structural(shape("formula:max", One, Locations, Greatest)),
        "dl" => structural(shape("dl", Nothing, Locations, Greatest)),
        "dl:all" => structural(shape("dl:all", Nothing, All, Greatest)),
        "du" => structural(shape("du", Nothing, Locations, Sum)),
        "du:all" => structural(shape("du:all", Nothing, All, Sum)),
        "control" => structural(Shape { divisor: 2, ..shape("control", Nothing, Locations, Sum) }),
        "hamming" => Ok(Box::new(Hamming::new(task))),
        _ => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> GuideError {
    let known: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
    GuideError::Unknown { name: name.into(), known: known.join(", ") }
}
