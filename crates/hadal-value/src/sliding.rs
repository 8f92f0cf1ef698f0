//! Value iteration with values in files, over states that are numbered so that actions lead to numbers nearby: a window of values
//! slides over the file, so RAM holds twice the reach of an action and no more. A sweep that is done is committed; a run that was
//! killed goes on from it. Values are those of [`crate::implicit::Implicit`] to the bit.

use crate::implicit::Ranked;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// Values of a chunk.
const CHUNK: u64 = 1 << 18;
const BUFFER: usize = 1 << 20;
const HEAD: &str = "hadal sweeps 1";

/// Values of all states, in a folder.
pub struct Sliding<'t, T> {
    task: &'t T,
    folder: PathBuf,
    /// Sweeps done so far, by this process and those before it.
    pub sweeps: u64,
    /// The greatest change of the last sweep.
    pub change: f64,
    /// As the external algorithm counts them, from the first sweep on.
    pub edges: u64,
    /// What all sweeps took, as the caller counts it; committed with the next sweep.
    pub spent_ms: u64,
    sum: u64,
}

impl<'t, T: Ranked> Sliding<'t, T> {
    /// Goes on with what the folder has, or begins with 0 everywhere but in terminal states.
    pub fn open(task: &'t T, folder: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let mut this = Sliding {
            task,
            folder: folder.to_owned(),
            sweeps: 0,
            change: f64::INFINITY,
            edges: 0,
            spent_ms: 0,
            sum: 0,
        };
        match std::fs::read_to_string(folder.join("done")) {
            Ok(text) => this.recall(&text).ok_or_else(|| damaged(folder))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut values = Values::create(&this.file(0))?;
                for rank in 0..task.states() {
                    values.push(task.terminal_at(rank).unwrap_or(0.0))?;
                }
                this.sum = values.finish()?;
                this.commit()?;
            }
            Err(error) => return Err(error),
        }
        Ok(this)
    }

    fn file(&self, sweeps: u64) -> PathBuf {
        self.folder.join(format!("values-{}", sweeps % 2))
    }

    fn recall(&mut self, text: &str) -> Option<()> {
        let numbers = text.strip_prefix(HEAD)?.split_whitespace().map(|word| word.parse::<u64>().ok());
        let [states, sweeps, change, edges, spent_ms, sum] = numbers.collect::<Option<Vec<_>>>()?[..] else {
            return None;
        };
        (self.sweeps, self.change, self.edges) = (sweeps, f64::from_bits(change), edges);
        (self.spent_ms, self.sum) = (spent_ms, sum);
        (states == self.task.states()).then_some(())
    }

    /// The values are written; this makes them the ones that count.
    fn commit(&self) -> io::Result<()> {
        let fresh = self.folder.join("done.new");
        let mut file = File::create(&fresh)?;
        let numbers =
            [self.task.states(), self.sweeps, self.change.to_bits(), self.edges, self.spent_ms, self.sum];
        write!(file, "{HEAD}")?;
        numbers.iter().try_for_each(|number| write!(file, " {number}"))?;
        writeln!(file)?;
        file.sync_all()?;
        std::fs::rename(&fresh, self.folder.join("done"))?;
        File::open(&self.folder)?.sync_all()
    }

    /// One sweep, all values at once, by so many threads.
    pub fn sweep(&mut self, threads: usize) -> io::Result<()> {
        let (task, states, reach) = (self.task, self.task.states(), self.task.reach());
        let mut window = Window::open(&self.file(self.sweeps), states)?;
        let mut values = Values::create(&self.file(self.sweeps + 1))?;
        let mut fresh = vec![0.0; CHUNK as usize];
        let (mut change, mut edges, mut first) = (0.0f64, 1, 0);
        while first < states {
            let end = (first + CHUNK).min(states);
            window.hold(first.saturating_sub(reach), end.saturating_add(reach).min(states))?;
            let fresh = &mut fresh[..(end - first) as usize];
            let size = fresh.len().div_ceil(threads.max(1)).max(1);
            let window = &window;
            let parts: Vec<(f64, u64)> = std::thread::scope(|scope| {
                let sweep =
                    |n: usize, part| task.update(first + (n * size) as u64, part, |rank| window.at(rank));
                let workers: Vec<_> = fresh
                    .chunks_mut(size)
                    .enumerate()
                    .map(|(n, part)| scope.spawn(move || sweep(n, part)))
                    .collect();
                workers.into_iter().map(|worker| worker.join().unwrap_or((f64::INFINITY, 0))).collect()
            });
            for part in parts {
                change = change.max(part.0);
                edges += part.1;
            }
            fresh.iter().try_for_each(|&value| values.push(value))?;
            first = end;
        }
        if window.finish()? != self.sum {
            return Err(damaged(&self.folder));
        }
        (self.sum, self.change, self.edges) = (values.finish()?, change, edges);
        self.sweeps += 1;
        self.commit()
    }

    /// The value of the initial state.
    pub fn value(&self) -> io::Result<f64> {
        let at = self.task.rank(self.task.initial()) * 8;
        let mut file = File::open(self.file(self.sweeps))?;
        io::Seek::seek(&mut file, io::SeekFrom::Start(at))?;
        let mut bytes = [0; 8];
        file.read_exact(&mut bytes)?;
        Ok(f64::from_bits(u64::from_le_bytes(bytes)))
    }
}

fn damaged(folder: &Path) -> io::Error {
    let text = format!("{}: these are not the values of this task", folder.display());
    io::Error::new(io::ErrorKind::InvalidData, text)
}

fn added(sum: u64, word: u64) -> u64 {
    (sum ^ word).wrapping_mul(0x0100_0000_01B3).rotate_left(17)
}

/// Values being written.
struct Values {
    file: BufWriter<File>,
    sum: u64,
}

impl Values {
    fn create(path: &Path) -> io::Result<Self> {
        Ok(Values { file: BufWriter::with_capacity(BUFFER, File::create(path)?), sum: 0 })
    }

    fn push(&mut self, value: f64) -> io::Result<()> {
        self.sum = added(self.sum, value.to_bits());
        self.file.write_all(&value.to_bits().to_le_bytes())
    }

    fn finish(self) -> io::Result<u64> {
        self.file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        Ok(self.sum)
    }
}

/// Some chunks of the values, one after the other.
struct Window {
    file: BufReader<File>,
    states: u64,
    chunks: VecDeque<Vec<f64>>,
    /// The number of the first chunk held.
    first: u64,
    spare: Vec<Vec<f64>>,
    sum: u64,
}

impl Window {
    fn open(path: &Path, states: u64) -> io::Result<Self> {
        let file = BufReader::with_capacity(BUFFER, File::open(path)?);
        Ok(Window { file, states, chunks: VecDeque::new(), first: 0, spare: Vec::new(), sum: 0 })
    }

    #[inline]
    fn at(&self, rank: u64) -> f64 {
        self.chunks[(rank / CHUNK - self.first) as usize][(rank % CHUNK) as usize]
    }

    /// Holds the values from `low` up to `high`, which never fall.
    fn hold(&mut self, low: u64, high: u64) -> io::Result<()> {
        while self.first < low / CHUNK {
            self.spare.extend(self.chunks.pop_front());
            self.first += 1;
        }
        while (self.first + self.chunks.len() as u64) * CHUNK < high {
            self.read()?;
        }
        Ok(())
    }

    fn read(&mut self) -> io::Result<()> {
        let begin = (self.first + self.chunks.len() as u64) * CHUNK;
        let count = CHUNK.min(self.states - begin);
        let mut chunk = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK as usize));
        chunk.clear();
        while (chunk.len() as u64) < count {
            let bytes = self.file.fill_buf()?;
            let whole = (bytes.len() / 8).min(count as usize - chunk.len());
            if whole == 0 {
                let mut word = [0; 8];
                self.file.read_exact(&mut word)?;
                let word = u64::from_le_bytes(word);
                self.sum = added(self.sum, word);
                chunk.push(f64::from_bits(word));
                continue;
            }
            for word in bytes[..whole * 8].as_chunks::<8>().0 {
                let word = u64::from_le_bytes(*word);
                self.sum = added(self.sum, word);
                chunk.push(f64::from_bits(word));
            }
            self.file.consume(whole * 8);
        }
        self.chunks.push_back(chunk);
        Ok(())
    }

    /// Reads what is left; the sum of all values.
    fn finish(mut self) -> io::Result<u64> {
        self.hold(self.states, self.states)?;
        Ok(self.sum)
    }
}
