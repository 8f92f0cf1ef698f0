//! PDDL without time: domains and problems become ground tasks of rows.
//!
//! [`tree`] reads lists, [`mod@read`] resolves names into a [`Task`]; `normalise`, `ground`, `soft` and `encode` make a
//! [`RowTask`] of it. [`validate()`] checks plans on the lifted task and shares nothing with those. What of the language is
//! supported stands in `docs/languages/pddl.md`.

pub mod ast;
mod chance;
mod encode;
mod ground;
mod normalise;
mod read;
mod soft;
mod strata;
pub mod tree;
mod validate;

use crate::diagnostic::{Diagnostic, Diagnostics, Refused};
pub use ast::Task;
pub use chance::{Chances, load_chances};
use ground::{Budget, GroundError, RowError};
use hadal_system::rows::RowTask;
use hadal_system::{Source, Span};
pub use read::{Read, read};
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
    /// Bytes that grounding may take.
    pub memory: usize,
    /// Steps of joins that grounding may take.
    pub work: u64,
    /// How preferences are paid for.
    pub soft: SoftGoals,
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
        Options { memory: 2 << 30, work: 100_000_000_000, soft: SoftGoals::default() }
    }
}

/// Reads and grounds a domain and a problem.
pub fn load(domain: Source, problem: Source, options: Options) -> Result<Loaded, Refused> {
    let Read { task, warnings, chance } = read(&domain, &problem)?;
    if let Some((source, span)) = chance {
        let finding = Diagnostic::error(span, "outcomes of chance are not part of a plan")
            .help("this is a decision process: `hadal solve` reads it");
        return Err(refuse(&source, finding));
    }
    let traits = normalise::Traits::of(&task);
    let budget = Budget { bytes: options.memory, work: options.work };
    let grounded =
        ground::ground(&task, &traits, budget).map_err(|error| explain(error, &domain, &problem))?;
    let task = encode::encode(grounded, options.soft, encode::Rows::Relevant)
        .map_err(|error| explain(error, &domain, &problem))?;
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
    };
    match error {
        GroundError::OverBudget(over) => {
            let message = format!(
                "grounding needs more than it may take: stopped at {} MiB after {} steps",
                over.bytes >> 20,
                over.work
            );
            refuse(problem, Diagnostic::error(Span::default(), message).help("give it more memory"))
        }
        GroundError::Schema(span, error) => refuse(domain, describe(span, error)),
        GroundError::Elsewhere(error) => refuse(problem, describe(Span::default(), error)),
    }
}
