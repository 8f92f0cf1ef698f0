//! A trace as it is shown: actions, what they changed, and what is wrong at the end. One view, three renderings.

pub mod channels;
mod html;
pub mod sequence;
mod text;

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
    /// Scalars that changed.
    pub changes: Vec<Change>,
    /// The whole state after the step.
    pub state: Vec<Scalar>,
    /// What the action printed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub printed: String,
    /// A process goes on alone after it: it is no step of the search by itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub inner: bool,
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

/// A scalar that a step changed.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// Its path name.
    pub name: String,
    /// Before; absent in the first step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// After.
    pub after: String,
}

/// A scalar and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Scalar {
    /// Its path name.
    pub name: String,
    /// Its value.
    pub value: String,
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
    /// The values that break it.
    pub values: Vec<Scalar>,
}

impl StepView {
    /// A step to `state` from `before`.
    pub fn new(action: String, before: Option<&[Scalar]>, state: Vec<Scalar>, printed: String) -> Self {
        let changes = match before {
            None => state
                .iter()
                .map(|s| Change { name: s.name.clone(), before: None, after: s.value.clone() })
                .collect(),
            Some(before) => before
                .iter()
                .zip(&state)
                .filter(|(old, new)| old.value != new.value)
                .map(|(old, new)| Change {
                    name: new.name.clone(),
                    before: Some(old.value.clone()),
                    after: new.value.clone(),
                })
                .collect(),
        };
        StepView { action, changes, state, printed, inner: false, moment: None }
    }

    /// For reading, as step number `n`; 0 is the one that makes the initial state.
    pub fn text(&self, n: u64, detail: Detail) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = text::write_step(&mut text, n, self, detail);
        text
    }
}

impl ViolationView {
    /// For reading.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = text::write_violation(&mut text, self);
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
    pub fn text(&self, detail: Detail) -> String {
        text::render(self, detail)
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
