//! The maximal states of one key after the other, however many a key has: those that do not fit their share of RAM are
//! compared block by block, in nested passes over runs (Jabbar 2008, sec. 8.2).

use super::super::Trouble;
use super::antichain::Antichain;
use super::runs::Pass;
use super::stream::Stream;
use hadal_store::run::{RunFile, RunKind, RunOptions, RunReader, RunWriter};
use hadal_store::shape::Records;
use hadal_store::vfs::Disk;
use hadal_system::Cover;

/// The part of the budget that states of one key may take in RAM.
const KEY_PART: u64 = 32;
/// Keys between two rests.
const KEYS_AT_ONCE: u64 = 256;

/// Words of states of one key in RAM at a time.
pub(super) fn most_of_key(disk: &Disk) -> usize {
    (disk.governor.limit() / KEY_PART).clamp(64 << 10, 64 << 20) as usize / 8
}

/// What became of the states of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Thinned {
    /// How many there were.
    pub(super) states: u64,
    /// How many closed states cover.
    pub(super) closed: u64,
    /// How many are left.
    pub(super) maximal: u64,
}

/// Removes from some states of a key what others of it make needless.
type Thin<'a> = fn(&mut Antichain<'a>, &mut Vec<u64>, &[u64]);

/// Finds maximal states key by key.
pub(super) struct Maximal<'a> {
    antichain: Antichain<'a>,
    key_words: usize,
    disk: Disk,
    options: RunOptions,
    /// Words of states of one key that are in RAM at a time.
    most: usize,
    group: Vec<u64>,
    /// How many there were.
    keys: u64,
}

impl<'a> Maximal<'a> {
    /// With at most `most` words of states of one key in RAM, and as many to compare them with.
    pub(super) fn new(cover: &'a dyn Cover, disk: &Disk, options: RunOptions, most: usize) -> Self {
        let words = options.shape.words();
        Maximal {
            antichain: Antichain::new(cover, words),
            key_words: cover.key_words(),
            disk: disk.clone(),
            options,
            most: most.max(words),
            group: Vec::new(),
            keys: 0,
        }
    }

    /// Gives the maximal states of the next key that no closed state covers to `take`, ascending; `None` at the end.
    pub(super) async fn next(
        &mut self,
        stream: &mut Stream<'_>,
        pass: Option<&mut Pass<'_>>,
        take: &mut dyn FnMut(&[u64]) -> Result<(), Trouble>,
    ) -> Result<Option<Thinned>, Trouble> {
        let words = self.options.shape.words();
        let mut group = std::mem::take(&mut self.group);
        let whole = stream.next_group_within(self.key_words, &mut group, self.most)?;
        if group.is_empty() {
            return Ok(None);
        }
        self.keys += 1;
        if self.keys.is_multiple_of(KEYS_AT_ONCE) {
            self.disk.rest().await?;
        }
        if !whole {
            return self.next_large(stream, &group, pass, take).await.map(Some);
        }
        let mut thinned = Thinned { states: (group.len() / words) as u64, ..Thinned::default() };
        if let Some(pass) = pass {
            pass.subtract(&mut group)?;
        }
        thinned.closed = thinned.states - (group.len() / words) as u64;
        self.antichain.keep_maximal(&mut group);
        thinned.maximal = (group.len() / words) as u64;
        take(&group)?;
        self.group = group;
        Ok(Some(thinned))
    }

    /// The same for a key of which `first` is only the beginning.
    async fn next_large(
        &mut self,
        stream: &mut Stream<'_>,
        first: &[u64],
        pass: Option<&mut Pass<'_>>,
        take: &mut dyn FnMut(&[u64]) -> Result<(), Trouble>,
    ) -> Result<Thinned, Trouble> {
        let words = self.options.shape.words();
        let key = first[words - self.key_words..words].to_vec();
        let mut all = self.writer()?;
        all.push_all(Records::new(self.options.shape, first))?;
        let mut block = Vec::new();
        while stream.more_of(&key, &mut block, self.most)? {
            all.push_all(Records::new(self.options.shape, &block))?;
        }
        let all = all.finish()?;
        let mut thinned = Thinned { states: all.records(), ..Thinned::default() };
        let all = match pass {
            None => all,
            Some(pass) => {
                let mut closed = self.writer()?;
                while pass.closed_of(&key, &mut block, self.most)? {
                    closed.push_all(Records::new(self.options.shape, &block))?;
                }
                let closed = closed.finish()?;
                let mut left = self.writer()?;
                self.compare(
                    &all,
                    &closed,
                    |antichain, mine, theirs| antichain.subtract(mine, theirs),
                    &mut |states| Ok(left.push_all(Records::new(self.options.shape, states))?),
                )
                .await?;
                left.finish()?
            }
        };
        thinned.closed = thinned.states - all.records();
        let mut maximal = 0;
        self.compare(
            &all,
            &all,
            |antichain, mine, theirs| antichain.drop_covered(mine, theirs),
            &mut |states| {
                maximal += (states.len() / words) as u64;
                take(states)
            },
        )
        .await?;
        thinned.maximal = maximal;
        Ok(thinned)
    }

    fn writer(&self) -> Result<RunWriter, Trouble> {
        Ok(RunWriter::create(&self.disk, RunKind::Candidates, &self.options)?)
    }

    /// Every block of one run against all blocks of another.
    async fn compare(
        &self,
        run: &RunFile,
        with: &RunFile,
        thin: Thin<'a>,
        take: &mut dyn FnMut(&[u64]) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        let mut antichain = self.antichain.again();
        let mut reader = RunReader::open(run)?;
        let (mut mine, mut block) = (Vec::new(), Vec::new());
        let mut more = true;
        while more {
            mine.clear();
            while mine.len() < self.most {
                more = reader.next_block(&mut block)?;
                if !more {
                    break;
                }
                mine.extend_from_slice(&block);
            }
            let mut others = RunReader::open(with)?;
            while !mine.is_empty() && others.next_block(&mut block)? {
                thin(&mut antichain, &mut mine, &block);
                self.disk.rest().await?;
            }
            take(&mine)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_store::Governor;
    use hadal_store::merge::{MemorySource, RunMerge};
    use hadal_store::shape::RecordShape;
    use hadal_store::sort::sort_unique;
    use hadal_store::vfs::{Folder, IoThreads, at_once};
    use hadal_system::Matcher;
    use hadal_testkit::Random;

    /// Intervals: the low word holds their ends, the high one is the key. Ends that are equal but for their last bit mean
    /// the same, so that different states may cover each other.
    struct Intervals;

    struct Within((u64, u64));

    fn ends(state: &[u64]) -> (u64, u64) {
        (state[0] >> 33, (state[0] & 0xFFFF_FFFF) >> 1)
    }

    impl Cover for Intervals {
        fn key_words(&self) -> usize {
            1
        }
        fn matcher(&self) -> Box<dyn Matcher + '_> {
            Box::new(Within((0, 0)))
        }
    }

    impl Matcher for Within {
        fn choose(&mut self, state: &[u64]) {
            self.0 = ends(state);
        }
        fn is_covered_by(&mut self, big: &[u64]) -> bool {
            let (low, high) = ends(big);
            low <= self.0.0 && self.0.1 <= high
        }
    }

    fn thinned(states: &[u64], most: usize) -> (Vec<u64>, Vec<Thinned>) {
        let options = RunOptions::new(RecordShape::states(2), 1);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let vfs = std::sync::Arc::new(Folder::create(folder.path()).expect("it can be written"));
        let disk = Disk::new(vfs, IoThreads::new(1), Governor::new(64 << 20), 0);
        let mut maximal = Maximal::new(&Intervals, &disk, options, most);
        let source = Box::new(MemorySource::new(Records::new(options.shape, states)));
        let mut stream = Stream::new(RunMerge::new(options.shape, vec![source]), 2);
        let (mut left, mut counts) = (Vec::new(), Vec::new());
        let mut take = |states: &[u64]| {
            left.extend_from_slice(states);
            Ok(())
        };
        while let Some(thinned) = at_once(maximal.next(&mut stream, None, &mut take)).expect("it works") {
            counts.push(thinned);
        }
        (left, counts)
    }

    #[test]
    fn keys_with_more_states_than_fit_keep_the_same_ones() {
        let mut random = Random::new(5);
        for _ in 0..20 {
            let mut states: Vec<u64> = Vec::new();
            for _ in 0..300 {
                let (low, length) = (random.below(200), random.below(60));
                states.extend([low << 32 | (low + length), random.below(3)]);
            }
            sort_unique(RecordShape::states(2), &mut states);
            let whole = thinned(&states, 1 << 20);
            assert_eq!(thinned(&states, 20), whole, "ten states at a time");
            assert!(whole.0.len() < states.len() && !whole.0.is_empty());
        }
    }
}
