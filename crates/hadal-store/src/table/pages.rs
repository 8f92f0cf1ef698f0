//! Zeroed memory straight from the operating system, with huge pages where it is large and the system is Linux.
//!
//! The tables are touched at random: with 4 KiB pages most of the time goes into address translation. Fresh pages
//! come zeroed, so a large index costs nothing until it is used, and are given back at once on drop.

use std::ptr::NonNull;

/// A mapped, zero-initialised region.
#[derive(Debug)]
pub(super) struct Pages {
    start: NonNull<u64>,
    bytes: usize,
}

#[cfg(all(target_os = "linux", not(miri)))]
const HUGE: usize = 2 << 20;

impl Pages {
    /// Maps `words` zeroed words, or `None` when the system has no more memory.
    pub(super) fn zeroed(words: usize) -> Option<Self> {
        let bytes = words.checked_mul(8)?.max(8);
        // Miri knows no memory that is not reserved.
        let unreserved = if cfg!(miri) { 0 } else { libc::MAP_NORESERVE };
        // SAFETY: an anonymous private mapping of a non-zero length touches no existing memory.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | unreserved,
                -1,
                0,
            )
        };
        if at == libc::MAP_FAILED {
            return None;
        }
        #[cfg(all(target_os = "linux", not(miri)))]
        if bytes >= 2 * HUGE {
            // SAFETY: the range is the mapping made above; the advice changes no contents, and may be refused.
            unsafe { libc::madvise(at, bytes, libc::MADV_HUGEPAGE) };
        }
        NonNull::new(at.cast()).map(|start| Pages { start, bytes })
    }

    /// The first word; page-aligned.
    pub(super) fn start(&self) -> *mut u64 {
        self.start.as_ptr()
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `zeroed`, unmapped once.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

// SAFETY: `Pages` owns its mapping and hands out raw pointers only; who dereferences them synchronises.
unsafe impl Send for Pages {}
// SAFETY: as above; no method touches the contents.
unsafe impl Sync for Pages {}
