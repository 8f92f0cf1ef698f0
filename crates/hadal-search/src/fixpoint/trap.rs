//! AG EF, as Rumur means liveness: from every reachable state, a state with the property can be reached.

use super::Answer;
use super::bits::Bits;
use super::closed::Closed;
use super::kept::{Due, Point};
use super::pass::{Early, Pass, Seen};
use crate::layered::Trouble;
use crate::report::ViolationKind;
use hadal_system::PropertyId;
use hadal_system::state::compare;
use std::sync::Mutex;

impl<'a, C: Closed> Pass<'a, C> {
    /// Whether a state with `property` can be reached from every state; else the least state of the first layer from which
    /// it cannot.
    pub(crate) async fn trap(&self, property: PropertyId) -> Result<Answer, Trouble> {
        match self.find_trap(property).await {
            Ok(answer) => Ok(answer),
            Err(Early::Stopped(reason)) => Ok(Answer::Stopped(reason)),
            Err(Early::Trouble(trouble)) => Err(trouble),
        }
    }

    async fn find_trap(&self, property: PropertyId) -> Result<Answer, Early> {
        let reaching = self.bits()?;
        let mut point = match self.take_up(property, &reaching)? {
            Some(point) => point,
            None => Point::of(property),
        };
        if point.step == 0
            && let Some(fault) = self.begin_trap(property, &reaching).await?
        {
            return Ok(fault);
        }
        point.step = 1;
        self.keep(point, &[&reaching], Due::Always)?;
        self.to_fixpoint((point, &[&reaching]), &|look, state, number| {
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
        })
        .await?;
        for group in 0..self.closed.groups() {
            if let Some((depth, state)) = self.least(group, |_, _, number| !reaching.get(number)).await? {
                self.reins.found();
                let kind = ViolationKind::Liveness(property);
                return Ok(Answer::Violated { kind, depth, path: vec![state], shortest: true });
            }
        }
        Ok(Answer::Holds)
    }

    /// Begins with the states that have the property; the first state where evaluating it meets an error, if one does.
    async fn begin_trap(&self, property: PropertyId, reaching: &Bits) -> Result<Option<Answer>, Early> {
        for group in 0..self.closed.groups() {
            let fault = self
                .least(group, |worker, state, number| match worker.satisfies(state, property) {
                    Some(true) => {
                        reaching.set(number);
                        false
                    }
                    Some(false) => false,
                    None => true,
                })
                .await?;
            if let Some((depth, state)) = fault {
                self.reins.found();
                let kind = ViolationKind::PropertyFault(property);
                return Ok(Some(Answer::Violated { kind, depth, path: vec![state], shortest: true }));
            }
        }
        Ok(None)
    }

    /// Of the states of a group for which `wanted` is true, the least one.
    pub(super) async fn least_of(
        &self,
        group: usize,
        wanted: impl Fn(&mut dyn hadal_system::Worker, &[u64], u64) -> bool + Sync,
    ) -> Result<Option<Vec<u64>>, Early> {
        let found = self.least_by(group, |_, _| std::cmp::Ordering::Equal, wanted).await?;
        Ok(found.map(|(_, state)| state))
    }

    /// Of the states of a group for which `wanted` is true, the least one of the first layer that has one, with its depth.
    pub(super) async fn least(
        &self,
        group: usize,
        wanted: impl Fn(&mut dyn hadal_system::Worker, &[u64], u64) -> bool + Sync,
    ) -> Result<Option<(usize, Vec<u64>)>, Early> {
        self.least_by(group, |at, held| at.cmp(&held), wanted).await
    }

    /// As [`Pass::least`], of the last layer.
    pub(super) async fn least_of_deepest(
        &self,
        group: usize,
        wanted: impl Fn(&mut dyn hadal_system::Worker, &[u64], u64) -> bool + Sync,
    ) -> Result<Option<(usize, Vec<u64>)>, Early> {
        self.least_by(group, |at, held| held.cmp(&at), wanted).await
    }

    /// The least state of the layer that comes first by `order`.
    async fn least_by(
        &self,
        group: usize,
        order: impl Fn(usize, usize) -> std::cmp::Ordering + Sync,
        wanted: impl Fn(&mut dyn hadal_system::Worker, &[u64], u64) -> bool + Sync,
    ) -> Result<Option<(usize, Vec<u64>)>, Early> {
        let best: Mutex<Option<(usize, Vec<u64>)>> = Mutex::new(None);
        self.over_group(group, &|look, state, at| {
            if wanted(&mut *look.worker, state, at.number) {
                let mut best = best.lock().unwrap_or_else(|e| e.into_inner());
                let better = |(depth, held): &(usize, Vec<u64>)| {
                    order(at.depth, *depth).then_with(|| compare(state, held)).is_lt()
                };
                if best.as_ref().is_none_or(better) {
                    *best = Some((at.depth, state.to_vec()));
                }
            }
            false
        })
        .await?;
        Ok(best.into_inner().unwrap_or_else(|e| e.into_inner()))
    }
}
