//! A question answered where there is room for it, and held against a bound where one is given.

use crate::answer::compare_exactly;
use crate::build::BuildError;
use crate::disk::{self, Place, Tier};
use crate::evidence::Wanted;
use crate::{Answer, Options, Precision, SolveError, answer, growing, numbers};
use hadal_system::chance::{Objective, Relation};
use hadal_system::rows::Rational;
use hadal_system::{StateSpace, System};
use std::path::Path;

/// The memory of what is on disk, unless another is given.
const USUAL_MEMORY: u64 = 1 << 30;

/// How values are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// In RAM, component by component; on disk where memory does not suffice and there is a folder.
    #[default]
    Anywhere,
    /// From the states that matter (LAO*); on disk where memory does not suffice and there is a folder.
    Growing,
    /// The same, on disk.
    GrowingOnDisk,
    /// In RAM, by the sweeps of the tiers on disk.
    SweptInRam,
    /// On disk.
    OnDisk(Tier),
}

/// How a question is answered.
#[derive(Clone, Debug)]
pub struct Asking<'a> {
    /// How sharp, and in how much memory.
    pub options: Options,
    /// How.
    pub way: Way,
    /// Where files may be kept.
    pub folder: Option<&'a Path>,
    /// What the value is held against.
    pub threshold: Option<Threshold>,
}

impl Asking<'_> {
    /// The answer, with a verdict where there is a bound.
    pub fn answer(
        &self,
        space: &dyn StateSpace,
        system: &System,
        objective: &Objective,
    ) -> Result<Answer, SolveError> {
        let mut found = self.value(space, system, objective, self.options)?;
        if let (Some(threshold), Some(_)) = (&self.threshold, found.value) {
            let holds = match threshold.decides(&found) {
                Some(holds) => holds,
                None => {
                    // The bounds touch it: only the value itself can say.
                    let precision = Precision { exact: true, ..self.options.precision };
                    let sharp = Options { precision, ..self.options };
                    let exact = self.value(space, system, objective, sharp)?;
                    threshold.decides(&exact).ok_or(SolveError::Undecided)?
                }
            };
            found.verdict = Some(holds);
        }
        Ok(found)
    }

    fn value(
        &self,
        space: &dyn StateSpace,
        system: &System,
        objective: &Objective,
        options: Options,
    ) -> Result<Answer, SolveError> {
        let on_disk = |folder: &Path, tier: Option<Tier>| {
            let place = Place { folder, memory: options.memory.unwrap_or(USUAL_MEMORY), tier };
            disk::answer(space, system, objective, options.precision, &place)
        };
        match self.way {
            Way::Growing | Way::GrowingOnDisk => {
                let wanted = options.precision;
                if wanted.exact || wanted.policy || wanted.certificate || wanted.paths != Wanted::Nothing {
                    return Err(SolveError::Method(
                        "LAO* gives bounds: fractions, policies, paths and certificates need all states",
                    ));
                }
                let on_disk = |folder: &Path| {
                    let memory = options.memory.unwrap_or(USUAL_MEMORY);
                    let place = Place { folder, memory, tier: None };
                    disk::answer_growing(space, system, objective, options, &place)
                };
                match (self.way, self.folder) {
                    (Way::GrowingOnDisk, Some(folder)) => on_disk(folder),
                    (_, folder) => match (growing::answer(space, system, objective, options), folder) {
                        (Err(SolveError::Build(BuildError::Memory { .. })), Some(folder)) => on_disk(folder),
                        (found, _) => found,
                    },
                }
            }
            Way::SweptInRam => disk::answer_in_ram(space, system, objective, options),
            Way::OnDisk(tier) => match self.folder {
                Some(folder) => on_disk(folder, Some(tier)),
                None => Err(SolveError::NotOnDisk("files need a place: write --disk DIR")),
            },
            Way::Anywhere => match (answer(space, system, objective, options), self.folder) {
                (Err(SolveError::Build(BuildError::Memory { .. } | BuildError::TooLarge)), Some(folder)) => {
                    on_disk(folder, None)
                }
                (found, _) => found,
            },
        }
    }
}

/// A bound on a value.
#[derive(Clone, Debug)]
pub struct Threshold {
    /// On which side of it the value is to lie.
    pub relation: Relation,
    /// The bound.
    pub bound: Rational,
}

impl Threshold {
    /// Whether the value lies so; `None` where its bounds leave that open.
    pub fn decides(&self, answer: &Answer) -> Option<bool> {
        if let Some(exact) = &answer.exact {
            return Some(compare_exactly(exact, self.relation, &self.bound));
        }
        let (low, high) = answer.value?;
        decides(self.relation, &self.bound, (low, high))
    }
}

/// Whether a value between these lies so; `None` where that is open.
pub(crate) fn decides(relation: Relation, bound: &Rational, (low, high): (f64, f64)) -> Option<bool> {
    let (under, over) = numbers::bracket(bound);
    let (holds, fails) = match relation {
        Relation::AtLeast => (low >= over, high < under),
        Relation::Above => (low > over, high < under),
        Relation::AtMost => (high <= under, low > over),
        Relation::Below => (high < under, low > over),
    };
    (holds || fails).then_some(holds)
}
