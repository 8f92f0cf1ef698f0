//! `--por`: its option, what it cannot keep, and how it is named in results.

use crate::failure::Failure;
use clap::Args;
use hadal_exec::model::Model;
use hadal_exec::reduce::{Deadlocks, Stubborn};
use hadal_exec::symmetry::SymmetryMode;
use hadal_search::{DeadlockNotion, Question};
use hadal_system::{PropertyKind, StateSpace};
use serde::{Deserialize, Serialize};

/// Which reductions are used.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReductionArgs {
    /// Partial-order reduction: of steps that do not disturb each other, fire only some first. Keeps every kind of error
    /// and shortest traces; visits fewer states (docs/reductions.md).
    #[arg(long)]
    pub por: bool,
}

impl ReductionArgs {
    /// The reductions in use, as results name them.
    pub fn names(&self) -> Vec<&'static str> {
        self.por.then_some("partial order").into_iter().collect()
    }
}

/// The model reduced by stubborn sets, where that is asked for.
pub fn stubborn<'m>(
    args: &ReductionArgs,
    model: &'m Model,
    question: &Question,
) -> Result<Option<Stubborn<'m>>, Failure> {
    if !args.por {
        return Ok(None);
    }
    let kept = |kind| !matches!(kind, PropertyKind::Cover | PropertyKind::Liveness);
    let asked = model.properties().iter().zip(&question.asked).filter(|(_, asked)| **asked);
    if let Some((lost, _)) = asked.into_iter().find(|(property, _)| !kept(property.kind)) {
        return Err(Failure::Usage(format!(
            "--por keeps errors, not what is covered or stays reachable: `{}` asks for that. Leave out --por, or name \
             other properties with --property",
            lost.name
        )));
    }
    let deadlocks = match question.deadlock {
        DeadlockNotion::Off => Deadlocks::Ignored,
        DeadlockNotion::Stuck => Deadlocks::Stuck,
        DeadlockNotion::Stuttering => Deadlocks::Stuttering,
    };
    let heuristic = model.symmetry().is_some_and(|it| it.mode() == SymmetryMode::Heuristic);
    if heuristic && deadlocks == Deadlocks::Stuttering {
        return Err(Failure::Usage(
            "--por cannot tell deadlocks from steps between symmetric states with heuristic symmetry: give --symmetry \
             exact or off, or --deadlock stuck or off"
                .into(),
        ));
    }
    let too_many = || Failure::Usage("the model has too many rules for --por".into());
    Stubborn::new(model, deadlocks).ok_or_else(too_many).map(Some)
}
