//! A plan as a page for the browser, complete in itself: each step with what it costs, what it changes, and a lane per
//! object that shows where it takes part.

use crate::plan::{Plan, ReplayError, decimal};
use hadal_exec::rows::{Fired, RowMeaning, RowState};
use hadal_system::rows::{Rational, RowTask};

/// More objects than this have no lanes.
const MOST_LANES: usize = 60;

const STYLE: &str = "body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}\
    td,th{padding:2px 6px;text-align:left;vertical-align:top;border-bottom:1px solid #ddd}\
    th.lane{writing-mode:vertical-rl;font-weight:normal;font-size:11px}td.lane{padding:0;width:10px}\
    td.busy{background:#47a}td.n{text-align:right;color:#777}.was{color:#999}";

/// Renders a plan.
pub fn html(plan: &Plan, task: &RowTask) -> Result<String, ReplayError> {
    let meaning = RowMeaning::new(task);
    let mut lanes: Vec<u32> = Vec::new();
    for &row in &plan.rows {
        let row = &task.rows[row as usize];
        lanes.extend(row.arguments.iter().filter(|_| !row.hidden));
    }
    lanes.sort_unstable();
    lanes.dedup();
    if lanes.len() > MOST_LANES {
        lanes.clear();
    }
    let names: String = lanes
        .iter()
        .map(|&object| format!("<th class=lane>{}</th>", escape(&task.names.objects[object as usize])))
        .collect();
    let mut state = meaning.initial()?;
    let mut sum = Rational::from_integer(0);
    let (mut steps, mut number) = (String::new(), 0);
    for (at, &index) in plan.rows.iter().enumerate() {
        let row = &task.rows[index as usize];
        let Fired::Reached(next, cost) = meaning.fire(&state, row)? else {
            return Err(ReplayError::Inapplicable(at));
        };
        sum += cost;
        if !row.hidden {
            number += 1;
            let busy = lanes.iter().map(|object| match row.arguments.contains(object) {
                true => "<td class='lane busy'></td>",
                false => "<td class=lane></td>",
            });
            steps.push_str(&format!(
                "<tr><td class=n>{number}</td><td>{}</td><td class=n>{}</td><td class=n>{}</td>{}<td>{}</td></tr>\n",
                escape(&task.label(index)),
                decimal(cost),
                decimal(sum),
                busy.collect::<String>(),
                changes(task, &state, &next)
            ));
        }
        state = next;
    }
    Ok(format!(
        "<!doctype html><html><head><meta charset=utf-8><title>{name}</title><style>{STYLE}</style></head><body>\
         <h1>{name}</h1><p>{number} steps, cost {}</p><table><tr><th></th><th>step</th><th>cost</th><th>sum</th>{names}\
         <th>what changes</th></tr>\n{steps}</table></body></html>\n",
        decimal(plan.cost),
        name = escape(&task.name),
    ))
}

fn changes(task: &RowTask, before: &RowState, after: &RowState) -> String {
    let finite = task.variables.iter().zip(before.values.iter().zip(&after.values));
    let finite = finite.filter(|(_, (old, new))| old != new).map(|(variable, (&old, &new))| {
        format!(
            "{} <span class=was>was {}</span>",
            escape(&variable.values[new as usize]),
            escape(&variable.values[old as usize])
        )
    });
    let shown = |value: &Option<Rational>| value.map_or("undefined".to_owned(), decimal);
    let numbers = task.numbers.iter().zip(before.numbers.iter().zip(&after.numbers));
    let numbers = numbers.filter(|(_, (old, new))| old != new).map(|(number, (old, new))| {
        format!("{} = {} <span class=was>was {}</span>", escape(&number.name), shown(new), shown(old))
    });
    finite.chain(numbers).collect::<Vec<_>>().join("<br>")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
