//! What rows cost, in whole units: the largest amount that divides all costs that do not depend on the state.

use super::RowError;
use super::numeric::Terms;
use hadal_system::MOST_COST;
use hadal_system::rows::scale::{gcd, lcm};
use hadal_system::rows::{Metric, Rational, RowTask, Term};
use num_traits::Zero;

/// The cost of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowCost {
    /// So many units in every state.
    Fixed(u32),
    /// The value of a term in the state before, times this.
    Term(u32, i128),
}

/// The costs of all rows.
#[derive(Clone, Debug)]
pub(super) struct RowCosts {
    /// By row.
    pub(super) rows: Vec<RowCost>,
    /// What one unit stands for.
    pub(super) unit: Rational,
}

impl RowCosts {
    pub(super) fn new(task: &RowTask, terms: &Terms) -> Result<Self, RowError> {
        let fixed = |row: &hadal_system::rows::Row| match row.cost {
            None => Some(Rational::from_integer(i128::from(task.metric == Metric::Steps))),
            Some(term) => match task.terms[term as usize] {
                Term::Constant(cost) => Some(cost),
                _ => None,
            },
        };
        let (mut scale, mut shared, mut varies) = (1, 0, false);
        for (at, row) in task.rows.iter().enumerate() {
            match fixed(row) {
                Some(cost) if cost < Rational::zero() => return Err(RowError::NegativeCost(at as u32)),
                Some(cost) => scale = lcm(scale, *cost.denom()).ok_or(RowError::CostTooLarge(at as u32))?,
                None if !terms.exact() => return Err(RowError::InexactCost(at as u32)),
                None => {
                    varies = true;
                    let term = row.cost.unwrap_or(0);
                    scale = lcm(scale, terms.scale(term)).ok_or(RowError::CostTooLarge(at as u32))?;
                }
            }
        }
        let units = |cost: Rational| cost.numer().checked_mul(scale / cost.denom());
        for (at, row) in task.rows.iter().enumerate() {
            if let Some(cost) = fixed(row) {
                shared = gcd(shared, units(cost).ok_or(RowError::CostTooLarge(at as u32))?);
            }
        }
        let divisor = if varies || shared == 0 { 1 } else { shared };
        let mut rows = Vec::with_capacity(task.rows.len());
        for (at, row) in task.rows.iter().enumerate() {
            rows.push(match fixed(row) {
                Some(cost) => {
                    let units = units(cost).and_then(|units| u32::try_from(units / divisor).ok());
                    let units = units.filter(|&units| units <= MOST_COST);
                    RowCost::Fixed(units.ok_or(RowError::CostTooLarge(at as u32))?)
                }
                None => {
                    let term = row.cost.unwrap_or(0);
                    RowCost::Term(term, scale / terms.scale(term))
                }
            });
        }
        Ok(RowCosts { rows, unit: Rational::new(divisor, scale) })
    }
}
