//! Which charts a run has.

use super::chart::{Chart, Form, Row, Series, bins};
use super::figures::{Figures, LayerFigures, Moment, Unit};
use super::workers;

/// All charts, also those that have nothing to show.
pub fn all(figures: &Figures) -> Vec<Chart> {
    let mut charts = vec![
        profile(figures),
        rate(figures),
        memory(figures),
        disk(figures),
        outcomes(figures),
        distances(figures),
        seconds(figures),
        waiting(figures),
        traffic(figures),
    ];
    if figures.partition.is_some() || figures.workers.is_some() {
        // Partitions have no order, and workers keep their layers themselves: there are none to draw.
        charts.retain(|chart| !chart.is_empty());
    }
    if figures.partition.is_some() {
        charts.push(partitions(figures));
    }
    if let Some(workers) = &figures.workers {
        charts.extend(workers::charts(workers));
    }
    charts
}

fn profile(figures: &Figures) -> Chart {
    by_layer(
        figures,
        LayerChart {
            title: "Layers",
            about: "States of each breadth-first layer, and transitions out of them.",
            unit: Unit::Count,
            form: Form::Lines,
        },
        &[
            ("states", &|layer| Some(layer.states as f64)),
            ("transitions", &|layer| layer.transitions.map(|n| n as f64)),
        ],
    )
}

fn outcomes(figures: &Figures) -> Chart {
    by_layer(
        figures,
        LayerChart {
            title: "What became of generated states",
            about: "New states and duplicates of each layer: dropped at once because a table or cache in RAM knew \
                    them; equal to another candidate of the same layer; found in an earlier layer; or duplicates \
                    of which the storage does not tell which of the two.",
            unit: Unit::Count,
            form: Form::Stacked,
        },
        &[
            ("new", &|layer| layer.outcomes.map(|o| o.unique as f64)),
            ("known in RAM", &|layer| layer.outcomes.map(|o| o.duplicates_cache as f64)),
            ("same layer", &|layer| layer.outcomes.map(|o| o.duplicates_within as f64)),
            ("earlier layer", &|layer| layer.outcomes.map(|o| o.duplicates_earlier as f64)),
            ("same or earlier layer", &|layer| layer.outcomes.map(|o| o.duplicates_either as f64)),
        ],
    )
}

fn seconds(figures: &Figures) -> Chart {
    by_layer(
        figures,
        LayerChart {
            title: "Time of each layer",
            about: "Expanding, sorting candidates, and detecting duplicates (merging, asking the closed set).",
            unit: Unit::Seconds,
            form: Form::Stacked,
        },
        &[
            ("expanding", &|layer| layer.seconds.map(|s| s.expanding)),
            ("sorting", &|layer| layer.seconds.map(|s| s.sorting)),
            ("detecting", &|layer| layer.seconds.map(|s| s.detecting)),
        ],
    )
}

fn waiting(figures: &Figures) -> Chart {
    by_layer(
        figures,
        LayerChart {
            title: "Waiting for the disk",
            about: "Part of the times above, added up over all threads.",
            unit: Unit::Seconds,
            form: Form::Lines,
        },
        &[("waiting", &|layer| layer.seconds.map(|s| s.waiting))],
    )
}

fn traffic(figures: &Figures) -> Chart {
    // A search that never touched the disk while it expanded has nothing to draw here.
    let silent = figures
        .layers
        .iter()
        .all(|layer| layer.bytes_read.unwrap_or(0) == 0 && layer.bytes_written.unwrap_or(0) == 0);
    let shown = |bytes: Option<u64>| bytes.filter(|_| !silent).map(|n| n as f64);
    by_layer(
        figures,
        LayerChart {
            title: "Disk traffic of each layer",
            about: "Bytes read and written while a layer was expanded.",
            unit: Unit::Bytes,
            form: Form::Stacked,
        },
        &[("read", &|layer| shown(layer.bytes_read)), ("written", &|layer| shown(layer.bytes_written))],
    )
}

struct LayerChart {
    title: &'static str,
    about: &'static str,
    unit: Unit,
    form: Form,
}

type OfLayer<'a> = &'a dyn Fn(&LayerFigures) -> Option<f64>;

fn by_layer(figures: &Figures, chart: LayerChart, series: &[(&'static str, OfLayer)]) -> Chart {
    let bins: Vec<_> = bins(figures.layers.len()).collect();
    let wide = bins.first().map_or(1, |bin| bin.len());
    let mut about = chart.about.to_owned();
    if wide > 1 {
        about.push_str(&format!(" Each point is the mean of {wide} layers."));
    }
    let rows = bins.iter().map(|bin| Row {
        at: bin.start as f64,
        label: if wide == 1 { bin.start.to_string() } else { format!("{}–{}", bin.start, bin.end - 1) },
    });
    let values =
        |of: OfLayer| bins.iter().map(|bin| mean(figures.layers[bin.clone()].iter().map(of))).collect();
    Chart {
        title: chart.title,
        about,
        across: "layer",
        unit: chart.unit,
        form: chart.form,
        rows: rows.collect(),
        series: series.iter().map(|(name, of)| Series { name, values: values(of) }).collect(),
    }
}

fn rate(figures: &Figures) -> Chart {
    over_time(
        figures,
        "Rate over time",
        "Between commits: new states and fired transitions per second.",
        Unit::Count,
        &[
            ("states per second", &|moment| moment.states_per_second),
            ("transitions per second", &|moment| moment.transitions_per_second),
        ],
    )
}

fn memory(figures: &Figures) -> Chart {
    over_time(
        figures,
        "Memory over time",
        "Held under the memory budget at each commit.",
        Unit::Bytes,
        &[("memory", &|moment| moment.sample.memory_bytes.map(|n| n as f64))],
    )
}

fn disk(figures: &Figures) -> Chart {
    over_time(
        figures,
        "Disk over time",
        "All files in the run's folder at each commit.",
        Unit::Bytes,
        &[("disk", &|moment| moment.sample.disk_bytes.map(|n| n as f64))],
    )
}

type OfMoment<'a> = &'a dyn Fn(&Moment) -> Option<f64>;

fn over_time(
    figures: &Figures,
    title: &'static str,
    about: &str,
    unit: Unit,
    series: &[(&'static str, OfMoment)],
) -> Chart {
    let bins: Vec<_> = bins(figures.samples.len()).collect();
    let rows = bins.iter().map(|bin| {
        let at = figures.samples[bin.end - 1].sample.seconds;
        Row { at, label: format!("{at:.1}") }
    });
    let values =
        |of: OfMoment| bins.iter().map(|bin| mean(figures.samples[bin.clone()].iter().map(of))).collect();
    Chart {
        title,
        about: about.to_owned(),
        across: "seconds",
        unit,
        form: Form::Lines,
        rows: rows.collect(),
        series: series.iter().map(|(name, of)| Series { name, values: values(of) }).collect(),
    }
}

fn distances(figures: &Figures) -> Chart {
    let label = |from: u64, to: u64| match (from, to) {
        (0, _) => "same".to_owned(),
        (from, to) if from == to => from.to_string(),
        (from, to) => format!("{from}–{to}"),
    };
    let classes = &figures.distances;
    Chart {
        title: "How far back duplicates lie",
        about: "Duplicates that RAM did not know, by how many layers back the original lies (same: within the layer \
                being found; 1: the layer being expanded). Where the storage had put layers together, only the far \
                end is known."
            .into(),
        across: "layers back",
        unit: Unit::Count,
        form: Form::Stacked,
        rows: classes.iter().map(|class| Row { at: class.from as f64, label: label(class.from, class.to) }).collect(),
        series: vec![
            Series { name: "there", values: classes.iter().map(|class| Some(class.found as f64)).collect() },
            Series {
                name: "there or nearer",
                values: classes.iter().map(|class| Some(class.found_or_nearer as f64)).collect(),
            },
        ],
    }
}

fn partitions(figures: &Figures) -> Chart {
    let sizes = figures.partition.as_ref().map_or(&[][..], |partition| &partition.sizes);
    Chart {
        title: "Partition sizes",
        about: "States of the largest partitions, descending (at most 200).".into(),
        across: "rank",
        unit: Unit::Count,
        form: Form::Stacked,
        rows: (1..=sizes.len()).map(|rank| Row { at: rank as f64, label: rank.to_string() }).collect(),
        series: vec![Series {
            name: "states",
            values: sizes.iter().map(|&size| Some(size as f64)).collect(),
        }],
    }
}

/// The mean of the values that are there.
fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let (count, sum) = values.flatten().fold((0u32, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}
