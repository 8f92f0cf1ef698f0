//! Every reachable state, sorted: layers are subtracted from all earlier ones. Layers are committed. Of several workers each
//! subtracts the states that it owns by their hash; in the end each has a range of the sorted states.

use super::DiskError;
use super::graph::run_options;
use super::journal::Journal;
use super::ranges::{agree_on_ranges, in_ranges};
use hadal_store::levels::LevelEntry;
use hadal_store::sort::Sorter;
use hadal_store::vfs::at_once;
use hadal_store::{LevelPolicy, Levels, RunFile, RunKind, RunReader, RunWriter};
use hadal_system::state::compare;
use hadal_system::{Label, StateSpace, Successors};

/// How much larger each run of a set of states is than the next newer one.
const RATIO: u64 = 3;

/// The states of `space`; their places are their ranks. Of several workers, those of this one's range.
pub(super) fn explore(space: &dyn StateSpace, journal: &mut Journal) -> Result<RunFile, DiskError> {
    let (disk, company) = (journal.disk().clone(), journal.company().clone());
    let (words, limit) = (space.words(), disk.governor.limit());
    let options = run_options(words, space.fingerprint(), limit);
    if let Some(ranks) = journal.run("ranks", &options)? {
        return Ok(ranks);
    }
    let policy = LevelPolicy::Merging { ratio: RATIO };
    let mut worker = space.worker();
    let mut found = Sorter::new(&disk, options, limit / 3);
    let mut next = Successors::new(words);
    let (mut reached, mut layer) = match (journal.run("layer", &options)?, levels(journal)) {
        (Some(layer), Some(entries)) => (Levels::open(&disk, options, policy, &entries)?, layer),
        _ => {
            worker.initial(&mut next);
            for (_, state) in next.iter().filter(|(_, state)| company.owner(state) == company.me()) {
                found.push(state)?;
            }
            let reached = Levels::new(&disk, options, policy);
            let layer = found.drain_into_new(&reached)?;
            (reached, layer)
        }
    };
    let mut block = Vec::new();
    while company.sum(layer.records())? > 0 {
        company.stands(reached.records() + layer.records(), journal.moment());
        if journal.is_time()? {
            commit(journal, &reached, &layer)?;
        }
        at_once(reached.add_run(layer.clone()))?;
        let mut post = company.post(options.shape);
        let mut take = |state: &[u64]| found.push(state).map_err(DiskError::from);
        let mut fault = None;
        let mut reader = RunReader::open(&layer)?;
        while fault.is_none() && reader.next_block(&mut block)? {
            for state in block.chunks_exact(words) {
                next.clear();
                worker.successors(state, &mut next);
                if let Some(&label) = next.faults().first() {
                    fault = Some((label, state.to_vec()));
                    break;
                }
                for (_, to) in next.iter() {
                    post.push(company.owner(to), to, &mut take)?;
                }
            }
        }
        drop(reader);
        let said =
            fault.map_or_else(Vec::new, |(label, state)| [&[u64::from(label.0)][..], &state[..]].concat());
        must_be_right(space, &post.end(&said, &mut take)?)?;
        layer = found.drain_into_new(&reached)?;
    }
    at_once(reached.compact())?;
    let ranks = match reached.runs().next() {
        Some(run) => run.clone(),
        None => RunWriter::create(&disk, RunKind::Closed, &options)?.finish()?,
    };
    let ranks = match company.is_alone() {
        true => ranks,
        false => in_ranges(&ranks, options, &company, journal)?,
    };
    agree_on_ranges(&ranks, &company, journal)?;
    journal.forget("layer");
    journal.forget("level");
    journal.put_run("ranks", &ranks);
    journal.commit()?;
    Ok(ranks)
}

/// Tells of the least state in which some worker met an error of the model.
fn must_be_right(space: &dyn StateSpace, heard: &[Vec<u64>]) -> Result<(), DiskError> {
    let met = heard.iter().filter_map(|words| words.split_first());
    let Some((&label, state)) = met.min_by(|l, r| compare(l.1, r.1)) else { return Ok(()) };
    let (name, state) = (space.render_label(Label(label as u32)), space.render_state(state));
    Err(DiskError::Fault(format!("`{name}` raises an error in {state:?}")))
}

fn commit(journal: &mut Journal, reached: &Levels, layer: &RunFile) -> Result<(), DiskError> {
    journal.forget("level");
    let mut words = Vec::new();
    for (n, (entry, run)) in reached.entries().iter().zip(reached.runs()).enumerate() {
        journal.put_run(format!("level-{n}"), run);
        words.extend([entry.layers.0, entry.layers.1]);
    }
    journal.put_words("levels", words);
    journal.put_run("layer", layer);
    journal.commit()
}

/// The committed runs of the states that were reached.
fn levels(journal: &Journal) -> Option<Vec<LevelEntry>> {
    let layers = journal.words("levels")?.chunks_exact(2);
    let entry = |(n, layers): (usize, &[u64])| {
        Some(LevelEntry { name: journal.file_of(&format!("level-{n}"))?, layers: (layers[0], layers[1]) })
    };
    layers.enumerate().map(entry).collect()
}
