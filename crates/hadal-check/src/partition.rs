//! Partition by partition: the options, and going from a trace to a shortest one.

use crate::searching::Watch;
use hadal_search::auto::Auto;
use hadal_search::explore::{Setting, explore_watched};
use hadal_search::layered::Trouble;
use hadal_search::partition::{Heuristic, PartitionOptions};
use hadal_search::{Report, Verdict};
use serde::{Deserialize, Serialize};

/// Options of `--strategy part`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default)]
pub struct Partitioning {
    /// With --strategy part: how to split partitions: adaptive (unless given), sa, ss, rd, ee, pd, de; for comparison:
    /// s-ghc, d-ghc, s-lhc, d-lhc (docs/partition.md).
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME", value_parser = parse_heuristic))]
    pub part_heuristic: Option<Heuristic>,
    /// With --strategy part: keep at most this many states in RAM, at least 2, even if more fit the memory budget.
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..)))]
    pub part_states: Option<u64>,
    /// With --strategy part: keep one partition in RAM at a time, as the paper does.
    #[cfg_attr(feature = "clap", arg(long))]
    pub part_one: bool,
    /// With --strategy part: let a partition that its heuristic cannot split outgrow the bound, up to the memory budget,
    /// as the paper's baselines do.
    #[cfg_attr(feature = "clap", arg(long))]
    pub part_overflow: bool,
    /// With --strategy part: search again breadth-first for a shortest trace.
    #[cfg_attr(feature = "clap", arg(long))]
    pub shortest: bool,
}

#[cfg(feature = "clap")]
fn parse_heuristic(text: &str) -> Result<Heuristic, String> {
    let known = Heuristic::ALL.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    known.map(|&(_, heuristic)| heuristic).ok_or_else(|| {
        let names: Vec<&str> = Heuristic::ALL.iter().map(|&(name, _)| name).collect();
        format!("no such heuristic; there are {}", names.join(", "))
    })
}

impl Partitioning {
    /// The first option that is given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = [
            (self.part_heuristic.is_some(), "part-heuristic"),
            (self.part_states.is_some(), "part-states"),
            (self.part_one, "part-one"),
            (self.part_overflow, "part-overflow"),
            (self.shortest, "shortest"),
        ];
        given.into_iter().find_map(|(given, name)| given.then_some(name))
    }

    /// The search that was asked for: as the strategy has it but for what is given.
    pub(crate) fn method(&self, preset: PartitionOptions) -> PartitionOptions {
        PartitionOptions {
            heuristic: self.part_heuristic.unwrap_or(preset.heuristic),
            resident_states: self.part_states.or(preset.resident_states),
            one_at_a_time: self.part_one || preset.one_at_a_time,
            may_overflow: self.part_overflow || preset.may_overflow,
            ..preset
        }
    }

    /// Replaces a trace that need not be shortest by one that is, where that is asked for.
    pub(crate) fn make_shortest(
        &self,
        report: &mut Report,
        setting: Setting,
        watch: Watch,
    ) -> Result<(), Trouble> {
        let not_shortest = matches!(&report.verdict, Verdict::Violated(found) if !found.shortest);
        if self.shortest && not_shortest {
            let again = Setting { threads: 1, run: setting.run.beside(), ..setting };
            let found = explore_watched(&Auto, again, &mut |progress| watch(progress))?.report;
            // A limit may end this search earlier; the trace there is stays.
            if let Verdict::Violated(_) = found.verdict {
                report.verdict = found.verdict;
            }
            report.peak_memory = report.peak_memory.max(found.peak_memory);
        }
        Ok(())
    }
}
