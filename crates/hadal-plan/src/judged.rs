//! A task's states under another question than its goal: where to begin, and which state is looked for.

use hadal_exec::rows::{Firing, RowSpace, RowWorker};
use hadal_system::state::hash;
use hadal_system::{
    ActionInfo, Check, Label, PropertyId, PropertyInfo, StateField, StateSpace, Successors, Worker,
};

/// Decides which states are looked for.
pub(crate) trait Judge: Sync {
    /// What a thread needs for it.
    type Eye<'j>: Send
    where
        Self: 'j;

    fn eye(&self) -> Self::Eye<'_>;

    /// Whether a state is looked for. Asked at least once of every state that is reached.
    fn judge<'j>(&'j self, eye: &mut Self::Eye<'j>, worker: &mut RowWorker<'j>, state: &[u64]) -> bool;

    /// Whether nothing that is looked for lies behind a state: it is not expanded.
    fn is_lost<'j>(&'j self, _eye: &mut Self::Eye<'j>, _state: &[u64]) -> bool {
        false
    }

    /// Tells questions apart.
    fn digest(&self) -> u64;
}

/// The states of a task, from one of them on.
pub(crate) struct Judged<'s, J> {
    pub(crate) space: &'s RowSpace,
    pub(crate) start: Vec<u64>,
    pub(crate) judge: J,
    /// Told before anything is committed that a number had no room.
    pub(crate) overflowed: &'s (dyn Fn() + Sync),
}

impl<J: Judge> StateSpace for Judged<'_, J> {
    fn words(&self) -> usize {
        self.space.words()
    }

    fn bits(&self) -> u32 {
        self.space.bits()
    }

    fn fields(&self) -> &[StateField] {
        self.space.fields()
    }

    fn fingerprint(&self) -> u64 {
        hash(&[self.space.fingerprint(), hash(&self.start), self.judge.digest()])
    }

    fn properties(&self) -> &[PropertyInfo] {
        self.space.properties()
    }

    fn actions(&self) -> &[ActionInfo] {
        self.space.actions()
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(JudgedWorker { judged: self, worker: self.space.row_worker(), eye: self.judge.eye() })
    }

    fn render_label(&self, label: Label) -> String {
        self.space.render_label(label)
    }

    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        self.space.render_state(state)
    }
}

struct JudgedWorker<'j, J: Judge> {
    judged: &'j Judged<'j, J>,
    worker: RowWorker<'j>,
    eye: J::Eye<'j>,
}

impl<J: Judge> Worker for JudgedWorker<'_, J> {
    fn initial(&mut self, out: &mut Successors) {
        out.push(Label(0), &self.judged.start);
    }

    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        if self.judged.judge.is_lost(&mut self.eye, state) {
            return;
        }
        let mut overflowed = false;
        self.worker.expand(state, |row, firing, next| match firing {
            Firing::Reached(_) => out.push(Label(row), next),
            _ => overflowed = true,
        });
        if overflowed {
            (self.judged.overflowed)();
        }
    }

    fn check(&mut self, state: &[u64]) -> Check {
        match self.judged.judge.judge(&mut self.eye, &mut self.worker, state) {
            true => Check::Hit(PropertyId(0)),
            false => Check::Fine,
        }
    }
}

/// Looks for goal states.
pub(crate) struct Goals;

impl Judge for Goals {
    type Eye<'j> = ();

    fn eye(&self) {}

    fn judge<'j>(&'j self, (): &mut (), worker: &mut RowWorker<'j>, state: &[u64]) -> bool {
        worker.is_goal(state)
    }

    fn digest(&self) -> u64 {
        1
    }
}

/// Looks for one state.
pub(crate) struct This(pub(crate) Vec<u64>);

impl Judge for This {
    type Eye<'j> = ();

    fn eye(&self) {}

    fn judge<'j>(&'j self, (): &mut (), _: &mut RowWorker<'j>, state: &[u64]) -> bool {
        state == self.0
    }

    fn digest(&self) -> u64 {
        hash(&self.0)
    }
}
