//! What a task takes in memory, for those who must stay within a budget.

use super::{DerivedFact, DerivedRule, Effect, FiniteVariable, Need, Row, RowTask, Term};

/// Bytes of a list with room for `capacity` items of `item` bytes, with what the allocator adds.
pub const fn list_bytes(capacity: usize, item: usize) -> usize {
    match capacity {
        0 => 0,
        _ if capacity * item < 24 => 32,
        _ => (capacity * item + 8).next_multiple_of(16),
    }
}

impl Row {
    /// Bytes that it takes, those that its lists point to included.
    pub fn bytes(&self) -> usize {
        let whens = self.effects.iter().map(|effect| list_bytes(effect.when.capacity(), size_of::<Need>()));
        size_of::<Row>()
            + list_bytes(self.arguments.capacity(), size_of::<u32>())
            + list_bytes(self.needs.capacity(), size_of::<Need>())
            + list_bytes(self.effects.capacity(), size_of::<Effect>())
            + whens.sum::<usize>()
    }
}

impl RowTask {
    /// Bytes that it takes, about.
    pub fn bytes(&self) -> usize {
        let variable = |variable: &FiniteVariable| {
            let values = variable.values.iter().map(|value| list_bytes(value.capacity(), 1));
            size_of::<FiniteVariable>()
                + list_bytes(variable.name.capacity(), 1)
                + list_bytes(variable.values.capacity(), size_of::<String>())
                + values.sum::<usize>()
        };
        let rule = |rule: &DerivedRule| {
            size_of::<DerivedRule>() + list_bytes(rule.body.capacity(), size_of::<Need>())
        };
        let derived = |fact: &DerivedFact| size_of::<DerivedFact>() + list_bytes(fact.name.capacity(), 1);
        let objects =
            self.names.objects.iter().map(|name| size_of::<String>() + list_bytes(name.capacity(), 1));
        self.variables.iter().map(variable).sum::<usize>()
            + self.rules.iter().map(rule).sum::<usize>()
            + self.derived.iter().map(derived).sum::<usize>()
            + self.rows.iter().map(Row::bytes).sum::<usize>()
            + objects.sum::<usize>()
            + list_bytes(self.terms.capacity(), size_of::<Term>())
    }
}
