//! What workers of another number committed, moved to those who own it now: every run of theirs is read by one worker, and its
//! records travel once.

use super::DiskError;
use super::company::Company;
use super::earning::COLUMN;
use super::equations::STRIDE;
use super::graph::{POSITIONS, run_options};
use super::journal::Journal;
use super::ranges::{FIRST, RANGES, agree_on_ranges};
use super::stages::Stages;
use hadal_store::sort::Sorter;
use hadal_store::{RecordShape, RunOptions, RunReader};
use hadal_system::StateSpace;
use std::collections::BTreeMap;

/// What is told of the levels of states that were reached.
const LEVELS: &str = "levels";
/// Their runs.
const LEVEL: &str = "level-";

/// Whose a record is.
enum Owner {
    /// By the hash of the state that it is.
    Hash,
    /// By its place in the run, and the state's number that this gives.
    Rank(u64),
    /// By the number of a state, in a word that has a position behind it or not.
    State { word: usize, shift: u32, states: u64 },
    /// By the number of a node.
    Node(Stages, usize),
}

/// Moves what `former` workers committed into `journal`, which has nothing yet; those of one process are read by this one.
pub(super) fn move_in(
    mut former: Vec<Journal>,
    space: &dyn StateSpace,
    journal: &mut Journal,
) -> Result<(), DiskError> {
    let company = journal.company().clone();
    let Some(moment) = newest_in_common(&former, &company)? else { return Ok(()) };
    former.iter_mut().for_each(|former| former.go_back_to(moment));
    let (names, words) = contents(&former, &company)?;
    let states = words.get(RANGES).and_then(|begins| begins.last()).copied().unwrap_or(0);
    let limit = journal.disk().governor.limit();
    let whole = |stride, fingerprint| run_options(stride, fingerprint, limit);
    for name in names.iter().filter(|name| !name.starts_with(LEVEL)) {
        let (scope, kind) = name.rsplit_once('-').unwrap_or(("", name.as_str()));
        let staged = |word| {
            let prefix = if scope.is_empty() { String::new() } else { format!("{scope}-") };
            let stages = words.get(&format!("{prefix}stages")).and_then(|words| Stages::decode(words));
            stages.map(|stages| Owner::Node(stages, word)).ok_or_else(lost)
        };
        let by_state = |word, shift| Owner::State { word, shift, states };
        let (options, owner) = match kind {
            "layer" => (whole(space.words(), space.fingerprint()), Owner::Hash),
            "ranks" => (whole(space.words(), space.fingerprint()), Owner::Rank(states)),
            "edges" => (whole(3, space.fingerprint()), by_state(2, POSITIONS)),
            "equations" => (whole(STRIDE, 0), staged(STRIDE - 1)?),
            "values" => (whole(3, 0), staged(2)?),
            "swept" => (whole(3, 0), by_state(2, 0)),
            _ if scope == "reward" => (whole(COLUMN, 0), by_state(1, POSITIONS)),
            _ => return Err(lost()),
        };
        gather(&mut former, name, (options, &owner), journal)?;
    }
    if names.iter().any(|name| name == "layer") {
        gather(&mut former, LEVEL, (whole(space.words(), space.fingerprint()), &Owner::Hash), journal)?;
        journal.put_words(LEVELS, vec![0, 0]);
    }
    for (name, words) in words.iter().filter(|(name, _)| ![LEVELS, RANGES, FIRST].contains(&name.as_str())) {
        journal.put_words(name, words.clone());
    }
    if let Some(ranks) = journal.run("ranks", &whole(space.words(), space.fingerprint()))? {
        agree_on_ranges(&ranks, &company, journal)?;
    }
    journal.continue_from(moment);
    journal.commit()
}

fn lost() -> DiskError {
    DiskError::Damaged("what the former workers committed is not whole".into())
}

/// The newest commit that all of the former workers have.
fn newest_in_common(former: &[Journal], company: &Company) -> Result<Option<u64>, DiskError> {
    let lists = former.iter().flat_map(|former| {
        let kept = former.moments();
        std::iter::once(kept.len() as u64).chain(kept)
    });
    let mut common: Option<Vec<u64>> = None;
    for words in company.agree(&lists.collect::<Vec<_>>())? {
        let mut rest = &words[..];
        while let Some((&length, behind)) = rest.split_first() {
            let (kept, behind) = behind.split_at((length as usize).min(behind.len()));
            rest = behind;
            match &mut common {
                Some(common) => common.retain(|moment| kept.contains(moment)),
                none => *none = Some(kept.to_vec()),
            }
        }
    }
    Ok(common.and_then(|common| common.into_iter().max()))
}

/// Names of runs, and lists of words by name.
type Contents = (Vec<String>, BTreeMap<String, Vec<u64>>);

/// The names of the runs that every former worker has, and the words that all of them share: as the first worker that reads any
/// tells.
fn contents(former: &[Journal], company: &Company) -> Result<Contents, DiskError> {
    let mut said = Vec::new();
    if let Some(former) = former.first() {
        let (names, words) = former.contents();
        let nothing = Vec::new();
        let runs = names.map(|name| (0, name, &nothing));
        for (kind, name, words) in runs.chain(words.iter().map(|(name, words)| (1, name.as_str(), words))) {
            said.extend([kind, name.len() as u64, words.len() as u64]);
            said.extend(name.bytes().map(u64::from));
            said.extend(words);
        }
    }
    let heard = company.agree(&said)?;
    let mut rest = heard.iter().find(|words| !words.is_empty()).map_or(&[][..], |words| &words[..]);
    let (mut names, mut lists) = (Vec::new(), BTreeMap::new());
    while let [kind, letters, words, behind @ ..] = rest {
        let (letters, words) = (*letters as usize, *words as usize);
        if behind.len() < letters + words {
            return Err(lost());
        }
        let name: String = behind[..letters].iter().map(|&letter| char::from(letter as u8)).collect();
        match kind {
            0 => names.push(name),
            _ => drop(lists.insert(name, behind[letters..letters + words].to_vec())),
        }
        rest = &behind[letters + words..];
    }
    Ok((names, lists))
}

/// Makes one run of this worker's records in the former runs whose names begin so; as the name says, or the first that would follow
/// it.
fn gather(
    former: &mut [Journal],
    name: &str,
    (options, owner): (RunOptions, &Owner),
    journal: &mut Journal,
) -> Result<(), DiskError> {
    let (disk, company) = (journal.disk().clone(), journal.company().clone());
    let stride = options.shape.stride();
    let mut sorter = Sorter::new(&disk, options, disk.governor.limit() / 4);
    let mut take = |record: &[u64]| sorter.push(record).map_err(DiskError::from);
    let mut post = company.post(RecordShape::states(stride));
    let mut block = Vec::new();
    let shares = company.shares();
    for former in former {
        let mut rank = former.words(FIRST).and_then(|first| first.first()).copied().unwrap_or(0);
        let names: Vec<String> = former.contents().0.map(str::to_owned).collect();
        let is_meant = |it: &&String| if name == LEVEL { it.starts_with(name) } else { it.as_str() == name };
        for name in names.iter().filter(is_meant) {
            let Some(run) = former.run(name, &options)? else { continue };
            let mut reader = RunReader::open(&run)?;
            while reader.next_block(&mut block)? {
                for record in block.chunks_exact(stride) {
                    let to = match owner {
                        Owner::Hash => company.owner(record),
                        Owner::Rank(states) => shares.part_of(rank, *states),
                        Owner::State { word, shift, states } => {
                            shares.part_of(record[*word] >> shift, *states)
                        }
                        Owner::Node(stages, word) => stages.owner(record[*word], &company),
                    };
                    post.push(to, record, &mut take)?;
                    rank += 1;
                }
            }
        }
    }
    post.end(&[], &mut take)?;
    let run = sorter.into_run()?;
    journal.put_run(if name == LEVEL { "level-0" } else { name }, &run);
    Ok(())
}
