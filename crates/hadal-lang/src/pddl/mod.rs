//! PDDL without time: domains and problems become ground tasks of rows.
//!
//! [`tree`] reads lists, [`mod@read`] resolves names into a [`LiftedTask`]; `normalise`, `ground`, `soft` and `encode` make a
//! [`RowTask`] of it. [`validate()`] checks plans on the lifted task and shares nothing with those. What of the language is
//! supported stands in `docs/languages/pddl.md`.

pub mod ast;
mod chance;
mod encode;
mod ground;
mod language;
mod normalise;
mod read;
mod soft;
mod strata;
pub mod tree;
mod validate;

use crate::diagnostic::{Diagnostic, Diagnostics, Refused};
pub use ast::LiftedTask;
pub use chance::{Chances, load_chances, split};
pub use ground::Excess;
use ground::{Budget, GroundError, RowError};
use hadal_system::rows::RowTask;
use hadal_system::{Source, Span};
pub use language::{LANGUAGE, find_domain};
pub use read::{Read, read};
use std::fmt;
use std::time::Instant;
pub use validate::{Flaw, Validation, validate, validate_task};

/// A task that was accepted.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The ground task.
    pub task: RowTask,
    /// What the reader may want to know, each with the text it is about.
    pub warnings: Vec<(Source, Diagnostic)>,
}

/// What can be chosen.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Bytes that grounding may take, together with what is held when it begins.
    pub memory: usize,
    /// Bytes that are held by now; asked once the texts are read.
    pub held: fn() -> u64,
    /// Steps of joins that grounding may take.
    pub work: u64,
    /// When grounding must be done.
    pub deadline: Option<Instant>,
    /// How preferences are paid for.
    pub soft: SoftGoals,
}

impl Options {
    fn budget(self) -> Budget {
        let bytes = self.memory.saturating_sub((self.held)() as usize);
        Budget { bytes, work: self.work, deadline: self.deadline }
    }
}

/// Why a task was not loaded.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NotLoaded {
    /// The text is not accepted.
    #[error("{}", crate::language::render_refusal(.0))]
    Refused(#[from] Refused),
    /// Grounding took more than it may: nothing is known of the task.
    #[error("grounding was stopped: {0}")]
    Stopped(Excess),
}

/// How preferences are paid for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SoftGoals {
    /// By hidden steps after the end of the plan, so that every estimate of costs sees them.
    #[default]
    Collect,
    /// By a term of the metric that is read in the last state: no further states.
    AtEnd,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            memory: 2 << 30,
            held: || 0,
            work: 100_000_000_000,
            deadline: None,
            soft: SoftGoals::default(),
        }
    }
}

/// Reads and grounds a domain and a problem.
pub fn load(domain: Source, problem: Source, options: Options) -> Result<Loaded, NotLoaded> {
    let Read { task, warnings, chance } = read(&domain, &problem)?;
    if let Some((source, span)) = chance {
        let finding = Diagnostic::error(span, "outcomes of chance are not part of a plan")
            .help("this is a decision process: `hadal solve` reads it");
        return Err(refuse(&source, finding).into());
    }
    let traits = normalise::Traits::of(&task);
    let not_loaded = |error| match error {
        GroundError::Excess(excess) => NotLoaded::Stopped(excess),
        error => explain(error, &domain, &problem).into(),
    };
    let grounded = ground::ground(&task, &traits, options.budget()).map_err(not_loaded)?;
    let task = encode::encode(grounded, options.soft, encode::Rows::Relevant).map_err(not_loaded)?;
    Ok(Loaded { task, warnings })
}

fn refuse(source: &Source, finding: Diagnostic) -> Refused {
    Refused { source_text: source.clone(), diagnostics: Diagnostics { list: vec![finding] } }
}

/// Says where grounding failed.
fn explain(error: GroundError, domain: &Source, problem: &Source) -> Refused {
    let describe = |span: Span, error: RowError| match error {
        RowError::Clash(span) => {
            Diagnostic::error(span, "another effect changes the same number in the same step")
        }
        RowError::NegativeCost => {
            Diagnostic::error(span, "a step may lower the metric in a way that hadal cannot optimise")
        }
        RowError::Overflow => Diagnostic::error(span, "a number is undefined or too large to hold exactly"),
        RowError::Excess(excess) => Diagnostic::error(span, format!("grounding was stopped: {excess}")),
    };
    match error {
        GroundError::Excess(excess) => {
            let message = format!("grounding was stopped: {excess}");
            refuse(problem, Diagnostic::error(Span::default(), message))
        }
        GroundError::Schema(span, error) => refuse(domain, describe(span, error)),
        GroundError::Elsewhere(error) => refuse(problem, describe(Span::default(), error)),
    }
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Excess::Memory { bytes } => write!(f, "facts and rows take {} MiB", bytes >> 20),
            Excess::Work { steps } => write!(f, "joins took {steps} steps"),
            Excess::Time => write!(f, "the time limit is over"),
        }
    }
}
