//! `hadal check MODEL --shorten TRAIL`: how the state that a trail ends in can be reached in fewer steps.

use crate::args::{CheckArgs, Deadlock, Symmetry};
use crate::failure::Failure;
use hadal_system::portrait::{Item, Portrait};
use hadal_system::trail::{NoState, TRAIL, ask_state};
use hadal_system::{Layout, System};
use serde_json::Value;
use std::path::Path;

/// What looks for it unless the command says: every scalar of the state is known, so values that must come about, and
/// projections to some variables together, bound the way well.
const ORDER: &str = "astar";
const GUIDE: &str = "max(hl, pdb=64K)";
/// What is found at the ends of trails whose last state says all.
const KINDS: &[&str] = &["invariant", "goal", "error", "deadlock"];

/// Asks for the last state of the trail, and for nothing else, where that is wanted. The steps of the trail to that state.
pub(super) fn ask(args: &mut CheckArgs, system: &mut System) -> Result<Option<u64>, Failure> {
    let Some(path) = &args.asked.shorten else { return Ok(None) };
    must_suit(args)?;
    let End { state, steps, first } = end(path)?;
    let shown = first.iter().all(|(key, changes)| shows(system, key, changes));
    let asked = if shown { ask_state(system, &state) } else { Err(NoState) };
    asked.map_err(|error| Failure::Usage(format!("--shorten {}: {error}", path.display())))?;
    args.asked.property = vec![TRAIL.to_owned()];
    // The state is to be that one, not one like it.
    args.model.symmetry = Symmetry::Off;
    if args.storing.strategy.is_default() && !args.directed.find {
        args.directed.order.get_or_insert_with(|| ORDER.to_owned());
        args.directed.guide.get_or_insert_with(|| GUIDE.to_owned());
    }
    Ok(Some(steps))
}

fn must_suit(args: &CheckArgs) -> Result<(), Failure> {
    let asked = &args.asked;
    // A formula is asked for by a name as well: it comes first.
    let given = [
        ("--ltl, --never and --progress", args.formulas.asks()),
        ("--property", asked.property.iter().any(|name| name != TRAIL)),
        ("--deadlock", asked.deadlock.is_some_and(|it| it != Deadlock::Off)),
        ("--continue", asked.several.is_some()),
        ("--cluster", args.cluster.cluster.is_some()),
        ("--symmetry", !matches!(args.model.symmetry, Symmetry::Auto | Symmetry::Off)),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(Failure::Usage(format!(
            "{option} does not go with --shorten, which looks for the last state of the trail alone"
        ))),
        None => Ok(()),
    }
}

/// The end of a trail.
struct End {
    /// The last state.
    state: Vec<u64>,
    /// The steps to it.
    steps: u64,
    /// The first state, and what the trail shows of it.
    first: Option<(Vec<u64>, Vec<Value>)>,
}

/// Whether the model shows of a state what the trail does: a trail of another model, or with other constants, may well end
/// in words that are a state of this one.
fn shows(system: &System, state: &[u64], changes: &[Value]) -> bool {
    let layout = Layout::natural(system);
    let items = match layout.admits(system, state) {
        true => Portrait::new(system).of(&layout.unpack(system, state)),
        false => return false,
    };
    let are = |(item, change): (&Item, &Value)| change["name"] == item.name && change["after"] == item.value;
    items.len() == changes.len() && items.iter().zip(changes).all(are)
}

/// The end of the trail in this file.
fn end(path: &Path) -> Result<End, Failure> {
    let text = std::fs::read(path).map_err(|error| Failure::File { path: path.to_owned(), error })?;
    let wrong = |why: &str| Failure::Usage(format!("--shorten {}: {why}", path.display()));
    let no_trail = "the file holds no trace: write one with `hadal check MODEL --trace json`";
    let value: Value = serde_json::from_slice(&text).map_err(|_| wrong(no_trail))?;
    let trace = if value["steps"].is_array() { &value } else { &value["trace"] };
    let kind = trace["violation"]["kind"].as_str().ok_or_else(|| wrong(no_trail))?;
    if !KINDS.contains(&kind) {
        return Err(wrong(&format!(
            "its last state does not show what is wrong ({kind}); for loops there is --lasso shortest"
        )));
    }
    let steps = trace["steps"].as_array().map_or(&[][..], Vec::as_slice);
    // Where a process goes on alone, the search passes through.
    let mut whole = steps.iter().filter(|step| step["inner"] != true);
    let length = whole.clone().count().saturating_sub(1) as u64;
    let words = |step: &Value| -> Option<Vec<u64>> {
        step["key"].as_str()?.split('.').map(|word| u64::from_str_radix(word, 16).ok()).collect()
    };
    let state = whole.next_back().and_then(words);
    let state = state.ok_or_else(|| wrong("the trace has no states to look for"))?;
    let first = steps.first().and_then(|step| Some((words(step)?, step["changes"].as_array()?.clone())));
    Ok(End { state, steps: length, first })
}
