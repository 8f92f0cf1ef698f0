//! What can be asked of a problem in PPDDL: whether its goal is reached, in how many steps, at what cost.

use crate::failure::Failure;
use hadal_system::chance::{Asked, Formula, Horizon, Limit, Measure, Path as Paths, Sense};

/// A question about a problem.
pub(super) struct Question {
    pub(super) name: &'static str,
    pub(super) text: String,
    pub(super) asked: Asked,
}

/// The question of this property or formula, where there is one; else how likely the goal is at most. `goal` holds in goals; the rewards
/// are steps and costs.
pub(super) fn question(
    (property, formula): (Option<&str>, Option<&str>),
    goal: Formula,
) -> Result<Question, Failure> {
    let text = match (property, formula) {
        (None, None) | (Some("goal"), _) => "Pmax=? [ F goal ]",
        (Some("steps"), _) => "R{\"steps\"}min=? [ F goal ]",
        (Some("cost"), _) => "R{\"cost\"}min=? [ F goal ]",
        (Some(other), _) => {
            return Err(Failure::Usage(format!(
                "a problem in PPDDL has the properties goal, steps and cost, not {other}"
            )));
        }
        (None, Some(text)) => text,
    };
    let (name, asked) = parse(text, goal).ok_or_else(|| {
        Failure::Usage(format!(
            "`{text}` cannot be asked of a problem in PPDDL; what can are Pmax=? [ F goal ], Pmin=? [ F goal ], both with a bound as in \
             F<=5, and R{{\"steps\"}}min=? [ F goal ], R{{\"cost\"}}min=? [ F goal ] or max"
        ))
    })?;
    Ok(Question { name, text: text.to_owned(), asked })
}

fn parse(text: &str, goal: Formula) -> Option<(&'static str, Asked)> {
    let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let (measured, path) = compact.strip_suffix(']')?.split_once("=?[")?;
    let bound = path.replace("\"goal\"", "goal").strip_suffix("goal")?.to_owned();
    let sense = match measured.get(measured.len().checked_sub(3)?..)? {
        "max" => Sense::Greatest,
        "min" => Sense::Least,
        _ => return None,
    };
    let (name, measure) = match (&measured[..measured.len() - 3], bound.as_str()) {
        ("P", "F") => ("goal", reaching(goal, Limit::None)),
        ("P", bound) => {
            let steps = bound.strip_prefix("F<=")?.parse().ok()?;
            ("goal", reaching(goal, Limit::Steps(0, Some(steps))))
        }
        ("R{\"steps\"}", "F") => ("steps", Measure::Earned(0, Horizon::Reach(goal))),
        ("R{\"cost\"}", "F") => ("cost", Measure::Earned(1, Horizon::Reach(goal))),
        _ => return None,
    };
    Some((name, Asked::Value(measure, sense)))
}

fn reaching(goal: Formula, limit: Limit) -> Measure {
    Measure::Probability(Paths::Until(Formula::Constant(true), goal, limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_understood_is_refused_and_never_answered_as_something_else() {
        let parsed =
            |text: &str| question((None, Some(text)), Formula::Proposition(0)).map(|it| it.name).ok();
        for (text, name) in [
            ("Pmax=? [ F goal ]", Some("goal")),
            ("Pmin=?[F \"goal\"]", Some("goal")),
            ("Pmax=? [ F<=12 goal ]", Some("goal")),
            ("R{\"steps\"}max=? [ F goal ]", Some("steps")),
            ("R{\"cost\"}min=? [ F goal ]", Some("cost")),
            ("Rmin=? [ F goal ]", None),
            ("Pmax=? [ G goal ]", None),
            ("Pmax=? [ F !goal ]", None),
            ("P>=0.5 [ F goal ]", None),
            ("Pmax=? [ F<=x goal ]", None),
            ("=?[goal]", None),
            ("", None),
        ] {
            assert_eq!(parsed(text), name, "{text}");
        }
    }
}
