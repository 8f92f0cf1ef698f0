//! A few threads that wait for the disk so that the explorer does not.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

type Job = Box<dyn FnOnce() + Send>;

/// A pool for reading ahead and writing behind. Without threads every job runs at once where it is submitted.
pub struct IoThreads {
    jobs: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
    waited_nanos: Arc<AtomicU64>,
}

/// The result of a job, to be waited for.
pub enum Pending<T> {
    /// Already there.
    Ready(T),
    /// On its way, and where the time spent waiting for it is added up.
    Coming(Receiver<T>, Arc<AtomicU64>),
}

impl IoThreads {
    /// A pool of `count` threads, or none: then jobs run where they are submitted.
    pub fn new(count: usize) -> Arc<Self> {
        let (sender, receiver) = mpsc::channel::<Job>();
        let receiver = Arc::new(Mutex::new(receiver));
        let mut threads = Vec::new();
        for number in 0..count {
            let receiver = Arc::clone(&receiver);
            let work = move || {
                loop {
                    let job = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    match job {
                        Ok(job) => job(),
                        Err(_) => return,
                    }
                }
            };
            // A machine that cannot start another thread does its I/O in the foreground.
            if let Ok(thread) = std::thread::Builder::new().name(format!("hadal-io-{number}")).spawn(work) {
                threads.push(thread);
            }
        }
        let jobs = if threads.is_empty() { None } else { Some(sender) };
        Arc::new(IoThreads { jobs, threads, waited_nanos: Arc::default() })
    }

    /// How long everyone together has waited for jobs so far.
    pub fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited_nanos.load(Ordering::Relaxed))
    }

    /// Runs `job` on a thread of the pool.
    pub fn submit<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Pending<T> {
        let Some(jobs) = &self.jobs else { return Pending::Ready(job()) };
        let (sender, receiver) = mpsc::sync_channel(1);
        let wrapped: Job = Box::new(move || {
            // The receiver is gone when the reader was dropped before its end: nobody wants the result.
            let _ = sender.send(job());
        });
        match jobs.send(wrapped) {
            Ok(()) => Pending::Coming(receiver, Arc::clone(&self.waited_nanos)),
            Err(returned) => {
                (returned.0)();
                Pending::Coming(receiver, Arc::clone(&self.waited_nanos))
            }
        }
    }
}

impl<T> Pending<T> {
    /// Waits. `None` only if the job panicked.
    pub fn wait(self) -> Option<T> {
        match self {
            Pending::Ready(result) => Some(result),
            Pending::Coming(receiver, waited_nanos) => match receiver.try_recv() {
                Ok(result) => Some(result),
                Err(_) => {
                    let begun = Instant::now();
                    let result = receiver.recv().ok();
                    waited_nanos.fetch_add(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
                    result
                }
            },
        }
    }
}

impl Drop for IoThreads {
    fn drop(&mut self) {
        self.jobs = None;
        let own = std::thread::current().id();
        for thread in self.threads.drain(..) {
            // The last handle may be dropped inside a job, on a thread that cannot wait for itself.
            if thread.thread().id() != own {
                let _ = thread.join();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_give_their_results_with_and_without_threads() {
        for count in [0, 1, 3] {
            let threads = IoThreads::new(count);
            let pending: Vec<_> = (0..50).map(|n| threads.submit(move || n * n)).collect();
            let results: Vec<_> = pending.into_iter().map(|p| p.wait().unwrap()).collect();
            assert_eq!(results, (0..50).map(|n| n * n).collect::<Vec<_>>());
        }
    }
}
