//! A bound on a value, as it is typed.

use crate::failure::Failure;
use hadal_lang::prism;
use hadal_system::chance::Relation;
use hadal_value::asking::Threshold;

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
