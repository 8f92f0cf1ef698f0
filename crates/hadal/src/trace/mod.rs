//! A trace as it is shown: actions, what they changed, and what is wrong at the end. One view, three renderings.

pub(crate) mod html;
pub mod sequence;
mod text;

use crate::paint::{Mark, Paint};
use hadal_system::portrait::{Content, Item, difference};
use serde::Serialize;

/// A replayed counterexample, ready to be shown.
#[derive(Clone, Debug, Serialize)]
pub struct TraceView {
    /// The model's name.
    pub model: String,
    /// What is wrong.
    pub violation: ViolationView,
    /// Whether no shorter trace exists.
    pub shortest: bool,
    /// Of a run that goes on for ever: the step after which the state is the one that the last step leads back to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_from: Option<usize>,
    /// The steps; the first makes the initial state.
    pub steps: Vec<StepView>,
    /// A chart over time, as SVG, for the page.
    #[serde(skip)]
    pub chart: Option<String>,
    /// Who sends what to whom, for reading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<String>,
}

/// One step.
#[derive(Clone, Debug, Serialize)]
pub struct StepView {
    /// The action with its parameters.
    pub action: String,
    /// The line of the model that the action stands in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The channels it sends to (`q!`) and receives from (`q?`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<String>,
    /// The packed state after it, for `explore` and other programs that walk on from there.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// What changed.
    pub changes: Vec<Change>,
    /// The whole state after the step.
    pub state: Vec<Scalar>,
    /// What the action printed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub printed: String,
    /// A process goes on alone after it: it is no step of the search by itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub inner: bool,
    /// The process that does, by its number, for programs that walk on from there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub then: Option<u32>,
    /// When it happens, in a model with time.
    #[serde(flatten)]
    pub moment: Option<Moment>,
}

/// A moment of a run in real time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moment {
    /// The time since the step before, exactly.
    pub delay: String,
    /// The time since the beginning.
    pub time: String,
}

/// A scalar, a multiset or a channel that a step changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Its path name.
    pub name: String,
    /// Before; absent in the first step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// After.
    pub after: String,
    /// Of a multiset: the elements that are gone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    /// Of a multiset: the elements that are new.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
}

/// A scalar, a multiset or a channel, and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Scalar {
    /// Its path name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// What it consists of.
    #[serde(skip)]
    pub content: Content,
}

impl From<Item> for Scalar {
    fn from(item: Item) -> Self {
        Scalar { name: item.name, value: item.value, content: item.content }
    }
}

impl Scalar {
    /// One value by its name.
    pub fn new(name: String, value: String) -> Self {
        Scalar { name, value, content: Content::Scalar }
    }
}

impl Change {
    fn first(now: &Scalar) -> Self {
        Change {
            name: now.name.clone(),
            before: None,
            after: now.value.clone(),
            removed: Vec::new(),
            added: Vec::new(),
        }
    }

    fn between(old: &Scalar, now: &Scalar) -> Self {
        let (removed, added) = match (&old.content, &now.content) {
            (Content::Bag(old), Content::Bag(now)) => difference(old, now),
            _ => (Vec::new(), Vec::new()),
        };
        Change { before: Some(old.value.clone()), removed, added, ..Change::first(now) }
    }

    /// For reading: `x: 1 -> 2`, or what left and entered a multiset.
    pub fn text(&self, paint: Paint) -> String {
        let Some(before) = &self.before else { return format!("{} = {}", self.name, self.after) };
        if self.removed.is_empty() && self.added.is_empty() {
            return format!("{}: {before} -> {}", self.name, paint.mark(Mark::Open, &self.after));
        }
        let marked = |mark, text: String| format!(" {}", paint.mark(mark, &text));
        let gone = self.removed.iter().map(|element| marked(Mark::Bad, format!("- {element}")));
        let come = self.added.iter().map(|element| marked(Mark::Good, format!("+ {element}")));
        format!("{}:{}", self.name, gone.chain(come).collect::<String>())
    }
}

/// What happened on a channel between two of its contents: `q!` where it grew, `q?` where it shrank.
fn moved(old: &Scalar, now: &Scalar) -> Option<String> {
    match (&old.content, &now.content) {
        (Content::Queue(old), Content::Queue(new)) if old.len() != new.len() => {
            let mark = if new.len() > old.len() { '!' } else { '?' };
            Some(format!("{}{mark}", now.name))
        }
        _ => None,
    }
}

/// What is wrong.
#[derive(Clone, Debug, Serialize)]
pub struct ViolationView {
    /// `invariant`, `goal`, `error`, `deadlock`, `liveness`, `cover`, `formula` or `cycle`.
    pub kind: &'static str,
    /// The property's name, where it is one.
    pub property: Option<String>,
    /// One sentence.
    pub message: String,
    /// The place in the model, rendered with a caret.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// The part of the property that decides, and for which values of its bound names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub culprit: Option<CulpritView>,
    /// The values that break it.
    pub values: Vec<Scalar>,
}

/// The part of a property that decides it.
#[derive(Clone, Debug, Serialize)]
pub struct CulpritView {
    /// Its text in the model.
    pub text: String,
    /// The line it stands in.
    pub line: usize,
    /// What it is.
    pub is: bool,
    /// Names that quantifiers bind, with their values.
    pub witnesses: Vec<Scalar>,
}

impl CulpritView {
    /// For reading: ```a != b` (line 3) is false for i = 1, j = 2``.
    pub fn sentence(&self) -> String {
        let witnesses: Vec<String> =
            self.witnesses.iter().map(|it| format!("{} = {}", it.name, it.value)).collect();
        let reason =
            if witnesses.is_empty() { String::new() } else { format!(" for {}", witnesses.join(", ")) };
        format!("`{}` (line {}) is {}{reason}", self.text, self.line, self.is)
    }
}

impl StepView {
    /// A step to `state` from `before`.
    pub fn new(action: String, before: Option<&[Scalar]>, state: Vec<Scalar>, printed: String) -> Self {
        let changed = before.into_iter().flatten().zip(&state).filter(|(old, now)| old.value != now.value);
        let changes = match before {
            None => state.iter().map(Change::first).collect(),
            Some(_) => changed.clone().map(|(old, now)| Change::between(old, now)).collect(),
        };
        let channels = changed.filter_map(|(old, now)| moved(old, now)).collect();
        StepView {
            action,
            line: None,
            channels,
            key: String::new(),
            changes,
            state,
            printed,
            inner: false,
            then: None,
            moment: None,
        }
    }

    /// With the packed state after it.
    pub fn keyed(mut self, state: &[u64]) -> Self {
        self.key = state.iter().map(|word| format!("{word:x}")).collect::<Vec<_>>().join(".");
        self
    }

    /// For reading, as step number `n`; 0 is the one that makes the initial state.
    pub fn text(&self, n: u64, detail: Detail, paint: Paint) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = text::write_step(&mut text, (n, self), detail, paint);
        text
    }
}

impl ViolationView {
    /// For reading.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = text::write_violation(&mut text, self, Paint::Plain);
        text
    }
}

/// How much of each state is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Only what changed.
    Changes,
    /// Everything.
    WholeStates,
}

impl TraceView {
    /// Whether one more action was fired from the last state, and met an error.
    pub fn ends_in_action(&self) -> bool {
        self.violation.kind == "error" && self.violation.property.is_none()
    }

    /// Its length in steps of the search.
    pub fn length(&self) -> u64 {
        // An error inside what one process does alone is met by the step that began it.
        let whole = self.steps.iter().filter(|step| !step.inner).count() as u64;
        whole.saturating_sub(1) + u64::from(self.ends_in_action())
    }

    /// How many of the last steps repeat for ever.
    pub fn loop_length(&self) -> Option<u64> {
        self.loop_from.map(|from| self.steps[from + 1..].iter().filter(|step| !step.inner).count() as u64)
    }

    /// For reading.
    pub fn text(&self, detail: Detail, paint: Paint) -> String {
        text::render(self, detail, paint)
    }

    /// For programs; `state` is left out of the steps unless whole states are asked for.
    pub fn json(&self, detail: Detail) -> serde_json::Value {
        // Strings, booleans and lists of them always serialise.
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if detail == Detail::Changes
            && let Some(steps) = value.get_mut("steps").and_then(|s| s.as_array_mut())
        {
            for step in steps {
                if let Some(step) = step.as_object_mut() {
                    step.remove("state");
                }
            }
        }
        value
    }

    /// For a browser.
    pub fn html(&self) -> String {
        html::render(self)
    }
}
