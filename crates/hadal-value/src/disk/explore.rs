//! Every reachable state, sorted: layers are subtracted from all earlier ones. Layers are committed.

use super::DiskError;
use super::graph::run_options;
use super::journal::Journal;
use hadal_store::levels::LevelEntry;
use hadal_store::sort::Sorter;
use hadal_store::vfs::at_once;
use hadal_store::{LevelPolicy, Levels, RunFile, RunKind, RunReader, RunWriter};
use hadal_system::{StateSpace, Successors};

/// How much larger each run of a set of states is than the next newer one.
const RATIO: u64 = 3;

/// The states of `space`; their places are their ranks.
pub(super) fn explore(space: &dyn StateSpace, journal: &mut Journal) -> Result<RunFile, DiskError> {
    let disk = journal.disk().clone();
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
            for (_, state) in next.iter() {
                found.push(state)?;
            }
            let reached = Levels::new(&disk, options, policy);
            let layer = found.drain_into_new(&reached)?;
            (reached, layer)
        }
    };
    let mut block = Vec::new();
    while layer.records() > 0 {
        if journal.is_due() {
            commit(journal, &reached, &layer)?;
        }
        at_once(reached.add_run(layer.clone()))?;
        let mut reader = RunReader::open(&layer)?;
        while reader.next_block(&mut block)? {
            for state in block.chunks_exact(words) {
                next.clear();
                worker.successors(state, &mut next);
                if let Some(&label) = next.faults().first() {
                    let name = space.render_label(label);
                    return Err(DiskError::Fault(format!(
                        "`{name}` raises an error in {:?}",
                        space.render_state(state)
                    )));
                }
                for (_, to) in next.iter() {
                    found.push(to)?;
                }
            }
        }
        drop(reader);
        layer = found.drain_into_new(&reached)?;
    }
    at_once(reached.compact())?;
    let ranks = match reached.runs().next() {
        Some(run) => run.clone(),
        None => RunWriter::create(&disk, RunKind::Closed, &options)?.finish()?,
    };
    journal.forget("layer");
    journal.forget("level");
    journal.put_run("ranks", &ranks);
    journal.commit()?;
    Ok(ranks)
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
