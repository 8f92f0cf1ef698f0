//! The explorers: they walk a [`hadal_system::StateSpace`] under a memory budget and answer with a [`Report`].
//!
//! An explorer is a choice of order, duplicate detection and storage: [`ram`] keeps every state in RAM, [`auto`] goes on in a
//! decision diagram and on disk, [`strategy`] has the disk strategies of the literature, [`relaxed`] and [`partition`] give
//! up the order of layers, [`directed`] and [`external`] follow a [guide](hadal_system::guide).
//!
//! They need nothing but a [`hadal_system::StateSpace`]: no modelling language, no compiler. A space of one's own:
//!
//! ```
//! use hadal_search::ram::Breadth;
//! use hadal_search::{Control, DeadlockNotion, Limits, Question, Setting, SearchTask, ViolationKind, explore};
//! use hadal_store::Governor;
//! use hadal_system::{
//!     Check, Label, PropertyId, PropertyInfo, PropertyKind, Span, StateSpace, Successors, Worker,
//! };
//!
//! /// Two jugs of 3 and 5 litres, a tap and a drain; 4 litres are wanted.
//! struct Jugs(Vec<PropertyInfo>);
//!
//! const STEPS: [&str; 6] = ["fill 3", "fill 5", "empty 3", "empty 5", "3 into 5", "5 into 3"];
//!
//! impl StateSpace for Jugs {
//!     fn words(&self) -> usize {
//!         1
//!     }
//!     fn fingerprint(&self) -> u64 {
//!         1
//!     }
//!     fn properties(&self) -> &[PropertyInfo] {
//!         &self.0
//!     }
//!     fn worker(&self) -> Box<dyn Worker + '_> {
//!         Box::new(Pour)
//!     }
//!     fn render_label(&self, label: Label) -> String {
//!         STEPS[label.0 as usize].into()
//!     }
//!     fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
//!         vec![("3".into(), (state[0] >> 4).to_string()), ("5".into(), (state[0] & 15).to_string())]
//!     }
//! }
//!
//! struct Pour;
//!
//! impl Worker for Pour {
//!     fn initial(&mut self, out: &mut Successors) {
//!         out.push(Label(0), &[0]);
//!     }
//!     fn successors(&mut self, state: &[u64], out: &mut Successors) {
//!         let (a, b) = (state[0] >> 4, state[0] & 15);
//!         let (over, back) = (a.min(5 - b), b.min(3 - a));
//!         let next = [(3, b), (a, 5), (0, b), (a, 0), (a - over, b + over), (a + back, b - back)];
//!         for (label, (a, b)) in (0..).zip(next) {
//!             out.push(Label(label), &[a << 4 | b]);
//!         }
//!     }
//!     fn check(&mut self, state: &[u64]) -> Check {
//!         if state[0] & 15 == 4 { Check::Hit(PropertyId(0)) } else { Check::Fine }
//!     }
//! }
//!
//! let four = PropertyInfo { name: "four".into(), kind: PropertyKind::Goal, span: Span::default() };
//! let jugs = Jugs(vec![four]);
//! let question = Question::everything(jugs.properties(), DeadlockNotion::Off);
//! let control = Control::new(Limits::default());
//! let task = SearchTask { space: &jugs, question: &question, control: &control };
//! let explored = explore(&Breadth, Setting::in_ram(task, &Governor::new(64 << 20), 1))?;
//!
//! let found = explored.finding().expect("4 litres can be measured");
//! assert_eq!(found.kind, ViolationKind::Goal(PropertyId(0)));
//! assert_eq!(found.path.len() - 1, 6, "in six steps, and not in fewer");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod auto;
pub mod branch;
pub mod control;
pub mod cycles;
pub mod directed;
pub mod distrust;
pub mod estimate;
pub mod exchange;
pub mod explicit;
pub mod explore;
pub mod external;
pub mod finding;
mod firings;
mod fixpoint;
mod lane;
pub mod layered;
mod nearest;
pub mod operators;
pub mod partition;
pub mod paths;
pub mod ram;
pub mod relaxed;
pub mod report;
mod resting;
mod run;
pub mod strategies;
pub mod strategy;
pub mod tiles;

pub use control::{Control, Gauges, Limits, WhenFull};
pub use explore::{Explored, Explorer, Folders, Method, Phase, Progress, Run, Setting, explore};
pub use finding::Finding;
pub use firings::ActionFirings;
pub use lane::SearchTask;
pub use report::{
    Buckets, DeadlockNotion, Distance, Duplicates, Layer, Particular, Proviso, Question, Report, Spent,
    StopReason, Verdict, Violation, ViolationKind,
};
pub use run::status;
