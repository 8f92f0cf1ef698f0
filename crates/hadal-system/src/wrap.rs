//! A state space around another: everything is the inner one's unless the wrapper says otherwise.
//!
//! Reductions, parts of a run and products are such wrappers. They implement [`WrapsSpace`] and, for their workers,
//! [`WrapsWorker`], write down what differs, and are a [`StateSpace`] and a [`Worker`] by that: a method that is added
//! there cannot get lost on the way.

use crate::chance::{ChoiceFault, Choices};
use crate::cost::CostRange;
use crate::payload::Payload;
use crate::space::{
    Acceptance, ActionInfo, Check, Cover, Label, PropertyId, PropertyInfo, StateField, StateSpace,
    Successors, Worker, check_one_by_one, successors_one_by_one,
};

/// A [`StateSpace`] made of another one. Every method is that of [`StateSpace`].
#[allow(missing_docs, reason = "the documentation is that of StateSpace")]
pub trait WrapsSpace: Sync {
    /// The space inside.
    fn inner(&self) -> &dyn StateSpace;

    fn words(&self) -> usize {
        self.inner().words()
    }
    fn bits(&self) -> u32 {
        self.inner().bits()
    }
    fn fields(&self) -> &[StateField] {
        self.inner().fields()
    }
    fn writers(&self) -> Option<Vec<u64>> {
        self.inner().writers()
    }
    fn fingerprint(&self) -> u64 {
        self.inner().fingerprint()
    }
    fn properties(&self) -> &[PropertyInfo] {
        self.inner().properties()
    }
    fn actions(&self) -> &[ActionInfo] {
        self.inner().actions()
    }
    fn worker(&self) -> Box<dyn Worker + '_> {
        self.inner().worker()
    }
    fn admits(&self, state: &[u64]) -> bool {
        self.inner().admits(state)
    }
    fn acceptance(&self) -> Option<Acceptance> {
        self.inner().acceptance()
    }
    fn costs(&self) -> CostRange {
        self.inner().costs()
    }
    fn payload(&self) -> Payload {
        self.inner().payload()
    }
    fn undirected(&self) -> Option<u32> {
        self.inner().undirected()
    }
    fn may_fault(&self) -> bool {
        self.inner().may_fault()
    }
    fn cover(&self) -> Option<&dyn Cover> {
        self.inner().cover()
    }
    fn render_label(&self, label: Label) -> String {
        self.inner().render_label(label)
    }
    fn render_start(&self, label: Label) -> String {
        self.inner().render_start(label)
    }
    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        self.inner().render_state(state)
    }
}

impl<T: WrapsSpace> StateSpace for T {
    fn words(&self) -> usize {
        WrapsSpace::words(self)
    }
    fn bits(&self) -> u32 {
        WrapsSpace::bits(self)
    }
    fn fields(&self) -> &[StateField] {
        WrapsSpace::fields(self)
    }
    fn writers(&self) -> Option<Vec<u64>> {
        WrapsSpace::writers(self)
    }
    fn fingerprint(&self) -> u64 {
        WrapsSpace::fingerprint(self)
    }
    fn properties(&self) -> &[PropertyInfo] {
        WrapsSpace::properties(self)
    }
    fn actions(&self) -> &[ActionInfo] {
        WrapsSpace::actions(self)
    }
    fn worker(&self) -> Box<dyn Worker + '_> {
        WrapsSpace::worker(self)
    }
    fn admits(&self, state: &[u64]) -> bool {
        WrapsSpace::admits(self, state)
    }
    fn acceptance(&self) -> Option<Acceptance> {
        WrapsSpace::acceptance(self)
    }
    fn costs(&self) -> CostRange {
        WrapsSpace::costs(self)
    }
    fn payload(&self) -> Payload {
        WrapsSpace::payload(self)
    }
    fn undirected(&self) -> Option<u32> {
        WrapsSpace::undirected(self)
    }
    fn may_fault(&self) -> bool {
        WrapsSpace::may_fault(self)
    }
    fn cover(&self) -> Option<&dyn Cover> {
        WrapsSpace::cover(self)
    }
    fn render_label(&self, label: Label) -> String {
        WrapsSpace::render_label(self, label)
    }
    fn render_start(&self, label: Label) -> String {
        WrapsSpace::render_start(self, label)
    }
    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        WrapsSpace::render_state(self, state)
    }
}

/// A [`Worker`] made of another one. Every method is that of [`Worker`].
#[allow(missing_docs, reason = "the documentation is that of Worker")]
pub trait WrapsWorker: Send {
    /// The worker inside.
    fn inner(&self) -> &dyn Worker;
    /// The same, to work with.
    fn inner_mut(&mut self) -> &mut dyn Worker;

    fn initial(&mut self, out: &mut Successors) {
        self.inner_mut().initial(out);
    }
    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        self.inner_mut().successors(state, out);
    }
    fn choices(&mut self, state: &[u64], out: &mut Choices) -> Result<(), ChoiceFault> {
        self.inner_mut().choices(state, out)
    }
    fn costs(&mut self, state: &[u64], labels: &[Label], costs: &mut Vec<u32>) {
        self.inner_mut().costs(state, labels, costs);
    }
    fn payloads(
        &mut self,
        from: Option<(&[u64], &[u64])>,
        (out, first): (&mut Successors, usize),
        payloads: &mut Vec<u64>,
    ) {
        self.inner_mut().payloads(from, (out, first), payloads);
    }
    fn can_leave(&mut self, state: &[u64]) -> bool {
        self.inner_mut().can_leave(state)
    }
    fn check(&mut self, state: &[u64]) -> Check {
        self.inner_mut().check(state)
    }
    fn satisfies(&mut self, state: &[u64], property: PropertyId) -> Option<bool> {
        self.inner_mut().satisfies(state, property)
    }
    fn marks(&mut self, state: &[u64], out: &Successors, marks: &mut Vec<u64>) {
        self.inner_mut().marks(state, out, marks);
    }
    fn able(&mut self, state: &[u64], out: &Successors) -> u64 {
        self.inner_mut().able(state, out)
    }
    fn state_marks(&mut self, state: &[u64]) -> u64 {
        self.inner_mut().state_marks(state)
    }
    fn component(&mut self, state: &[u64]) -> Option<u32> {
        self.inner_mut().component(state)
    }
    fn cover_counts(&self) -> &[u64] {
        self.inner().cover_counts()
    }
}

impl<T: WrapsWorker> Worker for T {
    fn initial(&mut self, out: &mut Successors) {
        WrapsWorker::initial(self, out);
    }
    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        WrapsWorker::successors(self, state, out);
    }
    // One by one, for a wrapper may have more to say of one than the worker inside.
    fn successors_of_each(
        &mut self,
        states: &[u64],
        enough: usize,
        out: &mut Successors,
        ends: &mut Vec<usize>,
    ) {
        successors_one_by_one(self, states, enough, (out, ends));
    }
    fn choices(&mut self, state: &[u64], out: &mut Choices) -> Result<(), ChoiceFault> {
        WrapsWorker::choices(self, state, out)
    }
    fn costs(&mut self, state: &[u64], labels: &[Label], costs: &mut Vec<u32>) {
        WrapsWorker::costs(self, state, labels, costs);
    }
    fn payloads(
        &mut self,
        from: Option<(&[u64], &[u64])>,
        (out, first): (&mut Successors, usize),
        payloads: &mut Vec<u64>,
    ) {
        WrapsWorker::payloads(self, from, (out, first), payloads);
    }
    fn can_leave(&mut self, state: &[u64]) -> bool {
        WrapsWorker::can_leave(self, state)
    }
    fn check(&mut self, state: &[u64]) -> Check {
        WrapsWorker::check(self, state)
    }
    fn check_each(&mut self, out: &Successors, numbers: &[usize]) -> Option<(usize, Check)> {
        check_one_by_one(self, out, numbers)
    }
    fn satisfies(&mut self, state: &[u64], property: PropertyId) -> Option<bool> {
        WrapsWorker::satisfies(self, state, property)
    }
    fn marks(&mut self, state: &[u64], out: &Successors, marks: &mut Vec<u64>) {
        WrapsWorker::marks(self, state, out, marks);
    }
    fn able(&mut self, state: &[u64], out: &Successors) -> u64 {
        WrapsWorker::able(self, state, out)
    }
    fn state_marks(&mut self, state: &[u64]) -> u64 {
        WrapsWorker::state_marks(self, state)
    }
    fn component(&mut self, state: &[u64]) -> Option<u32> {
        WrapsWorker::component(self, state)
    }
    fn cover_counts(&self) -> &[u64] {
        WrapsWorker::cover_counts(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::Merge;
    use crate::source::Span;
    use crate::space::{Matcher, PropertyKind};

    /// Says something unusual in every method.
    struct Odd {
        fields: Vec<StateField>,
        properties: Vec<PropertyInfo>,
        actions: Vec<ActionInfo>,
    }

    struct OddWorker;

    impl StateSpace for Odd {
        fn words(&self) -> usize {
            3
        }
        fn bits(&self) -> u32 {
            131
        }
        fn fields(&self) -> &[StateField] {
            &self.fields
        }
        fn writers(&self) -> Option<Vec<u64>> {
            Some(vec![3])
        }
        fn fingerprint(&self) -> u64 {
            77
        }
        fn properties(&self) -> &[PropertyInfo] {
            &self.properties
        }
        fn actions(&self) -> &[ActionInfo] {
            &self.actions
        }
        fn worker(&self) -> Box<dyn Worker + '_> {
            Box::new(OddWorker)
        }
        fn admits(&self, state: &[u64]) -> bool {
            state[0] != 9
        }
        fn costs(&self) -> CostRange {
            CostRange { least: 5, most: 14 }
        }
        fn payload(&self) -> Payload {
            Payload { words: 6, merge: Merge::Sum }
        }
        fn undirected(&self) -> Option<u32> {
            Some(8)
        }
        fn may_fault(&self) -> bool {
            false
        }
        fn cover(&self) -> Option<&dyn Cover> {
            Some(self)
        }
        fn render_label(&self, label: Label) -> String {
            format!("step {}", label.0)
        }
        fn render_start(&self, label: Label) -> String {
            format!("start {}", label.0)
        }
        fn render_state(&self, _: &[u64]) -> Vec<(String, String)> {
            vec![("x".into(), "1".into())]
        }
    }

    impl Cover for Odd {
        fn key_words(&self) -> usize {
            2
        }
        fn matcher(&self) -> Box<dyn Matcher + '_> {
            unreachable!("nothing is matched")
        }
    }

    impl Worker for OddWorker {
        fn initial(&mut self, out: &mut Successors) {
            out.push(Label(1), &[1, 2, 3]);
        }
        fn successors(&mut self, _: &[u64], out: &mut Successors) {
            out.push(Label(2), &[4, 5, 6]);
        }
        fn choices(&mut self, _: &[u64], _: &mut Choices) -> Result<(), ChoiceFault> {
            Err(ChoiceFault::Transition(Label(6)))
        }
        fn costs(&mut self, state: &[u64], labels: &[Label], costs: &mut Vec<u32>) {
            costs.extend(labels.iter().map(|label| label.0 + state[0] as u32));
        }
        fn payloads(
            &mut self,
            from: Option<(&[u64], &[u64])>,
            (_, first): (&mut Successors, usize),
            payloads: &mut Vec<u64>,
        ) {
            payloads.extend(from.map(|(state, payload)| state[0] + payload[0] + first as u64));
        }
        fn can_leave(&mut self, _: &[u64]) -> bool {
            true
        }
        fn check(&mut self, _: &[u64]) -> Check {
            Check::Hit(PropertyId(4))
        }
        fn satisfies(&mut self, _: &[u64], _: PropertyId) -> Option<bool> {
            None
        }
        fn cover_counts(&self) -> &[u64] {
            &[3, 1]
        }
    }

    struct Around<'a>(&'a dyn StateSpace);

    impl WrapsSpace for Around<'_> {
        fn inner(&self) -> &dyn StateSpace {
            self.0
        }
        fn worker(&self) -> Box<dyn Worker + '_> {
            Box::new(AroundWorker(self.0.worker()))
        }
    }

    struct AroundWorker<'a>(Box<dyn Worker + 'a>);

    impl WrapsWorker for AroundWorker<'_> {
        fn inner(&self) -> &dyn Worker {
            &*self.0
        }
        fn inner_mut(&mut self) -> &mut dyn Worker {
            &mut *self.0
        }
    }

    #[test]
    fn a_wrapper_says_what_the_inner_space_says() {
        let field = StateField { name: "x".into(), offset: 0, width: 2, group: 0, owner: None };
        let odd = Odd {
            fields: vec![field],
            properties: vec![PropertyInfo {
                name: "p".into(),
                kind: PropertyKind::Cover,
                span: Span::default(),
            }],
            actions: vec![ActionInfo { name: "a".into(), labels: 0..9 }],
        };
        let around = Around(&odd);
        let (space, inner): (&dyn StateSpace, &dyn StateSpace) = (&around, &odd);
        assert_eq!((space.words(), space.bits(), space.fingerprint()), (3, 131, 77));
        assert_eq!(space.fields(), inner.fields());
        assert_eq!(space.writers(), Some(vec![3]));
        assert_eq!(space.properties(), inner.properties());
        assert_eq!(space.actions(), inner.actions());
        assert!(space.admits(&[1, 0, 0]) && !space.admits(&[9, 0, 0]));
        assert_eq!((space.costs(), space.undirected()), (CostRange { least: 5, most: 14 }, Some(8)));
        assert_eq!(space.payload(), Payload { words: 6, merge: Merge::Sum });
        assert!(!space.may_fault());
        assert_eq!(space.cover().map(|cover| cover.key_words()), Some(2));
        assert_eq!(space.render_label(Label(2)), "step 2");
        assert_eq!(space.render_start(Label(2)), "start 2");
        assert_eq!(space.render_state(&[0, 0, 0]), inner.render_state(&[0, 0, 0]));
        let mut worker = space.worker();
        let mut out = Successors::new(3);
        worker.initial(&mut out);
        worker.successors(&[1, 2, 3], &mut out);
        assert_eq!(out.states(), [1, 2, 3, 4, 5, 6]);
        let mut costs = Vec::new();
        worker.costs(&[5, 0, 0], &[Label(0), Label(9)], &mut costs);
        assert_eq!(costs, [5, 14]);
        let mut payloads = Vec::new();
        worker.payloads(Some((&[5, 0, 0], &[4])), (&mut out, 1), &mut payloads);
        assert_eq!(payloads, [10]);
        assert!(worker.can_leave(&[0, 0, 0]));
        assert_eq!(worker.check(&[0, 0, 0]), Check::Hit(PropertyId(4)));
        assert_eq!(worker.satisfies(&[0, 0, 0], PropertyId(0)), None);
        assert_eq!(worker.cover_counts(), [3, 1]);
        let mut ends = Vec::new();
        worker.successors_of_each(&[1, 2, 3, 4, 5, 6], 4, &mut out, &mut ends);
        assert_eq!((ends, &out.states()[6..]), (vec![3, 4], &[4, 5, 6, 4, 5, 6][..]));
        assert_eq!(worker.check_each(&out, &[1, 0]), Some((0, Check::Hit(PropertyId(4)))));
    }

    /// The names of the methods in the block that begins with this line.
    fn methods(source: &str, begin: &str) -> Vec<String> {
        let block = source.split(begin).nth(1).expect("the block is there");
        let block = &block[..block.find("\n}\n").expect("it ends")];
        let lines = block.lines().filter_map(|line| line.strip_prefix("    fn "));
        let mut names: Vec<String> =
            lines.map(|line| line.split(['(', '<']).next().unwrap_or_default().to_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn no_method_is_lost_in_a_wrapper() {
        let (space, wrap) = (include_str!("space.rs"), include_str!("wrap.rs"));
        for (of, begin) in [
            ("pub trait StateSpace: Sync {", "impl<T: WrapsSpace> StateSpace for T {"),
            ("pub trait Worker: Send {", "impl<T: WrapsWorker> Worker for T {"),
        ] {
            assert_eq!(methods(space, of), methods(wrap, begin), "{of}");
        }
    }
}
