//! Values held against a bound of the command.

use crate::failure::Failure;
use hadal_lang::prism;
use hadal_system::chance::Relation;
use hadal_system::rows::Rational;
use hadal_value::Answer;
use hadal_value::values::Exact;

/// A bound on a value.
pub(super) struct Threshold {
    relation: Relation,
    bound: Rational,
}

/// Reads a relation and a number.
pub(super) fn threshold(text: &str) -> Result<Threshold, Failure> {
    let relations =
        [(">=", Relation::AtLeast), ("<=", Relation::AtMost), (">", Relation::Above), ("<", Relation::Below)];
    let text = text.trim();
    let found = relations.iter().find_map(|(sign, relation)| Some((text.strip_prefix(sign)?, *relation)));
    let (number, relation) = found
        .ok_or_else(|| Failure::Usage("--threshold is a relation and a number, such as '>=0.5'".into()))?;
    let given = [("threshold".to_owned(), hadal_lang::Given::Text(number.to_owned()))];
    let bound = prism::definitions(&given)?.remove("threshold").unwrap_or_default();
    Ok(Threshold { relation, bound })
}

impl Threshold {
    /// Whether the value lies so; `None` where its bounds leave that open.
    pub fn decides(&self, answer: &Answer) -> Option<bool> {
        if let Some(exact) = &answer.exact {
            let order = match exact {
                Exact::Finite(value) => value.cmp(&hadal_value::exact::fraction(&self.bound)),
                Exact::Infinite => std::cmp::Ordering::Greater,
            };
            return Some(match self.relation {
                Relation::AtLeast => order.is_ge(),
                Relation::Above => order.is_gt(),
                Relation::AtMost => order.is_le(),
                Relation::Below => order.is_lt(),
            });
        }
        let (low, high) = answer.value?;
        let (under, over) = hadal_value::numbers::bracket(&self.bound);
        let (holds, fails) = match self.relation {
            Relation::AtLeast => (low >= over, high < under),
            Relation::Above => (low > over, high < under),
            Relation::AtMost => (high <= under, low > over),
            Relation::Below => (high < under, low > over),
        };
        (holds || fails).then_some(holds)
    }
}
