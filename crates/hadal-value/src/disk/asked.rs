//! What is asked of a graph on disk: formulas of states, questions inside questions, filters, policies and certificates.

use super::DiskError;
use super::certify::Certified;
use super::earning::Earning;
use super::everywhere::{Everywhere, solve_everywhere};
use super::journal::Journal;
use super::parts::{Part, Series, Sets};
use super::policy::{self, Induced};
use super::rows::{Rows, States};
use super::solve::{How, Question, Tier, solve};
use crate::answer::{Answer, Fold, Following, Needs, Policy};
use crate::asking::Threshold;
use crate::certificate::{INSIDE, Steps};
use crate::evidence::{Needed, Wanted};
use crate::values::other_probability;
use crate::{Precision, SolveError};
use hadal_store::Disk;
use hadal_system::chance::{
    Asked, Averaged, Formula, Limit, Measure, Objective, Path, Relation, Sense, Summary,
};
use hadal_system::rows::Rational;
use hadal_system::{Choices, Label, StateSpace, System};

/// Why some questions have no certificate.
const NO_RANKS: &str = "formulas with several temporal operators and bounds on rewards are solved on a product, which is not \
    written down, and what is earned without a target has no rank to show progress with";
const NO_CLAIMS: &str =
    "averages in the long run, bounds on time and bounds on steps without an upper end have none";

pub(super) type Bounds = (f64, f64);

/// So often a precision is made sharper for a value whose complement was found.
const ROUNDS: u32 = 4;

/// Whether bounds lie further apart than they may.
fn is_wide((low, high): Bounds, relative: f64) -> bool {
    low.is_finite() && high - low > relative * high
}

/// Bounds of the least or the greatest of some values.
fn extreme(bounds: &[Bounds], sense: Sense) -> Bounds {
    let pick = |of: fn(&Bounds) -> f64| match sense {
        Sense::Least => bounds.iter().map(of).fold(f64::INFINITY, f64::min),
        Sense::Greatest => bounds.iter().map(of).fold(0.0, f64::max),
    };
    (pick(|b| b.0), pick(|b| b.1))
}

/// Solves in a part of the journal that only this round has.
fn in_round<T>(
    journal: Option<&mut Journal>,
    round: u32,
    solve: impl FnOnce(Option<&mut Journal>) -> T,
) -> T {
    match (journal, round) {
        (None, _) => solve(None),
        (journal, 0) => solve(journal),
        (Some(journal), _) => journal.scoped(&format!("round-{round}-"), |journal| solve(Some(journal))),
    }
}

/// Answers questions about `rows`.
pub(super) struct Solver<'g, R> {
    pub rows: Earning<'g, R>,
    pub space: &'g dyn StateSpace,
    pub initial: &'g [u64],
    pub marks: &'g [Vec<bool>],
    pub wanted: &'g super::answer::Wanted,
    pub system: &'g System,
    pub precision: Precision,
    pub tier: Option<Tier>,
    /// Where questions inside the question keep their files.
    pub disk: Option<Disk>,
    /// Whether `rows` is the product with what the path of the question needs, and `marks` are its own.
    pub followed: bool,
}

/// The measure whose complement a measure is, and what is then looked for; the measure itself where it is none.
pub(super) fn uncomplemented(measure: &Measure, sense: Sense) -> (Measure, Sense, bool) {
    match measure {
        Measure::Probability(Path::Not(path)) => {
            let (inner, sense, negated) =
                uncomplemented(&Measure::Probability((**path).clone()), sense.opposite());
            (inner, sense, !negated)
        }
        // Whoever makes a formula unlikely makes its opposite likely.
        Measure::Probability(Path::Ltl { formula, atoms }) if sense == Sense::Least => {
            let path = Path::Ltl { formula: formula.not(), atoms: atoms.clone() };
            (Measure::Probability(path), Sense::Greatest, true)
        }
        other => (other.clone(), sense, false),
    }
}

impl<R: Rows + States> Solver<'_, R> {
    /// The same where choices earn what the measure is about.
    pub(super) fn of(&self, measure: &Measure) -> Self {
        let rows = match measure {
            Measure::Earned(reward, _) | Measure::Average(Averaged::Earned(reward)) => {
                self.rows.showing(*reward)
            }
            Measure::Probability(_) | Measure::Average(Averaged::Share(_)) => self.rows,
        };
        Solver { rows, disk: self.disk.clone(), ..*self }
    }

    /// The answer, with the paths that show it where they are wanted.
    pub fn answer(&self, objective: &Objective, journal: Option<&mut Journal>) -> Result<Answer, SolveError> {
        let wanted = self.precision;
        if wanted.exact || wanted.policy || wanted.certificate || wanted.paths != Wanted::Nothing {
            self.must_be_alone(
                "fractions, policies, certificates and paths are found by one process: leave out --cluster",
            )?;
        }
        let mut answer = self.found(objective, journal)?;
        answer.evidence = match (self.precision.paths, &objective.asked) {
            (Wanted::Nothing, _) => None,
            (_, Asked::Truth(Formula::Compares { value, relation, bound })) => {
                let sense = relation.hardest();
                let needed = Needed::of(sense, *relation, bound, answer.verdict == Some(true));
                Some(self.evidence(value, sense, needed)?)
            }
            (Wanted::Of(relation, bound), Asked::Value(measure, sense)) => {
                let holds = Threshold { relation, bound }.decides(&answer).ok_or(SolveError::Undecided)?;
                Some(self.evidence(measure, *sense, Needed::of(*sense, relation, &bound, holds))?)
            }
            (Wanted::OfFormula, Asked::Value(..)) => None,
            (_, Asked::Truth(_)) => {
                return Err(SolveError::NoPaths("the formula is not one bound on one probability"));
            }
        };
        Ok(answer)
    }

    /// Refuses what needs the choices of all states.
    pub(super) fn must_be_alone(&self, why: &'static str) -> Result<(), SolveError> {
        self.rows.company().map_or(Ok(()), |_| Err(SolveError::Method(why)))
    }

    fn found(&self, objective: &Objective, journal: Option<&mut Journal>) -> Result<Answer, SolveError> {
        let of_all = !matches!(objective.states, Formula::Initial)
            || self.precision.policy
            || self.precision.certificate;
        match &objective.asked {
            Asked::Value(measure, sense) if self.precision.exact => {
                let chosen = self.chosen(objective)?;
                let measure = (measure, *sense);
                let mut answer = self.exact_value(measure, &chosen, objective.summary, journal)?;
                if self.precision.policy || self.precision.certificate {
                    let all = self.everywhere(measure.0, measure.1, self.precision, None)?;
                    self.show(objective, measure, &all, &mut answer)?;
                }
                Ok(answer)
            }
            Asked::Value(measure, sense) if of_all => {
                self.value_of_all(objective, (measure, *sense), journal)
            }
            Asked::Value(measure, sense) => self.value(measure, *sense, journal),
            Asked::Truth(Formula::Compares { value, relation, bound })
                if matches!(objective.states, Formula::Initial) =>
            {
                let mut answer = self.truth(value, (*relation, bound), journal)?;
                if self.precision.policy {
                    // Whoever wants the bound broken would do this: it shows that it is, or how near it comes.
                    let all = self.everywhere(value, relation.hardest(), self.precision, None)?;
                    answer.policy = Some(self.of(value).follow(&all)?);
                }
                Ok(answer)
            }
            Asked::Truth(formula) => {
                let (holds, chosen) = (self.formula(formula)?, self.formula(&objective.states)?);
                let count = holds.iter().zip(&chosen).filter(|(holds, chosen)| **holds && **chosen).count();
                let mut answer =
                    Answer { tier: self.tier.map_or("semi-external", Tier::name), ..Answer::default() };
                match objective.summary {
                    Summary::Some => answer.verdict = Some(count > 0),
                    Summary::Count => answer.count = Some(count as u64),
                    _ => answer.verdict = Some(count == chosen.iter().filter(|c| **c).count()),
                }
                Ok(answer)
            }
        }
    }

    /// The value of the initial states, as sharp as it is asked for.
    fn value(
        &self,
        measure: &Measure,
        sense: Sense,
        mut journal: Option<&mut Journal>,
    ) -> Result<Answer, SolveError> {
        let mut precision = self.precision;
        for round in 0.. {
            let (bounds, sharpens, mut answer) =
                in_round(journal.as_deref_mut(), round, |j| self.values(measure, sense, precision, j))?;
            if round == ROUNDS || !sharpens || !bounds.iter().any(|b| is_wide(*b, self.precision.relative)) {
                answer.value = Some(extreme(&bounds, sense));
                return Ok(answer);
            }
            precision.relative /= 8.0;
        }
        Err(SolveError::Undecided)
    }

    /// The values of the initial states, and whether more precision would make them sharper.
    fn values(
        &self,
        measure: &Measure,
        sense: Sense,
        precision: Precision,
        mut journal: Option<&mut Journal>,
    ) -> Result<(Vec<Bounds>, bool, Answer), SolveError> {
        let (inner, sense, negated) = uncomplemented(measure, sense);
        let how = How { sense, precision: precision.relative, tier: self.tier };
        let this = self.of(&inner);
        let (mut bounds, sharpens, sweeps, tier) =
            match this.part(&inner, sense, precision, journal.as_deref_mut())? {
                Part::Open(sets) => {
                    let mut passing = self.passing();
                    let journal = journal.or(passing.as_mut());
                    let found = solve(&this.rows, self.initial, sets.question(), how, journal)?;
                    (found.bounds, true, found.sweeps, found.tier)
                }
                Part::Swept(series) => {
                    let bounds = self.initial.iter().map(|&s| series.values[s as usize]).collect();
                    (bounds, series.sharpens, series.sweeps, self.tier.unwrap_or(Tier::SemiExternal))
                }
            };
        if negated {
            bounds.iter_mut().for_each(|b| *b = other_probability(*b));
        }
        Ok((bounds, sharpens, Answer { sweeps, tier: tier.name(), ..Answer::default() }))
    }

    /// Whether the value of every initial state compares so with a bound.
    fn truth(
        &self,
        measure: &Measure,
        (relation, bound): (Relation, &Rational),
        mut journal: Option<&mut Journal>,
    ) -> Result<Answer, SolveError> {
        let (mut precision, sense) = (self.precision, relation.hardest());
        for round in 0..3 {
            let (bounds, sharpens, mut answer) =
                in_round(journal.as_deref_mut(), round, |j| self.values(measure, sense, precision, j))?;
            if let Some(holds) = crate::asking::decides(relation, bound, extreme(&bounds, sense)) {
                answer.verdict = Some(holds);
                return Ok(answer);
            }
            if !sharpens {
                break;
            }
            precision.relative /= 64.0;
        }
        // The bounds touch it: only the value itself can say.
        let chosen = self.formula(&Formula::Initial)?;
        let summary = match sense {
            Sense::Least => Summary::Least,
            Sense::Greatest => Summary::Greatest,
        };
        let mut answer = self.exact_value((measure, sense), &chosen, summary, None)?;
        let threshold = Threshold { relation, bound: *bound };
        answer.verdict = Some(threshold.decides(&answer).ok_or(SolveError::Undecided)?);
        (answer.value, answer.exact) = (None, None);
        Ok(answer)
    }

    /// A journal that nothing is committed to, where there is a disk.
    pub(super) fn passing(&self) -> Option<Journal> {
        let passing = self.disk.as_ref().map(Journal::passing);
        match self.rows.company() {
            Some(company) => passing.map(|journal| journal.among(company.clone())),
            None => passing,
        }
    }

    /// Values of the states of a filter, with what comes of them.
    fn value_of_all(
        &self,
        objective: &Objective,
        (measure, sense): (&Measure, Sense),
        mut journal: Option<&mut Journal>,
    ) -> Result<Answer, SolveError> {
        let chosen = self.chosen(objective)?;
        let (mut precision, mut round) = (self.precision, 0);
        let all = loop {
            let all =
                in_round(journal.as_deref_mut(), round, |j| self.everywhere(measure, sense, precision, j))?;
            let mut wide = false;
            all.scan(|state, b| wide |= chosen[state as usize] && is_wide(b, self.precision.relative))?;
            if round == ROUNDS || !wide || !all.sharpens() {
                break all;
            }
            (round, precision.relative) = (round + 1, precision.relative / 8.0);
        };
        let mut answer = Answer { sweeps: all.sweeps, tier: all.tier.name(), ..Answer::default() };
        let mut fold = Fold::default();
        all.scan(|state, bounds| {
            if chosen[state as usize] {
                fold.add(bounds);
            }
        })?;
        answer.value = Some(fold.finish(objective.summary)?);
        self.show(objective, (measure, sense), &all, &mut answer)?;
        Ok(answer)
    }

    /// The states of a filter, of which there are some.
    fn chosen(&self, objective: &Objective) -> Result<Vec<bool>, SolveError> {
        let chosen = self.formula(&objective.states)?;
        if chosen.contains(&true) { Ok(chosen) } else { Err(SolveError::NoState) }
    }

    /// The policy and the certificate, where they are wanted.
    fn show(
        &self,
        objective: &Objective,
        (measure, sense): (&Measure, Sense),
        all: &All,
        answer: &mut Answer,
    ) -> Result<(), SolveError> {
        if self.precision.policy {
            answer.policy = Some(self.of(measure).follow(all)?);
        }
        if self.precision.certificate {
            if !matches!(objective.states, Formula::Initial) {
                return Err(SolveError::NoCertificate(
                    "it would be of the initial states; leave the filter out",
                ));
            }
            if Needs::asks_inside(measure) {
                return Err(SolveError::NoCertificate(INSIDE));
            }
            answer.certificate = Some(match Steps::of(measure, sense) {
                Some(steps) => self.of(measure).certify_steps(&steps, &objective.text)?,
                None if is_followed(&uncomplemented(measure, sense).0) => {
                    return Err(SolveError::NoCertificate(NO_RANKS));
                }
                None => self.of(measure).certify(all, &objective.text)?,
            });
        }
        Ok(())
    }

    /// What is answered on a product, or earned without end, has neither a policy of states nor ranks.
    fn shows(&self, sets: &Sets) -> bool {
        !self.followed && sets.total.is_none()
    }

    fn certify(&self, all: &All, text: &str) -> Result<crate::certificate::Certificate, SolveError> {
        let Some((sets, found)) = all.open() else {
            return Err(SolveError::NoCertificate(NO_CLAIMS));
        };
        if !self.shows(sets) {
            return Err(SolveError::NoCertificate(NO_RANKS));
        }
        let mut endless = false;
        found.bounds.scan(|_, bounds| endless |= sets.rewards && bounds.0 == f64::INFINITY)?;
        let escape = match endless {
            true => {
                let question = Question::Until(&sets.through, &sets.target);
                let how = How {
                    sense: all.sense.opposite(),
                    precision: self.precision.relative,
                    tier: self.side_tier(),
                };
                Some(
                    solve_everywhere(&self.rows, self.initial, question, how, self.passing().as_mut())?
                        .bounds,
                )
            }
            false => None,
        };
        let certified = Certified {
            rows: &self.rows,
            initial: self.initial,
            sets,
            bounds: &found.bounds,
            sense: all.sense,
            negated: all.negated,
            escape: escape.as_ref(),
            words: self.space.words(),
            disk: self.disk.as_ref(),
        };
        certified.certify(text)
    }

    /// What comes of the policy of some values from the initial states.
    fn follow(&self, all: &All) -> Result<Policy, SolveError> {
        let open = all.open().filter(|(sets, _)| self.shows(sets));
        let Some((sets, found)) = open else { return Err(SolveError::NoPolicy) };
        let choices = policy::of(&self.rows, (sets, all.sense), found, self.disk.as_ref())?;
        let chain = Induced { rows: &self.rows, policy: &choices.of };
        let how = How { sense: all.sense, precision: self.precision.relative, tier: self.side_tier() };
        let mut values = solve(&chain, self.initial, sets.question(), how, self.passing().as_mut())?.bounds;
        if all.negated {
            values.iter_mut().for_each(|b| *b = other_probability(*b));
        }
        let reached = policy::reached(&chain, self.initial)?;
        let (mut worker, mut list) = (self.space.worker(), Choices::new(self.space.words(), None));
        let mut steps = Following::new(self.space.words(), self.disk.as_ref())?;
        let mut failed = None;
        self.rows.tell(|number, state| {
            if !reached[number as usize] {
                return;
            }
            list.clear();
            let told = worker.choices(state, &mut list);
            let choice = choices.of[number as usize];
            let label = match told.is_ok() && (choice as usize) < list.len() {
                true => list.branches.labels()[list.range(choice as usize).start],
                false => Label(u32::MAX),
            };
            failed = failed.take().or(steps.push(state, label, choice).err());
        })?;
        if let Some(error) = failed {
            return Err(error.into());
        }
        let low = values.iter().map(|b| b.0).fold(f64::INFINITY, f64::min);
        let value = (low, values.iter().map(|b| b.1).fold(0.0, f64::max));
        Ok(Policy::new(steps.finish()?, value))
    }

    /// Where questions inside the question are solved.
    pub(super) fn side_tier(&self) -> Option<Tier> {
        match self.disk {
            Some(_) => Some(Tier::SemiExternal),
            None => Some(Tier::Ram),
        }
    }

    /// The values of all states.
    pub(super) fn everywhere(
        &self,
        measure: &Measure,
        sense: Sense,
        precision: Precision,
        mut journal: Option<&mut Journal>,
    ) -> Result<All, SolveError> {
        let (inner, sense, negated) = uncomplemented(measure, sense);
        let how = How { sense, precision: precision.relative, tier: self.tier };
        let this = self.of(&inner);
        Ok(match this.part(&inner, sense, precision, journal.as_deref_mut())? {
            Part::Swept(series) => {
                let (sweeps, tier) = (series.sweeps, self.tier.unwrap_or(Tier::SemiExternal));
                All { found: Values::Swept(series), sense, negated, sweeps, tier }
            }
            Part::Open(sets) => {
                let mut passing = self.passing();
                let journal = journal.or(passing.as_mut());
                let found = solve_everywhere(&this.rows, self.initial, sets.question(), how, journal)?;
                let (sweeps, tier) = (found.sweeps, found.tier);
                All { found: Values::Open(sets, found), sense, negated, sweeps, tier }
            }
        })
    }
}

/// Whether a measure is solved on a product, unless its formula says nothing of paths.
fn is_followed(measure: &Measure) -> bool {
    matches!(measure, Measure::Probability(Path::Ltl { .. } | Path::Until(_, _, Limit::Reward(..))))
}

/// Values of all states.
pub(super) struct All {
    found: Values,
    /// What was looked for, before a complement is taken.
    sense: Sense,
    /// Whether values are 1 less what was found.
    negated: bool,
    sweeps: u64,
    tier: Tier,
}

enum Values {
    /// The sets of an unbounded question and what was found.
    Open(Sets, Everywhere),
    Swept(Series),
}

impl All {
    /// Tells the bounds of every state.
    pub(super) fn scan(&self, mut each: impl FnMut(u64, Bounds)) -> Result<(), DiskError> {
        let mut tell = |state, b| each(state, if self.negated { other_probability(b) } else { b });
        match &self.found {
            Values::Open(_, found) => found.bounds.scan(tell),
            Values::Swept(series) => {
                series.values.iter().enumerate().for_each(|(state, &bounds)| tell(state as u64, bounds));
                Ok(())
            }
        }
    }

    /// Whether more precision would make bounds sharper.
    fn sharpens(&self) -> bool {
        match &self.found {
            Values::Open(..) => true,
            Values::Swept(series) => series.sharpens,
        }
    }

    /// The sets of an unbounded question and what was found.
    pub(super) fn open(&self) -> Option<(&Sets, &Everywhere)> {
        match &self.found {
            Values::Open(sets, found) => Some((sets, found)),
            Values::Swept(_) => None,
        }
    }
}
