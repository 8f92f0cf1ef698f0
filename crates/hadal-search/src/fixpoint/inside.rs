//! Shortest ways inside a hull and one component, level by level: in RAM, or with one bit a state and level on disk.
//!
//! Of several shortest ways the one is taken whose states, from the end backwards, are least: it is the same wherever the
//! levels are kept and however many threads look.

use super::bits::Bits;
use super::closed::Closed;
use super::pass::{Early, Look, Pass};
use crate::layered::Trouble;
use hadal_store::Disk;
use hadal_store::manifest::{read_words, write_words};
use hadal_system::state::compare;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// What came of a search.
pub(super) enum Reached {
    /// The states behind the first one, up to the target of the wanted transition.
    There(Vec<Vec<u64>>),
    /// Nothing wanted: the states behind the first one, up to one of those met last.
    Nowhere(Vec<Vec<u64>>),
}

/// Breadth-first search inside a hull.
pub(super) struct Inside<'p, 'a, C> {
    pass: &'p Pass<'a, C>,
    hull: &'p Bits,
    look: Look<'a>,
    seen: Bits,
    /// Ways have at most so many steps.
    most: usize,
}

/// A transition that was looked for: source and target.
type Hit = (Vec<u64>, Vec<u64>);

impl<'p, 'a, C: Closed> Inside<'p, 'a, C> {
    pub(super) fn new(pass: &'p Pass<'a, C>, hull: &'p Bits) -> Result<Self, Early> {
        Ok(Inside { pass, hull, look: pass.look(), seen: pass.bits()?, most: usize::MAX })
    }

    /// For ways of at most so many steps; what lies behind is nowhere.
    pub(super) fn within(self, most: usize) -> Self {
        Inside { most, ..self }
    }

    /// The acceptance sets met on the steps of a path, and the pairs able in the states that are left.
    pub(super) fn met(&mut self, path: &[Vec<u64>]) -> (u64, u64) {
        let (mut met, mut able) = (0, 0);
        for pair in path.windows(2) {
            self.look.expand(&pair[0]);
            let Look { worker, out, marks, .. } = &mut self.look;
            worker.marks(&pair[0], out, marks);
            able |= worker.able(&pair[0], out);
            let steps = out.iter().zip(marks.iter()).filter(|((_, to), _)| *to == pair[1].as_slice());
            met |= steps.fold(0, |all, (_, marks)| all | marks);
        }
        (met, able)
    }

    /// Looks for a transition that `wanted` says yes to, given its target and marks.
    pub(super) async fn search(
        &mut self,
        from: &[u64],
        wanted: impl Fn(&[u64], u64) -> bool + Sync,
    ) -> Result<Reached, Early> {
        let disk = self.pass.keeper.map(|keeper| keeper.disk());
        match (self.in_ram(from, &wanted).await, disk) {
            (Err(Early::Trouble(Trouble::OverBudget(_))), Some(disk)) => {
                self.on_disk(from, &wanted, &disk).await
            }
            (ended, _) => ended,
        }
    }

    fn begin(&mut self, from: &[u64]) {
        self.seen.clear_all();
        if let Some(number) = self.pass.closed.number(from) {
            self.seen.set(number);
        }
    }

    async fn in_ram(
        &mut self,
        from: &[u64],
        wanted: &impl Fn(&[u64], u64) -> bool,
    ) -> Result<Reached, Early> {
        let words = from.len();
        self.begin(from);
        let mut memory = self.pass.governor.empty("a way inside the hull");
        let mut levels: Vec<Vec<u64>> = vec![from.to_vec()];
        let mut held = 1u64;
        loop {
            if levels.len() > self.most {
                return Ok(Reached::Nowhere(Vec::new()));
            }
            let level = levels.pop().unwrap_or_default();
            let (mut next, mut best): (Vec<u64>, Option<Hit>) = (Vec::new(), None);
            let mut left = &level[..];
            while !left.is_empty() {
                self.pass.rest().await?;
                let portion;
                (portion, left) = left.split_at(left.len().min(self.pass.portion() * words));
                for state in portion.chunks_exact(words) {
                    self.pass.inside(&mut self.look, self.hull, state, &mut |to, number, marks| {
                        if wanted(to, marks) {
                            keep_least(&mut best, state, to);
                        } else if self.seen.set(number) {
                            next.extend_from_slice(to);
                        }
                    });
                }
                self.pass.count(&mut self.look, portion.len() / words);
            }
            held += (next.len() / words) as u64;
            // Growing lists take up to twice their length.
            memory.try_resize(16 * held * words as u64)?;
            levels.push(level);
            if let Some((source, target)) = best {
                let mut way = self.back_in_ram(&levels, source).await?;
                way.push(target);
                return Ok(Reached::There(way));
            }
            if next.is_empty() {
                let last = &levels[levels.len() - 1];
                let least = last.chunks_exact(words).min_by(|a, b| compare(a, b)).unwrap_or(from).to_vec();
                return Ok(Reached::Nowhere(self.back_in_ram(&levels, least).await?));
            }
            levels.push(next);
        }
    }

    /// The states from behind the first one to one of the last level.
    async fn back_in_ram(&mut self, levels: &[Vec<u64>], last: Vec<u64>) -> Result<Vec<Vec<u64>>, Early> {
        let words = last.len();
        let mut way = vec![last];
        for level in levels[..levels.len() - 1].iter().rev() {
            let target = way[way.len() - 1].clone();
            let mut best: Option<&[u64]> = None;
            let mut left = &level[..];
            while !left.is_empty() {
                self.pass.rest().await?;
                let portion;
                (portion, left) = left.split_at(left.len().min(self.pass.portion() * words));
                for state in portion.chunks_exact(words) {
                    if best.is_some_and(|held| compare(held, state).is_le()) {
                        continue;
                    }
                    if self.pass.leads_to(&mut self.look, self.hull, state, &target) {
                        best = Some(state);
                    }
                }
                self.pass.count(&mut self.look, portion.len() / words);
            }
            way.extend(best.map(<[u64]>::to_vec));
        }
        // The first one is known.
        way.pop();
        way.reverse();
        Ok(way)
    }

    async fn on_disk(
        &mut self,
        from: &[u64],
        wanted: &(impl Fn(&[u64], u64) -> bool + Sync),
        disk: &Disk,
    ) -> Result<Reached, Early> {
        self.begin(from);
        let (mut now, mut next) = (self.pass.bits()?, self.pass.bits()?);
        if let Some(number) = self.pass.closed.number(from) {
            now.set(number);
        }
        let mut levels = Levels { disk, files: Vec::new() };
        loop {
            if levels.files.len() >= self.most {
                return Ok(Reached::Nowhere(Vec::new()));
            }
            levels.write(&now)?;
            let best: Mutex<Option<Hit>> = Mutex::new(None);
            let any = AtomicBool::new(false);
            for group in 0..self.pass.closed.groups() {
                self.pass
                    .over_group(group, &|look, state, at| {
                        if now.get(at.number) {
                            self.pass.inside(look, self.hull, state, &mut |to, number, marks| {
                                if wanted(to, marks) {
                                    keep_least(
                                        &mut best.lock().unwrap_or_else(|e| e.into_inner()),
                                        state,
                                        to,
                                    );
                                } else if self.seen.set(number) {
                                    next.set(number);
                                    any.store(true, Ordering::Relaxed);
                                }
                            });
                        }
                        false
                    })
                    .await?;
            }
            if let Some((source, target)) = best.into_inner().unwrap_or_else(|e| e.into_inner()) {
                let mut way = self.back_on_disk(&levels, &now, source).await?;
                way.push(target);
                return Ok(Reached::There(way));
            }
            if !any.into_inner() {
                let mut least: Option<Vec<u64>> = None;
                for group in 0..self.pass.closed.groups() {
                    let found = self.pass.least_of(group, |_, _, number| now.get(number)).await?;
                    least = [least, found].into_iter().flatten().min_by(|a, b| compare(a, b));
                }
                let least = least.unwrap_or_else(|| from.to_vec());
                return Ok(Reached::Nowhere(self.back_on_disk(&levels, &now, least).await?));
            }
            std::mem::swap(&mut now, &mut next);
            next.clear_all();
        }
    }

    async fn back_on_disk(
        &self,
        levels: &Levels<'_>,
        set: &Bits,
        last: Vec<u64>,
    ) -> Result<Vec<Vec<u64>>, Early> {
        let mut way = vec![last];
        for level in (0..levels.files.len() - 1).rev() {
            levels.read(level, set)?;
            let target = way[way.len() - 1].clone();
            let mut best: Option<Vec<u64>> = None;
            for group in 0..self.pass.closed.groups() {
                let found: Mutex<Option<Vec<u64>>> = Mutex::new(None);
                self.pass
                    .over_group(group, &|look, state, at| {
                        if set.get(at.number) && self.pass.leads_to(look, self.hull, state, &target) {
                            let mut found = found.lock().unwrap_or_else(|e| e.into_inner());
                            if found.as_ref().is_none_or(|held| compare(state, held).is_lt()) {
                                *found = Some(state.to_vec());
                            }
                        }
                        false
                    })
                    .await?;
                let found = found.into_inner().unwrap_or_else(|e| e.into_inner());
                best = [best, found].into_iter().flatten().min_by(|a, b| compare(a, b));
            }
            way.extend(best);
        }
        way.pop();
        way.reverse();
        Ok(way)
    }
}

fn keep_least(best: &mut Option<Hit>, source: &[u64], target: &[u64]) {
    let better = |(held, to): &Hit| compare(source, held).then_with(|| compare(target, to)).is_lt();
    if best.as_ref().is_none_or(better) {
        *best = Some((source.to_vec(), target.to_vec()));
    }
}

impl<'a, C: Closed> Pass<'a, C> {
    /// Gives the transitions out of `state` that stay in the hull and its component to `take`: target, number, marks.
    fn inside(
        &self,
        look: &mut Look<'a>,
        hull: &Bits,
        state: &[u64],
        take: &mut dyn FnMut(&[u64], u64, u64),
    ) {
        look.expand(state);
        let Look { worker, out, marks, .. } = look;
        worker.marks(state, out, marks);
        let own = worker.component(state);
        for ((_, to), &marks) in out.iter().zip(marks.iter()) {
            if worker.component(to) == own
                && let Some(number) = self.closed.number(to).filter(|&number| hull.get(number))
            {
                take(to, number, marks);
            }
        }
    }

    /// Whether a transition that stays in the hull and the component leads from one state to another.
    fn leads_to(&self, look: &mut Look<'a>, hull: &Bits, state: &[u64], target: &[u64]) -> bool {
        look.expand(state);
        let Look { worker, out, .. } = look;
        let own = worker.component(state);
        out.iter().any(|(_, to)| to == target)
            && worker.component(target) == own
            && self.closed.number(target).is_some_and(|number| hull.get(number))
    }
}

/// Levels of a search on disk, one bit a state each; they go when it ends.
struct Levels<'d> {
    disk: &'d Disk,
    files: Vec<(String, u64)>,
}

impl Levels<'_> {
    fn write(&mut self, set: &Bits) -> Result<(), Early> {
        let (file, checksum) = write_words(self.disk, set.words())?;
        self.files.push((file.name, checksum));
        Ok(())
    }

    fn read(&self, level: usize, set: &Bits) -> Result<(), Early> {
        let (name, checksum) = &self.files[level];
        let mut at = 0;
        read_words(self.disk, (name, *checksum), |word| {
            set.put_word(at, word);
            at += 1;
        })?;
        Ok(())
    }
}

impl Drop for Levels<'_> {
    fn drop(&mut self) {
        for (name, _) in &self.files {
            // What cannot be removed now goes when the run is next opened.
            let _ = self.disk.vfs.remove(name);
        }
    }
}
