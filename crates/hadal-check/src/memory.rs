//! How much memory there is, and how much of a budget a model leaves for its search.

use crate::error::CheckError;

/// The least budget in which every strategy works.
pub const LEAST_MEMORY: u64 = 16 << 20;
/// What the program and a small model take besides the budget: most of the fixed overhead. Resident, and of that from the
/// allocator.
const PROGRAM_ALLOWANCE: u64 = 14 << 20;
const ALLOCATED_ALLOWANCE: u64 = 6 << 20;
/// A search has this much left beside a large model.
const LEAST_LEFT: u64 = 12 << 20;

/// Three quarters of what the machine has free, or 1 GiB where it does not say.
pub fn default_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))
        .and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    available.map_or(1 << 30, |kib| kib * 1024 / 4 * 3)
}

/// As many as there are cores.
pub fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get()).min(64)
}

/// Memory that this process has resident, in bytes; 0 where the system does not say.
pub fn resident() -> u64 {
    status_bytes("VmRSS:")
}

/// The most memory this process had resident, in bytes; 0 where the system does not say.
pub fn peak_resident() -> u64 {
    status_bytes("VmHWM:")
}

fn status_bytes(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok())
        .map_or(0, |kib| kib * 1024)
}

/// What the allocator has given out, in bytes. Unlike what is resident it is the same every time: which pages the system
/// keeps depends on everything that runs beside.
fn allocated() -> Option<u64> {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    let bytes = {
        // SAFETY: asks the allocator for its figures; it touches nothing else.
        let figures = unsafe { libc::mallinfo2() };
        Some((figures.uordblks + figures.hblkhd) as u64)
    };
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let bytes = None;
    bytes
}

/// What the model takes of the budget, in whole megabytes: a search with the same budget is to do the same every time.
fn model_bytes() -> u64 {
    let beyond = match allocated() {
        Some(bytes) => bytes.saturating_sub(ALLOCATED_ALLOWANCE),
        None => resident().saturating_sub(PROGRAM_ALLOWANCE),
    };
    beyond.next_multiple_of(1 << 20)
}

/// What is left of the budget for the search: a model of more than a few megabytes counts.
pub(crate) fn search_budget(memory: u64) -> Result<u64, CheckError> {
    let model = model_bytes();
    match memory.checked_sub(model).filter(|&left| left >= memory.min(LEAST_LEFT)) {
        Some(left) => Ok(left),
        None => Err(CheckError::Question(format!(
            "the model itself takes {} MiB of memory, which leaves too little of {} MiB to search with; give it --memory \
             {}M at least",
            model >> 20,
            memory >> 20,
            (model + LEAST_LEFT).div_ceil(4 << 20) * 4 + 4,
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_model_takes_nothing_of_the_budget_and_a_large_one_takes_itself() {
        let before = search_budget(64 << 20).expect("it fits");
        // What is resident differs from one moment to the next, as it does from run to run.
        let touched = vec![1u8; 3 << 20];
        assert_eq!(touched.iter().map(|&byte| u64::from(byte)).sum::<u64>(), 3 << 20);
        drop(touched);
        assert_eq!(search_budget(64 << 20).expect("it fits"), before);
        let large = vec![1u8; 30 << 20];
        let left = search_budget(64 << 20).expect("it fits");
        assert!(before - left > 20 << 20, "{left} of {before}");
        drop(large);
    }
}
