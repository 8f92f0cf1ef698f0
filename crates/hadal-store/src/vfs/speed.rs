//! How fast the disk is, from the reads that happen anyway: a request costs a time of its own, and each byte some more.
//!
//! Their ratio says up to how many bytes it is cheaper to read on than to ask again. Old observations fade, so that a disk
//! that others begin or cease to use is seen as it is.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Reads before anything is said.
const ENOUGH: f64 = 32.0;
/// Reads after which earlier ones count half.
const FADING: f64 = 1024.0;
/// A read that took longer was held up by something else.
const MOST: Duration = Duration::from_millis(200);

/// Sums for a straight line through (bytes, seconds).
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    reads: f64,
    bytes: f64,
    seconds: f64,
    squares: f64,
    products: f64,
}

/// What reads cost.
#[derive(Debug, Default)]
pub struct ReadSpeed {
    sums: Mutex<Sums>,
}

/// What one read costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadCost {
    /// Nanoseconds for each request.
    pub request_nanos: u64,
    /// Bytes that follow it in a second.
    pub bytes_per_second: u64,
}

impl ReadCost {
    /// How many bytes are read in the time of one more request.
    pub fn bytes_per_request(self) -> u64 {
        (u128::from(self.request_nanos) * u128::from(self.bytes_per_second) / 1_000_000_000) as u64
    }
}

impl ReadSpeed {
    /// Takes note of a read.
    pub(crate) fn note(&self, bytes: u64, took: Duration) {
        let (bytes, seconds) = (bytes as f64, took.min(MOST).as_secs_f64());
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        if sums.reads >= FADING {
            let s = *sums;
            *sums = Sums {
                reads: s.reads / 2.0,
                bytes: s.bytes / 2.0,
                seconds: s.seconds / 2.0,
                squares: s.squares / 2.0,
                products: s.products / 2.0,
            };
        }
        sums.reads += 1.0;
        sums.bytes += bytes;
        sums.seconds += seconds;
        sums.squares += bytes * bytes;
        sums.products += bytes * seconds;
    }

    /// What reads cost, once enough of them of different sizes were seen.
    pub fn cost(&self) -> Option<ReadCost> {
        let s = *self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        let spread = s.reads * s.squares - s.bytes * s.bytes;
        // Sizes that hardly differ tell nothing about the price of a byte.
        if s.reads < ENOUGH || spread <= 0.01 * s.bytes * s.bytes {
            return None;
        }
        let byte = (s.reads * s.products - s.bytes * s.seconds) / spread;
        let request = (s.seconds - byte * s.bytes) / s.reads;
        (byte > 0.0 && request > 0.0).then(|| ReadCost {
            request_nanos: (request * 1e9) as u64,
            bytes_per_second: (1.0 / byte) as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(request_micros: f64, megabytes_per_second: f64, reads: u64) -> ReadSpeed {
        let speed = ReadSpeed::default();
        for n in 0..reads {
            let bytes = 4096 * (1 + n * 7 % 32);
            let micros = request_micros + bytes as f64 / megabytes_per_second;
            speed.note(bytes, Duration::from_nanos((micros * 1000.0) as u64));
        }
        speed
    }

    #[test]
    fn a_fast_and_a_slow_disk_are_told_apart() {
        // 80 microseconds and 1 GB/s: 80 kB in the time of a request. 8 ms and 150 MB/s: 1.2 MB.
        let fast = seen(80.0, 1000.0, 5000).cost().unwrap().bytes_per_request();
        assert!((79_000..81_000).contains(&fast), "{fast}");
        let slow = seen(8000.0, 150.0, 5000).cost().unwrap().bytes_per_request();
        assert!((1_190_000..1_210_000).contains(&slow), "{slow}");
    }

    #[test]
    fn nothing_is_said_of_few_reads_or_equal_ones() {
        assert_eq!(seen(80.0, 1000.0, 20).cost(), None);
        let speed = ReadSpeed::default();
        (0..1000).for_each(|_| speed.note(65536, Duration::from_micros(100)));
        assert_eq!(speed.cost(), None);
    }

    #[test]
    fn a_disk_that_becomes_slow_is_seen_to() {
        let speed = seen(80.0, 1000.0, 3000);
        for n in 0..20_000u64 {
            let bytes = 4096 * (1 + n * 7 % 32);
            speed.note(bytes, Duration::from_nanos(8_000_000 + bytes * 7));
        }
        let slow = speed.cost().unwrap().bytes_per_request();
        assert!(slow > 1_000_000, "{slow}");
    }
}
