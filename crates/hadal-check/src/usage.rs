//! What this process has used so far, for reports.

use crate::memory::peak_resident;

/// Processor seconds of this process so far, all threads, user and system.
pub fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock is filled in where it exists; where it does not, it stays zero.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Gives memory that reading and compiling the model left behind back to the system, and begins to count the peak anew.
/// Returns the peak so far.
pub fn begin_peak() -> u64 {
    let before = peak_resident();
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: asks the allocator to return free memory; it touches nothing that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
    // 5 resets the peak (proc(5)); where that is refused, the peak counts from the start.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    before
}
