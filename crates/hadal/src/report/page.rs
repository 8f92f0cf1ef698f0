//! The page: what was run and how it stands, what may be left, then the charts. Complete in itself.

use super::actions;
use super::chart::{escape, long};
use super::charts;
use super::figures::{Figures, Partition};
use super::workers;
use hadal_check::units::{decimal, grouped, size, span};
use hadal_search::estimate::Estimate;
use std::fmt::Write;

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1b2733;--soft:#5b6772;--paper:#fff;--card:#f5f7f9;--line:#d9dee3;--bad:#b3261e;--good:#1a7f4b;\
--c0:#1f6fb2;--c1:#d9772b;--c2:#2a9382;--c3:#8a63c0;--c4:#8b949c}\
@media (prefers-color-scheme:dark){:root{--ink:#dfe6ec;--soft:#98a5b1;--paper:#12181e;--card:#1a2229;--line:#2c3741;--bad:#f08a80;--good:#5fcf95;\
--c0:#4ea1e0;--c1:#f0975a;--c2:#45b8a5;--c3:#b196e6;--c4:#7e8890}}\
*{box-sizing:border-box}body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:100rem;margin:0 auto;padding:1.5rem 1rem 4rem}\
h1{font-size:1.5rem;margin:0 0 .2rem;overflow-wrap:anywhere}h2{font-size:1.05rem;margin:0 0 .3rem}\
.status{font-weight:600}.holds{color:var(--good)}.violated{color:var(--bad)}.about,.soft{color:var(--soft);margin:.2rem 0 .5rem;max-width:75ch}\
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(12rem,1fr));gap:.6rem;margin:1rem 0}\
dl div,section{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:.6rem .9rem}\
dt{color:var(--soft);font-size:.85rem}dd{margin:0;font-size:1.15rem;font-variant-numeric:tabular-nums}\
pre{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:.6rem .9rem;overflow-x:auto;margin:.6rem 0}\
main{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(34rem,100%),1fr));gap:1rem;align-items:start;margin-top:1rem}\
svg{display:block;width:100%;min-width:30rem;height:auto}svg text{fill:var(--soft);font:11px system-ui,sans-serif}\
.grid{stroke:var(--line)}.line{fill:none;stroke-width:2;stroke-linejoin:round}.hint{fill:transparent}.hint:hover{fill:var(--ink);fill-opacity:.08}\
.c0{fill:var(--c0);background:var(--c0)}.c1{fill:var(--c1);background:var(--c1)}.c2{fill:var(--c2);background:var(--c2)}\
.c3{fill:var(--c3);background:var(--c3)}.c4{fill:var(--c4);background:var(--c4)}\
.s0{stroke:var(--c0)}.s1{stroke:var(--c1)}.s2{stroke:var(--c2)}.s3{stroke:var(--c3)}.s4{stroke:var(--c4)}\
.legend{display:flex;flex-wrap:wrap;gap:.1rem 1rem;list-style:none;margin:.2rem 0;padding:0;font-size:.9rem}\
.legend i{display:inline-block;width:.8rem;height:.8rem;border-radius:2px;margin-right:.35rem;vertical-align:-.05rem}\
.row text{fill:var(--ink)}.scroll{overflow-x:auto}.tall{max-height:24rem;overflow-y:auto}summary{cursor:pointer;color:var(--soft)}\
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem}caption{text-align:left;color:var(--soft)}\
td,th{padding:.15rem .7rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap;font-weight:400}\
.wide{grid-column:1/-1}thead th{font-weight:600}th:first-child,td:first-child{text-align:left}.absent{color:var(--soft)}";

/// The whole page.
pub fn render(figures: &Figures) -> String {
    let model = figures.about.model.as_deref().unwrap_or("a model the run does not name");
    let name = std::path::Path::new(model).file_name().map_or(model.into(), |name| name.to_string_lossy());
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\"><title>hadal: {title}</title><style>{STYLE}</style></head><body>\
         <header><h1>{title}</h1>{status}</header>",
        title = escape(&name),
        status = status(figures)
    );
    page.push_str(&key_figures(figures));
    if let Some(command) = &figures.about.command {
        // Writing to a string cannot fail, here and below.
        let _ = write!(page, "<pre>{}</pre>", escape(command));
    }
    let _ = match figures.stored.disk_bytes {
        0 => write!(page, "<p class=\"soft\">Nothing is kept on disk.</p>"),
        _ => write!(page, "<p class=\"soft\">Run folder: {}</p>", escape(&figures.about.run)),
    };
    if let Some(depth) = figures.layers_deleted_before {
        let _ = write!(
            page,
            "<p class=\"status\">Layers before {depth} were deleted to make room: states in them may have been explored \
             and counted again.</p>"
        );
    }
    if let Some(estimate) = &figures.estimate {
        page.push_str(&remaining(estimate));
    }
    page.push_str("<main>");
    let mut absent = Vec::new();
    for chart in charts::all(figures) {
        match chart.is_empty() {
            true => absent.push(chart.title),
            false => page.push_str(&chart.render()),
        }
    }
    match &figures.actions {
        Some(fired) => page.push_str(&actions::section(fired)),
        None => absent.push(actions::TITLE),
    }
    if let Some(partition) = &figures.partition {
        page.push_str(&counters(partition));
    }
    if let Some(workers) = &figures.workers {
        page.push_str(&workers::section(workers));
    }
    page.push_str("</main>");
    if !absent.is_empty() {
        let _ =
            write!(page, "<p class=\"soft\">Not recorded by this run: {}.</p>", escape(&absent.join("; ")));
    }
    page.push_str("</body></html>\n");
    page
}

fn status(figures: &Figures) -> String {
    let said = figures.about.status.as_deref().unwrap_or("the run does not say how it stands");
    let class = figures.about.verdict.unwrap_or("open");
    let when = figures
        .about
        .committed_seconds_ago
        .map_or(String::new(), |ago| format!(", {} before this page", span(ago)));
    let note = match said {
        "running" => " If no process is working on it, it was killed there and can be resumed.",
        _ => "",
    };
    format!(
        "<p class=\"status {class}\">{}</p><p class=\"soft\">{}{when}.{note}</p>",
        escape(said),
        if figures.about.commit > 0 {
            format!("Figures of commit {}", figures.about.commit)
        } else {
            "Figures of the end".into()
        }
    )
}

fn key_figures(figures: &Figures) -> String {
    let mut list = String::from("<dl>");
    let mut tile = |name: &str, value: Option<String>| {
        let value = value.map_or("<span class=\"absent\">not recorded</span>".into(), |value| escape(&value));
        let _ = write!(list, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    };
    tile("states", Some(grouped(figures.counts.states)));
    tile("transitions", figures.counts.transitions.map(grouped));
    tile("depth", figures.counts.depth.map(grouped));
    tile("found, not yet expanded", figures.counts.frontier.map(grouped));
    tile("time", figures.counts.seconds.map(span));
    tile(
        "states per second",
        figures
            .counts
            .seconds
            .filter(|&s| s > 0.0)
            .map(|s| grouped((figures.counts.states as f64 / s) as u64)),
    );
    if figures.stored.disk_bytes > 0 {
        tile("on disk", Some(size(figures.stored.disk_bytes)));
        tile("bytes per state on disk", figures.stored.disk_bytes_per_state.map(decimal));
    }
    tile(
        "storage",
        figures.stored.storage.as_ref().filter(|stages| !stages.is_empty()).map(|stages| {
            let stage = |s: &super::record::StageRecord| format!("{} from layer {}", s.storage, s.depth);
            stages.iter().map(stage).collect::<Vec<_>>().join(", ")
        }),
    );
    list.push_str("</dl>");
    list
}

fn remaining(estimate: &Estimate) -> String {
    let states = match estimate.new_states_most {
        Some(most) if most == estimate.new_states_least => format!("{} more states", grouped(most)),
        Some(most) => format!("{} to {} more states", grouped(estimate.new_states_least), grouped(most)),
        None => format!(
            "{} more states, or far more: not every guess sees an end",
            grouped(estimate.new_states_least)
        ),
    };
    let time = match (estimate.seconds_least, estimate.seconds_most) {
        (Some(least), Some(most)) => format!("; {} to {} at the recent rate", span(least), span(most)),
        (Some(least), None) => format!("; {} or more at the recent rate", span(least)),
        _ => String::new(),
    };
    format!(
        "<section><h2>What may be left (estimate)</h2><p class=\"status\">{}{}</p><p class=\"about\">{}</p></section>",
        escape(&states),
        escape(&time),
        escape(estimate.method)
    )
}

fn counters(partition: &Partition) -> String {
    let mut rows = String::new();
    if let Some(heuristic) = &partition.heuristic {
        let _ = write!(rows, "<tr><th scope=\"row\">heuristic</th><td>{}</td></tr>", escape(heuristic));
    }
    for counter in &partition.counters {
        let _ = write!(
            rows,
            "<tr><th scope=\"row\">{}</th><td>{}</td></tr>",
            escape(&counter.name),
            long(counter.value, counter.unit)
        );
    }
    format!(
        "<section><h2>Partitions</h2><div class=\"scroll\"><table><tbody>{rows}</tbody></table></div></section>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::record::{PartitionFigures, PartitionedRecord, Record, SearchRecord};

    #[test]
    fn names_with_markup_stay_text() {
        let record = Record {
            run: "<i>run</i>".into(),
            about: serde_json::json!({ "model": "/tmp/<b>.m", "property": ["</title><script>"] }),
            search: SearchRecord { status: Some("<em>".into()), ..SearchRecord::default() },
            partitioned: Some(PartitionedRecord {
                figures: PartitionFigures { heuristic: Some("<u>".into()), ..PartitionFigures::default() },
                ..PartitionedRecord::default()
            }),
            ..Record::default()
        };
        let page = render(&Figures::of(&record));
        for markup in ["<i>", "<b>", "<script", "<em>", "<u>"] {
            assert!(!page.contains(markup), "{markup}");
        }
        assert_eq!(page.matches("</title>").count(), 1 + page.matches("<rect class=\"hint\"").count());
        assert!(page.contains("Not recorded by this run: Partition sizes"));
    }
}
