//! How often each action fired: counted per batch, by action and not by instance, so that it costs next to nothing.

use hadal_system::{ActionInfo, Label, StateSpace};
use serde::{Deserialize, Serialize};

/// Labels up to here find their action by a look into a table; the others of a space with more are searched for.
const TABLED: u32 = 1 << 18;

/// An action and how often it fired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionFirings {
    /// Its name, all instances together.
    pub name: String,
    /// Transitions that are its instances.
    pub fired: u64,
}

/// One thread's count.
pub(crate) struct Firings<'a> {
    actions: &'a [ActionInfo],
    /// For the first labels, the number of their action.
    action_of: Vec<u32>,
    fired: Vec<u64>,
}

impl<'a> Firings<'a> {
    pub(crate) fn new(space: &'a dyn StateSpace) -> Self {
        let actions = space.actions();
        let mut action_of = Vec::new();
        for (n, action) in actions.iter().enumerate() {
            action_of.resize(action.labels.end.min(TABLED) as usize, n as u32);
        }
        Firings { actions, action_of, fired: vec![0; actions.len()] }
    }

    /// Counts transitions.
    pub(crate) fn count(&mut self, labels: &[Label]) {
        if self.actions.is_empty() {
            return;
        }
        for &Label(label) in labels {
            let action = match self.action_of.get(label as usize) {
                Some(&action) => action as usize,
                None => self.actions.partition_point(|action| action.labels.end <= label),
            };
            if let Some(fired) = self.fired.get_mut(action) {
                *fired += 1;
            }
        }
    }

    /// How often each action fired, by its number.
    pub(crate) fn fired(&self) -> &[u64] {
        &self.fired
    }
}

/// What all threads of a search counted on the way: hits of cover properties and firings of actions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// By property.
    pub(crate) covers: Vec<u64>,
    /// By action. Empty where the space has none, or where an earlier sitting did not count.
    pub(crate) fired: Vec<u64>,
}

impl Counts {
    /// Nothing counted yet.
    pub(crate) fn zero(space: &dyn StateSpace) -> Self {
        Counts { covers: vec![0; space.properties().len()], fired: vec![0; space.actions().len()] }
    }

    /// As an earlier sitting left them.
    pub(crate) fn of_record(covers: Vec<u64>, actions: &[ActionFirings]) -> Self {
        Counts { covers, fired: actions.iter().map(|action| action.fired).collect() }
    }

    /// Adds what others counted. Firings that only one of the two knows are not known in sum.
    pub(crate) fn add(&mut self, more: &Counts) {
        for (sum, more) in self.covers.iter_mut().zip(&more.covers) {
            *sum += more;
        }
        if self.fired.len() != more.fired.len() {
            self.fired.clear();
        }
        for (sum, more) in self.fired.iter_mut().zip(&more.fired) {
            *sum += more;
        }
    }

    /// Takes off what should not have been counted.
    pub(crate) fn take_off(&mut self, less: &Counts) {
        let covers = self.covers.iter_mut().zip(&less.covers);
        for (sum, less) in covers.chain(self.fired.iter_mut().zip(&less.fired)) {
            *sum = sum.saturating_sub(*less);
        }
    }

    /// The firings with their actions' names.
    pub(crate) fn actions(&self, space: &dyn StateSpace) -> Vec<ActionFirings> {
        let named =
            |(action, &fired): (&ActionInfo, &u64)| ActionFirings { name: action.name.clone(), fired };
        space.actions().iter().zip(&self.fired).map(named).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn firings(actions: &[ActionInfo], tabled: usize) -> Firings<'_> {
        let mut action_of = Vec::new();
        for (n, action) in actions.iter().enumerate() {
            action_of.resize(tabled.min(action.labels.end as usize), n as u32);
        }
        Firings { actions, action_of, fired: vec![0; actions.len()] }
    }

    #[test]
    fn instances_count_for_their_action_within_the_table_and_beyond_it() {
        let info = |name: &str, labels| ActionInfo { name: name.into(), labels };
        let actions = [info("a", 0..1), info("none", 1..1), info("b", 1..5), info("c", 5..6)];
        let labels: Vec<Label> = [0, 1, 4, 5, 4, 0].map(Label).into();
        for tabled in [0, 3, 100] {
            let mut firings = firings(&actions, tabled);
            firings.count(&labels);
            assert_eq!(firings.fired(), [2, 0, 3, 1]);
        }
    }

    #[test]
    fn what_an_earlier_sitting_did_not_count_is_absent_and_not_too_small() {
        let mut counts = Counts { covers: vec![1], fired: vec![4, 5] };
        counts.add(&Counts { covers: vec![2], fired: vec![1, 1] });
        assert_eq!(counts, Counts { covers: vec![3], fired: vec![5, 6] });
        counts.add(&Counts { covers: vec![1], fired: Vec::new() });
        assert_eq!(counts, Counts { covers: vec![4], fired: Vec::new() });
    }
}
