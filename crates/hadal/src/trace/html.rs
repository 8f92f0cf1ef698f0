//! A trace as one page for the browser: a list of steps to walk through with the arrow keys, and the state beside it.
//! Everything is in the page; it needs no network.

use super::{Detail, TraceView};

pub(super) fn render(trace: &TraceView) -> String {
    // Markup inside a script could end it early. In JSON, `<` stands in strings only.
    let data = trace.json(Detail::Changes).to_string().replace('<', "\\u003c");
    let title = escape(&format!("{}: {}", trace.model, trace.violation.message));
    let chart = trace.chart.as_deref().unwrap_or("");
    PAGE.replace("{{title}}", &title).replace("{{chart}}", chart).replace("{{data}}", &data)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

const PAGE: &str = include_str!("page.html");

/// What stands where a trace would, if nothing is violated: the answer.
pub(crate) fn without_trace(model: &str, answer: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\"><title>{0}</title><style>:root {{ color-scheme: light dark; }} \
         body {{ font: 14px/1.45 system-ui, sans-serif; margin: 1rem; overflow-wrap: anywhere; }} h1 {{ font-size: 1.05rem; }} \
         pre {{ white-space: pre-wrap; }}</style></head>\
         <body><h1>{0}</h1><pre>{1}</pre></body></html>\n",
        escape(model),
        escape(answer)
    )
}

/// Several traces in one page: each is a page of its own, chosen at the top.
pub(crate) fn several(traces: &[TraceView]) -> String {
    let model = traces.first().map_or("", |trace| trace.model.as_str());
    let option = |(n, trace): (usize, &TraceView)| {
        format!("<option value=\"{n}\">{}</option>", escape(&trace.violation.message))
    };
    let frame = |(n, trace): (usize, &TraceView)| {
        let hidden = if n == 0 { "" } else { " hidden" };
        let (title, page) = (escape(&trace.violation.message), escape(&render(trace)));
        format!("<iframe id=\"t{n}\" title=\"{title}\" srcdoc=\"{page}\"{hidden}></iframe>")
    };
    let options: String = traces.iter().enumerate().map(option).collect();
    let frames: String = traces.iter().enumerate().map(frame).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\"><title>{0}: {1} violations</title><style>:root {{ color-scheme: \
         light dark; }} html, body {{ height: 100%; margin: 0; }} body {{ display: flex; flex-direction: column; font: \
         14px/1.45 system-ui, sans-serif; }} label {{ padding: .5rem 1rem; }} select {{ font: inherit; max-width: 100%; }} \
         iframe {{ flex: 1; border: 0; border-top: 1px solid gray; }} iframe[hidden] {{ display: none; }}</style></head>\
         <body><label>{1} violations: <select onchange=\"document.querySelectorAll('iframe').forEach(f =&gt; f.hidden = \
         f.id !== 't' + this.value)\">{2}</select></label>{3}</body></html>\n",
        escape(model),
        traces.len(),
        options,
        frames
    )
}

#[cfg(test)]
mod tests {
    use super::super::{Scalar, StepView, TraceView, ViolationView};

    #[test]
    fn names_with_markup_cannot_leave_the_data() {
        let violation = ViolationView {
            kind: "invariant",
            property: Some("</script><b>".into()),
            message: "</script><b>".into(),
            place: String::new(),
            culprit: None,
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

    /// Every change of every step stands in the page, whole states only once.
    #[test]
    fn pages_leave_no_change_out_and_repeat_no_state() {
        let state = |value: usize| {
            (0..50).map(|n| Scalar::new(format!("cell{n}"), (n + value).to_string())).collect::<Vec<_>>()
        };
        let violation = ViolationView {
            kind: "deadlock",
            property: None,
            message: "deadlock".into(),
            place: String::new(),
            culprit: None,
            values: vec![],
        };
        let mut steps = vec![StepView::new("start".into(), None, state(0), String::new())];
        for n in 1..200 {
            // Nothing changes but in the last step, where everything does.
            let next = state(n / 199);
            steps.push(StepView::new("a".into(), Some(&steps[n - 1].state), next, String::new()));
        }
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
        assert_eq!(page.matches(r#""name":"cell49""#).count(), 2, "once to start with, once changed");
        assert!(page.contains(r#""after":"50","before":"49","name":"cell49""#));
        assert!(page.len() < 50_000, "{} bytes", page.len());
    }
}
