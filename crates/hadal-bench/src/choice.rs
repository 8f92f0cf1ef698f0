//! What of a benchmark is to be run: shares of memory, and the largest model.

use super::suite::Case;
use crate::args::BenchArgs;
use crate::error::BenchError;

/// Shares unless told otherwise, in per cent.
const USUAL_BUDGETS: [f64; 4] = [10.0, 5.0, 2.0, 1.0];

/// Shares of memory, descending, and the largest model.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Per cent of (states x packed bytes).
    pub budgets: Vec<f64>,
    most_states: Option<u64>,
}

impl Choice {
    /// As the command says.
    pub fn of(args: &BenchArgs) -> Result<Self, BenchError> {
        let budgets = match &args.chosen.budgets {
            None => USUAL_BUDGETS.to_vec(),
            Some(list) => parse_budgets(list)?,
        };
        Ok(Choice { budgets, most_states: args.chosen.max_states })
    }

    /// Why a case is not run, if it is not.
    pub fn leaves_out(&self, case: &Case) -> Option<String> {
        let most = self.most_states.filter(|&most| case.states > most)?;
        Some(format!("{} states, above --max-states {most}", case.states))
    }
}

fn parse_budgets(list: &str) -> Result<Vec<f64>, BenchError> {
    let mut budgets = Vec::new();
    for text in list.split(',') {
        match text.trim().trim_end_matches('%').parse::<f64>() {
            Ok(percent) if percent > 0.0 && percent <= 100.0 => budgets.push(percent),
            _ => {
                return Err(BenchError::Usage(format!(
                    "`{text}` is no share in per cent, such as 10 or 2.5"
                )));
            }
        }
    }
    budgets.sort_by(|a, b| b.total_cmp(a));
    budgets.dedup();
    Ok(budgets)
}

#[cfg(test)]
mod tests {
    use super::parse_budgets;

    #[test]
    fn shares_descend_and_nonsense_is_refused() {
        assert_eq!(parse_budgets("1,10%, 2.5,1").expect("shares"), [10.0, 2.5, 1.0]);
        assert!(parse_budgets("0").is_err() && parse_budgets("ten").is_err() && parse_budgets("").is_err());
    }
}
