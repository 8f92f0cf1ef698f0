//! AG EF, as Rumur means liveness: from every reachable state, a state with the property can be reached.

use super::Answer;
use super::closed::Closed;
use super::pass::{Early, Pass, Seen};
use crate::layered::Trouble;
use crate::report::ViolationKind;
use hadal_system::PropertyId;
use hadal_system::state::compare;
use std::sync::Mutex;

impl<'a, C: Closed> Pass<'a, C> {
    /// Whether a state with `property` can be reached from every state; else the least state of the first layer from which
    /// it cannot.
    pub(crate) fn trap(&self, property: PropertyId) -> Result<Answer, Trouble> {
        match self.find_trap(property) {
            Ok(answer) => Ok(answer),
            Err(Early::Stopped(reason)) => Ok(Answer::Stopped(reason)),
            Err(Early::Trouble(trouble)) => Err(trouble),
        }
    }

    fn find_trap(&self, property: PropertyId) -> Result<Answer, Early> {
        let reaching = self.bits()?;
        for group in 0..self.closed.groups() {
            let fault =
                self.least(group, |worker, state, number| match worker.satisfies(state, property) {
                    Some(true) => {
                        reaching.set(number);
                        false
                    }
                    Some(false) => false,
                    None => true,
                })?;
            if let Some((depth, state)) = fault {
                let kind = ViolationKind::PropertyFault(property);
                return Ok(Answer::Violated { kind, depth, path: vec![state] });
            }
        }
        self.to_fixpoint(&|look, state, number| {
            if reaching.get(number) {
                return Seen::Done;
            }
            look.expand(state);
            let reaches =
                look.out.iter().any(|(_, to)| self.closed.number(to).is_some_and(|to| reaching.get(to)));
            if !reaches {
                return Seen::Open;
            }
            reaching.set(number);
            Seen::Changed
        })?;
        for group in 0..self.closed.groups() {
            if let Some((depth, state)) = self.least(group, |_, _, number| !reaching.get(number))? {
                let kind = ViolationKind::Liveness(property);
                return Ok(Answer::Violated { kind, depth, path: vec![state] });
            }
        }
        Ok(Answer::Holds)
    }

    /// Of the states of a group for which `wanted` is true, the least one of the first layer that has one, with its depth.
    pub(super) fn least(
        &self,
        group: usize,
        wanted: impl Fn(&mut dyn hadal_system::Worker, &[u64], u64) -> bool + Sync,
    ) -> Result<Option<(usize, Vec<u64>)>, Early> {
        let best: Mutex<Option<(usize, Vec<u64>)>> = Mutex::new(None);
        self.over_group(group, &|look, state, at| {
            if wanted(&mut *look.worker, state, at.number) {
                let mut best = best.lock().unwrap_or_else(|e| e.into_inner());
                let better = |(depth, held): &(usize, Vec<u64>)| {
                    at.depth.cmp(depth).then_with(|| compare(state, held)).is_lt()
                };
                if best.as_ref().is_none_or(better) {
                    *best = Some((at.depth, state.to_vec()));
                }
            }
            false
        })?;
        Ok(best.into_inner().unwrap_or_else(|e| e.into_inner()))
    }
}
