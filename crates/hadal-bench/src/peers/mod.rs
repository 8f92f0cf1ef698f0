//! `hadal bench peers`: SPIN on BEEM's Promela twins against hadal on the DVE originals, one thread each.
//!
//! The translations do not have the states of the originals: graphs are similar, not equal. So transitions per second and
//! bytes per state are compared, never seconds. Murphi models of the suite are compared with Rumur as by `hadal bench murphi`.

mod page;
mod result;
pub(crate) mod spin;

use super::choice::Choice;
use super::corpus::Corpus;
use super::ours::Hadal;
use super::scratch::Scratch;
use super::suite::{self, Case};
use crate::args::BenchArgs;
use crate::error::BenchError;
use result::{Pair, PeersReport};
use spin::{Reduction, Spin};

/// The suite it measures.
pub const SUITE: &str = "peers";

/// Measures every chosen model; exit code 1 where one of hadal's counts is wrong.
pub fn run(args: &BenchArgs) -> Result<u8, BenchError> {
    let choice = Choice::of(args)?;
    let cases = suite::chosen(SUITE, args)?;
    let corpus = Corpus::find(&cases)?;
    let scratch = Scratch::new(args.disk.as_deref())?;
    let hadal = Hadal::new(1, args.time_limit, &scratch)?;
    let spin = if args.no_peers { None } else { Spin::find(args.time_limit) };
    let mut report = PeersReport::new(args, spin.as_ref().map(|spin| spin.version.clone()));
    println!("{}", result::heading(&report));
    if spin.is_none() {
        println!("SPIN or gcc is not installed, or was left out: only hadal is measured");
    }
    for case in cases.iter().filter(|case| !case.is_murphi()) {
        if let Some(reason) = choice.leaves_out(case) {
            println!("{:26} not run: {reason}", case.name());
            continue;
        }
        let bench = Bench { args, hadal: &hadal, spin: spin.as_ref(), scratch: &scratch };
        let pair = bench.pair(case, &corpus)?;
        println!("{}", pair.text());
        report.pairs.push(pair);
    }
    println!("{}", report.summary());
    let murphi: Vec<&Case> =
        cases.into_iter().filter(|case| case.is_murphi() && choice.leaves_out(case).is_none()).collect();
    if !murphi.is_empty() {
        println!();
        let rumur = super::explore(args, &murphi, &corpus, &scratch)?;
        println!("{}", super::text::summary(&rumur));
        report.murphi = Some(rumur);
    }
    super::write_results(args, &report, || page::render(&report))?;
    Ok(u8::from(report.has_problem()))
}

struct Bench<'a> {
    args: &'a BenchArgs,
    hadal: &'a Hadal,
    spin: Option<&'a Spin>,
    scratch: &'a Scratch,
}

impl Bench<'_> {
    fn pair(&self, case: &Case, corpus: &Corpus) -> Result<Pair, BenchError> {
        let model = corpus.path(case);
        let mut ours = self.hadal.run(case, &model)?;
        for _ in 1..self.args.repeat {
            ours = ours.better(self.hadal.run(case, &model)?, self.args.clock);
        }
        let twin = corpus.twin(case);
        let run = |reduction| {
            let (spin, twin) = (self.spin?, twin.as_ref());
            Some(match twin {
                Some(twin) => {
                    let mut best = spin.run(twin, case.states, reduction, self.scratch);
                    for _ in 1..self.args.repeat {
                        let again = spin.run(twin, case.states, reduction, self.scratch);
                        if let (Ok(a), Ok(b)) = (&best, &again)
                            && b.seconds(self.args.clock) < a.seconds(self.args.clock)
                        {
                            best = again;
                        }
                    }
                    best
                }
                None => Err("no Promela twin is there".into()),
            })
        };
        Ok(Pair::new(case, self.args.clock, ours, run(Reduction::Off), run(Reduction::On)))
    }
}
