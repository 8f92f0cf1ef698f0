//! A trace as one page for the browser: a list of steps to walk through with the arrow keys, and the state beside it.
//! Everything is in the page; it needs no network.

use super::{Detail, TraceView};

pub(super) fn render(trace: &TraceView) -> String {
    // Markup inside a script could end it early. In JSON, `<` stands in strings only.
    let data = trace.json(Detail::WholeStates).to_string().replace('<', "\\u003c");
    let title = escape(&format!("{}: {}", trace.model, trace.violation.message));
    let chart = trace.chart.as_deref().unwrap_or("");
    PAGE.replace("{{title}}", &title).replace("{{chart}}", chart).replace("{{data}}", &data)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

const PAGE: &str = r##"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{title}}</title>
<style>
:root { color-scheme: light dark; --line: #8884; --mark: #e8a33d44; --bad: #c0392b; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 0; display: grid; grid-template-columns: minmax(18rem, 28rem) 1fr; height: 100vh; }
header { grid-column: 1 / 3; padding: .7rem 1rem; border-bottom: 1px solid var(--line); }
header h1 { font-size: 1.05rem; margin: 0; color: var(--bad); }
header pre { margin: .4rem 0 0; overflow-x: auto; }
#steps { overflow-y: auto; border-right: 1px solid var(--line); margin: 0; padding: 0; list-style: none; }
#steps button { all: unset; display: block; box-sizing: border-box; width: 100%; padding: .35rem 1rem; cursor: pointer; border-bottom: 1px solid var(--line); }
#steps button[aria-current] { background: var(--mark); }
#steps button:focus-visible { outline: 2px solid; outline-offset: -2px; }
#steps small { opacity: .75; display: block; font-family: ui-monospace, monospace; }
#steps li.loop { border-left: .45rem solid var(--bad); }
#steps li.loop.first { border-top: .45rem solid var(--bad); border-top-left-radius: .8rem; }
#steps li.loop.last { border-bottom: .45rem solid var(--bad); border-bottom-left-radius: .8rem; }
main { overflow-y: auto; padding: .7rem 1rem; }
table { border-collapse: collapse; font-family: ui-monospace, monospace; }
td { padding: .1rem .8rem .1rem 0; border-bottom: 1px solid var(--line); }
tr.changed { background: var(--mark); }
input { font: inherit; padding: .2rem .4rem; margin-bottom: .6rem; }
</style></head><body>
<header><h1></h1><pre></pre></header>
<ol id="steps"></ol>
<main>{{chart}}<input type="search" placeholder="filter variables" aria-label="filter variables"> <label><input type="checkbox"> only what changed</label><pre id="printed"></pre><table></table></main>
<script type="application/json" id="data">{{data}}</script>
<script>
const trace = JSON.parse(document.getElementById("data").textContent);
const $ = s => document.querySelector(s);
$("h1").textContent = trace.model + ": " + trace.violation.message;
$("header pre").textContent = (trace.violation.place || "") + trace.violation.values.map(v => v.name + " = " + v.value).join("\n");
const list = $("#steps"), filter = $("input[type=search]"), only = $("input[type=checkbox]");
let current = trace.steps.length - 1;
trace.steps.forEach((step, n) => {
  const item = document.createElement("li"), button = document.createElement("button");
  button.append((n ? n + ". " : "start: ") + step.action);
  if (n) for (const c of step.changes.slice(0, 8)) {
    const small = document.createElement("small");
    small.textContent = c.name + ": " + c.before + " → " + c.after;
    button.append(small);
  }
  if (trace.loop_from !== undefined && n > trace.loop_from) {
    item.classList.add("loop");
    if (n === trace.loop_from + 1) item.classList.add("first");
    if (n === trace.steps.length - 1) {
      item.classList.add("last");
      const small = document.createElement("small");
      small.textContent = "\u21ba back to the state after " + (trace.loop_from ? "step " + trace.loop_from : "the start") + ", for ever";
      button.append(small);
    }
  }
  button.onclick = () => show(n);
  item.append(button); list.append(item);
});
function show(n) {
  current = Math.max(0, Math.min(trace.steps.length - 1, n));
  list.querySelectorAll("button").forEach((b, i) => { if (i === current) { b.setAttribute("aria-current", "step"); b.scrollIntoView({ block: "nearest" }); } else b.removeAttribute("aria-current"); });
  const step = trace.steps[current], changed = new Set(step.changes.map(c => c.name)), table = $("table");
  table.replaceChildren();
  $("#printed").textContent = step.printed || "";
  for (const s of step.state) {
    if (filter.value && !s.name.toLowerCase().includes(filter.value.toLowerCase())) continue;
    if (only.checked && !changed.has(s.name)) continue;
    const row = table.insertRow();
    if (current && changed.has(s.name)) row.className = "changed";
    row.insertCell().textContent = s.name; row.insertCell().textContent = s.value;
  }
}
filter.oninput = only.onchange = () => show(current);
document.onkeydown = e => { if (e.target.type === "search") return; if (e.key === "ArrowDown" || e.key === "ArrowRight") { show(current + 1); e.preventDefault(); } if (e.key === "ArrowUp" || e.key === "ArrowLeft") { show(current - 1); e.preventDefault(); } };
if (trace.steps.length) show(current);
</script></body></html>
"##;

#[cfg(test)]
mod tests {
    use super::super::{StepView, TraceView, ViolationView};

    #[test]
    fn names_with_markup_cannot_leave_the_data() {
        let violation = ViolationView {
            kind: "invariant",
            property: Some("</script><b>".into()),
            message: "</script><b>".into(),
            place: String::new(),
            values: vec![],
        };
        let steps = vec![StepView::new("a".into(), None, vec![], String::new())];
        let page = TraceView {
            model: "m".into(),
            violation,
            shortest: true,
            loop_from: None,
            steps,
            chart: None,
            messages: None,
        }
        .html();
        assert_eq!(page.matches("</script>").count(), 2, "only the page's own two scripts end");
        assert!(!page.contains("<b>"));
    }
}
